/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/bpf/core/ledger.h>
#include <plumb/bpf/sched/waker.h>
#include <plumb/bpf/user/by-id.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/inflight/inflight.h>
#include <plumb/inflight/states.h>
#include <plumb/kernel/map.h>
#include <plumb/kernel/thread.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* --- reading --- */

struct reader {
	const struct plumb_run *run;
	uint64_t deadline;
	void (*each)(void *context, const struct plumb_state *state);
	void *context;
	int map;
	size_t size; /* of a value */
	void *value;
};

static void hand_over(const struct reader *r, uint32_t pid, uint32_t tid, const void *value)
{
	r->each(r->context, &(struct plumb_state){pid, tid, value});
}

/* The ids of the thread follow its state (struct plumb_thread_kept). */
static bool read_hash(const struct reader *r)
{
	struct plumb_elements all = {};
	bool whole = !plumb_map_read(r->map, &all);
	const char *value = all.values;
	const uint32_t *id;

	for (size_t i = 0; i < all.n && whole; i++, value += r->size) {
		id = (const void *)(value + r->size - 2 * sizeof(*id));
		if (id[1])
			hand_over(r, id[0], id[1], value);
		whole = plumb_now() < r->deadline;
	}
	plumb_elements_free(&all);
	return whole;
}

static void ask_thread(void *context, uint32_t pid, uint32_t tid)
{
	const struct reader *r = context;
	int fd = plumb_thread_pidfd(tid);

	if (fd < 0)
		return;
	if (!plumb_map_lookup(r->map, &fd, r->value))
		hand_over(r, pid, tid, r->value);
	close(fd);
}

/* Reads SIZE bytes; false at the end of the file. */
static bool read_all(int fd, void *to, size_t size)
{
	ssize_t n;

	for (size_t done = 0; done < size; done += n) {
		n = read(fd, (char *)to + done, size - done);
		if (n <= 0)
			return false;
	}
	return true;
}

/* Reads the states by the iterator program; -errno if there is none. */
static int read_iterator(const struct reader *r)
{
	struct bpf_program *p =
		bpf_object__find_program_by_name(r->run->instance.bpf.object, "thread_states");
	struct bpf_link *link;
	uint32_t id[2];
	int fd;

	if (!p || !bpf_program__autoload(p))
		return -ENOENT;
	link = bpf_program__attach_iter(p, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	bpf_link__destroy(link);
	if (fd < 0)
		return -errno;
	while (read_all(fd, id, sizeof(id)) && read_all(fd, r->value, r->size))
		hand_over(r, id[0], id[1], r->value);
	close(fd);
	return 0;
}

bool plumb_states_each(const struct plumb_run *run, uint64_t deadline,
		       void (*each)(void *context, const struct plumb_state *state), void *context)
{
	bool storage = run->instance.bpf.config->task_storage, all;
	const char *name = storage ? "plumb_threads" : "plumb_threads_by_task";
	struct bpf_map *map = bpf_object__find_map_by_name(run->instance.bpf.object,
							   run->instance.bpf.states ?: name);
	struct reader r = {.run = run, .deadline = deadline, .each = each, .context = context};

	if (!map)
		return true;
	r.map = bpf_map__fd(map);
	r.size = bpf_map__value_size(map);
	r.value = malloc(r.size);
	if (!r.value)
		return false;
	if (!storage)
		all = read_hash(&r);
	else if (plumb_threads_have_pidfds())
		all = plumb_threads_each(run, deadline, ask_thread, &r);
	else if (!read_iterator(&r))
		all = true;
	else
		all = plumb_threads_each(run, deadline, ask_thread, &r) && false;
	free(r.value);
	return all;
}

/* --- those by id of processes that are gone --- */

/* Whether the process no longer runs the program that this state is of. */
static bool is_gone(const struct plumb_id *which)
{
	unsigned long long start_stack;
	const char *rest;
	char text[1024];
	char state;

	if (plumb_thread_read(which->pid, which->pid, "stat", text, sizeof(text)))
		return true;
	/* Fields 3 and 28, which is 0 for those who may not see it. */
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest,
			    ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%*s %*s %*s %*s %*s %*s %*s %*s %llu",
			    &state, &start_stack) != 2)
		return true;
	return state == 'Z' || state == 'X' ||
	       (start_stack && PLUMB_IMAGE(start_stack) != which->image);
}

static int by_process(const void *left, const void *right)
{
	const struct plumb_id *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->image > b->image) - (a->image < b->image);
}

/* Counts the calls that the state is inside, and removes it. */
static void abandon(const struct plumb_bpf *bpf, int map, const struct plumb_id *which, void *state)
{
	struct plumb_ledger *ledger = (struct plumb_ledger *)bpf->ledgers;
	const int at = plumb_states_offset(bpf->object, "function_thread", "depth");

	if (plumb_map_lookup(map, which, state) || bpf_map_delete_elem(map, which))
		return;
	__atomic_fetch_add(&ledger->abandoned, *(uint32_t *)((char *)state + at), __ATOMIC_RELAXED);
}

void plumb_states_settle(const struct plumb_bpf *bpf)
{
	struct plumb_elements all = {};
	const struct bpf_map *map;
	struct plumb_id *keys;
	bool gone = false;
	void *state;

	if (!bpf->states)
		return;
	map = bpf_object__find_map_by_name(bpf->object, bpf->states);
	state = plumb_zeroed(1, bpf_map__value_size(map));
	plumb_map_read(bpf_map__fd(map), &all);
	keys = all.keys;
	if (all.n)
		qsort(keys, all.n, sizeof(*keys), by_process);
	for (size_t i = 0; i < all.n; i++) {
		if (!i || by_process(&keys[i - 1], &keys[i]))
			gone = is_gone(&keys[i]);
		if (gone)
			abandon(bpf, bpf_map__fd(map), &keys[i], state);
	}
	plumb_elements_free(&all);
	free(state);
}

uint64_t plumb_states_came(const struct plumb_run *run, uint64_t task)
{
	const struct bpf_map *map =
		bpf_object__find_map_by_name(run->instance.bpf.object, "plumb_stays");
	struct sched_stay stay;

	for (uint32_t cpu = 0; cpu < bpf_map__max_entries(map); cpu++)
		if (!plumb_map_lookup(bpf_map__fd(map), &cpu, &stay) && stay.task == task)
			return stay.began;
	return 0;
}
