/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* states: those by id of processes that are gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/core/ledger.h>
#include <plumb/bpf/user/by-id.h>
#include <plumb/inflight/states.h>
#include <plumb/kernel/map.h>
#include <plumb/kernel/thread.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

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

static size_t read_keys(int map, struct plumb_id *keys, size_t max)
{
	size_t n = 0;

	while (n < max && !bpf_map_get_next_key(map, n ? &keys[n - 1] : NULL, &keys[n]))
		n++;
	return n;
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
	const struct bpf_map *map;
	struct plumb_id *keys;
	bool gone = false;
	size_t max, n = 0;
	void *state;

	if (!bpf->states)
		return;
	map = bpf_object__find_map_by_name(bpf->object, bpf->states);
	max = bpf_map__max_entries(map);
	keys = malloc(max * sizeof(*keys));
	state = malloc(bpf_map__value_size(map));
	if (keys && state)
		n = read_keys(bpf_map__fd(map), keys, max);
	if (n)
		qsort(keys, n, sizeof(*keys), by_process);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_process(&keys[i - 1], &keys[i]))
			gone = is_gone(&keys[i]);
		if (gone)
			abandon(bpf, bpf_map__fd(map), &keys[i], state);
	}
	free(keys);
	free(state);
}
