/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/core/parse.h>
#include <plumb/core/run.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/tracefs.h>
#include <plumb/witness/witness.h>

#include <bpf/libbpf.h>

#define MAX_EVENTS 4096
#define MAX_ROUNDS 8

/* Descriptors of all that are traced, and of the tool's own threads. */
static struct events {
	int fds[MAX_EVENTS];
	size_t n;
	int err;
} all, own;

static bool is_of_threads;
static const char *filter; /* of the event that is being opened; NULL: none */

static void open_one(struct events *e, struct perf_event_attr *attr, int tid, int cpu)
{
	int fd;

	if (e->err)
		return;
	if (e->n == MAX_EVENTS) {
		e->err = -EMFILE;
		return;
	}
	fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	/* A thread that has ended, a CPU that is offline. */
	if (fd < 0 && errno != ESRCH && errno != ENODEV)
		e->err = -errno;
	if (fd >= 0)
		e->fds[e->n++] = fd;
	if (fd >= 0 && filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		e->err = -errno;
}

/* Leaves the first N. */
static void close_to(struct events *e, size_t n)
{
	while (e->n > n)
		close(e->fds[--e->n]);
}

/* --- in threads --- */

struct threads {
	uint32_t tids[MAX_EVENTS];
	size_t n;
};

static void add_thread(void *context, uint32_t pid, uint32_t tid)
{
	struct threads *t = context;

	(void)pid;
	if (t->n < MAX_EVENTS)
		t->tids[t->n++] = tid;
}

static bool has(const struct threads *t, uint32_t tid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->tids[i] == tid)
			return true;
	return false;
}

static bool has_all(const struct threads *t, const struct threads *others)
{
	for (size_t i = 0; i < others->n; i++)
		if (!has(t, others->tids[i]))
			return false;
	return true;
}

static struct threads *list_threads(const struct plumb_run *run)
{
	struct threads *t = plumb_zeroed(1, sizeof(*t));

	plumb_threads_each(run, plumb_now() + PLUMB_SECOND, add_thread, t);
	return t;
}

/*
 * What a thread begins that is counted is counted, too.  Of one that began while events were being
 * opened nobody knows whether it is: then all are opened again.
 */
static void open_threads(struct perf_event_attr *attr, const struct plumb_run *run)
{
	const size_t first = all.n;
	struct threads *now = list_threads(run), *then;
	bool complete = false;

	for (int i = 0; i < MAX_ROUNDS && !complete && !all.err; i++) {
		close_to(&all, first);
		for (size_t j = 0; j < now->n; j++)
			open_one(&all, attr, now->tids[j], -1);
		then = now;
		now = list_threads(run);
		complete = has_all(then, now);
		free(then);
	}
	free(now);
	if (!complete && !all.err)
		all.err = -EAGAIN;
}

/* --- on CPUs --- */

/* The tool's own threads, also those that begin later. */
static void open_own(const struct perf_event_attr *attr)
{
	struct perf_event_attr threads = *attr;
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	uint64_t tid;

	threads.inherit = threads.inherit_thread = 1;
	while (tasks && (entry = readdir(tasks)))
		if (!plumb_parse_u64(entry->d_name, 1, INT32_MAX, &tid))
			open_one(&own, &threads, tid, -1);
	if (tasks)
		closedir(tasks);
}

static void open_cpus(struct perf_event_attr *attr)
{
	const int n = libbpf_num_possible_cpus();

	for (int cpu = 0; cpu < n; cpu++)
		open_one(&all, attr, -1, cpu);
	open_own(attr);
}

static const char *why(void)
{
	switch (all.err ?: own.err) {
	case 0:
		return NULL;
	case -EINVAL:
		return "this kernel cannot count in the threads of one process (before 5.13)";
	case -EMFILE:
		return "too many threads";
	case -EAGAIN:
		return "threads begin faster than they are found";
	case -EACCES:
	case -EPERM:
		return "perf_event_open() is not permitted";
	}
	return strerror(-(all.err ?: own.err));
}

const char *plumb_witness_event(const struct plumb_run *run, struct perf_event_attr *attr,
				const char *accepts)
{
	const struct plumb_options *o = &run->options;

	if (o->n_comms || o->globs.n || o->n_cgroups || o->follow)
		return "nothing else counts by name, cgroup or descent";
	attr->size = sizeof(*attr);
	filter = accepts;
	is_of_threads = run->child || o->n_pids || o->n_tids;
	if (run->child) {
		attr->inherit = 1;
		open_one(&all, attr, run->child, -1);
	} else if (o->n_pids || o->n_tids) {
		/* Of a single thread, those that it begins are others. */
		attr->inherit = attr->inherit_thread = !o->n_tids;
		open_threads(attr, run);
	} else {
		open_cpus(attr);
	}
	return why();
}

const char *plumb_witness_tracepoint(const struct plumb_run *run, const char *category,
				     const char *name, const char *accepts)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT};
	const int tracefs = plumb_tracefs_try();
	uint32_t id;
	int err = tracefs < 0 ? tracefs : plumb_tracefs_id(tracefs, category, name, &id);

	if (tracefs >= 0)
		close(tracefs);
	if (err)
		return err == -ENOENT ? "this kernel has no tracepoint for it"
				      : "tracefs cannot be read";
	attr.config = id;
	return plumb_witness_event(run, &attr, accepts);
}

bool plumb_witness_is_of_threads(void)
{
	return is_of_threads;
}

static uint64_t sum(const struct events *e)
{
	uint64_t n, total = 0;

	for (size_t i = 0; i < e->n; i++)
		if (read(e->fds[i], &n, sizeof(n)) == sizeof(n))
			total += n;
	return total;
}

uint64_t plumb_witness_events(void)
{
	return sum(&all);
}

uint64_t plumb_witness_own_events(void)
{
	return sum(&own);
}
