// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* calls: exactly N of each named call, in each thread. */
#include "workload.h"

const char usage[] =
	"Usage: calls [-t THREADS] [-n NAME[,NAME...]] [-s] N CALL[:SIZE][@FD]...\n"
	"Make exactly N of each CALL, in turn, in each of THREADS threads (without -t: in the\n"
	"main thread), and print what each took. -n names the threads; with -s, one has made all\n"
	"its calls before the next begins.\n"
	"\n"
	"CALL          what it is\n"
	"getppid       succeeds\n"
	"close-bad     close(-1), or of @FD: EBADF\n"
	"read          SIZE bytes of /dev/zero, which is opened as @FD\n"
	"write         SIZE bytes to /dev/null, which is opened as @FD\n"
	"sendto-bad    SIZE bytes to a closed file: EBADF\n"
	"open-missing  openat of a file that does not exist: ENOENT\n"
	"nosys         the system call number SIZE (1000), which does not exist: ENOSYS\n"
	"lseek         to SIZE (0) in /dev/null, which is opened as @FD\n"
	"priority      sched_get_priority_max(SIZE), which for 0 to 2 does next to nothing and\n"
	"              succeeds, and for 4 is EINVAL\n"
	"uname         succeeds; the kernel's function and tracepoints are named newuname\n"
	"\n"
	"Gates: ready, go. Each thread is there and named at ready.\n";

#define MAX_CALLS   128
#define MAX_THREADS 64
#define MAX_SIZE    (1 << 20)

struct kind {
	const char *name, *syscall;
	const char *file; /* to open */
	uint64_t size;    /* default */
};

enum { GETPPID, CLOSE_BAD, READ, WRITE, SENDTO_BAD, OPEN_MISSING, NOSYS, LSEEK, PRIORITY, UNAME };

static const struct kind kinds[] = {
	[GETPPID] = {"getppid", "getppid", NULL, 0},
	[CLOSE_BAD] = {"close-bad", "close", NULL, 0},
	[READ] = {"read", "read", "/dev/zero", 64},
	[WRITE] = {"write", "write", "/dev/null", 64},
	[SENDTO_BAD] = {"sendto-bad", "sendto", NULL, 64},
	[OPEN_MISSING] = {"open-missing", "openat", NULL, 0},
	[NOSYS] = {"nosys", "", NULL, 1000},
	[LSEEK] = {"lseek", "lseek", "/dev/null", 0},
	[PRIORITY] = {"priority", "sched_get_priority_max", NULL, 0},
	[UNAME] = {"uname", "uname", NULL, 0},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

struct call {
	const struct kind *kind;
	uint64_t size;
	int fd;
};

struct worker {
	pthread_t thread;
	pid_t tid;
	char comm[16];
	const char *name;
	struct series series[MAX_CALLS];
};

static struct call calls[MAX_CALLS];
static unsigned int ncalls;
static uint64_t repeats;
static struct worker workers[MAX_THREADS];
static pthread_barrier_t named, start;
static pthread_mutex_t only = PTHREAD_MUTEX_INITIALIZER;
static bool serial;
static char buffer[MAX_SIZE];

/* Not inlined: tests also trace it as a user function that is called a known number of times. */
__attribute__((noinline)) static long make_call(const struct call *c)
{
	switch (c->kind - kinds) {
	case GETPPID:
		return syscall(SYS_getppid);
	case CLOSE_BAD:
		return syscall(SYS_close, c->fd);
	case READ:
		return syscall(SYS_read, c->fd, buffer, c->size);
	case WRITE:
		return syscall(SYS_write, c->fd, buffer, c->size);
	case SENDTO_BAD:
		return syscall(SYS_sendto, c->fd, buffer, c->size, 0, NULL, 0);
	case OPEN_MISSING:
		return syscall(SYS_openat, AT_FDCWD, "/nonexistent/plumb", O_RDONLY);
	case NOSYS:
		return syscall(c->size);
	case LSEEK:
		return syscall(SYS_lseek, c->fd, c->size, SEEK_SET);
	case PRIORITY:
		return syscall(SYS_sched_get_priority_max, c->size);
	case UNAME:
		return syscall(SYS_uname, buffer);
	}
	return -1;
}

static void make_all(struct worker *w)
{
	uint64_t i, begin;
	unsigned int c;
	long result;

	for (i = 0; i < repeats; i++)
		for (c = 0; c < ncalls; c++) {
			begin = now_ns();
			result = make_call(&calls[c]);
			series_add(&w->series[c], now_ns() - begin, result < 0);
		}
}

static void introduce(struct worker *w)
{
	if (w->name)
		rename_self(w->name);
	own_comm(w->comm);
	w->tid = own_tid();
}

static void *work(void *arg)
{
	struct worker *w = arg;

	introduce(w);
	pthread_barrier_wait(&named);
	pthread_barrier_wait(&start);
	if (serial)
		pthread_mutex_lock(&only);
	make_all(w);
	if (serial)
		pthread_mutex_unlock(&only);
	return NULL;
}

static void run_threads(unsigned int n)
{
	unsigned int i;

	pthread_barrier_init(&named, NULL, n + 1);
	pthread_barrier_init(&start, NULL, n + 1);
	for (i = 0; i < n; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("cannot create a thread");
	pthread_barrier_wait(&named);
	reached("ready");
	gate("go");
	pthread_barrier_wait(&start);
	for (i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

static void run_alone(void)
{
	introduce(&workers[0]);
	reached("ready");
	gate("go");
	make_all(&workers[0]);
}

/* CALL[:SIZE][@FD] */
static void parse_call(char *text)
{
	struct call *c = &calls[ncalls++];
	char *fd = strchr(text, '@'), *size;
	unsigned int i;

	if (ncalls > MAX_CALLS)
		misuse("more than %d kinds of calls", MAX_CALLS);
	if (fd)
		*fd++ = 0;
	size = strchr(text, ':');
	if (size)
		*size++ = 0;
	for (i = 0; i < KINDS && strcmp(kinds[i].name, text); i++)
		;
	if (i == KINDS)
		misuse("there is no call '%s'", text);
	c->kind = &kinds[i];
	c->size = size ? parse_number(size, "size", 0, MAX_SIZE) : kinds[i].size;
	c->fd = fd ? (int)parse_number(fd, "file descriptor", 3, 1000) : -1;
}

static void open_file(struct call *c)
{
	int fd;

	if (!c->kind->file)
		return;
	fd = open_uncounted(c->kind->file, O_RDWR);
	if (fd < 0)
		die("%s: %s", c->kind->file, strerror(errno));
	if (c->fd >= 0 && c->fd != fd && syscall(SYS_dup3, fd, c->fd, 0) < 0)
		die("dup3 to %d: %s", c->fd, strerror(errno));
	if (c->fd < 0)
		c->fd = fd;
}

static void name_threads(char *names, unsigned int n)
{
	unsigned int i;
	char *name;

	for (i = 0; (name = strsep(&names, ",")); i++) {
		if (i == n)
			misuse("more names than threads");
		if (strlen(name) > 15)
			misuse("'%s' is not a name of at most 15 bytes", name);
		workers[i].name = name;
	}
}

static void report(unsigned int nworkers)
{
	unsigned int i, c;
	char number[32];

	report_begin();
	for (i = 0; i < nworkers; i++)
		for (c = 0; c < ncalls; c++) {
			struct worker *w = &workers[i];
			struct series *s = &w->series[c];
			const char *name = calls[c].kind->syscall;

			if (!*name) {
				snprintf(number, sizeof(number), "syscall_%llu",
					 (unsigned long long)calls[c].size);
				name = number;
			}
			put_row(w->tid, w->comm, name, s->count, s->errors);
			put(",\"size\":%llu,\"fd\":%d,", (unsigned long long)calls[c].size,
			    calls[c].fd);
			put_figures(s);
			put("}");
		}
	report_end();
}

int main(int argc, char **argv)
{
	unsigned int threads = 0, i, c;
	char *names = NULL;
	int option;

	help_if_asked(argc, argv);
	while ((option = getopt(argc, argv, "+t:n:s")) != -1)
		switch (option) {
		case 't':
			threads = parse_number(optarg, "number of threads", 1, MAX_THREADS);
			break;
		case 'n':
			names = optarg;
			break;
		case 's':
			serial = true;
			break;
		default:
			misuse("no such option, or its argument is missing");
		}
	if (argc - optind < 2)
		misuse("N and a CALL are needed");
	repeats = parse_number(argv[optind], "N", 0, 100000000);
	for (i = optind + 1; i < (unsigned int)argc; i++)
		parse_call(argv[i]);
	for (c = 0; c < ncalls; c++)
		open_file(&calls[c]);
	if (names)
		name_threads(names, threads ? threads : 1);
	for (i = 0; i < (threads ? threads : 1); i++)
		for (c = 0; c < ncalls; c++)
			series_init(&workers[i].series[c], repeats);
	if (threads)
		run_threads(threads);
	else
		run_alone();
	report(threads ? threads : 1);
	return 0;
}
