// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* causes: threads whose time goes where it is known to go. */
#include "causes-busy.h"
#include "causes-waits.h"

const char usage[] =
	"Usage: causes CAUSE MS\n"
	"\n"
	"For MS, let time of threads go into one CAUSE:\n"
	"  hog      a thread computes beside another process of nice 5, on one CPU\n"
	"  quota    a thread computes (in a cgroup with a quota)\n"
	"  napping  a thread naps beside another one that computes (in a cgroup with a quota)\n"
	"  renamed  a thread naps, after half of the time as c-later; the cause is the first half\n"
	"  renaming a thread computes as c-here and c-there in turn, the first is the cause; "
	"another\n"
	"           one is asleep, and from the half on it is c-woken, which is its cause\n"
	"  inside   a thread makes long calls beside another process of nice 5, on one CPU\n"
	"  confined a thread makes long calls (in a cgroup with a quota)\n"
	"  memory   a thread touches ever more memory (in a cgroup with memory.high)\n"
	"  mutex    a thread holds a mutex for 20 of each 50 ms, 5 want it\n"
	"  crowd    the same, and 30 want it\n"
	"  inode    a thread is inside a write for 20 of each 50 ms, 3 write to the same file\n"
	"  fsync    a thread writes to a file and waits for the disk\n"
	"  read     a thread reads a file, past the page cache\n"
	"  faults   a thread touches fresh memory, again and again\n"
	"  peer     a thread asks a process over TCP, which answers after 30 ms\n"
	"  poll     the same, and waits for the answer in poll(2)\n"
	"  sleep    a thread sleeps\n"
	"  user     a thread computes\n"
	"  softirq  a thread computes; datagrams of another process may interrupt it (RPS)\n"
	"  born     threads that sleep for 5 ms and compute for 3, one after another\n"
	"  spin     a thread computes from before the gate ready until the gate end is open\n"
	"\n"
	"\"wall\", \"cpu\" and \"delay\" (schedstat) are of each thread between the gates go and\n"
	"done, ns, \"delay_of_life\" also before and after; \"cause\" has bounds of the time that\n"
	"is due to the cause; \"count\" is how often it was. \"process\" is the time of all "
	"threads\n"
	"on the CPU between the gates, and in all; \"by\" is another process, with its own.\n"
	"Gates: ready, go, done, end. Files are made in the working directory.\n";

#define MAX_WORKERS 31

static atomic_int ready, done;
static uint64_t process_cpu; /* of all threads between the gates go and done */

static const struct cause {
	const char *name;
	void (*begin)(void); /* before there are threads */
	struct {
		const char *comm;
		void (*work)(struct worker *w);
		int n;
	} roles[2];
} causes[] = {
	{"hog", begin_hog, {{"c-victim", be_delayed, 1}}},
	{"quota", NULL, {{"c-victim", be_delayed, 1}}},
	{"napping", NULL, {{"c-victim", nap_late, 1}, {"c-burner", compute, 1}}},
	{"renamed", NULL, {{"c-victim", be_renamed, 1}}},
	{"renaming", NULL, {{"c-here", rename_often, 1}, {"c-asleep", be_renamed_asleep, 1}}},
	{"inside", begin_inside, {{"c-victim", be_inside, 1}}},
	{"confined", begin_confined, {{"c-victim", be_inside, 1}}},
	{"memory", NULL, {{"c-victim", take_memory, 1}}},
	{"mutex", NULL, {{"c-victim", want_mutex, 5}, {"c-holder", hold_mutex, 1}}},
	{"crowd", NULL, {{"c-victim", want_mutex, 30}, {"c-holder", hold_mutex, 1}}},
	{"inode", begin_inode, {{"c-victim", want_inode, 3}, {"c-holder", hold_inode, 1}}},
	{"fsync", begin_fsync, {{"c-victim", write_to_disk, 1}}},
	{"read", begin_read, {{"c-victim", read_disk, 1}}},
	{"faults", NULL, {{"c-victim", touch_memory, 1}}},
	{"peer", begin_peer, {{"c-victim", ask, 1}}},
	{"poll", begin_peer, {{"c-victim", ask_by_poll, 1}}},
	{"sleep", NULL, {{"c-victim", be_asleep, 1}}},
	{"user", NULL, {{"c-victim", compute, 1}}},
	{"softirq", begin_softirq, {{"c-victim", be_interrupted, 1}}},
	{"born", NULL, {{"c-born", bear, 1}}},
	{"spin", NULL, {{"c-victim", compute, 1}}},
};

static const struct cause *cause;

static void *run(void *arg)
{
	const bool at_once = !strcmp(cause->name, "spin");
	struct worker *w = arg;
	struct clocks began, passed;
	uint64_t stolen;

	rename_self(w->comm);
	w->tid = own_tid();
	ready++;
	if (!at_once)
		gate("go");
	stolen = stolen_so_far();
	began = clocks_now();
	w->until = at_once ? UINT64_MAX : began.wall + duration;
	w->work(w);
	passed = clocks_since(&began);
	if (!w->whole.wall)
		w->whole = passed;
	if (w->slept)
		w->low -= stolen_so_far() - stolen;
	done++;
	gate("end");
	w->delay_of_life = delay_so_far();
	return NULL;
}

static int start_workers(struct worker *workers)
{
	int n = 0;

	for (int role = 0; role < 2; role++)
		for (int i = 0; i < cause->roles[role].n; i++) {
			workers[n].comm = cause->roles[role].comm;
			workers[n].work = cause->roles[role].work;
			if (pthread_create(&workers[n].thread, NULL, run, &workers[n]))
				die("cannot create a thread");
			n++;
		}
	while (ready < n)
		pause_ns(MS);
	return n;
}

static void report(const struct worker *workers, int n)
{
	report_begin();
	for (const struct worker *w = workers; w < workers + n; w++) {
		put_row_of("work", w->tid, w->comm, cause->name, w->count, 0);
		put(",\"wall\":%llu,\"cpu\":%llu,\"delay\":%llu,\"delay_of_life\":%llu,"
		    "\"cause\":[%lld,%lld],\"process\":[%llu,%llu]",
		    (unsigned long long)w->whole.wall, (unsigned long long)w->whole.cpu,
		    (unsigned long long)w->whole.delay, (unsigned long long)w->delay_of_life,
		    (long long)w->low, (long long)w->high, (unsigned long long)process_cpu,
		    (unsigned long long)cpu_of(CLOCK_PROCESS_CPUTIME_ID));
		if (*peer)
			put(",\"peer\":\"%s\"", peer);
		if (other.pid)
			put(",\"by\":{\"pid\":%d,\"comm\":\"%s\",\"cpu\":%llu}", other.pid,
			    other.comm, (unsigned long long)other.cpu);
		put("}");
	}
	report_end();
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_WORKERS];
	const struct cause *const end = causes + sizeof(causes) / sizeof(*causes);
	int n;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("CAUSE and MS are needed");
	for (cause = causes; cause < end && strcmp(cause->name, argv[1]); cause++)
		;
	if (cause == end)
		misuse("there is no cause '%s'", argv[1]);
	duration = parse_number(argv[2], "MS", 1, 60000) * MS;
	if (cause->begin)
		cause->begin();
	n = start_workers(workers);
	reached("ready");
	gate("go");
	process_cpu = cpu_of(CLOCK_PROCESS_CPUTIME_ID);
	if (strcmp(cause->name, "spin")) {
		while (done < n)
			pause_ns(16 * MS);
		process_cpu = cpu_of(CLOCK_PROCESS_CPUTIME_ID) - process_cpu;
		reached("done");
	}
	gate("end");
	over = true;
	for (int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	if (other.pid) {
		kill(other.pid, SIGKILL);
		reap(other.pid);
	}
	report(workers, n);
	return 0;
}
