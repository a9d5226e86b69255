/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * snapshot: what programs rely on in a kernel, as a file: the prototypes of functions
 * and tracepoints, and the fields of the records that tracepoints write.
 *
 * {"functions": {"tcp_sendmsg": {"arguments": ["struct sock *sk", ...],
 *                                "types": ["struct sock *", ...], "returns": "int"}},
 *  "prototypes": {"sched_switch": ["bool", "struct task_struct *", ...]},
 *  "records": {"sched_switch": [{"name", "type", "offset", "size", "signed"}, ...]},
 *  "tracepoints": {"sched:sched_switch": [the same]},
 *  "arch", "kernel", "schema", "tool": ...}
 *
 * A function without types is {}.  Prototypes and records are of the kernel's BTF: what raw
 * tracepoints get, and struct trace_event_raw_NAME, of a tracepoint or of a class of them.
 * "tracepoints" are the formats in tracefs, which only a running kernel has.  Types alone are of
 * no kernel or architecture that is known: these are "" then.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <jansson.h>

#include "kernel.h"

/* Of these functions, those that the kernel lacks left out; NULL after saying what is wrong. */
json_t *snapshot_take(const struct kernel *k, const char *const *functions, size_t n);

/* Those of these types; NULL is none. */
json_t *snapshot_prototypes(const struct btf *btf);
json_t *snapshot_records(const struct btf *btf);

/* Whole, or not at all (atomic-file.h); 0 or -errno after saying what is wrong. */
int snapshot_write(const json_t *snapshot, const char *path);

/* NULL after saying what is wrong: what it returns has the form above. */
json_t *snapshot_read(const char *path);

/* What a difference does to a program that was made for the first kernel. */
enum difference_class {
	DIFFERENCE_BREAKING, /* any such program */
	DIFFERENCE_MOVED,    /* one with a fixed layout; CO-RE relocates it */
	DIFFERENCE_ADDED,    /* nothing: there is more than it knows of */
	DIFFERENCE_NOISE,    /* nothing: the same by another name */
	DIFFERENCE_CLASSES
};

enum snapshot_part {
	SNAPSHOT_FUNCTIONS,
	SNAPSHOT_PROTOTYPES,
	SNAPSHOT_RECORDS,
	SNAPSHOT_FORMATS,
	SNAPSHOT_PARTS
};
extern const char *const snapshot_part_names[SNAPSHOT_PARTS]; /* in JSON */

struct compared {
	size_t n[SNAPSHOT_PARTS];            /* of the first kernel's so many were compared */
	const char *why_not[SNAPSHOT_PARTS]; /* NULL: they were */
	size_t by_name; /* functions whose types the first one lacks: they are there or not */
};

typedef void snapshot_difference(void *context, enum difference_class class, const char *target,
				 const char *what);

/* In what IS, which is of kernel K or of one that is not at hand (NULL), differs from WAS. */
void snapshot_compare(const json_t *was, const json_t *is, const struct kernel *k,
		      snapshot_difference *tell, void *context, struct compared *compared);

#endif
