/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <plumb/clock.h>
#include <plumb/parse.h>
#include <plumb/threads.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define MAX_FAMILY 16384 /* as the map of descendants */

struct walk {
	const struct plumb_session *s;
	uint64_t deadline;
	void (*each)(void *context, uint32_t pid, uint32_t tid);
	void *context;
	int family; /* the map of the command's descendants; -1: there is no command */
	bool late;
};

static bool is_one_of(const uint32_t *list, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == id)
			return true;
	return !n;
}

static void visit(struct walk *w, uint32_t pid, uint32_t tid)
{
	const struct plumb_options *o = &w->s->options;
	uint8_t yes;

	w->late |= plumb_now() >= w->deadline;
	if (w->late || pid == (uint32_t)getpid() || !is_one_of(o->pids, o->n_pids, pid) ||
	    !is_one_of(o->tids, o->n_tids, tid))
		return;
	if (w->family >= 0 && bpf_map_lookup_elem(w->family, &pid, &yes))
		return;
	w->each(w->context, pid, tid);
}

/* The number that a directory of /proc is called; 0: it is none. */
static uint32_t number_of(const struct dirent *entry)
{
	uint64_t number = 0;

	plumb_parse_u64(entry->d_name, 1, UINT32_MAX, &number);
	return number;
}

static void visit_process(struct walk *w, uint32_t pid)
{
	struct dirent *entry;
	char path[64];
	uint32_t tid;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return;
	while (!w->late && (entry = readdir(tasks))) {
		tid = number_of(entry);
		if (tid)
			visit(w, pid, tid);
	}
	closedir(tasks);
}

static void visit_all(struct walk *w)
{
	struct dirent *entry;
	uint32_t pid;
	DIR *proc = opendir("/proc");

	while (proc && !w->late && (entry = readdir(proc))) {
		pid = number_of(entry);
		if (pid)
			visit_process(w, pid);
	}
	if (proc)
		closedir(proc);
}

static void visit_threads_of(struct walk *w, int cgroup)
{
	int fd = openat(cgroup, "cgroup.threads", O_RDONLY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned int tid;
	uint32_t pid;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (!w->late && fscanf(list, "%u", &tid) == 1) {
		pid = plumb_thread_process(tid);
		if (pid)
			visit(w, pid, tid);
	}
	fclose(list);
}

/* The threads of a cgroup and of all below it.  FD is taken. */
static void visit_cgroup(struct walk *w, int fd)
{
	struct dirent *entry;
	DIR *dir;
	int below;

	if (fd < 0)
		return;
	visit_threads_of(w, fd);
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while (!w->late && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		visit_cgroup(w, below);
	}
	closedir(dir);
}

static void visit_family(struct walk *w)
{
	uint32_t pid, *previous = NULL;

	/* Behind a process that has just ended the list begins anew. */
	for (int i = 0; i < MAX_FAMILY && !bpf_map_get_next_key(w->family, previous, &pid); i++) {
		visit_process(w, pid);
		previous = &pid;
	}
}

bool plumb_threads_each(const struct plumb_session *s, uint64_t deadline,
			void (*each)(void *context, uint32_t pid, uint32_t tid), void *context)
{
	const struct plumb_options *o = &s->options;
	struct walk w = {s, deadline, each, context, -1, false};

	if (s->child)
		w.family = bpf_object__find_map_fd_by_name(s->instance.bpf.object, "plumb_family");
	if (o->n_cgroups)
		for (uint32_t i = 0; i < o->n_cgroups; i++)
			visit_cgroup(
				&w, openat(s->cgroups[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	else if (w.family >= 0)
		visit_family(&w);
	else if (o->n_pids)
		for (uint32_t i = 0; i < o->n_pids; i++)
			visit_process(&w, o->pids[i]);
	else if (o->n_tids)
		for (uint32_t i = 0; i < o->n_tids; i++)
			visit(&w, plumb_thread_process(o->tids[i]), o->tids[i]);
	else
		visit_all(&w);
	return !w.late;
}

int plumb_thread_read(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd, err;

	*text = 0;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	err = n < 0 ? -errno : 0;
	text[n < 0 ? 0 : n] = 0;
	close(fd);
	return err;
}

void plumb_thread_comm(uint32_t pid, uint32_t tid, char comm[PLUMB_COMM_LEN])
{
	char text[PLUMB_COMM_LEN + 1];

	/* When another than the first thread calls execve it takes the first one's number. */
	if (plumb_thread_read(pid, tid, "comm", text, sizeof(text)) &&
	    plumb_thread_read(pid, pid, "comm", text, sizeof(text)))
		strcpy(text, "?");
	if (*text && text[strlen(text) - 1] == '\n')
		text[strlen(text) - 1] = 0;
	snprintf(comm, PLUMB_COMM_LEN, "%s", text);
}

bool plumb_thread_is_named(const struct plumb_options *o, uint32_t pid, uint32_t tid)
{
	char comm[PLUMB_COMM_LEN];

	if (!o->n_comms && !o->globs.n)
		return true;
	plumb_thread_comm(pid, tid, comm);
	return plumb_filter_takes_name(o, comm);
}

#define SKIP_6 " %*s %*s %*s %*s %*s %*s"

int plumb_thread_stat(uint32_t pid, uint32_t tid, struct plumb_thread_stat *stat)
{
	unsigned long long ticks;
	const char *rest;
	char text[1024];
	int err = plumb_thread_read(pid, tid, "stat", text, sizeof(text));

	if (err)
		return err;
	/* Behind the name, in which anything may be: the 3rd, the 22nd and the 39th of the fields.
	 */
	rest = strrchr(text, ')');
	if (!rest ||
	    sscanf(rest, ") %c" SKIP_6 SKIP_6 SKIP_6 " %llu" SKIP_6 SKIP_6 " %*s %*s %*s %*s %u",
		   &stat->state, &ticks, &stat->cpu) != 3)
		return -EINVAL;
	stat->begun = ticks * (PLUMB_SECOND / sysconf(_SC_CLK_TCK));
	return 0;
}

/* When the thread last ran, by the scheduler's clock. */
static uint64_t last_run(uint32_t pid, uint32_t tid)
{
	unsigned long long ms, ns;
	char text[2048];
	const char *line;

	plumb_thread_read(pid, tid, "sched", text, sizeof(text));
	line = strstr(text, "\nse.exec_start");
	if (!line || sscanf(line, " se.exec_start : %llu.%6llu", &ms, &ns) != 2)
		return 0;
	return ms * 1000000 + ns;
}

/*
 * What CLOCK_MONOTONIC is ahead of the scheduler's clock of a CPU, on which this thread has to run
 * for a moment; 0: it may not.  That clock leaves out what interrupts and the hypervisor take from
 * the CPU, so CPUs drift apart, and it is asked again each second.
 */
static uint64_t clock_ahead(uint32_t cpu)
{
	static struct {
		uint64_t ahead, taken;
	} of[CPU_SETSIZE];
	uint64_t now = plumb_now();
	cpu_set_t all, one;

	if (cpu >= CPU_SETSIZE)
		return 0;
	if (of[cpu].taken && now - of[cpu].taken < PLUMB_SECOND)
		return of[cpu].ahead;
	of[cpu].ahead = 0;
	of[cpu].taken = now;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_getaffinity(0, sizeof(all), &all) || sched_setaffinity(0, sizeof(one), &one))
		return 0;
	sched_yield(); /* it keeps the time of that */
	of[cpu].ahead = plumb_now() - last_run(getpid(), gettid());
	sched_setaffinity(0, sizeof(all), &all);
	return of[cpu].ahead;
}

uint64_t plumb_thread_slept(uint32_t pid, uint32_t tid)
{
	uint64_t ran = last_run(pid, tid), ahead;
	struct plumb_thread_stat stat;

	if (!ran || plumb_thread_stat(pid, tid, &stat))
		return 0;
	ahead = clock_ahead(stat.cpu);
	return ahead ? ran + ahead : 0;
}

uint32_t plumb_thread_process(uint32_t tid)
{
	char path[32], line[64];
	uint64_t tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Tgid:\t", 6)) {
			line[strcspn(line, "\n")] = 0;
			plumb_parse_u64(line + 6, 1, UINT32_MAX, &tgid);
			break;
		}
	fclose(f);
	return tgid;
}
