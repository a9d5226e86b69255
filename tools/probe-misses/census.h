/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* census: all BPF programs that are loaded, and what they are attached by, at one time. */
#ifndef CENSUS_H
#define CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <linux/bpf.h>

/* What of a link matters for what it can miss. */
enum kind {
	KIND_OTHER,
	KIND_KPROBE, /* kprobe, kretprobe, kprobe.multi: the link counts misses of its own */
	KIND_USER,   /* uprobe, uretprobe */
	KIND_USER_MULTI,
	KIND_PERF, /* by a perf event of which the kernel does not say what it is (before 6.6) */
};

struct attachment {
	uint32_t id, program;
	enum kind kind;
	const char *by;   /* "kprobe", "raw_tracepoint", "fentry", ... */
	char *target;     /* NULL: the kernel does not say */
	uint32_t more;    /* targets besides that one */
	uint64_t address; /* of a function whose name is not known yet; 0: none */
	uint64_t missed;
};

struct program {
	uint32_t id, type;
	char name[BPF_OBJ_NAME_LEN];
	uint8_t tag[BPF_TAG_SIZE];
	uint32_t btf_object,
		btf_id;          /* what it was made for; 0: nothing, or the kernel cannot say */
	uint64_t runs, run_time; /* ns; while statistics are on */
	uint64_t misses;
	bool counts_misses; /* has the kernel that field (5.12)? */
};

struct census {
	struct program *programs; /* by id */
	size_t n;
	struct attachment *links; /* by program, then by id */
	size_t n_links;
	struct timespec taken; /* CLOCK_REALTIME */
	uint64_t clock;        /* ns, CLOCK_MONOTONIC */
};

/*
 * Takes one; what is attached to what is copied from OLDER (NULL: none), as far as it is known
 * there.  0, or -errno after saying what is wrong.
 */
int census_take(struct census *c, const struct census *older);
void census_free(struct census *c);

const struct program *census_program(const struct census *c, uint32_t id);
/* The links of a program, N of them. */
const struct attachment *census_links(const struct census *c, uint32_t program, size_t *n);

/* "kprobe", "tracing", "xdp"; "type 99" for one that is newer than this. */
const char *program_type(uint32_t type, char *text, size_t size);

#endif
