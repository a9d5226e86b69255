/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * queues: threads that wait for a directory that readers hold, in a known order.
 *
 *	queues ROUNDS		in each round a lister holds the directory, a thread makes a
 *				folder in it, and a third one looks up a name; in the last round
 *				the third ones are five other processes that list, and are killed
 *	queues crowd MS		three threads rename and three list for so long
 *
 * The page that the lister lists to comes from a userfaultfd, once all others wait.
 */
#include "userfault.h"

#define VICTIMS 5
#define CROWD   3 /* of a kind */

static char directory[] = "queue-XXXXXX";
static int fd, rounds, round_now;
static char *pages; /* not touched yet: they fault */
static long page_size;
static atomic_int held;

/* Each lists by a file of its own, whose position has a lock, too. */
static int opened(void)
{
	int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (file < 0)
		die("%s: %s", directory, strerror(errno));
	return file;
}

/* ---- one behind the other ---- */

struct role {
	const char *comm;
	void (*run)(void);
	char asleep; /* its state, as it waits */
	pthread_t thread;
	atomic_int tid;
	struct series waits;
};

static void name_of_round(char *path, size_t size, const char *what)
{
	snprintf(path, size, "%s/%s-%d", directory, what, round_now);
}

static void list(void)
{
	if (lseek(fd, 0, SEEK_SET) ||
	    syscall(SYS_getdents64, fd, pages + round_now * page_size, page_size) <= 0)
		die("getdents64: %s", strerror(errno));
}

static void make(void)
{
	char path[64];

	name_of_round(path, sizeof(path), "made");
	if (mkdir(path, 0700))
		die("mkdir: %s", strerror(errno));
}

static void look_up(void)
{
	struct stat st;
	char path[64];

	name_of_round(path, sizeof(path), "absent");
	if (!stat(path, &st))
		die("%s is there", path);
}

static struct role lister = {.comm = "q-lister", .run = list, .asleep = 'S'},
		   maker = {.comm = "q-maker", .run = make, .asleep = 'D'},
		   seeker = {.comm = "q-seeker", .run = look_up, .asleep = 'D'};

static void *play(void *arg)
{
	struct role *r = arg;
	uint64_t began;

	rename_self(r->comm);
	began = now_ns();
	atomic_store(&r->tid, own_tid());
	r->run();
	series_add(&r->waits, now_ns() - began, false);
	return arg;
}

static void await_sleep(pid_t pid, pid_t tid, char state)
{
	int stat = open_stat(pid, tid);

	await_state(stat, state);
	close(stat);
}

static void begin(struct role *r)
{
	atomic_store(&r->tid, 0);
	if (pthread_create(&r->thread, NULL, play, r))
		die("pthread_create");
	while (!atomic_load(&r->tid))
		pause_ns(100000);
	await_sleep(getpid(), atomic_load(&r->tid), r->asleep);
}

static pid_t begin_victim(void)
{
	static char entries[4096];
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		rename_self("q-victim");
		syscall(SYS_getdents64, opened(), entries, sizeof(entries));
		_exit(1);
	}
	await_sleep(pid, pid, 'D');
	return pid;
}

static void kill_victims(void)
{
	pid_t victims[VICTIMS];
	int status;

	for (int i = 0; i < VICTIMS; i++)
		victims[i] = begin_victim();
	for (int i = 0; i < VICTIMS; i++)
		if (kill(victims[i], SIGKILL) || waitpid(victims[i], &status, 0) != victims[i] ||
		    !WIFSIGNALED(status))
			die("a victim was not killed");
}

static void queue(void)
{
	const size_t length = (rounds + 2) * page_size;
	static char page[65536] __attribute__((aligned(65536)));
	struct role *const roles[] = {&lister, &maker, &seeker};
	char path[64];

	pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	userfault.held = &held;
	if (!userfault_begin(pages, length, page, page_size, 0))
		exit(WORKLOAD_SKIP);
	for (int i = 0; i < 3; i++)
		series_init(&roles[i]->waits, rounds + 1);
	reached("ready");
	gate("go");
	for (round_now = 0; round_now <= rounds; round_now++) {
		atomic_store(&held, 1);
		begin(&lister);
		begin(&maker);
		if (round_now < rounds)
			begin(&seeker);
		else
			kill_victims();
		atomic_store(&held, 0);
		pthread_join(lister.thread, NULL);
		pthread_join(maker.thread, NULL);
		if (round_now < rounds)
			pthread_join(seeker.thread, NULL);
		name_of_round(path, sizeof(path), "made");
		if (rmdir(path))
			die("rmdir: %s", strerror(errno));
	}
	report_begin();
	for (int i = 1; i < 3; i++) {
		put_row_of("lock", 0, roles[i]->comm, "directory", roles[i]->waits.count, 0);
		put(",");
		put_figures(&roles[i]->waits);
		put("}");
	}
	put_row_of("lock", 0, "q-victim", "directory", VICTIMS, VICTIMS);
	put("}");
}

/* ---- all at once ---- */

static uint64_t ends;

static void *rename_in(void *arg)
{
	char one[64], other[64];
	int n = (int)(intptr_t)arg;

	rename_self("q-rename");
	snprintf(one, sizeof(one), "%s/one-%d", directory, n);
	snprintf(other, sizeof(other), "%s/other-%d", directory, n);
	if (mkdir(one, 0700))
		die("mkdir: %s", strerror(errno));
	while (now_ns() < ends)
		if (rename(one, other) || rename(other, one))
			die("rename: %s", strerror(errno));
	rmdir(one);
	return arg;
}

static void *list_in(void *arg)
{
	char entries[4096];
	int own = opened();

	rename_self("q-list");
	while (now_ns() < ends)
		if (lseek(own, 0, SEEK_SET) ||
		    syscall(SYS_getdents64, own, entries, sizeof(entries)) <= 0)
			die("getdents64: %s", strerror(errno));
	close(own);
	return arg;
}

static void crowd(int ms)
{
	pthread_t threads[2 * CROWD];

	reached("ready");
	gate("go");
	ends = now_ns() + ms * 1000000ULL;
	for (intptr_t i = 0; i < 2 * CROWD; i++)
		if (pthread_create(&threads[i], NULL, i < CROWD ? rename_in : list_in, (void *)i))
			die("pthread_create");
	for (int i = 0; i < 2 * CROWD; i++)
		pthread_join(threads[i], NULL);
	report_begin();
}

int main(int argc, char **argv)
{
	const bool is_crowd = argc == 3 && !strcmp(argv[1], "crowd");

	if (argc != 2 && !is_crowd)
		die("usage: queues ROUNDS | queues crowd MS");
	page_size = sysconf(_SC_PAGESIZE);
	if (!mkdtemp(directory))
		die("mkdtemp: %s", strerror(errno));
	fd = opened();
	rounds = atoi(argv[1]);
	if (is_crowd)
		crowd(atoi(argv[2]));
	else
		queue();
	close(fd);
	rmdir(directory);
	report_end();
	return 0;
}
