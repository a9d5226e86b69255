/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/parse.h>
#include <plumb/syscalls/syscalls.h>

/* Parses "syscall_600" or "syscall_-1", which rows print for calls without a name. */
static int other_number(const char *name, uint32_t *nr)
{
	bool negative = !strncmp(name, "syscall_-", 9);
	uint64_t value;

	if (strncmp(name, "syscall_", 8) ||
	    plumb_parse_u64(name + 8 + negative, negative, (uint64_t)INT32_MAX + negative, &value))
		return -ENOENT;
	*nr = negative ? -value : value;
	return 0;
}

static int list_other(struct syscall_config *config, uint32_t nr, uint32_t abi)
{
	if (config->n_others == PLUMB_OTHER_SYSCALLS)
		return -E2BIG;
	config->others[config->n_others++] = (uint64_t)abi << 32 | nr;
	return 0;
}

/* The call NAME, as rows print it: its number, and its table. */
static int find(const char *name, uint32_t *nr, uint32_t *abi)
{
	uint32_t x32 = 0;
	int known;

	*abi = !strncmp(name, PLUMB_COMPAT_PREFIX, strlen(PLUMB_COMPAT_PREFIX));

#if defined(__x86_64__)
	x32 = !strncmp(name, "x32:", 4) ? PLUMB_X32_BIT : 0;
#endif
	name += *abi ? strlen(PLUMB_COMPAT_PREFIX) : x32 ? 4 : 0;
	known = plumb_syscall_number(name, *abi);
	*nr = known;
	if (known < 0 && other_number(name, nr))
		return -ENOENT;
	/* Rows print negative numbers without a prefix, and x32 calls without the x32 bit. */
	if (x32 && *nr & 3 * PLUMB_X32_BIT)
		return -ENOENT;
	*nr |= x32;
	return 0;
}

int plumb_syscall_select(struct syscall_config *config, const char *name)
{
	uint32_t nr, abi, i;
	int err = find(name, &nr, &abi);

	if (err)
		return err;
	i = nr + abi * PLUMB_SYSCALLS;
	if (nr < PLUMB_SYSCALLS)
		config->bitmap[i / 64] |= 1ULL << i % 64;
	else
		err = list_other(config, nr, abi);
	config->selected |= !err;
	return err;
}

int plumb_syscall_except(struct syscall_config *config, const char *name)
{
	uint32_t nr, abi, i;
	int err = find(name, &nr, &abi);

	if (err)
		return err;
	if (!config->others_but)
		memset(config->bitmap, 0xff, sizeof(config->bitmap));
	i = nr + abi * PLUMB_SYSCALLS;
	if (nr < PLUMB_SYSCALLS)
		config->bitmap[i / 64] &= ~(1ULL << i % 64);
	else
		err = list_other(config, nr, abi);
	config->selected = config->others_but = 1;
	return err;
}

/* Deselects all calls but the native ones in NAMES, a list separated by single blanks. */
static void keep(struct syscall_config *config, const char *names)
{
	char *copy = strdup(names), *rest = copy, *name;
	struct syscall_config kept = {};

	while (copy && (name = strsep(&rest, " ")))
		plumb_syscall_select(&kept, name); /* some architectures lack some of them */
	free(copy);
	for (size_t i = 0; i < sizeof(kept.bitmap) / sizeof(kept.bitmap[0]); i++)
		kept.bitmap[i] &= config->selected ? config->bitmap[i] : ~0ULL;
	memcpy(config->bitmap, kept.bitmap, sizeof(kept.bitmap));
	config->n_others = config->others_but = 0;
	config->selected = 1;
}

void plumb_syscall_narrow_sized(struct syscall_config *config)
{
	keep(config, "read write pread64 pwrite64 recvfrom sendto getdents getdents64 readahead "
		     "mq_timedsend mq_timedreceive msgsnd msgrcv");
}

void plumb_syscall_narrow_fd(struct syscall_config *config)
{
	keep(config,
	     "accept accept4 bind cachestat close connect copy_file_range dup dup2 dup3 epoll_ctl "
	     "epoll_pwait epoll_pwait2 epoll_wait execveat faccessat faccessat2 fadvise64 "
	     "fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl "
	     "file_getattr file_setattr fspick getxattrat kexec_file_load landlock_add_rule "
	     "landlock_restrict_self listxattrat open_tree_attr quotactl_fd removexattrat "
	     "setxattrat "
	     "fdatasync fgetxattr finit_module flistxattr flock fremovexattr fsconfig fsetxattr "
	     "fsmount fstat fstatfs fsync ftruncate futimesat getdents getdents64 getpeername "
	     "getsockname getsockopt inotify_add_watch inotify_rm_watch io_uring_enter "
	     "io_uring_register ioctl linkat listen lseek mkdirat mknodat mount_setattr move_mount "
	     "mq_getsetattr mq_notify "
	     "mq_timedreceive mq_timedsend name_to_handle_at newfstatat open_by_handle_at "
	     "open_tree openat openat2 pidfd_getfd pidfd_send_signal pread64 process_madvise "
	     "process_mrelease preadv preadv2 "
	     "pwrite64 pwritev pwritev2 read readahead readlinkat readv recvfrom recvmmsg recvmsg "
	     "renameat renameat2 sendfile sendmmsg sendmsg sendto setns setsockopt shutdown "
	     "signalfd signalfd4 splice statx sync_file_range syncfs tee timerfd_gettime "
	     "timerfd_settime unlinkat utimensat vmsplice write writev");
}

bool plumb_syscall_is_selected(const struct syscall_config *config, uint32_t nr, uint32_t abi)
{
	const uint32_t i = nr + abi * PLUMB_SYSCALLS;
	const uint64_t call = (uint64_t)abi << 32 | nr;

	if (!config->selected)
		return true;
	if (nr < PLUMB_SYSCALLS)
		return config->bitmap[i / 64] >> i % 64 & 1;
	for (uint32_t n = 0; n < config->n_others; n++)
		if (config->others[n] == call)
			return !config->others_but;
	return config->others_but;
}

bool plumb_syscall_none(const struct syscall_config *config)
{
	uint64_t any = config->n_others | config->others_but;

	for (size_t i = 0; i < sizeof(config->bitmap) / sizeof(config->bitmap[0]); i++)
		any |= config->bitmap[i];
	return config->selected && !any;
}

int plumb_syscall_selected(const struct syscall_config *config, uint32_t *nrs, int max)
{
	int n = 0;

	for (uint32_t i = 0; i < 2 * PLUMB_SYSCALLS; i++) {
		if (!(config->bitmap[i / 64] >> i % 64 & 1))
			continue;
		if (i >= PLUMB_SYSCALLS || n == max)
			return -1;
		nrs[n++] = i;
	}
	return config->selected && n && !config->n_others && !config->others_but ? n : -1;
}
