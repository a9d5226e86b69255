/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of stacks share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/stacks/flame.h>
#include <plumb/stacks/stacks.h>
#include <plumb/symbols/symbols.h>

/*
 * --- folded.c ---
 *
 * Stacks as paths of a call tree, and as text, the input of flame graph scripts: outermost frame
 * first, frames separated by ';', kernel frames with the suffix "_[k]".
 *
 * Stacks share outer frames and names, so a tree saves memory: a node takes 8 bytes and an entry in
 * a hash table, the text of a stack hundreds of bytes.
 */

struct plumb_row;

struct plumb_name {
	char *text;
	bool is_kernel;
};

/* A frame below its caller.  Callers have lower numbers; 0 is the root, which has no name. */
struct plumb_node {
	uint32_t caller, name;
};

/* Empty if all zero.  The program exits if there is no memory. */
struct plumb_tree {
	struct plumb_node *nodes;
	struct plumb_name *names;
	uint32_t n_nodes, n_names;
	uint32_t *node_places, *name_places; /* hash tables, of numbers */
	uint32_t node_room, name_room;
};

/* The node with this name below CALLER, added if it is new. */
uint32_t plumb_tree_add(struct plumb_tree *t, uint32_t caller, const char *name, bool is_kernel);
/* Adds a stack in text form; returns the node of its innermost frame. */
uint32_t plumb_tree_parse(struct plumb_tree *t, const char *text);
/* Frees the hash tables, after which nothing can be added. */
void plumb_tree_close(struct plumb_tree *t);
void plumb_tree_free(struct plumb_tree *t);

static inline const struct plumb_name *plumb_tree_name(const struct plumb_tree *t, uint32_t node)
{
	return &t->names[t->nodes[node].name];
}

/* Orders two paths by the names of their frames, outermost first. */
int plumb_tree_compare(const struct plumb_tree *t, uint32_t a, uint32_t b);

struct plumb_folded {
	uint32_t leaf;   /* the innermost frame; 0: there is none */
	uint64_t weight; /* the width in a flame graph: a count, bytes or ns */
	uint64_t count, max, min;
	uint64_t idle;               /* of weight: ns of threads that waited for work */
	const struct plumb_row *row; /* one of its rows; may be NULL */
};

/* Merges stacks with the same path and sorts by descending weight; returns the number left. */
size_t plumb_folded_merge(const struct plumb_tree *t, struct plumb_folded *stacks, size_t n);

/* Prints one line per stack: "main;read_loop;vfs_read_[k] 123". */
void plumb_folded_print(const struct plumb_tree *t, const struct plumb_folded *stacks, size_t n,
			FILE *out);

/* --- flame.c: a flame graph as one self-contained SVG file with zoom and search --- */

struct plumb_report;

struct plumb_flame {
	const char *about; /* "10 s; the width of a frame is its share of the time" */
	const struct plumb_report *report; /* for the caption; NULL: there is none */
	/* Another run, whose stacks are in the same tree: frames are coloured by changes since. */
	const struct plumb_folded *before;
	size_t n_before;
	const char *unit; /* of the weights: "ns" is shown as times, anything else as it is */
};

/* Reads and checks the lines "frames weight" of --diff.  0, or -errno after a message. */
int plumb_flame_base_read(const char *path);
/* Adds the stacks that were read to T; returns them (malloc'd), and their number. */
struct plumb_folded *plumb_flame_base_add(struct plumb_tree *t, size_t *n);

/* Writes or replaces PATH atomically (atomic-file.h).  0, or -errno after a message. */
int plumb_flame_write(const char *path, const struct plumb_flame *flame,
		      const struct plumb_tree *tree, const struct plumb_folded *stacks, size_t n);

/* --- stacks.c, stacks-fold.c --- */

extern struct plumb_symbolizer *plumb_stacks_symbolizer;
/* For struct plumb_stacking. */
extern const struct plumb_ring plumb_stacks_ring;
/* Without unwind tables. */
void plumb_stacks_configure_frames(const struct plumb_run *run, const struct plumb_bpf *bpf,
				   bool calibration);
void plumb_stacks_configure(const struct plumb_run *run, const struct plumb_bpf *bpf,
			    bool calibration);
int plumb_stacks_fill(const struct plumb_bpf *bpf);
void plumb_stacks_begin(struct plumb_run *run);
void plumb_stacks_name_flight(const struct plumb_run *run, const struct plumb_flight *f,
			      struct plumb_frames *frames);
void plumb_stacks_footer(FILE *out);
void plumb_stacks_complete(struct plumb_options *o); /* stacks-options.c */
/*
 * As plumb_frames_name().  OWN: keep frames of BPF programs and their callers, which in a sample
 * are code that the thread ran.
 */
void plumb_frames_fill(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key, bool own);

/* For plumb_frames.in_rwlock (start.c). */
bool plumb_frames_are_in_rwlock(const struct plumb_frames *f);

/* Separates a stack from that of the thread's waker, which follows in reverse: innermost first. */
#define WOKEN_BY "--"

/* The innermost frame of a stack that had not ended. */
#define IN_FLIGHT "[in flight]"

/* The stacks of a report. */
struct plumb_stacks {
	struct plumb_tree tree;
	struct plumb_folded *all; /* each with another path, heaviest first */
	size_t n;
};

struct plumb_flame;
/*
 * Builds the stacks of a report.  Rows whose addresses differ may have the same names; these are
 * merged.  For lines and graphs, what is IN_FLIGHT is a stack as well.  The stacks of an earlier
 * run are added for FLAME, unless it is NULL.
 */
struct plumb_stacks plumb_stacks_fold(const struct plumb_report *r, bool in_flight,
				      struct plumb_flame *flame);
void plumb_stacks_free(struct plumb_stacks *stacks);

bool plumb_stacks_have_key(const struct plumb_run *run);
/* "1234-nginx" */
void plumb_stacks_print_key(const struct plumb_run *run, const struct plumb_row *row, FILE *out);
const struct plumb_waker *plumb_stacks_waker_of(const struct plumb_row *row);
