/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perf: records a tracepoint on one CPU as "perf record" does, with perf's own time stamps
 * (ns, CLOCK_MONOTONIC).  It has nothing in common with the tools except the tracepoint.
 */
#pragma once

#include "workload.h"
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#define PERF_RING (1 << 20)

struct perf_ring {
	int fd;
	struct perf_event_mmap_page *page; /* followed by the records */
};

/* The kernel's formats, after the fields common to all events; the same on all kernels. */
struct perf_switch {
	char prev_comm[16];
	pid_t prev_pid;
	int prev_prio;
	long prev_state;
	char next_comm[16];
	pid_t next_pid;
} __attribute__((packed));

struct perf_record {
	struct perf_event_header header;
	uint64_t time;
	uint32_t size;
	char common[8];
	struct perf_switch fields; /* of sched_switch */
} __attribute__((packed));

static inline int perf_open(const char *event, int cpu, const char *filter)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	char text[64] = "", path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", event);
	fd = open_uncounted(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || syscall(SYS_pread64, fd, text, sizeof(text) - 1, (off_t)0) <= 0)
		return -errno;
	close(fd);
	attr.config = strtoull(text, NULL, 10);
	fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return -errno;
	return fd;
}

/* Begin to record; 0 or -errno. */
static inline int perf_begin(struct perf_ring *r, const char *event, int cpu, const char *filter)
{
	r->fd = perf_open(event, cpu, filter);
	if (r->fd < 0)
		return r->fd;
	r->page = mmap(NULL, PERF_RING + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->page == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return 0;
}

static inline void perf_stop(const struct perf_ring *r)
{
	ioctl(r->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Read the next record at AT, and advance AT; false: there is none. */
static inline bool perf_next(const struct perf_ring *r, uint64_t *at, struct perf_record *record)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)r->page + r->page->data_offset;

	if (head > PERF_RING)
		die("perf's records do not fit");
	while (*at < head) {
		memcpy(&record->header, data + *at, sizeof(record->header));
		if (record->header.type == PERF_RECORD_LOST)
			die("perf has lost records");
		if (record->header.type == PERF_RECORD_SAMPLE)
			memcpy(record, data + *at, sizeof(*record));
		*at += record->header.size;
		if (record->header.type == PERF_RECORD_SAMPLE)
			return true;
	}
	return false;
}

static inline void perf_end(struct perf_ring *r)
{
	munmap(r->page, PERF_RING + 4096);
	close(r->fd);
}
