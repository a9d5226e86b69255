/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* census: all loaded BPF programs and their links, at one time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <linux/bpf.h>

/* Kinds of links, by the misses that they count. */
enum kind {
	KIND_OTHER,
	KIND_KPROBE, /* kprobe, kretprobe, kprobe.multi: the link counts misses of its own */
	KIND_USER,   /* uprobe, uretprobe */
	KIND_USER_MULTI,
	KIND_PERF, /* a perf event of unknown type: not reported before 6.6 */
};

struct attachment {
	uint32_t id, program;
	enum kind kind;
	const char *by;   /* "kprobe", "raw_tracepoint", "fentry", ... */
	char *target;     /* NULL: not reported by the kernel */
	uint32_t more;    /* targets besides that one */
	uint64_t address; /* of a function whose name is not looked up yet; 0: none */
	uint64_t missed;
};

struct program {
	uint32_t id, type;
	char name[BPF_OBJ_NAME_LEN];
	uint8_t tag[BPF_TAG_SIZE];
	uint32_t btf_object, btf_id; /* of its attach target; 0: none, or not reported */
	uint64_t runs, run_time;     /* ns; both counted while statistics are enabled */
	uint64_t misses;
	bool counts_misses; /* the kernel has that field (5.12) */
};

struct census {
	struct program *programs; /* sorted by id */
	size_t n;
	struct attachment *links; /* sorted by program, then by id */
	size_t n_links;
	struct timespec taken; /* CLOCK_REALTIME */
	uint64_t clock;        /* ns, CLOCK_MONOTONIC */
};

/*
 * Take a census.  Targets of links are copied from OLDER (NULL: none) if they are known there.  0,
 * or -errno after a message.
 */
int census_take(struct census *c, const struct census *older);
void census_free(struct census *c);

const struct program *census_program(const struct census *c, uint32_t id);
/* The links of a program; *N is their number. */
const struct attachment *census_links(const struct census *c, uint32_t program, size_t *n);
/* One of them, by its id; NULL: it has no such link. */
const struct attachment *census_link(const struct census *c, uint32_t program, uint32_t id);

/* "kprobe", "tracing", "xdp"; "type 99" if it is newer than libbpf. */
const char *program_type(uint32_t type, char *text, size_t size);

/* --- target.c: what a link attaches its program to, as the kernel reports it --- */

/* Read kind and misses of the link with descriptor FD; false: the kernel does not report it. */
bool target_read(int fd, struct attachment *a);
/* Add how and to what it attaches PROGRAM; of a kernel function perhaps only the address. */
void target_describe(int fd, const struct program *program, struct attachment *a);
/* Set the target of links that have only an address to the name of the function there. */
void target_name(struct attachment *links, size_t n);
