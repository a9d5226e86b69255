/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * folded: stacks as paths of a call tree, and as text, the input of flame graph scripts: outermost
 * frame first, frames separated by ';', kernel frames with the suffix "_[k]".
 *
 * Stacks share outer frames and names, so a tree saves memory: a node takes 8 bytes and an entry in
 * a hash table, the text of a stack hundreds of bytes.
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
	const struct plumb_row *row; /* one of its rows; may be NULL */
};

/* Merges stacks with the same path and sorts by descending weight; returns the number left. */
size_t plumb_folded_merge(const struct plumb_tree *t, struct plumb_folded *stacks, size_t n);

/* Prints one line per stack: "main;read_loop;vfs_read_[k] 123". */
void plumb_folded_print(const struct plumb_tree *t, const struct plumb_folded *stacks, size_t n,
			FILE *out);

#endif
