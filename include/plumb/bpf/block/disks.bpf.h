/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * disks, BPF side: who had I/O on a disk while traced threads waited for it, by bytes. The loader's
 * part of that name reads the sums.
 *
 * A program calls disk_wait_begins() and disk_wait_ends() for a thread, disk_io_begins() in the
 * thread that submits a bio, and disk_io_ends() when that has ended. A bio that ends while nobody
 * waits for its disk is not counted.
 */
#pragma once

#include <plumb/bpf/block/disks.h>
#include <plumb/bpf/block/request.bpf.h>
#include <plumb/bpf/core/filter.bpf.h>

#define DISK_WAITS 16384

/* Each user has a number, that of its sums; the loader fills in those that are free. */
PLUMB_MAP(plumb_disk_users, HASH, PLUMB_DISK_USERS, struct plumb_disk_user, __u32);
PLUMB_MAP(plumb_disk_sums, ARRAY, PLUMB_DISK_USERS, __u32, struct plumb_disk_sum);

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, PLUMB_DISK_USERS);
	__type(value, __u32);
} plumb_disk_numbers SEC(".maps");

PLUMB_MAP(plumb_disks, HASH, PLUMB_DISKS, __u32, struct plumb_disk);

/* Of threads that wait, by the address of the task. */
struct disk_wait {
	__u64 since;
	__u32 dev, pad;
};

PLUMB_MAP(plumb_disk_waits, HASH, DISK_WAITS, __u64, struct disk_wait);

static __s64 disk_waiting = 0; /* threads */

/* What is kept of a bio until its end. */
struct disk_io {
	__u32 user;
	__u32 bytes;
	__u32 op; /* enum plumb_disk_op; PLUMB_DISK_OPS: it is not counted */
};

/* --- waits --- */

static __always_inline void disk_wait_ends(__u64 task, __u64 now)
{
	struct disk_wait *w, was;
	struct plumb_disk *disk;

	if (disk_waiting <= 0)
		return;
	w = bpf_map_lookup_elem(&plumb_disk_waits, &task);
	if (!w)
		return;
	was = *w;
	/* Of two CPUs that wake a thread one deletes it. */
	if (bpf_map_delete_elem(&plumb_disk_waits, &task))
		return;
	atomic_add(&disk_waiting, -1);
	disk = bpf_map_lookup_elem(&plumb_disks, &was.dev);
	if (!disk)
		return;
	atomic_add(&disk->waiting, -1);
	atomic_add(&disk->count, 1);
	if ((__s64)(now - was.since) > 0)
		atomic_add(&disk->ns, now - was.since);
}

static __always_inline void disk_wait_begins(__u64 task, __u32 dev, __u64 now)
{
	struct plumb_disk *disk, none = {};
	struct disk_wait w = {.since = now, .dev = dev};

	disk_wait_ends(task, now);
	if (!dev)
		return;
	disk = bpf_map_lookup_elem(&plumb_disks, &dev);
	if (!disk) {
		bpf_map_update_elem(&plumb_disks, &dev, &none, BPF_NOEXIST);
		disk = bpf_map_lookup_elem(&plumb_disks, &dev);
	}
	if (!disk || bpf_map_update_elem(&plumb_disk_waits, &task, &w, BPF_NOEXIST))
		return;
	atomic_add(&disk->waiting, 1);
	atomic_add(&disk_waiting, 1);
}

/* --- limits --- */

PLUMB_MAP(plumb_disk_limits, HASH, PLUMB_DISK_LIMITS, struct plumb_disk_limit, __u64);
/* How many cgroups, from a thread's own up, may have one; 0: there are no limits. */
PLUMB_MAP(plumb_disk_depth, ARRAY, 1, __u32, __u32);

enum cgroup_subsys_id___io {
	io_cgrp_id___io = 4,
};

/* That of TASK whose limits of I/O it obeys. */
static __always_inline struct cgroup_subsys_state *io_group(struct task_struct *task)
{
	struct cgroup_subsys_state *group = NULL;
	struct css_set *set = BPF_CORE_READ(task, cgroups);

	if (set && bpf_core_enum_value_exists(enum cgroup_subsys_id___io, io_cgrp_id___io))
		bpf_probe_read_kernel(
			&group, sizeof(group),
			&set->subsys[0] +
				bpf_core_enum_value(enum cgroup_subsys_id___io, io_cgrp_id___io));
	return group;
}

/* Whether a limit for the disk DEV is that of the cgroup of TASK, or of one above it. */
static __noinline bool disk_is_limited(struct task_struct *task, __u32 dev)
{
	struct plumb_disk_limit key = {.dev = dev};
	__u32 zero = 0, i, *depth = bpf_map_lookup_elem(&plumb_disk_depth, &zero);
	struct cgroup_subsys_state *group;
	bool limited = false;
	__u64 *waits;

	if (!depth || !*depth || !dev)
		return false;
	group = io_group(task);
	for (i = 0; i < PLUMB_DISK_DEPTH && i < *depth && group; i++) {
		key.cgroup = BPF_CORE_READ(group, cgroup, kn, id);
		waits = bpf_map_lookup_elem(&plumb_disk_limits, &key);
		if (waits) {
			atomic_add(waits, 1);
			limited = true;
		}
		group = BPF_CORE_READ(group, parent);
	}
	return limited;
}

/* --- users --- */

#define DISK_PF_WQ_WORKER 0x00000020 /* include/linux/sched.h */
#define DISK_PF_KTHREAD   0x00200000

/* Where the state of a kernel thread is from 5.17 on, and was before. */
struct task_struct___worker {
	void *worker_private;
} __attribute__((preserve_access_index));

struct kthread___any {
	void *data;
} __attribute__((preserve_access_index));

struct workqueue_struct___any {
	char name[24];
} __attribute__((preserve_access_index));

struct pool_workqueue___any {
	struct workqueue_struct___any *wq;
} __attribute__((preserve_access_index));

struct worker___any {
	struct pool_workqueue___any *current_pwq;
} __attribute__((preserve_access_index));

/* The name of the work queue for which a worker works. */
static __always_inline void name_worker(struct task_struct *task, char *name, __u32 size)
{
	struct task_struct___worker *new = (struct task_struct___worker *)task;
	struct workqueue_struct___any *queue;
	struct worker___any *worker;
	struct kthread___any *k;

	if (bpf_core_field_exists(new->worker_private))
		k = BPF_CORE_READ(new, worker_private);
	else
		k = (struct kthread___any *)BPF_CORE_READ(task, set_child_tid);
	worker = k ? BPF_CORE_READ(k, data) : NULL;
	queue = worker ? BPF_CORE_READ(worker, current_pwq, wq) : NULL;
	if (queue)
		bpf_probe_read_kernel_str(name, size, &queue->name);
}

/* The cgroup whose limits a bio obeys, of whichever hierarchy; 0: the root, or not known. */
static __always_inline __u64 bio_limited_cgroup(struct bio *plain)
{
	struct bio___any *bio = (struct bio___any *)plain;
	struct cgroup *cgroup;

	if (!bpf_core_field_exists(bio->bi_blkg))
		return 0;
	cgroup = BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup);
	return cgroup && BPF_CORE_READ(cgroup, level) ? BPF_CORE_READ(cgroup, kn, id) : 0;
}

/* The number of a user; 0: there is no room for more. */
static __noinline __u32 disk_user_number(const struct plumb_disk_user *user)
{
	__u32 *known = bpf_map_lookup_elem(&plumb_disk_users, user), number;

	if (known)
		return *known;
	if (bpf_map_pop_elem(&plumb_disk_numbers, &number))
		return 0;
	if (!bpf_map_update_elem(&plumb_disk_users, user, &number, BPF_NOEXIST))
		return number;
	bpf_map_push_elem(&plumb_disk_numbers, &number, BPF_ANY);
	known = bpf_map_lookup_elem(&plumb_disk_users, user); /* another CPU was first */
	return known ? *known : 0;
}

/* The current thread submits a bio to the disk DEV. */
static __noinline __u32 disk_user(struct bio *bio, __u32 dev)
{
	struct task_struct *task = current_task();
	struct plumb_disk_user user = {.dev = dev, .pid = current_pid(task)};
	__u32 flags = current_read(task, flags);

	if (flags & DISK_PF_WQ_WORKER) {
		user.kind = PLUMB_DISK_WORKER;
		user.pid = 0;
		user.cgroup = bio_limited_cgroup(bio);
		name_worker(task, user.name, sizeof(user.name));
	} else {
		user.kind = flags & DISK_PF_KTHREAD ? PLUMB_DISK_KTHREAD : PLUMB_DISK_PROCESS;
		user.traced = filter_thread(task) && filter_entry(task);
		BPF_CORE_READ_STR_INTO(&user.name, task, group_leader, comm);
	}
	return disk_user_number(&user);
}

/* --- I/O --- */

static __always_inline __u32 disk_op(__u32 flags, __u32 bytes)
{
	switch (request_op(flags, bytes)) {
	case BLOCK_READ:
		return PLUMB_DISK_READ;
	case BLOCK_WRITE:
	case BLOCK_WRITE_ZEROES:
	case BLOCK_SECURE_ERASE:
		return PLUMB_DISK_WRITE;
	case BLOCK_DISCARD:
		return PLUMB_DISK_DISCARD;
	case BLOCK_FLUSH:
		return PLUMB_DISK_FLUSH;
	default:
		return PLUMB_DISK_OPS;
	}
}

/* The current thread submits BIO to the disk DEV. */
static __always_inline void disk_io_begins(struct disk_io *io, struct bio *bio, __u32 dev)
{
	io->bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	io->op = disk_op(BPF_CORE_READ(bio, bi_opf), io->bytes);
	io->user = dev ? disk_user(bio, dev) : 0;
}

/* BIO, or what is left of it, is a part of what was submitted. */
static __always_inline void disk_io_is_part(struct disk_io *io, struct bio *bio)
{
	io->bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
}

/* Not static, so that the verifier checks it once, not for each bio of a request. */
__noinline int disk_io_add(__u32 dev, __u32 user, __u32 op, __u32 bytes)
{
	struct plumb_disk *disk = bpf_map_lookup_elem(&plumb_disks, &dev);
	struct plumb_disk_sum *sum;

	if (!disk || disk->waiting <= 0 || op >= PLUMB_DISK_OPS)
		return 0;
	sum = bpf_map_lookup_elem(&plumb_disk_sums, &user);
	if (!sum)
		return 0;
	atomic_add(&sum->count[op & 3], 1);
	atomic_add(&sum->bytes[op & 3], bytes);
	return 0;
}

static __always_inline void disk_io_ends(const struct disk_io *io, __u32 dev)
{
	if (disk_waiting > 0)
		disk_io_add(dev, io->user, io->op, io->bytes);
}
