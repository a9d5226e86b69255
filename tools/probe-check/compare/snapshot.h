/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * snapshot: a file with what tracing programs rely on in a kernel: the prototypes of functions and
 * tracepoints, and the fields of the records that tracepoints write.
 *
 * {"functions": {"tcp_sendmsg": {"arguments": ["struct sock *sk", ...],
 *                                "types": ["struct sock *", ...], "returns": "int"}},
 *  "prototypes": {"sched_switch": ["bool", "struct task_struct *", ...]},
 *  "records": {"sched_switch": [{"name", "type", "offset", "size", "signed"}, ...]},
 *  "tracepoints": {"sched:sched_switch": [the same]},
 *  "arch", "kernel", "schema", "tool": ...}
 *
 * A function without types is {}.  "prototypes" and "records" are from BTF: the arguments of raw
 * tracepoints, and struct trace_event_raw_NAME of a tracepoint or of a class of tracepoints.
 * "tracepoints" are the formats in tracefs, which only a running kernel has.  "kernel" and "arch"
 * are "" if only types are given, since types do not name them.
 */
#pragma once

#include <jansson.h>

#include "check/kernel.h"

/* Take a snapshot with those of the functions that the kernel has.  NULL after a message. */
json_t *snapshot_take(const struct kernel *k, const char *const *functions, size_t n);

/* The prototypes and records in BTF; NULL: no BTF, so an empty object. */
json_t *snapshot_prototypes(const struct btf *btf);
json_t *snapshot_records(const struct btf *btf);

/* A field of a record, as above. */
json_t *snapshot_field(const char *name, const char *type, json_int_t offset, json_int_t size,
		       bool is_signed);

/* Write the file atomically (atomic-file.h); 0, or -errno after a message. */
int snapshot_write(const json_t *snapshot, const char *path);

/* Read a snapshot and check that it has the form above.  NULL after a message. */
json_t *snapshot_read(const char *path);

/* What a difference does to a program that was made for the first kernel. */
enum difference_class {
	DIFFERENCE_BREAKING, /* breaks any such program */
	DIFFERENCE_MOVED,    /* breaks programs with a fixed layout; CO-RE relocates it */
	DIFFERENCE_ADDED,    /* breaks nothing: there is more than before */
	DIFFERENCE_NOISE,    /* breaks nothing: the same by another name */
	DIFFERENCE_CLASSES
};

enum snapshot_part {
	SNAPSHOT_FUNCTIONS,
	SNAPSHOT_PROTOTYPES,
	SNAPSHOT_RECORDS,
	SNAPSHOT_FORMATS,
	SNAPSHOT_PARTS
};
extern const char *const snapshot_part_names[SNAPSHOT_PARTS]; /* keys in JSON */

struct compared {
	size_t n[SNAPSHOT_PARTS];            /* items of the first kernel that were compared */
	const char *why_not[SNAPSHOT_PARTS]; /* NULL: the part was compared */
	size_t by_name; /* functions whose types the first one lacks, compared by name only */
};

typedef void snapshot_difference(void *context, enum difference_class class, const char *target,
				 const char *what);

/* Call TELL for each difference of IS from WAS.  K is the kernel of IS; NULL: not available. */
void snapshot_compare(const json_t *was, const json_t *is, const struct kernel *k,
		      snapshot_difference *tell, void *context, struct compared *compared);
