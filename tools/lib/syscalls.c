/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <asm/unistd.h>
#include <errno.h>
#include <plumb/kernel.h>
#include <plumb/log.h>
#include <plumb/parse.h>
#include <plumb/report.h>
#include <plumb/syscalls.h>
#include <plumb/tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Made by the build from <asm/unistd.h> and, where there is one, <asm/unistd_32.h>. */
static const char *const native_names[PLUMB_SYSCALLS] = {
#include "syscalls-native.inc"
};
static const char *const compat_names[PLUMB_SYSCALLS] = {
#include "syscalls-compat.inc"
};

/*
 * Since 5.1 a new call has one number on all architectures.  These may be newer
 * than the build's headers.
 */
static const struct {
	uint32_t nr;
	const char *name;
} newer[] = {
	{451, "cachestat"},         {452, "fchmodat2"},        {453, "map_shadow_stack"},
	{454, "futex_wake"},        {455, "futex_wait"},       {456, "futex_requeue"},
	{457, "statmount"},         {458, "listmount"},        {459, "lsm_get_self_attr"},
	{460, "lsm_set_self_attr"}, {461, "lsm_list_modules"}, {462, "mseal"},
	{463, "setxattrat"},        {464, "getxattrat"},       {465, "listxattrat"},
	{466, "removexattrat"},     {467, "open_tree_attr"},   {468, "file_getattr"},
	{469, "file_setattr"},      {470, "listns"},           {471, "rseq_slice_yield"},
#if defined(__x86_64__)
	{335, "uretprobe"},         {336, "uprobe"}, /* which no other has */
#endif
};

#if defined(__x86_64__)
#define COMPAT_PREFIX "ia32:"
#else
#define COMPAT_PREFIX "arm:"
#endif

const struct plumb_syscall_table plumb_syscall_tables[2] = {
	[PLUMB_ABI_NATIVE] = {"", native_names, PLUMB_SYSCALLS},
	[PLUMB_ABI_COMPAT] = {COMPAT_PREFIX, compat_names, PLUMB_SYSCALLS},
};

#define X32_BIT 0x40000000U

static const char *name_of(uint32_t nr, uint32_t abi)
{
	if (nr < PLUMB_SYSCALLS && plumb_syscall_tables[abi].names[nr])
		return plumb_syscall_tables[abi].names[nr];
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		if (newer[i].nr == nr)
			return newer[i].name;
	return NULL;
}

const char *plumb_syscall_name(uint32_t nr, uint32_t abi, char *text, size_t size)
{
	const char *prefix = plumb_syscall_tables[abi & 1].prefix, *name;

#if defined(__x86_64__)
	/* x32 calls have numbers of their own from 512, else those of x86_64. */
	if (!abi && (nr & 3 * X32_BIT) == X32_BIT) {
		prefix = "x32:";
		nr &= ~X32_BIT;
	}
#endif
	name = name_of(nr, abi & 1);
	if (name)
		snprintf(text, size, "%s%s", prefix, name);
	else
		snprintf(text, size, "%ssyscall_%d", prefix, (int)nr);
	return text;
}

static int number_of(const char *name, uint32_t abi)
{
	const char *known;

	for (uint32_t i = 0; i < PLUMB_SYSCALLS; i++) {
		known = name_of(i, abi);
		if (known && !strcmp(name, known))
			return i;
	}
	return -1;
}

/* "syscall_600" or "syscall_-1", as rows say of what has no name. */
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

static int select_number(struct syscall_config *config, uint32_t nr, uint32_t abi)
{
	uint32_t i = nr + abi * PLUMB_SYSCALLS;

	if (nr < PLUMB_SYSCALLS)
		config->bitmap[i / 64] |= 1ULL << i % 64;
	else if (config->n_others == PLUMB_OTHER_SYSCALLS)
		return -E2BIG;
	else
		config->others[config->n_others++] = (uint64_t)abi << 32 | nr;
	config->selected = 1;
	return 0;
}

int plumb_syscall_select(struct syscall_config *config, const char *name)
{
	uint32_t abi = !strncmp(name, COMPAT_PREFIX, strlen(COMPAT_PREFIX)), x32 = 0, nr;
	int known;

#if defined(__x86_64__)
	x32 = !strncmp(name, "x32:", 4) ? X32_BIT : 0;
#endif
	name += abi ? strlen(COMPAT_PREFIX) : x32 ? 4 : 0;
	known = number_of(name, abi);
	nr = known;
	if (known < 0 && other_number(name, &nr))
		return -ENOENT;
	/* No row says so: negative numbers are of no table, and x32's bit has its prefix. */
	if (x32 && nr & 3 * X32_BIT)
		return -ENOENT;
	return select_number(config, nr | x32, abi);
}

/* Keeps, of what is selected (or of all), the native calls in NAMES, which one blank separates. */
static void keep(struct syscall_config *config, const char *names)
{
	char *copy = strdup(names), *rest = copy, *name;
	struct syscall_config kept = {};

	while (copy && (name = strsep(&rest, " ")))
		plumb_syscall_select(&kept, name); /* not every architecture has all */
	free(copy);
	for (size_t i = 0; i < sizeof(kept.bitmap) / sizeof(kept.bitmap[0]); i++)
		kept.bitmap[i] &= config->selected ? config->bitmap[i] : ~0ULL;
	memcpy(config->bitmap, kept.bitmap, sizeof(kept.bitmap));
	config->n_others = 0;
	config->selected = 1;
}

void plumb_syscall_keep_sized(struct syscall_config *config)
{
	keep(config, "read write pread64 pwrite64 recvfrom sendto getdents getdents64 readahead "
		     "mq_timedsend mq_timedreceive msgsnd msgrcv");
}

void plumb_syscall_keep_fd(struct syscall_config *config)
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

bool plumb_syscall_is_selected(const struct syscall_config *config, uint32_t nr)
{
	return !config->selected || config->bitmap[nr / 64] >> nr % 64 & 1;
}

bool plumb_syscall_none(const struct syscall_config *config)
{
	uint64_t any = config->n_others;

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
	return config->selected && n && !config->n_others ? n : -1;
}

void plumb_syscall_function(uint32_t nr, char *text, size_t size)
{
#if defined(__x86_64__)
	static const char prefix[] = "__x64_sys_";
#else
	static const char prefix[] = "__arm64_sys_";
#endif
	/* Calls that are implemented under another name (the tables in arch/.../syscall). */
	static const struct {
		const char *call, *function;
	} renamed[] = {
		{"stat", "newstat"},
		{"lstat", "newlstat"},
		{"fstat", "newfstat"},
		{"uname", "newuname"},
		{"umount2", "umount"},
		{"sendfile", "sendfile64"},
#if defined(__aarch64__)
		{"fadvise64", "fadvise64_64"},
		{"personality", "arm64_personality"},
#endif
	};
	const char *name = name_of(nr, PLUMB_ABI_NATIVE) ?: "?";

	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (!strcmp(name, renamed[i].call))
			name = renamed[i].function;
	snprintf(text, size, "%s%s", prefix, name);
}

static void find_numbers(int32_t *numbers, const char *const *names, int n, uint32_t abi)
{
	for (int i = 0; i < n; i++) {
		numbers[i] = number_of(names[i], abi);
		if (numbers[i] < 0)
			numbers[i] = PLUMB_NO_SYSCALL;
	}
}

static void find_namesakes(struct syscall_config *config)
{
	const __u64 *compat = config->bitmap + PLUMB_SYSCALLS / 64;
	const char *name;
	int other;

	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS && config->selected; nr++) {
		name = plumb_syscall_is_selected(config, nr) ? name_of(nr, PLUMB_ABI_NATIVE) : NULL;
		other = name ? number_of(name, PLUMB_ABI_COMPAT) : -1;
		if (other < 0 || compat[other / 64] >> other % 64 & 1)
			continue;
		config->namesakes[other / 64] |= 1ULL << other % 64;
		config->n_namesakes++;
	}
}

/* The calibration's call passes every filter that there is, so that it costs what they cost. */
static void take_calibration(struct syscall_config *config)
{
	memset(config->bitmap, 0, sizeof(config->bitmap));
	config->bitmap[PLUMB_CALIBRATION_NR / 64] |= 1ULL << PLUMB_CALIBRATION_NR % 64;
	config->fd = -1; /* its argument */
	config->min_size = 0;
	config->max_size = UINT64_MAX;
	config->min_ns = !!config->min_ns;
}

void plumb_syscall_configure(struct syscall_config *config, const struct syscall_config *selection,
			     bool twin)
{
	static const char *const forks[] = {"clone", "clone3", "fork", "vfork"};
	static const char *const sigreturns[] = {"rt_sigreturn", "sigreturn"};
	static const char *const renames[] = {"execve", "execveat", "prctl"};

	*config = *selection;
	if (twin)
		take_calibration(config);
	else
		find_namesakes(config);
	for (uint32_t abi = 0; abi < 2; abi++) {
		find_numbers(config->forks[abi], forks, 4, abi);
		find_numbers(config->sigreturns[abi], sigreturns, 2, abi);
		find_numbers(config->renames[abi], renames, 3, abi);
	}
}

/* What ends a call before what begins it: each end has an entry, or is older than the trace. */
const char *const plumb_syscall_tp_programs[] = {"thread_exit",
						 "thread_fork",
						 "process_free",
						 "thread_woken",
						 "thread_woken_by_count",
						 "thread_leaves",
						 "tp_exit",
						 "tp_enter",
						 NULL};
const char *const plumb_syscall_raw_programs[] = {"thread_exit",
						  "thread_fork",
						  "process_free",
						  "thread_woken",
						  "thread_woken_by_count",
						  "thread_leaves",
						  "thread_preempted",
						  "raw_exit",
						  "raw_enter",
						  NULL};

const char *plumb_syscall_tp_outdone(void)
{
	/* Else raw_tracepoint costs less and misses nothing either. */
	return plumb_raw_tracepoints_can_be_preempted() ? NULL : "";
}

static void list_names(void)
{
	const char *name;

	for (uint32_t abi = 0; abi < 2; abi++)
		for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++) {
			name = name_of(nr, abi);
			/* A table that the build could not make has but the newest names. */
			if (name && plumb_syscall_tables[abi].names[1])
				printf("%s%s\n", plumb_syscall_tables[abi].prefix, name);
		}
	exit(plumb_close_stdout(0));
}

static int add(const char *item, void *context)
{
	const char *near;
	int err;

	if (!strcmp(item, "help"))
		list_names();
	err = plumb_syscall_select(context, item);
	if (!err)
		return 0;
	if (err == -E2BIG)
		plumb_usage_error("--syscall: at most %d numbers without a name: %s",
				  PLUMB_OTHER_SYSCALLS, item);
	near = plumb_nearest(item, native_names, PLUMB_SYSCALLS);
	plumb_usage_error("--syscall: no such system call: %s%s%s%s", item,
			  near ? "; did you mean " : "", near ?: "",
			  near ? "?" : " (-s help lists them)");
}

void plumb_syscall_option(struct syscall_config *config, const char *list)
{
	if (plumb_parse_list(list, add, config))
		plumb_usage_error("--syscall: an empty item in '%s'", list);
}

void plumb_syscall_keep(struct syscall_config *config)
{
	if (config->has_fd)
		plumb_syscall_keep_fd(config);
	if (config->has_size)
		plumb_syscall_keep_sized(config);
	if (plumb_syscall_none(config))
		plumb_usage_error("none of the selected system calls has a %s",
				  config->has_size ? "size" : "file descriptor");
}

static void format_syscall(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;

	plumb_syscall_name(k->nr, k->abi, text, size);
}

static void format_errno(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;

	snprintf(text, size, "%s", k->error ? plumb_errno_name(k->error) : "0");
}

const struct plumb_field plumb_syscall_fields[] = {
	{"syscall", PLUMB_BY_SYSCALL, false, format_syscall, NULL},
	{"errno", PLUMB_BY_ERRNO, false, format_errno, NULL},
};
const size_t plumb_n_syscall_fields =
	sizeof(plumb_syscall_fields) / sizeof(plumb_syscall_fields[0]);
