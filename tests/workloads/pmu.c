// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pmu: event-rate where perf_event_open(2) gives it hardware counters that the machine lacks. */
#include "workload.h"

#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ptrace.h>

const char usage[] = "Usage: pmu [ARG...]\n"
		     "Run event-rate with these arguments.  Where it opens a counter of cycles, it "
		     "gets one of ns (cpu-clock);\n"
		     "instructions are page faults.  All else is as it is.\n";

/* From now on perf_event_open() stops for the tracer. */
static void stop_at_counters(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		die("seccomp: %s", strerror(errno));
}

/* The attributes that the stopped process passes: type and size, then config. */
static void replace_counter(pid_t pid)
{
	struct __ptrace_syscall_info info;
	uint64_t *attr, config;
	uint32_t type;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		die("PTRACE_GET_SYSCALL_INFO: %s", strerror(errno));
	attr = (uint64_t *)info.seccomp.args[0];
	type = ptrace(PTRACE_PEEKDATA, pid, attr, 0);
	config = ptrace(PTRACE_PEEKDATA, pid, attr + 1, 0);
	if (type != PERF_TYPE_HARDWARE || config > PERF_COUNT_HW_INSTRUCTIONS)
		return;
	config = config == PERF_COUNT_HW_CPU_CYCLES ? PERF_COUNT_SW_CPU_CLOCK
						    : PERF_COUNT_SW_PAGE_FAULTS;
	if (ptrace(PTRACE_POKEDATA, pid, attr,
		   sizeof(struct perf_event_attr) << 32 | PERF_TYPE_SOFTWARE) ||
	    ptrace(PTRACE_POKEDATA, pid, attr + 1, config))
		die("PTRACE_POKEDATA: %s", strerror(errno));
}

static void trace(pid_t pid)
{
	int status, signal;

	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		signal = WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_SECCOMP)
			replace_counter(pid);
		if (status >> 16)
			signal = 0;
		ptrace(PTRACE_CONT, pid, 0, signal);
	}
}

/* The tracer is no child of the tool, which waits for its own only. */
static void start_tracer(void)
{
	pid_t tool = getpid(), between;
	int seized[2];
	char byte;

	if (pipe2(seized, O_CLOEXEC))
		die("pipe2: %s", strerror(errno));
	between = fork();
	if (between < 0)
		die("fork: %s", strerror(errno));
	if (!between) {
		if (fork())
			_exit(0);
		if (ptrace(PTRACE_SEIZE, tool, 0, PTRACE_O_TRACESECCOMP))
			die("PTRACE_SEIZE: %s", strerror(errno));
		close(seized[0]);
		close(seized[1]);
		trace(tool);
		_exit(0);
	}
	close(seized[1]);
	waitpid(between, NULL, 0);
	if (read(seized[0], &byte, 1))
		die("read: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	start_tracer();
	stop_at_counters();
	argv[0] = "event-rate";
	execvp(argv[0], argv);
	die("event-rate: %s", strerror(errno));
}
