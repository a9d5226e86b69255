/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of the values that arguments of system calls have.  Their order is that of their output. */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <plumb/syscalls/arguments.h>

/* The C library's O_LARGEFILE is 0, since it has no calls without it. */
#if defined(__aarch64__)
#define LARGEFILE 0400000
#else
#define LARGEFILE 0100000
#endif

/* clang-format off */
/* A flag; one of the values of some bits, or of all. */
#define F(name)       {name, name, #name}
#define V(name, mask) {name, mask, #name}
#define E(name)       {name, UINT32_MAX, #name}
#define END           {}

static const struct plumb_value_name open_flags[] = {
	V(O_RDONLY, O_ACCMODE), V(O_WRONLY, O_ACCMODE), V(O_RDWR, O_ACCMODE),
	F(O_CREAT), F(O_EXCL), F(O_NOCTTY), F(O_TRUNC), F(O_APPEND), F(O_NONBLOCK), F(O_SYNC), F(O_DSYNC), F(O_ASYNC),
	F(O_DIRECT), {LARGEFILE, LARGEFILE, "O_LARGEFILE"}, F(O_NOFOLLOW), F(O_NOATIME), F(O_CLOEXEC), F(O_PATH),
	F(O_TMPFILE), F(O_DIRECTORY), END
};
/* Without the access mode: pipe2, dup3. */
static const struct plumb_value_name pipe_flags[] = {
	F(O_EXCL), F(O_NONBLOCK), F(O_DIRECT), F(O_CLOEXEC), END
};
static const struct plumb_value_name at_flags[] = {
	F(AT_SYMLINK_NOFOLLOW), F(AT_REMOVEDIR), F(AT_SYMLINK_FOLLOW), F(AT_NO_AUTOMOUNT), F(AT_EMPTY_PATH), END
};
/* The same bit as AT_REMOVEDIR. */
static const struct plumb_value_name access_flags[] = {
	F(AT_SYMLINK_NOFOLLOW), F(AT_EACCESS), F(AT_EMPTY_PATH), END
};
static const struct plumb_value_name access_modes[] = {
	E(F_OK), F(R_OK), F(W_OK), F(X_OK), END
};
static const struct plumb_value_name prot[] = {
	E(PROT_NONE), F(PROT_READ), F(PROT_WRITE), F(PROT_EXEC), F(PROT_GROWSDOWN), F(PROT_GROWSUP), END
};
static const struct plumb_value_name map_flags[] = {
	V(MAP_SHARED, MAP_TYPE), V(MAP_PRIVATE, MAP_TYPE), V(MAP_SHARED_VALIDATE, MAP_TYPE),
	F(MAP_FIXED), F(MAP_ANONYMOUS), F(MAP_GROWSDOWN), F(MAP_DENYWRITE), F(MAP_EXECUTABLE), F(MAP_LOCKED), F(MAP_NORESERVE),
	F(MAP_POPULATE), F(MAP_NONBLOCK), F(MAP_STACK), F(MAP_HUGETLB), F(MAP_SYNC), F(MAP_FIXED_NOREPLACE), END
};
static const struct plumb_value_name remap_flags[] = {
	F(MREMAP_MAYMOVE), F(MREMAP_FIXED), END
};
static const struct plumb_value_name sync_flags[] = {
	F(MS_SYNC), F(MS_ASYNC), F(MS_INVALIDATE), END
};
static const struct plumb_value_name madvise_advice[] = {
	E(MADV_NORMAL), E(MADV_RANDOM), E(MADV_SEQUENTIAL), E(MADV_WILLNEED), E(MADV_DONTNEED), E(MADV_FREE), E(MADV_REMOVE),
	E(MADV_DONTFORK), E(MADV_DOFORK), E(MADV_MERGEABLE), E(MADV_UNMERGEABLE), E(MADV_HUGEPAGE), E(MADV_NOHUGEPAGE),
	E(MADV_DONTDUMP), E(MADV_DODUMP), E(MADV_COLD), E(MADV_PAGEOUT), {22, UINT32_MAX, "MADV_POPULATE_READ"},
	{23, UINT32_MAX, "MADV_POPULATE_WRITE"}, {25, UINT32_MAX, "MADV_COLLAPSE"}, END
};
static const struct plumb_value_name file_advice[] = {
	E(POSIX_FADV_NORMAL), E(POSIX_FADV_RANDOM), E(POSIX_FADV_SEQUENTIAL), E(POSIX_FADV_WILLNEED), E(POSIX_FADV_DONTNEED),
	E(POSIX_FADV_NOREUSE), END
};
static const struct plumb_value_name whence[] = {
	E(SEEK_SET), E(SEEK_CUR), E(SEEK_END), E(SEEK_DATA), E(SEEK_HOLE), END
};
static const struct plumb_value_name lock_operations[] = {
	V(LOCK_SH, 11), V(LOCK_EX, 11), V(LOCK_UN, 11), F(LOCK_NB), END
};
static const struct plumb_value_name fcntl_commands[] = {
	E(F_DUPFD), E(F_GETFD), E(F_SETFD), E(F_GETFL), E(F_SETFL), E(F_GETLK), E(F_SETLK), E(F_SETLKW), E(F_SETOWN), E(F_GETOWN),
	E(F_SETSIG), E(F_GETSIG), E(F_SETOWN_EX), E(F_GETOWN_EX), E(F_OFD_GETLK), E(F_OFD_SETLK), E(F_OFD_SETLKW), E(F_SETLEASE),
	E(F_GETLEASE), E(F_NOTIFY), E(F_DUPFD_CLOEXEC), E(F_SETPIPE_SZ), E(F_GETPIPE_SZ), E(F_ADD_SEALS), E(F_GET_SEALS), END
};
static const struct plumb_value_name descriptor_flags[] = {F(FD_CLOEXEC), END};
static const struct plumb_value_name fallocate_modes[] = {
	{1, 1, "FALLOC_FL_KEEP_SIZE"}, {2, 2, "FALLOC_FL_PUNCH_HOLE"}, {8, 8, "FALLOC_FL_COLLAPSE_RANGE"},
	{16, 16, "FALLOC_FL_ZERO_RANGE"}, {32, 32, "FALLOC_FL_INSERT_RANGE"}, {64, 64, "FALLOC_FL_UNSHARE_RANGE"}, END
};
static const struct plumb_value_name range_flags[] = {
	F(SYNC_FILE_RANGE_WAIT_BEFORE), F(SYNC_FILE_RANGE_WRITE), F(SYNC_FILE_RANGE_WAIT_AFTER), END
};
static const struct plumb_value_name splice_flags[] = {
	F(SPLICE_F_MOVE), F(SPLICE_F_NONBLOCK), F(SPLICE_F_MORE), F(SPLICE_F_GIFT), END
};
static const struct plumb_value_name read_flags[] = {
	F(RWF_HIPRI), F(RWF_DSYNC), F(RWF_SYNC), F(RWF_NOWAIT), F(RWF_APPEND), END
};
static const struct plumb_value_name rename_flags[] = {
	F(RENAME_NOREPLACE), F(RENAME_EXCHANGE), F(RENAME_WHITEOUT), END
};

static const struct plumb_value_name families[] = {
	E(AF_UNSPEC), E(AF_UNIX), E(AF_INET), E(AF_AX25), E(AF_IPX), E(AF_APPLETALK), E(AF_INET6), E(AF_KEY), E(AF_NETLINK),
	E(AF_PACKET), E(AF_RDS), E(AF_PPPOX), E(AF_CAN), E(AF_TIPC), E(AF_BLUETOOTH), E(AF_ALG), E(AF_NFC), E(AF_VSOCK), E(AF_KCM),
	E(AF_QIPCRTR), E(AF_SMC), E(AF_XDP), END
};
static const struct plumb_value_name socket_types[] = {
	V(SOCK_STREAM, 15), V(SOCK_DGRAM, 15), V(SOCK_RAW, 15), V(SOCK_RDM, 15), V(SOCK_SEQPACKET, 15), V(SOCK_DCCP, 15),
	V(SOCK_PACKET, 15), F(SOCK_CLOEXEC), F(SOCK_NONBLOCK), END
};
static const struct plumb_value_name socket_flags[] = {F(SOCK_CLOEXEC), F(SOCK_NONBLOCK), END};
static const struct plumb_value_name message_flags[] = {
	F(MSG_OOB), F(MSG_PEEK), F(MSG_DONTROUTE), F(MSG_CTRUNC), F(MSG_PROXY), F(MSG_TRUNC), F(MSG_DONTWAIT), F(MSG_EOR),
	F(MSG_WAITALL), F(MSG_FIN), F(MSG_SYN), F(MSG_CONFIRM), F(MSG_RST), F(MSG_ERRQUEUE), F(MSG_NOSIGNAL), F(MSG_MORE),
	F(MSG_WAITFORONE), F(MSG_ZEROCOPY), F(MSG_FASTOPEN), F(MSG_CMSG_CLOEXEC), END
};
static const struct plumb_value_name shutdowns[] = {E(SHUT_RD), E(SHUT_WR), E(SHUT_RDWR), END};
static const struct plumb_value_name levels[] = {
	{0, UINT32_MAX, "SOL_IP"}, E(SOL_SOCKET), {6, UINT32_MAX, "SOL_TCP"}, {17, UINT32_MAX, "SOL_UDP"}, {41, UINT32_MAX, "SOL_IPV6"},
	{255, UINT32_MAX, "SOL_RAW"}, E(SOL_PACKET), {270, UINT32_MAX, "SOL_NETLINK"}, END
};

static const struct plumb_value_name epoll_operations[] = {
	E(EPOLL_CTL_ADD), E(EPOLL_CTL_DEL), E(EPOLL_CTL_MOD), END
};
static const struct plumb_value_name epoll_flags[] = {F(EPOLL_CLOEXEC), END};
static const struct plumb_value_name eventfd_flags[] = {F(EFD_SEMAPHORE), F(EFD_CLOEXEC), F(EFD_NONBLOCK), END};
static const struct plumb_value_name timerfd_flags[] = {F(TFD_CLOEXEC), F(TFD_NONBLOCK), END};
static const struct plumb_value_name timerfd_set_flags[] = {F(TFD_TIMER_ABSTIME), F(TFD_TIMER_CANCEL_ON_SET), END};
static const struct plumb_value_name signalfd_flags[] = {F(SFD_CLOEXEC), F(SFD_NONBLOCK), END};
static const struct plumb_value_name inotify_flags[] = {F(IN_CLOEXEC), F(IN_NONBLOCK), END};
static const struct plumb_value_name memfd_flags[] = {
	F(MFD_CLOEXEC), F(MFD_ALLOW_SEALING), F(MFD_HUGETLB), {8, 8, "MFD_NOEXEC_SEAL"}, {16, 16, "MFD_EXEC"}, END
};
static const struct plumb_value_name random_flags[] = {F(GRND_NONBLOCK), F(GRND_RANDOM), {4, 4, "GRND_INSECURE"}, END};
static const struct plumb_value_name clocks[] = {
	E(CLOCK_REALTIME), E(CLOCK_MONOTONIC), E(CLOCK_PROCESS_CPUTIME_ID), E(CLOCK_THREAD_CPUTIME_ID), E(CLOCK_MONOTONIC_RAW),
	E(CLOCK_REALTIME_COARSE), E(CLOCK_MONOTONIC_COARSE), E(CLOCK_BOOTTIME), E(CLOCK_REALTIME_ALARM), E(CLOCK_BOOTTIME_ALARM),
	E(CLOCK_TAI), END
};
static const struct plumb_value_name timer_flags[] = {F(TIMER_ABSTIME), END};

/* Its flags are added to the name (arguments.c). */
#define C(name) {name, FUTEX_CMD_MASK & UINT32_MAX, #name}
static const struct plumb_value_name futex_operations[] = {
	C(FUTEX_WAIT), C(FUTEX_WAKE), C(FUTEX_FD), C(FUTEX_REQUEUE), C(FUTEX_CMP_REQUEUE), C(FUTEX_WAKE_OP), C(FUTEX_LOCK_PI),
	C(FUTEX_UNLOCK_PI), C(FUTEX_TRYLOCK_PI), C(FUTEX_WAIT_BITSET), C(FUTEX_WAKE_BITSET), C(FUTEX_WAIT_REQUEUE_PI),
	C(FUTEX_CMP_REQUEUE_PI), {13, FUTEX_CMD_MASK & UINT32_MAX, "FUTEX_LOCK_PI2"}, END
};
static const struct plumb_value_name clone_flags[] = {
	F(CLONE_VM), F(CLONE_FS), F(CLONE_FILES), F(CLONE_SIGHAND), F(CLONE_PIDFD), F(CLONE_PTRACE), F(CLONE_VFORK), F(CLONE_PARENT),
	F(CLONE_THREAD), F(CLONE_NEWNS), F(CLONE_SYSVSEM), F(CLONE_SETTLS), F(CLONE_PARENT_SETTID), F(CLONE_CHILD_CLEARTID),
	F(CLONE_DETACHED), F(CLONE_UNTRACED), F(CLONE_CHILD_SETTID), F(CLONE_NEWCGROUP), F(CLONE_NEWUTS), F(CLONE_NEWIPC),
	F(CLONE_NEWUSER), F(CLONE_NEWPID), F(CLONE_NEWNET), F(CLONE_IO), V(SIGCHLD, 255), END
};
static const struct plumb_value_name wait_flags[] = {
	F(WNOHANG), F(WSTOPPED), F(WEXITED), F(WCONTINUED), F(WNOWAIT), {1U << 29, 1U << 29, "__WNOTHREAD"},
	{1U << 30, 1U << 30, "__WALL"}, {1U << 31, 1U << 31, "__WCLONE"}, END
};
static const struct plumb_value_name id_types[] = {
	E(P_ALL), E(P_PID), E(P_PGID), {3, UINT32_MAX, "P_PIDFD"}, END
};
static const struct plumb_value_name mask_changes[] = {E(SIG_BLOCK), E(SIG_UNBLOCK), E(SIG_SETMASK), END};

#define LIST(name) {#name, name}
static const struct {
	const char *name;
	const struct plumb_value_name *names;
} lists[] = {
	LIST(open_flags), LIST(pipe_flags), LIST(at_flags), LIST(access_flags), LIST(access_modes), LIST(prot), LIST(map_flags),
	LIST(remap_flags), LIST(sync_flags), LIST(madvise_advice), LIST(file_advice), LIST(whence), LIST(lock_operations),
	LIST(fcntl_commands), LIST(descriptor_flags), LIST(fallocate_modes), LIST(range_flags), LIST(splice_flags), LIST(read_flags),
	LIST(rename_flags), LIST(families), LIST(socket_types), LIST(socket_flags), LIST(message_flags), LIST(shutdowns), LIST(levels),
	LIST(epoll_operations), LIST(epoll_flags), LIST(eventfd_flags), LIST(timerfd_flags), LIST(timerfd_set_flags),
	LIST(signalfd_flags), LIST(inotify_flags), LIST(memfd_flags), LIST(random_flags), LIST(clocks), LIST(timer_flags),
	LIST(futex_operations), LIST(clone_flags), LIST(wait_flags), LIST(id_types), LIST(mask_changes),
};
/* clang-format on */

const struct plumb_value_name *plumb_value_names(const char *name)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!strcmp(name, lists[i].name))
			return lists[i].names;
	return NULL;
}

const char *plumb_values_text(const struct plumb_value_name *names, uint64_t value, char *text,
			      size_t size)
{
	uint64_t seen = 0;
	size_t n = 0;

	*text = 0;
	for (; names->name; names++) {
		if (seen & names->mask || (value & names->mask) != names->value)
			continue;
		seen |= names->mask;
		n += snprintf(text + n, n < size ? size - n : 0, "%s%s", n ? "|" : "", names->name);
		if (n >= size)
			return text;
	}
	value &= ~seen;
	if (value || !n)
		snprintf(text + n, size - n, value ? "%s%#" PRIx64 : "%s0", n ? "|" : "", value);
	return text;
}

const char *plumb_signal_text(int signal, char *text, size_t size)
{
	const char *name = signal > 0 ? sigabbrev_np(signal) : NULL;

	if (name)
		snprintf(text, size, "SIG%s", name);
	else if (signal >= 32 && signal <= 64) /* the kernel's SIGRTMIN, not the C library's */
		snprintf(text, size, signal == 32 ? "SIGRTMIN" : "SIGRT_%d", signal - 32);
	else
		snprintf(text, size, "%d", signal);
	return text;
}

const char *plumb_exact_time(uint64_t ns, char *text, size_t size)
{
	static const struct {
		uint64_t ns;
		int digits;
		const char *name;
	} units[] = {{1000000000, 9, "s"}, {1000000, 6, "ms"}, {1000, 3, "us"}, {1, 0, "ns"}};
	char rest[16] = "";
	size_t i = 0;

	while (ns && ns < units[i].ns)
		i++;
	if (ns % units[i].ns) {
		snprintf(rest, sizeof(rest), ".%0*" PRIu64, units[i].digits, ns % units[i].ns);
		for (size_t n = strlen(rest); rest[n - 1] == '0';)
			rest[--n] = 0;
	}
	snprintf(text, size, "%" PRIu64 "%s%s", ns / units[i].ns, rest, units[i].name);
	return text;
}
