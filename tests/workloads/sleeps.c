// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sleeps: threads that leave their CPU in many places of the kernel, in random order. */
#include "workload.h"
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: sleeps MS\n"
	"For MS milliseconds pairs of threads wake each other, by several calls through\n"
	"the same functions of the kernel; they pause in others, have page faults that\n"
	"another thread must answer, alone and in the midst of signals, and children;\n"
	"they wait for one lock at several depths of a recursion, in system calls, and\n"
	"in work that is done as one returns.\n"
	"\n"
	"Gates: ready, go.\n";

#define PAGE 4096

static uint64_t deadline;
static int listener;
static int faults = -1; /* userfaultfd; -1: there is none */

static uint32_t chance(uint64_t *seed, uint32_t n)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed >> 20) % n;
}

static bool is_time(void)
{
	return now_ns() < deadline;
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run, arg);
	if (errno)
		die("pthread_create: %s", strerror(errno));
	pthread_detach(thread);
}

/* ---- page faults that last until another thread has answered them ---- */

static _Thread_local char *page;
static _Thread_local sigjmp_buf after;
static char *forbidden;

static void *answer(void *unused)
{
	struct uffd_msg event;
	struct uffdio_zeropage zero = {.range.len = PAGE};

	while (read(faults, &event, sizeof(event)) == sizeof(event)) {
		zero.range.start = event.arg.pagefault.address & -PAGE;
		ioctl(faults, UFFDIO_ZEROPAGE, &zero);
	}
	return unused;
}

static void on_fault(int signal)
{
	siglongjmp(after, 1);
}

static void begin_faults(void)
{
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
	struct uffdio_api api = {.api = UFFD_API};
	pthread_t thread;

	forbidden = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults >= 0 &&
	    (ioctl(faults, UFFDIO_API, &api) || pthread_create(&thread, NULL, answer, NULL)))
		faults = -1;
}

/* A stack for signals whose pages are not present when a signal arrives. */
static void get_pages(void)
{
	struct uffdio_register range = {.range.len = 16 * PAGE,
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	stack_t stack = {.ss_size = 16 * PAGE};

	page = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)page;
	stack.ss_sp = page;
	if (faults >= 0 && ioctl(faults, UFFDIO_REGISTER, &range))
		die("userfaultfd: %s", strerror(errno));
	sigaltstack(&stack, NULL);
}

static void fault(uint64_t *seed)
{
	if (faults < 0)
		return;
	madvise(page, 16 * PAGE, MADV_DONTNEED);
	switch (chance(seed, 3)) {
	case 0: /* in the process */
		((volatile char *)page)[PAGE] = 1;
		break;
	case 1: /* in the kernel, in a call */
		if (chance(seed, 2))
			syscall(SYS_getcpu, page + PAGE, NULL, NULL);
		else
			syscall(SYS_clock_gettime, CLOCK_MONOTONIC, page + PAGE);
		break;
	case 2: /* in the kernel, in the process's fault */
		if (!sigsetjmp(after, 1))
			*(volatile char *)forbidden = 1;
		break;
	}
}

/* ---- a lock that is held during a page fault ---- */

static int chain[4]; /* epoll sets, each in the next */

/* Repeatedly reports an event to a page that is not present; the set is locked meanwhile. */
static void *hold(void *unused)
{
	get_pages();
	while (is_time()) {
		madvise(page, 16 * PAGE, MADV_DONTNEED);
		epoll_wait(chain[0], (struct epoll_event *)(page + PAGE), 1, 0);
	}
	return unused;
}

static void begin_locking(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ready = eventfd(1, EFD_CLOEXEC);

	for (int i = 0; i < 4; i++) {
		chain[i] = epoll_create1(EPOLL_CLOEXEC);
		if (epoll_ctl(chain[i], EPOLL_CTL_ADD, i ? chain[i - 1] : ready, &event))
			die("epoll_ctl: %s", strerror(errno));
	}
	if (faults >= 0)
		start(hold, NULL);
}

static void contend(uint64_t *seed)
{
	struct epoll_event event = {};
	int fd;

	if (chance(seed, 2)) {
		/* The kernel looks for loops: it locks the sets, nested, down to the first. */
		fd = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(fd, EPOLL_CTL_ADD, chain[chance(seed, 4)], &event);
	} else {
		/* The file leaves the set when it is closed: in close(), or as dup2() returns. */
		fd = eventfd(0, EFD_CLOEXEC);
		epoll_ctl(chain[0], EPOLL_CTL_ADD, fd, &event);
		if (chance(seed, 2))
			dup2(chain[0], fd);
	}
	close(fd);
}

/* ---- pairs ---- */

/* Blocks until there is a byte, by one of several calls. */
static void take(int fd, uint64_t *seed)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct epoll_event event = {.events = EPOLLIN};
	char bytes[8];
	struct iovec v = {bytes, sizeof(bytes)};
	fd_set set;
	int epoll;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	switch (chance(seed, 8)) {
	case 0:
		poll(&p, 1, -1);
		break;
	case 3:
		ppoll(&p, 1, NULL, NULL);
		break;
	case 1:
		select(fd + 1, &set, NULL, NULL, NULL);
		break;
	case 2:
		epoll = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
		epoll_wait(epoll, &event, 1, -1);
		close(epoll);
		break;
	}
	if (chance(seed, 2) ? read(fd, bytes, 8) < 1 : readv(fd, &v, 1) < 1)
		die("read: %s", strerror(errno));
}

static void give(int fd)
{
	if (write(fd, &(uint64_t){1}, 8) != 8)
		die("write: %s", strerror(errno));
}

/* No process ever connects; waits for that time out soon. */
static void begin_listening(void)
{
	struct timeval soon = {.tv_usec = 1};
	sa_family_t family = AF_UNIX;

	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	if (bind(listener, (struct sockaddr *)&family, sizeof(family)) || listen(listener, 1))
		die("listen: %s", strerror(errno));
}

static void child(bool fork_it)
{
	pid_t pid = fork_it ? fork() : vfork();

	if (!pid) {
		if (fork_it)
			execl("/proc/self/exe", "sleeps", "0", NULL);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("child: %s", strerror(errno));
}

static void pause_somewhere(uint64_t *seed)
{
	struct timespec t = {.tv_nsec = 1000 + chance(seed, 50000)};
	uint32_t word = 0;
	sigset_t none;

	switch (chance(seed, 64)) {
	case 0 ... 3:
		nanosleep(&t, NULL);
		break;
	case 4 ... 7:
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
		break;
	case 8 ... 11:
		sigemptyset(&none);
		sigtimedwait(&none, NULL, &t);
		break;
	case 12 ... 15:
		sched_yield();
		break;
	case 16 ... 39:
		fault(seed);
		break;
	case 40: /* two calls that differ only in their entry function */
		syscall(chance(seed, 2) ? SYS_accept : SYS_accept4, listener, NULL, NULL, 0);
		break;
	case 42 ... 47:
		contend(seed);
		break;
	case 41:
		child(chance(seed, 8) == 0);
		break;
	}
}

struct side {
	int from, to;
	bool begins;
};

static void *play(void *arg)
{
	struct side *s = arg;
	uint64_t seed = now_ns() ^ (uintptr_t)s << 20;

	get_pages();
	while (is_time()) {
		if (s->begins)
			give(s->to);
		take(s->from, &seed);
		pause_somewhere(&seed);
		if (!s->begins)
			give(s->to);
	}
	/* Release the partner if it still waits. */
	give(s->to);
	return NULL;
}

static void *spin(void *unused)
{
	while (is_time())
		;
	return unused;
}

static void start_pair(int first[2], int second[2])
{
	static struct side sides[16];
	static int n;

	sides[n] = (struct side){first[0], second[1], true};
	sides[n + 1] = (struct side){second[0], first[1], false};
	start(play, &sides[n++]);
	start(play, &sides[n++]);
}

static void start_sockets(int kind)
{
	int ends[2];

	if (socketpair(AF_UNIX, kind, 0, ends))
		die("socketpair: %s", strerror(errno));
	start_pair((int[]){ends[0], ends[1]}, (int[]){ends[1], ends[0]});
}

int main(int argc, char **argv)
{
	int there[2], back[2], one, two;
	uint64_t ms;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("one argument is needed");
	ms = parse_number(argv[1], "MS", 0, 100000);
	if (!ms) /* started by child() */
		return 0;
	begin_faults();
	begin_listening();
	reached("ready");
	gate("go");
	deadline = now_ns() + ms * 1000000;
	begin_locking();
	make_pipe(there);
	make_pipe(back);
	start_pair(there, back);
	one = eventfd(0, EFD_SEMAPHORE);
	two = eventfd(0, EFD_SEMAPHORE);
	start_pair((int[]){one, one}, (int[]){two, two});
	start_sockets(SOCK_STREAM);
	start_sockets(SOCK_DGRAM);
	start(spin, NULL);
	pause_ns(ms * 1000000 + 200000000);
	printf("{\"workload\":\"sleeps\",\"faults\":%s}\n", faults >= 0 ? "true" : "false");
	return 0;
}
