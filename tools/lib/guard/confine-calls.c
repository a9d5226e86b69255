/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * confine: the filter of system calls.
 *
 * It lists what is allowed: whatever else there is, or will be, can do what one did not think of.
 * What a pointer leads to cannot be filtered: openat2() and clone3() do not exist here (ENOSYS), as
 * in containers, so that libc does without.
 */
#include "confine-calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <plumb/core/privileges.h>

static const struct {
	unsigned int group;
	const char *name;
} names[] = {
	{PLUMB_CALLS_READ_MAPS, "bpf(2) to read maps"},
	{PLUMB_CALLS_WRITE_MAPS, "to change maps"},
	{PLUMB_CALLS_RUN_PROGRAMS, "to run programs"},
	{PLUMB_CALLS_ITERATE, "to iterate"},
	{PLUMB_CALLS_LIST, "to list programs"},
	{PLUMB_CALLS_ATTACH, "to attach programs"},
	{PLUMB_CALLS_LOAD, "to load programs"},
	{PLUMB_CALLS_EVENTS, "perf_event_open(2)"},
	{PLUMB_CALLS_REPLACE, "renaming"},
	{PLUMB_CALLS_WRITE, "opening for writing"},
	{PLUMB_CALLS_CREATE, "creating files"},
	{PLUMB_CALLS_TRUNCATE, "shortening open files"},
	{PLUMB_CALLS_SIGNAL, "sending signals"},
	{PLUMB_CALLS_CONNECT, "connecting open sockets"},
};

void plumb_calls_name(unsigned int calls, char *text, size_t size)
{
	size_t n;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		n = strlen(text);
		if (calls & names[i].group)
			snprintf(text + n, size - n, "%s%s", n ? ", " : "", names[i].name);
	}
}

/*
 * What reads, waits, and manages the memory of this process; libseccomp omits those that an
 * architecture does not have.  glibc has several for one purpose, by its version and the kernel's.
 */
static const int allowed[] = {
	/* files that are open, or opened for reading */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(preadv2),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(dup),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(getcwd),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(inotify_init1),
	SCMP_SYS(inotify_add_watch),
	SCMP_SYS(inotify_rm_watch),
	SCMP_SYS(pidfd_open),
	/* sockets that are open: the audit, and who watches over it */
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	/* waiting */
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(futex),
	SCMP_SYS(pause),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(timer_settime),
	SCMP_SYS(timer_delete),
	SCMP_SYS(restart_syscall),
	/* memory */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	/* signals to this process */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigsuspend),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sigaltstack),
	/* this process */
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getppid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(getrandom),
	SCMP_SYS(getcpu),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(times),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
};

/* Of this process only, which is the number 0. */
static const int allowed_of_self[] = {
	SCMP_SYS(sched_setaffinity),
	SCMP_SYS(sched_setscheduler),
	SCMP_SYS(prlimit64),
};

static const uint32_t ioctls[] = {
	TCGETS,
	TIOCGWINSZ,
	PERF_EVENT_IOC_ENABLE,
	PERF_EVENT_IOC_DISABLE,
};

static const uint32_t fcntls[] = {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC};

/* What gives a file that is open its name, owner and mode. */
static const int replacing[] = {
	SCMP_SYS(fchmod),   SCMP_SYS(fchown),    SCMP_SYS(linkat),
	SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(unlinkat),
};

/* Which commands of bpf(2) each group allows. */
static const struct {
	unsigned int group;
	uint32_t command;
} commands[] = {
	{PLUMB_CALLS_READ_MAPS, BPF_MAP_LOOKUP_ELEM},
	{PLUMB_CALLS_READ_MAPS, BPF_MAP_GET_NEXT_KEY},
	{PLUMB_CALLS_READ_MAPS, BPF_MAP_LOOKUP_BATCH},
	{PLUMB_CALLS_READ_MAPS, BPF_OBJ_GET_INFO_BY_FD},
	{PLUMB_CALLS_WRITE_MAPS, BPF_MAP_UPDATE_ELEM},
	{PLUMB_CALLS_WRITE_MAPS, BPF_MAP_DELETE_ELEM},
	{PLUMB_CALLS_RUN_PROGRAMS, BPF_PROG_TEST_RUN},
	{PLUMB_CALLS_ITERATE, BPF_LINK_CREATE},
	{PLUMB_CALLS_ITERATE, BPF_ITER_CREATE},
	{PLUMB_CALLS_ATTACH, BPF_LINK_CREATE},
	{PLUMB_CALLS_LOAD, BPF_PROG_LOAD},
	{PLUMB_CALLS_LIST, BPF_PROG_GET_NEXT_ID},
	{PLUMB_CALLS_LIST, BPF_PROG_GET_FD_BY_ID},
	{PLUMB_CALLS_LIST, BPF_LINK_GET_NEXT_ID},
	{PLUMB_CALLS_LIST, BPF_LINK_GET_FD_BY_ID},
	{PLUMB_CALLS_LIST, BPF_BTF_GET_FD_BY_ID},
	{PLUMB_CALLS_LIST, BPF_MAP_GET_FD_BY_ID},
	{PLUMB_CALLS_LIST, BPF_TASK_FD_QUERY},
	{PLUMB_CALLS_LIST, BPF_OBJ_GET_INFO_BY_FD},
};

static int allow(scmp_filter_ctx f, const int *list, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, list[i], 0);
	return err;
}

/* Allows the call if BITS of its argument number I are VALUE. */
static int allow_if(scmp_filter_ctx f, int call, unsigned int i, uint64_t bits, uint64_t value)
{
	return seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(i, SCMP_CMP_MASKED_EQ, bits, value));
}

/* The kernel takes the lower half of an argument that is an int. */
static int allow_any(scmp_filter_ctx f, int call, unsigned int i, const uint32_t *values, size_t n)
{
	int err = 0;

	for (size_t v = 0; v < n && !err; v++)
		err = allow_if(f, call, i, UINT32_MAX, values[v]);
	return err;
}

static int allow_bpf(scmp_filter_ctx f, unsigned int calls)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && !err; i++)
		if (calls & commands[i].group)
			err = allow_if(f, SCMP_SYS(bpf), 0, UINT32_MAX, commands[i].command);
	if (!err && calls & PLUMB_CALLS_EVENTS)
		err = allow(f, (const int[]){SCMP_SYS(perf_event_open)}, 1)
			      ?: allow_if(f, SCMP_SYS(ioctl), 1, UINT32_MAX,
					  PERF_EVENT_IOC_SET_BPF);
	return err;
}

/* Access mode 3, for ioctl() only, is allowed to none. */
static int allow_opening(scmp_filter_ctx f, int call, unsigned int flags, unsigned int calls)
{
	const uint64_t makes = calls & PLUMB_CALLS_CREATE ? 0 : O_CREAT | O_TRUNC;
	int err = allow_if(f, call, flags, O_ACCMODE | makes, O_RDONLY);

	if (!err && calls & (PLUMB_CALLS_CREATE | PLUMB_CALLS_WRITE))
		err = allow_if(f, call, flags, O_ACCMODE | makes, O_WRONLY)
			      ?: allow_if(f, call, flags, O_ACCMODE | makes, O_RDWR);
	return err;
}

static int allow_files(scmp_filter_ctx f, unsigned int calls)
{
	int err = allow_opening(f, SCMP_SYS(open), 1, calls) ?:
		  allow_opening(f, SCMP_SYS(openat), 2, calls) ?:
		  allow_opening(f, SCMP_SYS(open_by_handle_at), 2, 0) ?:
		  allow_any(f, SCMP_SYS(fcntl), 1, fcntls, sizeof(fcntls) / sizeof(fcntls[0])) ?:
		  allow_any(f, SCMP_SYS(ioctl), 1, ioctls, sizeof(ioctls) / sizeof(ioctls[0]));

	/* Nobody is sent a signal when the descriptor is ready, as by F_SETOWN of another process.
	 */
	err = err
		      ?: seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2,
					  SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETOWN),
					  SCMP_A2(SCMP_CMP_EQ, 0, 0));
	/* Without O_APPEND what others wrote could be overwritten. */
	if (!err && calls & (PLUMB_CALLS_CREATE | PLUMB_CALLS_WRITE))
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETFL),
				       SCMP_A2(SCMP_CMP_MASKED_EQ, O_ASYNC, 0));
	if (!err && calls & PLUMB_CALLS_TRUNCATE)
		err = allow(f, (const int[]){SCMP_SYS(ftruncate)}, 1);
	if (!err && calls & (PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE))
		err = allow(f, replacing, sizeof(replacing) / sizeof(replacing[0]));
	return err;
}

/* raise(3) and abort(3) signal this process. */
static int allow_signals(scmp_filter_ctx f, unsigned int calls, pid_t to)
{
	int err = allow_if(f, SCMP_SYS(tgkill), 0, UINT32_MAX, getpid());

	if (!err && calls & PLUMB_CALLS_SIGNAL)
		err = to ? allow_if(f, SCMP_SYS(kill), 0, UINT32_MAX, to)
			 : allow(f, (const int[]){SCMP_SYS(pidfd_send_signal)}, 1);
	return err;
}

/*
 * No memory is both written and executed; libraries that are loaded late are mapped to be executed.
 * A process whose personality could be READ_IMPLIES_EXEC would not ask for it.
 */
static int allow_memory(scmp_filter_ctx f)
{
	const int both = PROT_WRITE | PROT_EXEC;

	return allow_if(f, SCMP_SYS(mmap), 2, PROT_WRITE, 0) ?:
	       allow_if(f, SCMP_SYS(mmap), 2, both, PROT_WRITE) ?:
	       allow_if(f, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
}

static int fill(scmp_filter_ctx f, unsigned int calls, pid_t to)
{
	int err = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) ?:
		  seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) ?:
		  allow(f, allowed, sizeof(allowed) / sizeof(allowed[0])) ?:
		  allow_bpf(f, calls) ?:
		  allow_files(f, calls) ?:
		  allow_signals(f, calls, to) ?:
		  /* to no other address than that of the socket */
		  allow_if(f, SCMP_SYS(sendto), 4, UINT64_MAX, 0) ?:
		  allow_memory(f);

	if (!err && calls & PLUMB_CALLS_CONNECT)
		err = allow(f, (const int[]){SCMP_SYS(connect)}, 1);
	for (size_t i = 0; i < sizeof(allowed_of_self) / sizeof(allowed_of_self[0]) && !err; i++)
		err = allow_if(f, allowed_of_self[i], 0, UINT32_MAX, 0);
	return err
		       ?: seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0)
		       ?: seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int plumb_calls_filter(unsigned int calls, pid_t to)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = f ? fill(f, calls, to) : -ENOMEM;

	/* Refused calls are unusual: the kernel logs them.  Kernels before 4.14 cannot. */
	if (!err)
		seccomp_attr_set(f, SCMP_FLTATR_CTL_LOG, 1);
	err = err ?: seccomp_load(f);
	seccomp_release(f);
	/* libseccomp reports what it does not know by ECANCELED. */
	if (err == -EINVAL || err == -ENOSYS || err == -ECANCELED)
		return 1;
	return err;
}
