// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* stuck: threads that are inside one call for a long time, and its age by their own clocks. */
#include "workload.h"
#include "cpus.h"
#include <arpa/inet.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>

const char usage[] =
	"Usage: stuck futex|read|send|lock|cpu THREADS\n"
	"Let THREADS threads each wait in futex(), for a word that nobody sets, in read() on an\n"
	"empty pipe, in sendto() to a peer that does not read, in flock() of a file in the "
	"current\n"
	"directory that is locked, or for a CPU that another\n"
	"thread, named spinner, hardly ever leaves to it. Every other one is named stuck-odd,\n"
	"the rest stuck-even.\n"
	"\n"
	"Each row has \"age\": how old its call was at least, as the gate hold opened, and at "
	"most,\n"
	"as the gate some did. Of those that wait for a CPU there is a row only if they did\n"
	"so all the time in between.  \"fd\" and \"what\" are the number of the call's descriptor, "
	"if it\n"
	"has one, and what that is.\n"
	"\n"
	"Gates: ready, go (then they begin), stuck (all sleep in their calls), hold, holding,\n"
	"some (then the even ones end), fewer, end.\n";

#define MAX_THREADS 64
#define SLICE       1000000   /* ns: a thread may go on for so long after it last stored .ran */
#define SEND_SIZE   (8 << 20) /* more than the sockets' buffers hold */

static struct worker {
	pthread_t thread;
	atomic_int tid; /* set when the next step is the call */
	atomic_int word;
	int ends[2];
	uint64_t before, asleep; /* ns: before the call began, and after it did */
	_Atomic uint64_t ran;    /* ns: for CPU, when it last ran */
	uint64_t held;           /* .ran as the gate hold opened */
} workers[MAX_THREADS];

static enum { FUTEX, READ, SEND, LOCK, CPU } what;
static const char *const calls[] = {"futex", "read", "sendto", "flock", "sched"};
static char buffer[SEND_SIZE];

static atomic_bool spinner_ends;

static void *spin(void *unused)
{
	rename_self("spinner");
	pin_to_last_cpu();
	setpriority(PRIO_PROCESS, own_tid(), -10);
	while (!spinner_ends)
		;
	return unused;
}

static void run_rarely(struct worker *w)
{
	struct sched_param none = {};

	if (sched_setscheduler(0, SCHED_IDLE, &none))
		die("sched_setscheduler: %s", strerror(errno));
	pin_to_last_cpu();
	while (!w->word)
		w->ran = now_ns();
}

static void enter(struct worker *w)
{
	switch (what) {
	case FUTEX:
		syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, 0, NULL);
		return;
	case READ:
		syscall(SYS_read, w->ends[0], buffer, 1);
		return;
	case SEND:
		syscall(SYS_sendto, w->ends[1], buffer, SEND_SIZE, MSG_NOSIGNAL, NULL, 0);
		return;
	case LOCK:
		syscall(SYS_flock, w->ends[0], LOCK_EX);
		return;
	case CPU:
		run_rarely(w);
		return;
	}
}

static void leave(struct worker *w)
{
	atomic_store(&w->word, 1);
	switch (what) {
	case FUTEX:
		syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, 1);
		break;
	case READ:
		syscall(SYS_write, w->ends[1], "", 1);
		break;
	case SEND:
		shutdown(w->ends[1], SHUT_RDWR);
		break;
	case LOCK:
		flock(w->ends[1], LOCK_UN);
		break;
	case CPU:
		spinner_ends = true;
		break;
	}
	pthread_join(w->thread, NULL);
}

static const char *name_of(const struct worker *w)
{
	return (w - workers) % 2 ? "stuck-odd" : "stuck-even";
}

static void *work(void *arg)
{
	struct worker *w = arg;

	rename_self(name_of(w));
	w->before = now_ns();
	atomic_store(&w->tid, own_tid());
	enter(w);
	return NULL;
}

static void make_connection(int ends[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (void *)&a, length) || listen(listener, 1) ||
	    getsockname(listener, (void *)&a, &length) || connect(ends[1], (void *)&a, length))
		die("a connection over loopback: %s", strerror(errno));
	ends[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (ends[0] < 0)
		die("accept4: %s", strerror(errno));
	close(listener);
}

/* Two open files of one path, of which the second is locked. */
static void make_lock(int ends[2], unsigned int i)
{
	char name[32];

	snprintf(name, sizeof(name), "locked-%u", i);
	for (int k = 0; k < 2; k++)
		ends[k] = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (ends[0] < 0 || ends[1] < 0 || flock(ends[1], LOCK_EX))
		die("%s: %s", name, strerror(errno));
}

static void begin(unsigned int n)
{
	pthread_t spinner;
	int stat;

	for (unsigned int i = 0; i < n; i++) {
		if (what == READ)
			make_pipe(workers[i].ends);
		if (what == SEND)
			make_connection(workers[i].ends);
		if (what == LOCK)
			make_lock(workers[i].ends, i);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("cannot create a thread");
	}
	for (unsigned int i = 0; i < n; i++) {
		while (!atomic_load(&workers[i].tid) || (what == CPU && !workers[i].ran))
			pause_ns(50000);
		if (what == CPU)
			continue;
		stat = open_stat(getpid(), workers[i].tid);
		await_state(stat, 'S');
		syscall(SYS_close, stat);
		workers[i].asleep = now_ns();
	}
	if (what == CPU && pthread_create(&spinner, NULL, spin, NULL))
		die("cannot create a thread");
}

static void put_descriptor(const struct worker *w)
{
	const int fd = w->ends[what == SEND];
	struct sockaddr_in a;
	socklen_t length = sizeof(a);
	char path[64], text[PATH_MAX + 16] = "", plain[INET_ADDRSTRLEN];

	if (what == FUTEX || what == CPU)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, text, PATH_MAX) < 0)
		die("%s: %s", path, strerror(errno));
	if (what == READ)
		strcat(text, " read end");
	if (what == SEND && !getpeername(fd, (void *)&a, &length))
		snprintf(text, sizeof(text), "tcp %s:%u",
			 inet_ntop(AF_INET, &a.sin_addr, plain, sizeof(plain)), ntohs(a.sin_port));
	put(",\"fd\":%d,", fd);
	put_string("what", text);
}

static void report_one(const struct worker *w, uint64_t held, uint64_t ended)
{
	uint64_t before = what == CPU ? w->ran : w->before;

	if (what == CPU && w->ran != w->held)
		return;
	put_row(w->tid, name_of(w), calls[what], 1, 0);
	put(",\"age\":[%llu,%llu]",
	    (unsigned long long)(held - (what == CPU ? before + SLICE : w->asleep)),
	    (unsigned long long)(ended - before));
	put_descriptor(w);
	put("}");
}

static void parse_what(const char *text)
{
	static const char *const all[] = {"futex", "read", "send", "lock", "cpu"};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(text, all[i])) {
			what = i;
			return;
		}
	misuse("not futex, read, send, lock or cpu: %s", text);
}

int main(int argc, char **argv)
{
	uint64_t held, ended;
	unsigned int n;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("what to wait in, and THREADS, are needed");
	parse_what(argv[1]);
	n = parse_number(argv[2], "THREADS", 1, MAX_THREADS);
	reached("ready");
	gate("go");
	begin(n);
	reached("stuck");
	gate("hold");
	held = now_ns();
	for (unsigned int i = 0; i < n; i++)
		workers[i].held = workers[i].ran;
	reached("holding");
	gate("some");
	ended = now_ns();
	report_begin();
	for (unsigned int i = 0; i < n; i++)
		report_one(&workers[i], held, ended);
	for (unsigned int i = 0; i < n; i += 2)
		leave(&workers[i]);
	reached("fewer");
	gate("end");
	report_end();
	for (unsigned int i = 1; i < n; i += 2)
		leave(&workers[i]);
	return 0;
}
