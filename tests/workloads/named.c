// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * named: calls whose arguments have names, as this source spells them.
 *
 * For each call the report has its text ("lseek(-1, 5, SEEK_END)"), and its result.  They are made
 * between a getppid and a getpgid, in this order, and do nothing: descriptors are -1, addresses
 * NULL.
 */
#include "workload.h"
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

const char usage[] = "Usage: named\n"
		     "Make calls, each once.\n"
		     "\n"
		     "Gates: ready, go.\n";

#define MOST 100

static struct made {
	const char *name, *arguments;
	long result;
} made[MOST];
static size_t n;

static void make(const char *name, const char *arguments, long nr, long a, long b, long c, long d,
		 long e, long f)
{
	long result = syscall(nr, a, b, c, d, e, f);

	made[n++] = (struct made){name, arguments, result < 0 ? -errno : result};
}

#define SIX(a, b, c, d, e, f, ...) (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define AS(call, text, ...)        make(#call, text, SYS_##call, SIX(__VA_ARGS__, 0, 0, 0, 0, 0, 0))
#define DO(call, ...)              AS(call, #__VA_ARGS__, __VA_ARGS__)

/* clang-format off */
static void make_named(void)
{
	DO(openat, AT_FDCWD, NULL, O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0640);
	DO(openat, AT_FDCWD, NULL, O_WRONLY|O_APPEND|O_SYNC);
	DO(openat, -1, NULL, O_RDONLY|O_NOATIME|O_PATH|O_DIRECTORY);
	DO(unlinkat, AT_FDCWD, NULL, AT_REMOVEDIR);
	DO(linkat, AT_FDCWD, NULL, AT_FDCWD, NULL, AT_SYMLINK_FOLLOW|AT_EMPTY_PATH);
	DO(faccessat, AT_FDCWD, NULL, R_OK|W_OK);
	DO(lseek, -1, 5, SEEK_END);
	DO(fcntl, -1, F_SETFL, O_RDONLY|O_NONBLOCK);
	DO(fcntl, -1, F_DUPFD_CLOEXEC, 10);
	DO(fcntl, -1, F_SETFD, FD_CLOEXEC);
	DO(fcntl, -1, F_GETFL);
	DO(flock, -1, LOCK_EX|LOCK_NB);
	DO(fallocate, -1, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 10);
	DO(fadvise64, -1, 0, 0, POSIX_FADV_DONTNEED);
	DO(sync_file_range, -1, 0, 0, SYNC_FILE_RANGE_WRITE|SYNC_FILE_RANGE_WAIT_AFTER);
	DO(splice, -1, NULL, -1, NULL, 10, SPLICE_F_MOVE|SPLICE_F_MORE);
	DO(dup3, -1, 9, O_CLOEXEC);
	DO(pipe2, NULL, O_NONBLOCK|O_CLOEXEC);
	DO(pread64, -1, NULL, 100, 7);
	DO(fchmod, -1, 0600);
	DO(mmap, NULL, 0, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_POPULATE, -1, 0);
	DO(mmap, NULL, 0, PROT_NONE, MAP_SHARED|MAP_NORESERVE, -1, 0);
	DO(mprotect, NULL, 0, PROT_READ|PROT_EXEC);
	DO(madvise, NULL, 0, MADV_DONTNEED);
	DO(msync, NULL, 0, MS_SYNC|MS_INVALIDATE);
	DO(mremap, NULL, 0, 0, MREMAP_MAYMOVE|MREMAP_FIXED, NULL);
	DO(socket, AF_UNIX, SOCK_DCCP|SOCK_CLOEXEC|SOCK_NONBLOCK, 0);
	DO(shutdown, -1, SHUT_WR);
	DO(sendto, -1, NULL, 3, MSG_DONTWAIT|MSG_NOSIGNAL, NULL, 0);
	DO(recvfrom, -1, NULL, 3, MSG_PEEK|MSG_WAITALL, NULL, NULL);
	DO(accept4, -1, NULL, NULL, SOCK_CLOEXEC|SOCK_NONBLOCK);
	DO(epoll_ctl, -1, EPOLL_CTL_MOD, -1, NULL);
	DO(timerfd_settime, -1, TFD_TIMER_ABSTIME, NULL, NULL);
	DO(getrandom, NULL, 0, GRND_NONBLOCK);
	DO(memfd_create, NULL, MFD_CLOEXEC|MFD_ALLOW_SEALING);
	DO(clock_gettime, CLOCK_BOOTTIME, NULL);
	DO(futex, NULL, FUTEX_WAKE_PRIVATE, 1);
	DO(futex, NULL, FUTEX_WAIT, 1, NULL);
	AS(futex, "NULL, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 1, NULL, FUTEX_BITSET_MATCH_ANY",
	   NULL, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 1, NULL, NULL, FUTEX_BITSET_MATCH_ANY); /* one is not used */
	DO(kill, 2147483647, SIGUSR1);
	DO(tgkill, 2147483647, 2147483647, SIGSTOP);
	DO(wait4, -1, NULL, WNOHANG|__WALL, NULL);
	DO(waitid, P_PID, 2147483647, NULL, WNOHANG|WEXITED|WNOWAIT, NULL);
	DO(rt_sigprocmask, SIG_UNBLOCK, NULL, NULL, 8);
	DO(rt_sigaction, SIGTERM, NULL, NULL, 8);
	DO(setns, -1, CLONE_NEWUTS|CLONE_NEWNET);
}

/* Times in words, which strace does not write. */
static void make_timed(void)
{
	const struct timespec ms = {.tv_nsec = 1500000}, bad = {.tv_nsec = -1};
	/* The kernel overwrites these by what is left. */
	struct timespec polled = ms, selected = ms, none = {};

	AS(nanosleep, "1.5ms, NULL", &ms, NULL);
	AS(clock_nanosleep, "CLOCK_MONOTONIC, 0, 1.5ms, NULL", CLOCK_MONOTONIC, 0, &ms, NULL);
	AS(clock_nanosleep, "CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=-1}, NULL", CLOCK_REALTIME, 0, &bad, NULL);
	AS(ppoll, "NULL, 0, 1.5ms, NULL, 0", NULL, 0, &polled, NULL, 0);
	AS(ppoll, "NULL, 0, 0s, NULL, 0", NULL, 0, &none, NULL, 0);
	AS(pselect6, "0, NULL, NULL, NULL, 1.5ms, NULL", 0, NULL, NULL, NULL, &selected, NULL);
	AS(epoll_pwait, "-1, NULL, 1, 2s, NULL, 0", -1, NULL, 1, 2000, NULL, 0);
	AS(futex, "NULL, FUTEX_WAIT_PRIVATE, 1, 1.5ms", NULL, FUTEX_WAIT_PRIVATE, 1, &ms);
	AS(rt_sigtimedwait, "NULL, NULL, 1.5ms, 8", NULL, NULL, &ms, 8);
	DO(ioctl, -1, 0x5413, NULL);
	/* Not a time of this operation: nothing of what it points to is shown. */
	AS(futex, "NULL, FUTEX_WAKE_PRIVATE, 1", NULL, FUTEX_WAKE_PRIVATE, 1, &ms);
	AS(tgkill, "2147483647, 2147483647, SIGRT_3", 2147483647, 2147483647, 35);
	AS(clone, "CLONE_FS|CLONE_SIGHAND|SIGCHLD, NULL, NULL, NULL, 0", CLONE_FS|CLONE_SIGHAND|SIGCHLD, NULL, NULL, NULL, 0);
}
/* clang-format on */

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	reached("ready");
	gate("go");
	syscall(SYS_getppid);
	make_named();
	syscall(SYS_getpgid, 0);
	make_timed();
	syscall(SYS_getsid, 0);
	report_begin();
	for (size_t i = 0; i < n; i++) {
		put_row(own_tid(), "named", made[i].name, 1, made[i].result < 0);
		put(",\"text\":\"%s(%s)\",\"ret\":%ld}", made[i].name, made[i].arguments,
		    made[i].result);
	}
	report_end();
	return 0;
}
