// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* provokes: a tool that is made to call what it has no need for. */
#include "workload.h"

#include <elf.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
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

enum { TEXT = 0, ZERO = 512 };

#define PATH "/tmp/provoked"

/* Pointers are to SCRATCH + TEXT, a path that does not exist, and SCRATCH + ZERO. */
#define P(offset) (1ULL << 63 | (offset))

static const struct call {
	const char *name;
	long nr;
	uint64_t args[6];
} calls[] = {
	{"execve", SYS_execve, {P(TEXT), 0, 0}},
	{"execveat", SYS_execveat, {AT_FDCWD, P(TEXT), 0, 0, 0}},
	{"socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
	{"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P(ZERO)}},
#ifdef SYS_open
	{"open-write", SYS_open, {P(TEXT), O_WRONLY}},
#endif
	{"openat-write", SYS_openat, {AT_FDCWD, P(TEXT), O_WRONLY}},
	{"openat-update", SYS_openat, {AT_FDCWD, P(TEXT), O_RDWR}},
	{"openat-create", SYS_openat, {AT_FDCWD, P(TEXT), O_CREAT | O_RDONLY, 0600}},
	{"openat-read", SYS_openat, {AT_FDCWD, P(TEXT), O_RDONLY}},
	{"openat2", SYS_openat2, {AT_FDCWD, P(TEXT), P(ZERO), sizeof(struct open_how)}},
	{"ptrace", SYS_ptrace, {PTRACE_ATTACH, INT_MAX}},
	{"process_vm_readv", SYS_process_vm_readv, {INT_MAX, P(ZERO), 1, P(ZERO), 1, 0}},
	{"process_vm_writev", SYS_process_vm_writev, {INT_MAX, P(ZERO), 1, P(ZERO), 1, 0}},
	{"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}},
	{"io_uring_setup", SYS_io_uring_setup, {0, 0}},
	{"perf_event_open", SYS_perf_event_open, {0, 0, 0, -1, 0}},
	{"bpf-load", SYS_bpf, {BPF_PROG_LOAD, P(ZERO), 64}},
	{"bpf-link", SYS_bpf, {BPF_LINK_CREATE, P(ZERO), 64}},
	{"bpf-get", SYS_bpf, {BPF_OBJ_GET, P(ZERO), 12}},
	{"bpf-get-high", SYS_bpf, {1ULL << 32 | BPF_OBJ_GET, P(ZERO), 12}},
	{"bpf-update", SYS_bpf, {BPF_MAP_UPDATE_ELEM, P(ZERO), 32}},
	{"bpf-lookup", SYS_bpf, {BPF_MAP_LOOKUP_ELEM, P(ZERO), 32}},
	{"unshare", SYS_unshare, {0}},
	{"setns", SYS_setns, {-1, 0}},
	{"clone-namespace",
	 SYS_clone,
	 {CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_FS, 0, 0, 0, 0}},
	{"clone3", SYS_clone3, {0, 0}},
	{"mount", SYS_mount, {0, 0, 0, 0, 0}},
	{"finit_module", SYS_finit_module, {-1, 0, 0}},
	{"keyctl", SYS_keyctl, {0, -3, 0}},
	{"userfaultfd", SYS_userfaultfd, {0}},
#ifdef SYS_chmod
	{"chmod", SYS_chmod, {P(TEXT), 0600}},
#endif
	{"fchmodat2", 452, {AT_FDCWD, P(TEXT), 0600, 0}}, /* numbers: of newer headers */
	{"setxattrat", 463, {AT_FDCWD, P(TEXT), 0, P(TEXT), P(ZERO), 16}},
	{"removexattrat", 466, {AT_FDCWD, P(TEXT), 0, P(TEXT)}},
	{"open_tree_attr", 467, {AT_FDCWD, P(TEXT), 0, 0, 0}},
	{"file_setattr", 469, {AT_FDCWD, P(TEXT), P(ZERO), 24, 0}},
	{"linkat", SYS_linkat, {AT_FDCWD, P(TEXT), AT_FDCWD, P(TEXT), 0}},
	{"renameat", SYS_renameat, {AT_FDCWD, P(TEXT), AT_FDCWD, P(TEXT)}},
	{"unlinkat", SYS_unlinkat, {AT_FDCWD, P(TEXT), 0}},
	{"ioctl-sti", SYS_ioctl, {0, 0x5412, P(ZERO)}},
	{"ioctl-setflags", SYS_ioctl, {-1, 0x40086602, P(ZERO)}},
	{"ioctl-freeze", SYS_ioctl, {-1, 0xc0045877, 0}},
	{"ioctl-clone", SYS_ioctl, {-1, 0x40049409, -1}},
	{"fcntl-setfl", SYS_fcntl, {-1, F_SETFL, 0}},
	{"ftruncate", SYS_ftruncate, {-1, 0}},
	{"fallocate", SYS_fallocate, {-1, 0, 0, 1}},
	{"kill", SYS_kill, {INT_MAX, SIGCONT}},
	{"tkill", SYS_tkill, {INT_MAX, SIGCONT}},
	{"tgkill", SYS_tgkill, {INT_MAX, INT_MAX, SIGCONT}},
	{"pidfd_send_signal", SYS_pidfd_send_signal, {-1, SIGCONT, 0, 0}},
	{"prlimit", SYS_prlimit64, {INT_MAX, RLIMIT_NOFILE, 0, 0}},
	{"move_pages", SYS_move_pages, {INT_MAX, 0, 0, 0, 0, 0}},
	{"mq_open", SYS_mq_open, {P(TEXT), O_CREAT | O_RDWR, 0600, 0}},
	{"shmget", SYS_shmget, {1, 4096, 0}},
	{"mmap-code", SYS_mmap, {0, 4096, PROT_WRITE | PROT_EXEC, MAP_SHARED, -1, 0}},
	{"mprotect-code", SYS_mprotect, {1, 4096, PROT_EXEC}},
};

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

	(void)r;
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
