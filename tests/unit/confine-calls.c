// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* confine: which system calls are left, by calls that fail before and after. */
#include "apart.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <plumb/core/privileges.h>
#include <plumb/guard/confine.h>

#define ALWAYS  (~0U)
#define NEVER   0U
#define OPENING (PLUMB_CALLS_WRITE | PLUMB_CALLS_CREATE)
#define NAMING  (PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE)
#define WX      (PROT_WRITE | PROT_EXEC)

/* An argument: this process; a path, where what it is relative to is no folder. */
#define SELF (-1000)
#define PATH (-1001)

/* What fails, and so does nothing, and which groups of enum plumb_calls allow it. */
static const struct call {
	const char *name;
	unsigned int groups;
	long number, args[6];
} calls[] = {
	{"read", ALWAYS, SYS_read, {-1}},
	{"write", ALWAYS, SYS_write, {-1}},
	{"pwrite64", NEVER, SYS_pwrite64, {-1}},
	{"sendmsg", ALWAYS, SYS_sendmsg, {-1}},
	{"sendto", ALWAYS, SYS_sendto, {-1}},
	{"sendto an address", NEVER, SYS_sendto, {-1, 0, 0, 0, 8, 16}},
	{"socket", NEVER, SYS_socket, {-1}},
	{"bind", NEVER, SYS_bind, {-1}},
	{"connect", PLUMB_CALLS_CONNECT, SYS_connect, {-1}},
	{"splice", NEVER, SYS_splice, {-1, 0, -1, 0, 1}},
	{"dup3", NEVER, SYS_dup3, {-1, -1}},
	{"pidfd_getfd", NEVER, SYS_pidfd_getfd, {-1}},

	{"openat to read", ALWAYS, SYS_openat, {-1, PATH, O_RDONLY | O_NONBLOCK}},
	{"openat to write", OPENING, SYS_openat, {-1, PATH, O_WRONLY}},
	{"openat to write, more bits", OPENING, SYS_openat, {-1, PATH, O_WRONLY | 1L << 32}},
	{"openat to read and write", OPENING, SYS_openat, {-1, PATH, O_RDWR | O_APPEND}},
	{"openat for ioctl", NEVER, SYS_openat, {-1, PATH, O_ACCMODE}},
	{"openat O_CREAT", PLUMB_CALLS_CREATE, SYS_openat, {-1, PATH, O_CREAT}},
	{"openat O_TRUNC", PLUMB_CALLS_CREATE, SYS_openat, {-1, PATH, O_TRUNC}},
	{"openat O_WRONLY O_CREAT", PLUMB_CALLS_CREATE, SYS_openat, {-1, PATH, O_WRONLY | O_CREAT}},
	{"openat O_RDWR O_TRUNC", PLUMB_CALLS_CREATE, SYS_openat, {-1, PATH, O_RDWR | O_TRUNC}},
	{"openat2", NEVER, SYS_openat2, {-1}},
	{"open_by_handle_at", NEVER, SYS_open_by_handle_at, {-1, 0, O_WRONLY}},
	{"renameat2", NAMING, SYS_renameat2, {-1, PATH, -1, PATH}},
	{"linkat", NAMING, SYS_linkat, {-1, PATH, -1, PATH}},
	{"unlinkat", NAMING, SYS_unlinkat, {-1, PATH}},
	{"fchmod", NAMING, SYS_fchmod, {-1}},
	{"fchmodat", NEVER, SYS_fchmodat, {-1, PATH}},
	{"symlinkat", NEVER, SYS_symlinkat, {PATH, -1, PATH}},
	{"mkdirat", NEVER, SYS_mkdirat, {-1, PATH}},
	{"mknodat", NEVER, SYS_mknodat, {-1, PATH, S_IFREG}},
	{"ftruncate", PLUMB_CALLS_TRUNCATE, SYS_ftruncate, {-1}},
	{"memfd_create", NEVER, SYS_memfd_create, {0}},

	{"fcntl F_GETFL", ALWAYS, SYS_fcntl, {-1, F_GETFL}},
	{"fcntl F_SETFL", OPENING, SYS_fcntl, {-1, F_SETFL, O_APPEND}},
	{"fcntl O_ASYNC", NEVER, SYS_fcntl, {-1, F_SETFL, O_ASYNC}},
	{"fcntl F_SETOWN 0", ALWAYS, SYS_fcntl, {-1, F_SETOWN}},
	{"fcntl F_SETOWN 1", NEVER, SYS_fcntl, {-1, F_SETOWN, 1}},
	{"fcntl F_SETSIG", NEVER, SYS_fcntl, {-1, F_SETSIG}},
	{"ioctl TIOCGWINSZ", ALWAYS, SYS_ioctl, {-1, TIOCGWINSZ}},
	{"ioctl TIOCSTI", NEVER, SYS_ioctl, {-1, TIOCSTI}},
	{"ioctl ENABLE", ALWAYS, SYS_ioctl, {-1, PERF_EVENT_IOC_ENABLE}},
	{"ioctl SET_BPF", PLUMB_CALLS_EVENTS, SYS_ioctl, {-1, PERF_EVENT_IOC_SET_BPF}},
	{"perf_event_open", PLUMB_CALLS_EVENTS, SYS_perf_event_open, {0}},

	{"bpf lookup", PLUMB_CALLS_READ_MAPS, SYS_bpf, {BPF_MAP_LOOKUP_ELEM}},
	{"bpf next key", PLUMB_CALLS_READ_MAPS, SYS_bpf, {BPF_MAP_GET_NEXT_KEY}},
	{"bpf batch", PLUMB_CALLS_READ_MAPS, SYS_bpf, {BPF_MAP_LOOKUP_BATCH}},
	{"bpf update", PLUMB_CALLS_WRITE_MAPS, SYS_bpf, {BPF_MAP_UPDATE_ELEM}},
	{"bpf delete", PLUMB_CALLS_WRITE_MAPS, SYS_bpf, {BPF_MAP_DELETE_ELEM}},
	{"bpf take", NEVER, SYS_bpf, {BPF_MAP_LOOKUP_AND_DELETE_ELEM}},
	{"bpf run", PLUMB_CALLS_RUN_PROGRAMS, SYS_bpf, {BPF_PROG_TEST_RUN}},
	{"bpf link", PLUMB_CALLS_ITERATE | PLUMB_CALLS_ATTACH, SYS_bpf, {BPF_LINK_CREATE}},
	{"bpf iterate", PLUMB_CALLS_ITERATE, SYS_bpf, {BPF_ITER_CREATE}},
	{"bpf load", PLUMB_CALLS_LOAD, SYS_bpf, {BPF_PROG_LOAD}},
	{"bpf id", PLUMB_CALLS_LIST, SYS_bpf, {BPF_PROG_GET_NEXT_ID}},
	{"bpf fd of id", PLUMB_CALLS_LIST, SYS_bpf, {BPF_MAP_GET_FD_BY_ID}},
	{"bpf information",
	 PLUMB_CALLS_LIST | PLUMB_CALLS_READ_MAPS,
	 SYS_bpf,
	 {BPF_OBJ_GET_INFO_BY_FD}},
	{"bpf map", NEVER, SYS_bpf, {BPF_MAP_CREATE}},
	{"bpf pin", NEVER, SYS_bpf, {BPF_OBJ_PIN}},
	{"bpf raw tracepoint", NEVER, SYS_bpf, {BPF_RAW_TRACEPOINT_OPEN}},
	{"bpf attach", NEVER, SYS_bpf, {BPF_PROG_ATTACH}},

	{"mmap to write", ALWAYS, SYS_mmap, {0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1}},
	{"mmap to execute", ALWAYS, SYS_mmap, {0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE, -1}},
	{"mmap for both", NEVER, SYS_mmap, {0, 0, WX, MAP_PRIVATE, -1}},
	{"mprotect to write", ALWAYS, SYS_mprotect, {1, 0, PROT_WRITE}},
	{"mprotect to execute", NEVER, SYS_mprotect, {1, 0, PROT_EXEC}},
	{"pkey_mprotect", NEVER, SYS_pkey_mprotect, {1, 0, PROT_EXEC, -1}},
	{"shmat", NEVER, SYS_shmat, {-1}},

	{"tgkill itself", ALWAYS, SYS_tgkill, {SELF, SELF, -1}},
	{"tgkill", NEVER, SYS_tgkill, {1, 1, -1}},
	{"kill", NEVER, SYS_kill, {1, -1}},
	{"rt_sigqueueinfo", NEVER, SYS_rt_sigqueueinfo, {SELF, 0, 0}},
	{"pidfd_send_signal", PLUMB_CALLS_SIGNAL, SYS_pidfd_send_signal, {-1}},
	{"sched_setscheduler", ALWAYS, SYS_sched_setscheduler, {0, -1}},
	{"sched_setscheduler of another", NEVER, SYS_sched_setscheduler, {1, -1}},
	{"prlimit64", ALWAYS, SYS_prlimit64, {0, -1}},
	{"prlimit64 of another", NEVER, SYS_prlimit64, {1, -1}},
	{"wait4", ALWAYS, SYS_wait4, {-1}},
	{"execve", NEVER, SYS_execve, {0}},
	{"execveat", NEVER, SYS_execveat, {-1}},
	{"clone", NEVER, SYS_clone, {CLONE_THREAD}},
	{"clone3", NEVER, SYS_clone3, {0}},
	{"ptrace", NEVER, SYS_ptrace, {PTRACE_DETACH, -1}},
	{"process_vm_writev", NEVER, SYS_process_vm_writev, {-1}},
	{"prctl", NEVER, SYS_prctl, {-1}},
	{"seccomp", NEVER, SYS_seccomp, {-1}},
	{"setuid", NEVER, SYS_setuid, {-1}},
	{"unshare", NEVER, SYS_unshare, {CLONE_PARENT_SETTID}},
	{"setns", NEVER, SYS_setns, {-1}},
	{"mount", NEVER, SYS_mount, {0}},
	{"chroot", NEVER, SYS_chroot, {0}},
	{"keyctl", NEVER, SYS_keyctl, {-1}},
	{"io_uring_setup", NEVER, SYS_io_uring_setup, {0}},
	{"process_madvise", NEVER, SYS_process_madvise, {-1, 0, 0, 0, -1}},
	{"timer_create", NEVER, SYS_timer_create, {-1}},
	{"one of the future", NEVER, 9999, {0}},
#ifdef __x86_64__
	{"of the x32 ABI", NEVER, 0x40000000 | SYS_getpid, {0}},
#endif
};

static long argument(long a)
{
	return a == SELF ? getpid() : a == PATH ? (long)"file" : a;
}

/* libc does without these. */
static int refusal_of(const struct call *c)
{
	return c->number == SYS_openat2 || c->number == SYS_clone3 ? ENOSYS : EPERM;
}

/* Its error; 0: it has none. */
static int call(const struct call *c)
{
	long a[6];

	for (size_t i = 0; i < LENGTH(a); i++)
		a[i] = argument(c->args[i]);
	return syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
}

static unsigned int kept;

/* With all its capabilities, so that it is the filter that refuses. */
static int tries_calls(void)
{
	int before[LENGTH(calls)], after, wrong = 0;

	for (size_t i = 0; i < LENGTH(calls); i++)
		before[i] = call(&calls[i]);
	plumb_retain(plumb_capabilities(), kept, "all");
	if (plumb_confine())
		return 2;
	for (size_t i = 0; i < LENGTH(calls); i++) {
		const bool is_allowed = calls[i].groups == ALWAYS || calls[i].groups & kept;

		after = call(&calls[i]);
		/* Where the kernel refuses it, too, nothing is seen. */
		if (after == (is_allowed ? before[i] : refusal_of(&calls[i])))
			continue;
		fprintf(stderr, "%s: %s, %s before\n", calls[i].name, strerror(after),
			strerror(before[i]));
		wrong = 1;
	}
	return wrong;
}

static void only_what_is_kept_is_allowed(void **state)
{
	for (kept = 0; kept <= PLUMB_CALLS_CONNECT; kept = kept ? kept << 1 : 1)
		check(!apart(tries_calls), "%u: %s", kept, complaint);
	kept = PLUMB_CALLS_READ_MAPS | PLUMB_CALLS_CREATE | PLUMB_CALLS_EVENTS;
	check(!apart(tries_calls), "%s", complaint);
}

/* Otherwise what is never allowed could not be told from what this kernel refuses. */
static int tells_refusals(void)
{
	int n = 0;

	for (size_t i = 0; i < LENGTH(calls); i++)
		n += calls[i].groups != ALWAYS && call(&calls[i]) == refusal_of(&calls[i]);
	return n;
}

static void most_are_not_refused_before(void **state)
{
	assert_between(apart(tells_refusals), 0, LENGTH(calls) / 3);
}

#ifdef __x86_64__
/* The entry of 32-bit programs, where the number is of another call. */
static int by_the_other_entry(void)
{
	long result = 20; /* getpid() */

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result;
}

/* A kernel without this entry ends the process. */
static int enters(void)
{
	signal(SIGSEGV, SIG_DFL);
	return by_the_other_entry() != getpid();
}

static int enters_confined(void)
{
	return plumb_confine() ? 2 : by_the_other_entry() != -EPERM;
}

static void nor_by_another_entry(void **state)
{
	if (apart(enters))
		skip(); /* a kernel without */
	assert_int_equal(apart(enters_confined), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_are_not_refused_before),
		cmocka_unit_test(only_what_is_kept_is_allowed),
#ifdef __x86_64__
		cmocka_unit_test(nor_by_another_entry),
#endif
	};

	return run_all(tests);
}
