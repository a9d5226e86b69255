/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <plumb/core/memory.h>
#include <plumb/kernel/map.h>
#include <plumb/kernel/preemption.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* How the calling thread was scheduled, if it is a real-time thread meanwhile. */
struct usual {
	bool changed;
	int policy;
	struct sched_param param;
};

/* Nothing is changed if the kernel is not preemptible, or the thread may not be a real-time one. */
static struct usual become_realtime(void)
{
	const struct sched_param lowest = {.sched_priority = 1};
	struct usual u = {};
	int kind;

	if (!plumb_kernel_is_preemptible())
		return u;
	u.policy = sched_getscheduler(0);
	kind = u.policy & ~SCHED_RESET_ON_FORK;
	/* Other policies were chosen by the user and are kept. */
	if (kind == SCHED_OTHER || kind == SCHED_BATCH || kind == SCHED_IDLE)
		u.changed = !sched_getparam(0, &u.param) &&
			    !sched_setscheduler(0, SCHED_FIFO | (u.policy & SCHED_RESET_ON_FORK),
						&lowest);
	return u;
}

/* Keeps errno. */
static void be_usual(const struct usual *u)
{
	const int why = errno;

	if (u->changed)
		sched_setscheduler(0, u->policy, &u->param);
	errno = why;
}

int plumb_map_lookup(int map, const void *key, void *value)
{
	const struct usual u = become_realtime();
	const int err = bpf_map_lookup_elem(map, key, value);

	be_usual(&u);
	return err;
}

/* --- all elements --- */

/* Elements per call at first: a real-time thread is one for about 0.1 ms, 0.2 in large maps. */
#define STEP     256
#define PATIENCE 100 /* ms */

static void reserve(struct plumb_elements *e, size_t n, const struct bpf_map_info *info)
{
	if (n <= e->room)
		return;
	e->room = 2 * n;
	e->keys = plumb_required(reallocarray(e->keys, e->room, info->key_size));
	e->values = plumb_required(reallocarray(e->values, e->room, info->value_size));
}

/*
 * Adds up to N elements, whole buckets of the hash from the one that *BUCKET says (FROM NULL: the
 * first) on, and sets *BUCKET to the next.  The kernel copies a bucket under its lock.
 */
static int read_buckets(int map, void *from, uint32_t *bucket, uint32_t n, struct plumb_elements *e,
			const struct bpf_map_info *info)
{
	const struct usual u = become_realtime();
	const int err = bpf_map_lookup_batch(map, from, bucket, e->keys + e->n * info->key_size,
					     e->values + e->n * info->value_size, &n, NULL);

	be_usual(&u);
	/* After other errors n may be as it was. */
	if (!err || err == -ENOENT || err == -ENOSPC || err == -EBUSY)
		e->n += n;
	return err;
}

int plumb_map_read(int map, struct plumb_elements *to)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info), bucket, step = STEP;
	int err = bpf_obj_get_info_by_fd(map, &info, &size), left = PATIENCE;
	void *from = NULL;

	if (info.type == BPF_MAP_TYPE_PERCPU_HASH || info.type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
		info.value_size = (info.value_size + 7) / 8 * 8 * libbpf_num_possible_cpus();
	to->n = 0;
	while (!err || err == -ENOSPC || (err == -EBUSY && left--)) {
		if (err == -ENOSPC) /* more than that are in one bucket */
			step *= 2;
		else if (err == -EBUSY) /* a thread that lacks a CPU holds its lock */
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		reserve(to, to->n + step, &info);
		err = read_buckets(map, from, &bucket, step, to, &info);
		from = &bucket;
	}
	if (err == -ENOENT) /* there is no further bucket */
		return 0;
	return plumb_error(-err, "cannot read the elements of map %s: %s", info.name,
			   strerror(-err));
}

void plumb_elements_free(struct plumb_elements *elements)
{
	free(elements->keys);
	free(elements->values);
	*elements = (struct plumb_elements){};
}
