// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* provokes: a tool that is made to call what it has no need for. */
#include "provokes.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

const char usage[] =
	"Usage: provokes TOOL [ARG...]\n"
	"Run TOOL (with -v).  Once it says that it is confined, make it call execve, socket and "
	"others, as if it\n"
	"had been taken over; then let it go on.  The report has the results, and what\n"
	"/proc/PID/status then says of its capabilities.  Exit status: that of TOOL.\n";

/* Below the tool's stack pointer, for what the calls point to. */
static uint64_t scratch;

static void write_memory(pid_t pid, uint64_t at, const void *from, size_t size)
{
	struct iovec here = {(void *)from, size}, there = {(void *)at, size};

	if (process_vm_writev(pid, &here, 1, &there, 1, 0) != (ssize_t)size)
		die("process_vm_writev: %s", strerror(errno));
}

/* Lets the tool run until it enters or leaves a system call. */
static void run_to_call(pid_t pid)
{
	int status;

	do {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0))
			die("PTRACE_SYSCALL: %s", strerror(errno));
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			die("the tool ended");
	} while (WSTOPSIG(status) != (SIGTRAP | 0x80));
}

static uint64_t argument(uint64_t word)
{
	return word >> 63 && word < (P(0) | 4096) ? scratch + (word & 4095) : word;
}

#ifdef __x86_64__

#define STACK_POINTER rsp
#define RESULT        rax

static void set_arguments(struct user_regs_struct *r, long nr, const uint64_t args[6])
{
	r->rax = nr;
	r->rdi = args[0];
	r->rsi = args[1];
	r->rdx = args[2];
	r->r10 = args[3];
	r->r8 = args[4];
	r->r9 = args[5];
}

/* Back to the instruction of the call that it has entered or left. */
static void repeat(struct user_regs_struct *r)
{
	r->rip -= 2; /* "syscall" */
	r->rax = r->orig_rax;
	r->orig_rax = -1; /* nothing to restart */
}

#else

#define STACK_POINTER sp
#define RESULT        regs[0]

static void set_arguments(struct user_regs_struct *r, long nr, const uint64_t args[6])
{
	r->regs[8] = nr;
	memcpy(r->regs, args, 6 * sizeof(*args));
}

static void repeat(struct user_regs_struct *r)
{
	r->pc -= 4; /* "svc" */
}

#endif

static void get_registers(pid_t pid, struct user_regs_struct *r)
{
	struct iovec here = {r, sizeof(*r)};

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &here))
		die("PTRACE_GETREGSET: %s", strerror(errno));
}

static void set_registers(pid_t pid, struct user_regs_struct *r)
{
	struct iovec here = {r, sizeof(*r)};

	if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &here))
		die("PTRACE_SETREGSET: %s", strerror(errno));
}

/* The call that it enters, with the registers R, is not made. */
static void cancel_call(pid_t pid, struct user_regs_struct r)
{
#ifdef __x86_64__
	r.orig_rax = -1;
	set_registers(pid, &r);
#else
	int none = -1;
	struct iovec here = {&none, sizeof(none)};

	if (ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &here))
		die("PTRACE_SETREGSET: %s", strerror(errno));
#endif
}

/* Repeats the instruction of the call that REGS, at its end, has just left, as another call. */
static long make(pid_t pid, struct user_regs_struct regs, const struct call *call)
{
	uint64_t args[6];

	for (int i = 0; i < 6; i++)
		args[i] = argument(call->args[i]);
	repeat(&regs);
	set_arguments(&regs, call->nr, args);
	set_registers(pid, &regs);
	run_to_call(pid);
	run_to_call(pid);
	get_registers(pid, &regs);
	return regs.RESULT;
}

static void put_status(pid_t pid)
{
	static const char *const wanted[] = {"CapInh", "CapPrm",     "CapEff", "CapBnd",
					     "CapAmb", "NoNewPrivs", "Seccomp"};
	char path[64], line[256], value[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		die("%s: %s", path, strerror(errno));
	put("],\"status\":{\"\":\"\"");
	while (fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])) &&
			    line[strlen(wanted[i])] == ':' &&
			    sscanf(line, "%*s %63s", value) == 1) {
				put(",");
				put_string(wanted[i], value);
			}
	put("},\"end\":[");
	fclose(f);
}

static void provoke(pid_t pid)
{
	struct user_regs_struct before;
	const char *name;
	char page[1024] = PATH;
	long result;
	int status;

	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid ||
	    !WIFSTOPPED(status))
		die("PTRACE_INTERRUPT: %s", strerror(errno));
	run_to_call(pid); /* it enters one, which it makes when all is over */
	get_registers(pid, &before);
	scratch = (before.STACK_POINTER - 4096) & ~15ULL; /* below what the kernel must not touch */
	write_memory(pid, scratch, page, sizeof(page));
	cancel_call(pid, before);
	run_to_call(pid);
	report_begin();
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		result = make(pid, before, &calls[i]);
		name = result < 0 ? strerrorname_np(-result) : "0";
		put("%s{", i ? "," : "");
		put_string("call", calls[i].name);
		put(",");
		put_string("result", name ? name : "?");
		put("}");
	}
	put_status(pid);
	report_end();
	repeat(&before);
	set_registers(pid, &before);
	if (ptrace(PTRACE_DETACH, pid, 0, 0))
		die("PTRACE_DETACH: %s", strerror(errno));
}

/* Copies what the tool writes to stderr, until it is confined, or to its end. */
static bool copy(int from, bool until_confined)
{
	char text[4096];
	ssize_t n;

	while ((n = read(from, text, sizeof(text) - 1)) > 0) {
		text[n] = 0;
		fputs(text, stderr);
		if (until_confined && strstr(text, ": confined: "))
			return true;
	}
	return false;
}

/*
 * A pipe that is full, as the tool's stdout: it cannot end before it is provoked.  Returns how much
 * is in it.
 */
static size_t make_full_pipe(int ends[2])
{
	char nothing[4096] = "";
	size_t size = 0;
	ssize_t n;

	make_pipe(ends);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while ((n = write(ends[1], nothing, sizeof(nothing))) > 0)
		size += n;
	fcntl(ends[1], F_SETFL, 0);
	return size;
}

/* Copies what the tool writes to stdout, in a process of its own. */
static pid_t drain(const int ends[2], size_t skipped)
{
	pid_t pid = fork_or_die();
	char text[4096];
	ssize_t n;

	if (pid)
		return pid;
	close(ends[1]);
	while ((n = read(ends[0], text,
			 skipped && skipped < sizeof(text) ? skipped : sizeof(text))) > 0) {
		if (!skipped && write(1, text, n) != n)
			_exit(1);
		skipped -= skipped ? n : 0;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int ends[2], out[2], status;
	size_t filled;
	pid_t pid, drains;

	help_if_asked(argc, argv);
	if (argc < 2)
		misuse("TOOL is needed");
	make_pipe(ends);
	filled = make_full_pipe(out);
	pid = fork_or_die();
	if (!pid) {
		dup2(out[1], 1);
		dup2(ends[1], 2);
		execvp(argv[1], argv + 1);
		die("%s: %s", argv[1], strerror(errno));
	}
	close(ends[1]);
	if (copy(ends[0], true)) {
		if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD))
			die("PTRACE_SEIZE: %s", strerror(errno));
		provoke(pid);
	}
	drains = drain(out, filled);
	close(out[1]);
	copy(ends[0], false);
	status = reap(pid);
	reap(drains);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
