/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/guard/confine.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <plumb/core/log.h>

/*
 * --- the filter of system calls ---
 *
 * It lists what is allowed: whatever else there is, or will be, can do what one did not think of.
 * What a pointer leads to cannot be filtered: openat2() and clone3() do not exist here (ENOSYS), as
 * in containers, so that libc does without.
 */

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

static void add(char *text, size_t size, const char *before, const char *more)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s%s", n ? before : "", more);
}

/* Appends what CALLS allows to TEXT, after a comma: "bpf(2) to read maps". */
static void name_calls(unsigned int calls, char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (calls & names[i].group)
			add(text, size, ", ", names[i].name);
}

/*
 * What reads, waits, and manages the memory of this process; libseccomp omits those that an
 * architecture does not have.  glibc has several for one purpose, by its version and the kernel's.
 */
static const int allowed[] = {
	/* files that are open, or opened for reading */
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(preadv2),
	SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(close), SCMP_SYS(close_range),
	SCMP_SYS(dup), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
	SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(access), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
	SCMP_SYS(getcwd), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(inotify_init1),
	SCMP_SYS(inotify_add_watch), SCMP_SYS(inotify_rm_watch), SCMP_SYS(pidfd_open),
	/* sockets that are open: the audit, and who watches over it */
	SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
	/* waiting */
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(futex), SCMP_SYS(pause), SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(timer_settime), SCMP_SYS(timer_delete),
	SCMP_SYS(restart_syscall),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* signals to this process */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigsuspend), SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sigaltstack),
	/* this process */
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid),
	SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
	SCMP_SYS(getrlimit), SCMP_SYS(getrusage), SCMP_SYS(getrandom), SCMP_SYS(getcpu),
	SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(times), SCMP_SYS(capget), SCMP_SYS(capset),
	SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler)};

/* The kernel takes the lower half of an argument that is an int. */
#define INT UINT32_MAX

/*
 * What is allowed if BITS of argument I are VALUE (BITS 0: whatever its arguments are), to all or,
 * if there are any, to these groups.
 */
static const struct {
	int call;
	unsigned int groups, i;
	uint64_t bits, value;
} rules[] = {
	/* of this process, which is the number 0 */
	{SCMP_SYS(sched_setaffinity), 0, 0, INT, 0},
	{SCMP_SYS(sched_setscheduler), 0, 0, INT, 0},
	{SCMP_SYS(prlimit64), 0, 0, INT, 0},
	{SCMP_SYS(ioctl), 0, 1, INT, TCGETS},
	{SCMP_SYS(ioctl), 0, 1, INT, TIOCGWINSZ},
	{SCMP_SYS(ioctl), 0, 1, INT, PERF_EVENT_IOC_ENABLE},
	{SCMP_SYS(ioctl), 0, 1, INT, PERF_EVENT_IOC_DISABLE},
	{SCMP_SYS(ioctl), PLUMB_CALLS_EVENTS, 1, INT, PERF_EVENT_IOC_SET_BPF},
	{SCMP_SYS(perf_event_open), PLUMB_CALLS_EVENTS, 0, 0, 0},
	{SCMP_SYS(fcntl), 0, 1, INT, F_GETFD},
	{SCMP_SYS(fcntl), 0, 1, INT, F_SETFD},
	{SCMP_SYS(fcntl), 0, 1, INT, F_GETFL},
	{SCMP_SYS(fcntl), 0, 1, INT, F_DUPFD},
	{SCMP_SYS(fcntl), 0, 1, INT, F_DUPFD_CLOEXEC},
	/* to no other address than that of the socket */
	{SCMP_SYS(sendto), 0, 4, UINT64_MAX, 0},
	{SCMP_SYS(connect), PLUMB_CALLS_CONNECT, 0, 0, 0},
	/*
	 * No memory is both written and executed; libraries that are loaded late are mapped to be
	 * executed.  A process whose personality could be READ_IMPLIES_EXEC would not ask for it.
	 */
	{SCMP_SYS(mmap), 0, 2, PROT_WRITE, 0},
	{SCMP_SYS(mmap), 0, 2, PROT_WRITE | PROT_EXEC, PROT_WRITE},
	{SCMP_SYS(mprotect), 0, 2, PROT_EXEC, 0},
	/* what gives a file that is open its name, owner and mode */
	{SCMP_SYS(fchmod), PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE, 0, 0, 0},
	{SCMP_SYS(fchown), PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE, 0, 0, 0},
	{SCMP_SYS(linkat), PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE, 0, 0, 0},
	{SCMP_SYS(renameat), PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE, 0, 0, 0},
	{SCMP_SYS(renameat2), PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE, 0, 0, 0},
	{SCMP_SYS(unlinkat), PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE, 0, 0, 0},
	{SCMP_SYS(ftruncate), PLUMB_CALLS_TRUNCATE, 0, 0, 0},
	{SCMP_SYS(bpf), PLUMB_CALLS_READ_MAPS, 0, INT, BPF_MAP_LOOKUP_ELEM},
	{SCMP_SYS(bpf), PLUMB_CALLS_READ_MAPS, 0, INT, BPF_MAP_GET_NEXT_KEY},
	{SCMP_SYS(bpf), PLUMB_CALLS_READ_MAPS, 0, INT, BPF_MAP_LOOKUP_BATCH},
	{SCMP_SYS(bpf), PLUMB_CALLS_READ_MAPS, 0, INT, BPF_OBJ_GET_INFO_BY_FD},
	{SCMP_SYS(bpf), PLUMB_CALLS_WRITE_MAPS, 0, INT, BPF_MAP_UPDATE_ELEM},
	{SCMP_SYS(bpf), PLUMB_CALLS_WRITE_MAPS, 0, INT, BPF_MAP_DELETE_ELEM},
	{SCMP_SYS(bpf), PLUMB_CALLS_RUN_PROGRAMS, 0, INT, BPF_PROG_TEST_RUN},
	{SCMP_SYS(bpf), PLUMB_CALLS_ITERATE, 0, INT, BPF_LINK_CREATE},
	{SCMP_SYS(bpf), PLUMB_CALLS_ITERATE, 0, INT, BPF_ITER_CREATE},
	{SCMP_SYS(bpf), PLUMB_CALLS_ATTACH, 0, INT, BPF_LINK_CREATE},
	{SCMP_SYS(bpf), PLUMB_CALLS_LOAD, 0, INT, BPF_PROG_LOAD},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_PROG_GET_NEXT_ID},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_PROG_GET_FD_BY_ID},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_LINK_GET_NEXT_ID},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_LINK_GET_FD_BY_ID},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_BTF_GET_FD_BY_ID},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_MAP_GET_FD_BY_ID},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_TASK_FD_QUERY},
	{SCMP_SYS(bpf), PLUMB_CALLS_LIST, 0, INT, BPF_OBJ_GET_INFO_BY_FD},
};

/* Allows the call if BITS of its argument number I are VALUE. */
static int allow_if(scmp_filter_ctx f, int call, unsigned int i, uint64_t bits, uint64_t value)
{
	return seccomp_rule_add(f, SCMP_ACT_ALLOW, call, bits != 0,
				SCMP_CMP(i, SCMP_CMP_MASKED_EQ, bits, value));
}

static int allow_listed(scmp_filter_ctx f, unsigned int calls)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && !err; i++)
		err = allow_if(f, allowed[i], 0, 0, 0);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && !err; i++)
		if (!rules[i].groups || calls & rules[i].groups)
			err = allow_if(f, rules[i].call, rules[i].i, rules[i].bits, rules[i].value);
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
		  /* Nobody is sent a signal when the descriptor is ready: F_SETOWN of no process. */
		  seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2,
				   SCMP_A1(SCMP_CMP_MASKED_EQ, INT, F_SETOWN),
				   SCMP_A2(SCMP_CMP_EQ, 0, 0));

	/* Without O_APPEND what others wrote could be overwritten. */
	if (!err && calls & (PLUMB_CALLS_CREATE | PLUMB_CALLS_WRITE))
		err = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, INT, F_SETFL),
				       SCMP_A2(SCMP_CMP_MASKED_EQ, O_ASYNC, 0));
	return err;
}

/* raise(3) and abort(3) signal this process. */
static int allow_signals(scmp_filter_ctx f, unsigned int calls, pid_t to)
{
	int err = allow_if(f, SCMP_SYS(tgkill), 0, INT, getpid());

	if (!err && calls & PLUMB_CALLS_SIGNAL)
		err = to ? allow_if(f, SCMP_SYS(kill), 0, INT, to)
			 : allow_if(f, SCMP_SYS(pidfd_send_signal), 0, 0, 0);
	return err;
}

static int fill(scmp_filter_ctx f, unsigned int calls, pid_t to)
{
	int err = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) ?:
		  seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) ?:
		  allow_listed(f, calls) ?:
		  allow_files(f, calls) ?:
		  allow_signals(f, calls, to);

	return err
		       ?: seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0)
		       ?: seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/*
 * Loads the filter for this thread, where PLUMB_CALLS_SIGNAL is of the process TO, or if it
 * is 0 of those whose pidfds are open; 1: this kernel has no filters; or -errno.
 */
static int filter_calls(unsigned int calls, pid_t to)
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

/* --- capabilities --- */

static uint64_t held(cap_t caps, cap_flag_t set)
{
	cap_flag_value_t value;
	uint64_t bits = 0;

	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (!cap_get_flag(caps, c, set, &value) && value == CAP_SET)
			bits |= 1ULL << c;
	return bits;
}

static int set(cap_t caps, cap_flag_t which, uint64_t bits, cap_flag_value_t value)
{
	int err = 0;

	for (cap_value_t c = 0; c < cap_max_bits() && !err; c++)
		if (bits >> c & 1)
			err = cap_set_flag(caps, which, 1, &c, value);
	return err;
}

/*
 * The bounding set can only be changed by who holds CAP_SETPCAP; without it, no_new_privs is what
 * keeps execve() from giving anything.
 */
static void drop_bounding(void)
{
	for (cap_value_t c = 0; c < cap_max_bits(); c++)
		if (cap_get_bound(c) == 1 && cap_drop_bound(c))
			return;
}

/* Drops all but WANTED, which then has those of them that are held. */
static int drop(uint64_t *wanted)
{
	cap_t caps = cap_get_proc(), less = cap_init();
	int err = caps && less ? 0 : -1;

	if (!err) {
		*wanted &= held(caps, CAP_PERMITTED);
		drop_bounding();
		cap_reset_ambient(); /* kernels before 4.3 have none */
		err = set(less, CAP_PERMITTED, *wanted, CAP_SET) ?:
		      set(less, CAP_EFFECTIVE, *wanted, CAP_SET) ?:
		      cap_set_proc(less);
	}
	err = err ? -errno : 0;
	cap_free(caps);
	cap_free(less);
	return err;
}

/* "keeps bpf(2) to read maps for reports; CAP_SYS_PTRACE for names of user stacks" */
static void tell(uint64_t kept, bool filtered)
{
	char text[768] = "", one[256];
	const struct plumb_kept *list;
	pid_t to;
	size_t n;

	list = plumb_kept(&n, &to);
	for (size_t i = 0; i < n; i++) {
		*one = 0;
		plumb_capability_names(list[i].capabilities & kept, false, one, sizeof(one));
		name_calls(list[i].calls, one, sizeof(one));
		if (!*one)
			continue;
		add(text, sizeof(text), "; ", one);
		add(text, sizeof(text), " for ", list[i].why);
	}
	plumb_info("confined: keeps %s%s%s%s", kept ? "" : "no capability",
		   kept || !*text ? "" : "; ", text,
		   filtered ? "" : "; all system calls, since this kernel has no seccomp filters");
}

/*
 * Without capabilities, processes of the same user could attach to this one and take the file
 * descriptors of its maps and programs.  If a file gave the capabilities, execve() has seen to it;
 * a parent may have given them, too.
 */
static int give_up(uint64_t *kept)
{
	int err = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			  ? -errno
			  : drop(kept);

	return err ? plumb_error(err, "cannot drop capabilities: %s", strerror(-err)) : 0;
}

int plumb_give_up(uint64_t kept)
{
	char names[256] = "";
	int err = give_up(&kept);

	if (!err)
		plumb_info("keeps %s while it measures",
			   plumb_capability_names(kept, false, names, sizeof(names)));
	return err;
}

int plumb_confine(void)
{
	const struct plumb_kept *list;
	unsigned int calls = 0;
	uint64_t kept = 0;
	pid_t signalled;
	size_t n;
	int err;

	list = plumb_kept(&n, &signalled);
	for (size_t i = 0; i < n; i++) {
		kept |= list[i].capabilities;
		calls |= list[i].calls;
	}
	err = give_up(&kept);
	if (err)
		return err;
	err = filter_calls(calls, signalled);
	if (err < 0)
		return plumb_error(err, "cannot filter its own system calls: %s", strerror(-err));
	tell(kept, !err);
	return 0;
}
