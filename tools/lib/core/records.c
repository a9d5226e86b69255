/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "records.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/stacking.h>

#include <bpf/libbpf.h>

#define TURN_NS 10000000

/*
 * Also ends reading after TURN_NS: ring_buffer__consume() would return only when a ring buffer is
 * empty, which may be never.
 */
static int take_record(void *source, void *record, size_t size)
{
	const struct plumb_source *from = source;
	int err = from->ring->handlers->record(from->ring->context, record, size);

	if (!err && plumb_now() >= from->records->turn)
		err = -EAGAIN;
	return err;
}

static int open_ring(struct plumb_records *r, const struct plumb_ring *ring)
{
	const struct bpf_object *object = r->run->instance.bpf.object;
	int map = bpf_object__find_map_fd_by_name(object, ring->map), err = 0;
	struct plumb_source *source = &r->sources[r->n++];

	*source = (struct plumb_source){r, ring};
	if (r->rings)
		err = ring_buffer__add(r->rings, map, take_record, source);
	else
		r->rings = ring_buffer__new(map, take_record, source, NULL);
	if (!r->rings)
		err = -errno;
	if (err)
		return plumb_error(err, "no ring buffer %s: %s", ring->map, strerror(-err));
	if (ring->handlers->begin)
		ring->handlers->begin(ring->context, r->run);
	return 0;
}

int plumb_records_open(struct plumb_records *r, struct plumb_run *run)
{
	const struct plumb_stacking *stacking = run->tool->stacking;
	const struct plumb_ring *ring = run->tool->rings;
	int err = 0;

	*r = (struct plumb_records){.run = run};
	if (stacking)
		stacking->begin(run);
	if (stacking && stacking->ring)
		err = open_ring(r, stacking->ring);
	for (size_t i = 0; !err && ring && i < PLUMB_MAX_RINGS && ring[i].map; i++)
		err = open_ring(r, &ring[i]);
	return err;
}

void plumb_records_close(struct plumb_records *r)
{
	ring_buffer__free(r->rings);
}

int plumb_records_fd(const struct plumb_records *r)
{
	return r->rings ? ring_buffer__epoll_fd(r->rings) : -1;
}

int plumb_records_take(struct plumb_records *r)
{
	uint64_t again;
	bool all;
	int err;

	if (!r->rings || r->err)
		return r->err;
	r->turn = plumb_now() + TURN_NS;
	err = ring_buffer__consume(r->rings);
	all = err != -EAGAIN;
	r->again = all ? 0 : r->turn;
	r->is_left = !all;
	if (!all)
		err = 0;
	for (size_t i = 0; i < r->n && err >= 0; i++) {
		const struct plumb_ring *ring = r->sources[i].ring;

		again = 0;
		err = ring->handlers->idle(ring->context, all, &again);
		if (!again)
			continue;
		r->again = plumb_sooner(r->again, plumb_now() + again);
		r->is_left |= err != PLUMB_DONE;
	}
	if (err < 0) {
		r->err = err;
		r->again = 0;
		r->is_left = false;
	}
	return r->err;
}

void plumb_records_drain(struct plumb_records *r)
{
	for (plumb_records_take(r); r->is_left; plumb_records_take(r))
		usleep(1000);
}
