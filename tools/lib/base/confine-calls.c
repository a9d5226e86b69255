/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * confine: the filter of system calls.
 *
 * It lists what is refused, since what reads is not the same on each machine and with each libc.
 * What a pointer leads to cannot be filtered: openat2() and clone3() do not exist here (ENOSYS), as
 * in containers.
 */
#include "confine-calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <plumb/base/confine.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

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

/* Always refused; libseccomp omits those that an architecture does not have. */
static const int refused[] = {
	/* other programs */
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(process_madvise),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(kcmp),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(move_pages),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(tkill),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	/* sockets; those that are open can be used */
	SCMP_SYS(socket),
	SCMP_SYS(socketpair),
	SCMP_SYS(bind),
	SCMP_SYS(listen),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(socketcall),
	/* calls that no filter sees */
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	/* the system */
	SCMP_SYS(mount),
	SCMP_SYS(umount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(syslog),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(vhangup),
	/* keys, namespaces, identity */
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(setns),
	SCMP_SYS(unshare),
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setreuid),
	SCMP_SYS(setregid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid),
	/* files */
	SCMP_SYS(chmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(chown),
	SCMP_SYS(lchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(link),
	SCMP_SYS(symlink),
	SCMP_SYS(symlinkat),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rmdir),
	SCMP_SYS(unlink),
	SCMP_SYS(rename),
	SCMP_SYS(truncate),
	SCMP_SYS(creat),
	SCMP_SYS(setxattr),
	SCMP_SYS(lsetxattr),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(removexattr),
	SCMP_SYS(lremovexattr),
	SCMP_SYS(fremovexattr),
	SCMP_SYS(utime),
	SCMP_SYS(utimes),
	SCMP_SYS(utimensat),
	SCMP_SYS(futimesat),
	SCMP_SYS(fallocate),
	SCMP_SYS(fanotify_init),
	SCMP_SYS(memfd_create),
	/* objects of IPC */
	SCMP_SYS(mq_open),
	SCMP_SYS(mq_unlink),
	SCMP_SYS(shmget),
	SCMP_SYS(shmctl),
	SCMP_SYS(semget),
	SCMP_SYS(semctl),
	SCMP_SYS(msgget),
	SCMP_SYS(msgctl),
	SCMP_SYS(ipc),
};

/*
 * Calls that libseccomp does not know by name yet.  Since 5.1 a new call has one number on all
 * architectures.
 */
static const int refused_newer[] = {
	452, /* fchmodat2, 6.6 */
	463, /* setxattrat, 6.13 */
	466, /* removexattrat, 6.13 */
	467, /* open_tree_attr, 6.15 */
	469, /* file_setattr, 6.17 */
};

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

/* Above all commands that this table and any kernel have. */
#define COMMANDS 64

static bool is_allowed(uint32_t command, unsigned int calls)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].command == command && calls & commands[i].group)
			return true;
	return false;
}

static int refuse(scmp_filter_ctx f, const int *list, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), list[i], 0);
	return err;
}

static int refuse_bpf(scmp_filter_ctx f, unsigned int calls)
{
	int err = 0;

	for (uint32_t c = 0; c < COMMANDS && !err; c++)
		if (!is_allowed(c, calls))
			err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 1,
					       SCMP_A0(SCMP_CMP_EQ, c, 0));
	err = err
		      ?: seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 1,
					  SCMP_A0(SCMP_CMP_GE, COMMANDS, 0));
	if (!err && !(calls & PLUMB_CALLS_EVENTS))
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(perf_event_open), 0);
	return err;
}

/* Refuses the call if BITS of its argument number I are VALUE. */
static int refuse_if(scmp_filter_ctx f, int call, unsigned int i, uint64_t bits, uint64_t value)
{
	return seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), call, 1,
				SCMP_CMP(i, SCMP_CMP_MASKED_EQ, bits, value));
}

/* ACCESS_MODE 3 is for ioctl() only. */
static int refuse_writing(scmp_filter_ctx f, int call, unsigned int flags, unsigned int calls)
{
	int err = 0;

	if (!(calls & PLUMB_CALLS_CREATE))
		err = refuse_if(f, call, flags, O_CREAT, O_CREAT)
			      ?: refuse_if(f, call, flags, O_TRUNC, O_TRUNC);
	if (!err && !(calls & (PLUMB_CALLS_CREATE | PLUMB_CALLS_WRITE)))
		err = refuse_if(f, call, flags, O_ACCMODE, O_WRONLY) ?:
		      refuse_if(f, call, flags, O_ACCMODE, O_RDWR) ?:
		      refuse_if(f, call, flags, O_ACCMODE, O_ACCMODE);
	return err;
}

static int refuse_files(scmp_filter_ctx f, unsigned int calls)
{
	int err = refuse_writing(f, SCMP_SYS(open), 1, calls) ?:
		  refuse_writing(f, SCMP_SYS(openat), 2, calls) ?:
		  refuse_writing(f, SCMP_SYS(open_by_handle_at), 2, 0);

	/* Without O_APPEND what others wrote could be overwritten. */
	if (!err && !(calls & (PLUMB_CALLS_CREATE | PLUMB_CALLS_WRITE)))
		err = refuse_if(f, SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFL);
	if (!err && !(calls & PLUMB_CALLS_TRUNCATE))
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ftruncate), 0);
	if (!err && !(calls & (PLUMB_CALLS_REPLACE | PLUMB_CALLS_CREATE)))
		err = refuse(f, replacing, sizeof(replacing) / sizeof(replacing[0]));
	return err;
}

/* One by one: a comparison is of all bits of a mask. */
static int refuse_namespaces(scmp_filter_ctx f)
{
	int err = 0;

	for (uint64_t bit = 1; bit <= 1ULL << 31 && !err; bit <<= 1)
		if (NAMESPACES & bit)
			err = refuse_if(f, SCMP_SYS(clone), 0, bit, bit);
	return err;
}

/* Of others, signal 0 tells whether a process is there; raise(3) signals this process. */
static int refuse_signals(scmp_filter_ctx f, unsigned int calls)
{
	int err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
				   SCMP_A0(SCMP_CMP_NE, getpid(), 0));

	if (!err && !(calls & PLUMB_CALLS_SIGNAL))
		err = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 1,
				       SCMP_A1(SCMP_CMP_NE, 0, 0))
			      ?: refuse(f, (const int[]){SCMP_SYS(pidfd_send_signal)}, 1);
	return err;
}

/* What changes files that are open for reading: ioctl() of file systems, by their letters. */
static int refuse_ioctls(scmp_filter_ctx f)
{
	static const unsigned int letters[] = {'f', 'v', 'X', 0x94};
	int err = refuse_if(f, SCMP_SYS(ioctl), 1, UINT32_MAX, TIOCSTI);

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]) && !err; i++)
		err = refuse_if(f, SCMP_SYS(ioctl), 1, 0xff00, letters[i] << 8);
	return err;
}

/* Memory that is written and executed; libraries that are loaded late are mapped to be executed. */
static int refuse_code(scmp_filter_ctx f)
{
	const int both = PROT_WRITE | PROT_EXEC;

	return refuse_if(f, SCMP_SYS(mmap), 2, both, both) ?:
	       refuse_if(f, SCMP_SYS(mprotect), 2, PROT_EXEC, PROT_EXEC) ?:
	       refuse_if(f, SCMP_SYS(pkey_mprotect), 2, PROT_EXEC, PROT_EXEC);
}

static int fill(scmp_filter_ctx f, unsigned int calls)
{
	return seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) ?:
	       seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) ?:
	       refuse(f, refused, sizeof(refused) / sizeof(refused[0])) ?:
	       refuse(f, refused_newer, sizeof(refused_newer) / sizeof(refused_newer[0])) ?:
	       refuse_bpf(f, calls) ?:
	       refuse_files(f, calls) ?:
	       refuse_namespaces(f) ?:
	       refuse_signals(f, calls) ?:
	       refuse_ioctls(f) ?:
	       refuse_code(f) ?:
	       /* The limits of other processes. */
	       seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
				SCMP_A0(SCMP_CMP_NE, 0, 0)) ?:
	       seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(openat2), 0) ?:
	       seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int plumb_calls_filter(unsigned int calls)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int err = f ? fill(f, calls) : -ENOMEM;

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
