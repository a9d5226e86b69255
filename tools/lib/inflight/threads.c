/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/filter.h>
#include <plumb/core/parse.h>
#include <plumb/core/privileges.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>

#include <bpf/libbpf.h>

struct walk {
	const struct plumb_run *run;
	uint64_t deadline;
	void (*each)(void *context, uint32_t pid, uint32_t tid);
	void *context;
	int descendants; /* the map of those that are followed; -1: none are */
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
	const struct plumb_options *o = &w->run->options;
	uint8_t yes;

	w->late |= plumb_now() >= w->deadline;
	if (w->late || plumb_is_own(pid) || !(o->follow || is_one_of(o->pids, o->n_pids, pid)) ||
	    !is_one_of(o->tids, o->n_tids, tid))
		return;
	if (w->descendants >= 0 && plumb_map_lookup(w->descendants, &pid, &yes))
		return;
	w->each(w->context, pid, tid);
}

/* The number in the name of a directory of /proc; 0: the name is not a number. */
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

/* Visits the threads of a cgroup and of its descendants; takes FD. */
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

static void visit_descendants(struct walk *w)
{
	struct plumb_elements all = {};

	plumb_map_read(w->descendants, &all);
	for (size_t i = 0; i < all.n; i++)
		visit_process(w, ((uint32_t *)all.keys)[i]);
	plumb_elements_free(&all);
}

bool plumb_threads_each(const struct plumb_run *run, uint64_t deadline,
			void (*each)(void *context, uint32_t pid, uint32_t tid), void *context)
{
	const struct plumb_options *o = &run->options;
	struct walk w = {run, deadline, each, context, -1, false};

	if (run->child || o->follow)
		w.descendants = bpf_object__find_map_fd_by_name(run->instance.bpf.object,
								"plumb_descendants");
	if (o->n_cgroups)
		for (uint32_t i = 0; i < o->n_cgroups; i++)
			visit_cgroup(&w, openat(run->cgroups[i], ".",
						O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	else if (w.descendants >= 0)
		visit_descendants(&w);
	else if (o->n_pids)
		for (uint32_t i = 0; i < o->n_pids; i++) {
			if (run->pids[i] >= 0)
				visit_process(&w, o->pids[i]);
		}
	else if (o->n_tids)
		for (uint32_t i = 0; i < o->n_tids; i++) {
			if (run->tids[i] != PLUMB_EXITED)
				visit(&w, plumb_thread_process(o->tids[i]), o->tids[i]);
		}
	else
		visit_all(&w);
	return !w.late;
}

bool plumb_thread_is_named(const struct plumb_options *o, uint32_t pid, uint32_t tid)
{
	char comm[PLUMB_COMM_LEN];

	if (!o->n_comms && !o->globs.n)
		return true;
	plumb_thread_comm(pid, tid, comm);
	return plumb_filter_takes_name(o, comm);
}
