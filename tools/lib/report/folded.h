/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * folded: stacks as paths of a call tree, and as text: outermost frame first, frames separated
 * by ';', those of the kernel ending in "_[k]", as flame graphs are made of.
 *
 * Stacks begin with the same frames, and frames have the same names: a node of the tree takes 8
 * bytes and a place in a hash table, where the text of a stack takes hundreds.
 */
#ifndef PLUMB_FOLDED_H
#define PLUMB_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plumb_row;

struct plumb_name {
	char *text;
	bool is_kernel;
};

/* A frame below its caller.  Callers have lower numbers; 0 is the root, which has no name. */
struct plumb_node {
	uint32_t caller, name;
};

/* All zero: empty.  Memory that is not to be had ends the program. */
struct plumb_tree {
	struct plumb_node *nodes;
	struct plumb_name *names;
	uint32_t n_nodes, n_names;
	uint32_t *node_places, *name_places; /* hash tables, of numbers */
	uint32_t node_room, name_room;
};

/* The frame of that name that CALLER called, added if it is new. */
uint32_t plumb_tree_add(struct plumb_tree *t, uint32_t caller, const char *name, bool is_kernel);
/* The innermost frame of a stack as text. */
uint32_t plumb_tree_parse(struct plumb_tree *t, const char *text);
/* Nothing more will be added: frees what only that needs. */
void plumb_tree_close(struct plumb_tree *t);
void plumb_tree_free(struct plumb_tree *t);

static inline const struct plumb_name *plumb_tree_name(const struct plumb_tree *t, uint32_t node)
{
	return &t->names[t->nodes[node].name];
}

/* As the frames of paths have it, from the outermost on, by name. */
int plumb_tree_compare(const struct plumb_tree *t, uint32_t a, uint32_t b);

struct plumb_folded {
	uint32_t leaf;   /* the innermost frame; 0: there is none */
	uint64_t weight; /* times, bytes or ns: what the graph's width means */
	uint64_t count, max, min;
	const struct plumb_row *row; /* one of those that it is made of; may be NULL */
};

/* Makes one of those that have the same path; sorted by weight, heaviest first.  How many are left.
 */
size_t plumb_folded_merge(const struct plumb_tree *t, struct plumb_folded *stacks, size_t n);

/* "main;read_loop;vfs_read_[k] 123", a line a stack. */
void plumb_folded_print(const struct plumb_tree *t, const struct plumb_folded *stacks, size_t n,
			FILE *out);

#endif
