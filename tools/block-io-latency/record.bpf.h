/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record: a request that has ended: its stages, its row, its record. */
#pragma once

#include "state.bpf.h"
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/keys.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the loader */
} block_slow_requests SEC(".maps");

static __always_inline __u64 between(__u64 least, __u64 time, __u64 most)
{
	/* Clocks of CPUs can differ a little. */
	return (__s64)(time - least) < 0 ? least : (__s64)(most - time) < 0 ? most : time;
}

/* A stage that it did not reach has no time; the one before then lasts until its end. */
static __always_inline void stage_times(const struct block_request *s, __u64 now, __u64 *ns)
{
	__u64 end = (__s64)(now - s->start) < 0 ? s->start : now, issued, inserted;

	ns[BLOCK_WHOLE] = end - s->start;
	if (!block_selection.stages)
		return;
	issued = s->issued ? between(s->start, s->issued, end) : end;
	inserted = s->inserted ? between(s->start, s->inserted, issued) : issued;
	ns[BLOCK_BEFORE] = inserted - s->start;
	ns[BLOCK_QUEUED] = issued - inserted;
	ns[BLOCK_DEVICE] = end - issued;
}

static __noinline void record_stage(struct block_key *key, const struct block_request *s, __u64 ns)
{
	struct plumb_totals *totals;
	__u32 slot, at;

	key_find(key, &slot);
	at = hist_at(slot, bpf_get_smp_processor_id());
	totals = hist_record_at(&at, ns, s->error);
	if (totals)
		plumb_add(totals->counters[0], s->bytes);
}

static __always_inline bool names_disk(void)
{
	return plumb_config.by & BLOCK_BY_DISK || block_selection.slower;
}

static __always_inline bool names_part(void)
{
	return plumb_config.by & BLOCK_BY_PART || block_selection.slower;
}

/* By plain loads: a helper call takes longer than a name. */
static __always_inline void name_disk(char *name, struct gendisk___any *disk)
{
	const __u64 *from = (const __u64 *)disk->disk_name;
	__u64 *to = (__u64 *)name;
	__u32 i;

	for (i = 0; i < BLOCK_DISK_LEN / 8; i++)
		to[i] = from[i];
	if (unlikely(to[0] >> 56 | to[1] | to[2] | to[3])) /* not in seven bytes */
		name_trim(to, BLOCK_DISK_LEN / 8);
	else
		name_trim(to, 1);
}

/* The same by the disk's address. */
static __always_inline void name_disk_at(char *name, __u64 address)
{
	struct gendisk___any *disk = (struct gendisk___any *)address;

	barrier_var(disk); /* otherwise the relocation is of the structure that had the address */
	bpf_probe_read_kernel_str(name, BLOCK_DISK_LEN, &disk->disk_name);
}

/* The disk and the partition are in KEY already. */
static __always_inline void fill_key(struct block_key *key, const struct block_request *s)
{
	const __u32 by = plumb_config.by;

	if (KEY_HAS_WHO)
		key->who = s->who;
	if (block_selection.slower && !(by & BLOCK_BY_DISK))
		__builtin_memset(key->disk, 0, sizeof(key->disk));
	if (!(by & BLOCK_BY_PART))
		key->dev = 0;
	if (by & BLOCK_BY_OP)
		key->op = s->op;
	if (by & BLOCK_BY_FLAGS)
		key->flags = request_flags(s->flags);
	if (by & BLOCK_BY_SIZE)
		key->size = s->bytes ? 1ULL << plumb_log2(s->bytes) : 0;
	if (by & BLOCK_BY_ERRNO)
		key->error = s->error;
}

static __always_inline bool send(const struct block_key *key, const struct block_request *s,
				 __u64 end, const __u64 *ns)
{
	struct block_slow *slow = bpf_ringbuf_reserve(&block_slow_requests, sizeof(*slow), 0);

	if (!slow)
		return false;
	slow->end = end;
	for (int i = 0; i < BLOCK_STAGES; i++)
		slow->ns[i] = ns[i];
	slow->sector = s->sector;
	slow->bytes = s->bytes;
	slow->dev = key->dev;
	slow->op = s->op;
	slow->flags = request_flags(s->flags);
	slow->error = s->error;
	slow->pid = s->pid;
	slow->tid = s->tid;
	slow->pad = 0;
	__builtin_memcpy(slow->disk, key->disk, sizeof(slow->disk));
	__builtin_memcpy(slow->comm, s->comm, sizeof(slow->comm));
	bpf_ringbuf_submit(slow, 0);
	return true;
}

static __noinline void record(struct block_key *key, const struct block_request *s, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 ns[BLOCK_STAGES];

	stage_times(s, now, ns);
	if (ns[BLOCK_WHOLE] < block_selection.min_ns) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	if (block_selection.slower && !send(key, s, s->start + ns[BLOCK_WHOLE], ns)) {
		ledger_count(cpu, dropped);
		return;
	}
	fill_key(key, s);
	record_stage(key, s, ns[BLOCK_WHOLE]);
	if (!(plumb_config.by & BLOCK_BY_STAGE))
		return;
	for (int i = BLOCK_WHOLE + 1; i < BLOCK_STAGES; i++) {
		key->stage = i;
		record_stage(key, s, ns[i]);
	}
}
