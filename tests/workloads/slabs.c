// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * slabs: known numbers of allocations from known slab caches.
 *
 * The thread has a name in each part ("s-files", ...), so that a report by name separates them.  A
 * part has the time of each of its system calls by the thread's own clock, which is at least that
 * of the allocations in it, and how many slabs of the cache filp /proc/slabinfo counted more after
 * it.
 */
#include "workload.h"
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/uio.h>

const char usage[] =
	"Usage: slabs [THREADS]\n"
	"       slabs limit\n"
	"       slabs vectors\n"
	"Open 1009 event descriptors, each with an object of the cache filp, and send and receive\n"
	"503 messages of 1000 bytes, each with a buffer of kmalloc(1048); close the descriptors.\n"
	"With THREADS, 5003 messages in each thread only. With limit, open event descriptors "
	"until\n"
	"11 fail with ENOMEM; it needs a memory cgroup with a limit.  With vectors, write 31 "
	"times\n"
	"1024 vectors, for which the kernel allocates 16384 bytes.\n"
	"\n"
	"Gates: ready, go, done, leave.\n";

#define FILES    1009
#define MESSAGES 503
#define EACH     5003
#define FAILURES 11
#define MOST     30000 /* descriptors, before a limit is taken to be missing */
#define SIZE     1000
#define WRITES   31

struct part {
	const char *name, *call;
	struct series calls;
	uint64_t slabs_before, slabs_after;
	pid_t tid;
};

static int files[MOST];

/* The slabs of filp; 0: not known. */
static uint64_t slabs_of_files(void)
{
	unsigned long long slabs = 0;
	static char text[1 << 18];
	int fd = open_uncounted("/proc/slabinfo", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t n = 0;
	char *line;

	if (fd < 0)
		return 0;
	while (length < sizeof(text) - 1 &&
	       (n = syscall(SYS_pread64, fd, text + length, sizeof(text) - 1 - length,
			    (off_t)length)) > 0)
		length += n;
	syscall(SYS_close, fd);
	text[length] = 0;
	line = strstr(text, "\nfilp ");
	line = line ? strstr(line, "slabdata") : NULL;
	if (!line || sscanf(line, "slabdata %*u %llu", &slabs) != 1)
		return 0;
	return slabs;
}

static void part_init(struct part *p, const char *name, const char *call, uint64_t room)
{
	*p = (struct part){.name = name, .call = call, .tid = own_tid()};
	series_init(&p->calls, room);
	memset(p->calls.ns, 1, room * sizeof(*p->calls.ns));
}

static bool open_one(struct part *p, int *fd)
{
	uint64_t start = now_ns();

	*fd = syscall(SYS_eventfd2, 0, EFD_CLOEXEC);
	series_add(&p->calls, now_ns() - start, *fd < 0);
	return *fd >= 0;
}

static void open_files(struct part *p)
{
	part_init(p, "s-files", "eventfd2", FILES);
	p->slabs_before = slabs_of_files();
	rename_self(p->name);
	for (int i = 0; i < FILES; i++)
		if (!open_one(p, &files[i]))
			die("eventfd: %s", strerror(errno));
	rename_self("slabs");
	p->slabs_after = slabs_of_files();
}

static void close_files(struct part *p)
{
	part_init(p, "s-closes", "close", FILES);
	rename_self(p->name);
	for (int i = 0; i < FILES; i++) {
		uint64_t start = now_ns();

		syscall(SYS_close, files[i]);
		series_add(&p->calls, now_ns() - start, false);
	}
	rename_self("slabs");
}

/* At the limit no page fault and no larger table of descriptors may need memory. */
static void prepare_limit(struct part *p)
{
	int fd;

	part_init(p, "s-limit", "eventfd2", MOST + FAILURES);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		die("mlockall: %s", strerror(errno));
	fd = syscall(SYS_fcntl, 2, F_DUPFD_CLOEXEC, MOST);
	if (fd < 0)
		die("fcntl: %s", strerror(errno));
	syscall(SYS_close, fd);
}

/* Until FAILURES fail.  Then all are closed, so that there is memory for the report. */
static void open_until_limit(struct part *p)
{
	int n = 0;

	rename_self(p->name);
	while (p->calls.errors < FAILURES && n < MOST) {
		if (open_one(p, &files[n]))
			n++;
		else if (errno != ENOMEM)
			die("eventfd: %s", strerror(errno));
	}
	rename_self("slabs");
	while (n)
		syscall(SYS_close, files[--n]);
}

static void send_messages(struct part *p, uint64_t n)
{
	struct {
		long type;
		char text[SIZE];
	} message = {.type = 1};
	int queue = msgget(IPC_PRIVATE, 0600);

	if (queue < 0)
		die("msgget: %s", strerror(errno));
	rename_self(p->name);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t start = now_ns();

		if (msgsnd(queue, &message, SIZE, 0))
			die("msgsnd: %s", strerror(errno));
		series_add(&p->calls, now_ns() - start, false);
		if (msgrcv(queue, &message, SIZE, 0, 0) != SIZE)
			die("msgrcv: %s", strerror(errno));
	}
	rename_self("slabs");
	msgctl(queue, IPC_RMID, NULL);
}

static void put_part(struct part *p)
{
	put_row(p->tid, p->name, p->call, p->calls.count, p->calls.errors);
	put(",\"slabs\":%lld,", (long long)(p->slabs_after - p->slabs_before));
	put_figures(&p->calls);
	put("}");
}

struct thread {
	pthread_t thread;
	struct part part;
	char name[16];
};

static void *send_in_thread(void *arg)
{
	struct thread *t = arg;

	part_init(&t->part, t->name, "msgsnd", EACH);
	send_messages(&t->part, EACH);
	return NULL;
}

static void run_threads(uint64_t n)
{
	struct thread *threads = calloc(n, sizeof(*threads));

	for (uint64_t i = 0; i < n; i++) {
		snprintf(threads[i].name, sizeof(threads[i].name), "s-thread%u", (unsigned int)i);
		if (pthread_create(&threads[i].thread, NULL, send_in_thread, &threads[i]))
			die("pthread_create");
	}
	for (uint64_t i = 0; i < n; i++)
		pthread_join(threads[i].thread, NULL);
	report_begin();
	for (uint64_t i = 0; i < n; i++)
		put_part(&threads[i].part);
	report_end();
	free(threads);
}

static void run_parts(void)
{
	struct part opened, sent, closed;

	open_files(&opened);
	part_init(&sent, "s-messages", "msgsnd", MESSAGES);
	send_messages(&sent, MESSAGES);
	close_files(&closed);
	report_begin();
	put_part(&opened);
	put_part(&sent);
	put_part(&closed);
	report_end();
}

static void run_limit(struct part *p)
{
	open_until_limit(p);
	report_begin();
	put_part(p);
	report_end();
}

static void write_vectors(void)
{
	static char byte;
	struct iovec vectors[1024];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		vectors[i] = (struct iovec){&byte, 1};
	rename_self("s-vectors");
	for (int i = 0; i < WRITES; i++)
		if (writev(fd, vectors, sizeof(vectors) / sizeof(vectors[0])) != 1024)
			die("writev: %s", strerror(errno));
	close(fd);
}

int main(int argc, char **argv)
{
	const struct rlimit many = {.rlim_cur = MOST + 64, .rlim_max = MOST + 64};
	const char *how = argc > 1 ? argv[1] : "";
	struct part limited;

	help_if_asked(argc, argv);
	if (argc > 2)
		misuse("at most one argument");
	if (setrlimit(RLIMIT_NOFILE, &many))
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 2048, .rlim_max = 2048});
	if (!strcmp(how, "limit"))
		prepare_limit(&limited);
	reached("ready");
	gate("go");
	if (!strcmp(how, "limit"))
		run_limit(&limited);
	else if (!strcmp(how, "vectors"))
		write_vectors();
	else if (*how)
		run_threads(parse_number(how, "THREADS", 1, 64));
	else
		run_parts();
	reached("done");
	gate("leave");
	return 0;
}
