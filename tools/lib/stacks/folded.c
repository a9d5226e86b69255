/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#define MARK      "_[k]"
#define SEPARATOR "\\x3b" /* in a name; between names it is ";" */

/* --- hash tables of numbers, 0: empty; at most three quarters full --- */

static uint32_t mix(uint32_t a, uint32_t b)
{
	uint64_t x = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */

	return x >> 32;
}

static uint32_t hash_name(const char *text, bool is_kernel)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619U;
	return mix(hash, is_kernel);
}

static uint32_t hash_node(const struct plumb_node *n)
{
	return mix(n->caller, n->name);
}

/*
 * Makes room for one more of N ITEMS, which are returned; the PLACES are empty then, and are to be
 * filled again, if *ROOM has changed.
 */
static void *grow(void *items, size_t size, uint32_t n, uint32_t **places, uint32_t *room)
{
	if (n < *room / 4 * 3)
		return items;
	*room = *room ? 2 * *room : 1024;
	items = reallocarray(items, *room / 4 * 3, size);
	free(*places);
	*places = calloc(*room, sizeof(**places));
	if (!items || !*places)
		abort();
	if (!n) /* number 0 is the root, or its name */
		memset(items, 0, size);
	return items;
}

static void put(uint32_t *places, uint32_t room, uint32_t hash, uint32_t number)
{
	while (places[hash & (room - 1)])
		hash++;
	places[hash & (room - 1)] = number;
}

static void grow_names(struct plumb_tree *t)
{
	const uint32_t room = t->name_room;

	t->names = grow(t->names, sizeof(*t->names), t->n_names, &t->name_places, &t->name_room);
	t->n_names = t->n_names ?: 1;
	for (uint32_t i = 1; room != t->name_room && i < t->n_names; i++)
		put(t->name_places, t->name_room,
		    hash_name(t->names[i].text, t->names[i].is_kernel), i);
}

static void grow_nodes(struct plumb_tree *t)
{
	const uint32_t room = t->node_room;

	t->nodes = grow(t->nodes, sizeof(*t->nodes), t->n_nodes, &t->node_places, &t->node_room);
	t->n_nodes = t->n_nodes ?: 1;
	for (uint32_t i = 1; room != t->node_room && i < t->n_nodes; i++)
		put(t->node_places, t->node_room, hash_node(&t->nodes[i]), i);
}

/* --- the tree --- */

static uint32_t add_name(struct plumb_tree *t, const char *text, bool is_kernel)
{
	uint32_t hash = hash_name(text, is_kernel), i;

	grow_names(t);
	for (uint32_t at = hash; (i = t->name_places[at & (t->name_room - 1)]); at++)
		if (t->names[i].is_kernel == is_kernel && !strcmp(t->names[i].text, text))
			return i;
	i = t->n_names++;
	t->names[i] = (struct plumb_name){strdup(text), is_kernel};
	if (!t->names[i].text)
		abort();
	put(t->name_places, t->name_room, hash, i);
	return i;
}

uint32_t plumb_tree_add(struct plumb_tree *t, uint32_t caller, const char *name, bool is_kernel)
{
	struct plumb_node node = {.caller = caller, .name = add_name(t, name, is_kernel)};
	uint32_t hash = hash_node(&node), i;

	grow_nodes(t);
	for (uint32_t at = hash; (i = t->node_places[at & (t->node_room - 1)]); at++)
		if (t->nodes[i].caller == caller && t->nodes[i].name == node.name)
			return i;
	i = t->n_nodes++;
	t->nodes[i] = node;
	put(t->node_places, t->node_room, hash, i);
	return i;
}

/* Undoes print_name(). */
static void unescape(char *name)
{
	for (char *c = name; (c = strchr(c, '\\')); c++) {
		if (c[1] == '\\') {
			c++; /* a backslash of the name */
		} else if (!strncmp(c, SEPARATOR, strlen(SEPARATOR))) {
			*c = ';';
			memmove(c + 1, c + strlen(SEPARATOR), strlen(c + strlen(SEPARATOR)) + 1);
		}
	}
}

uint32_t plumb_tree_parse(struct plumb_tree *t, const char *text)
{
	uint32_t node = 0;
	bool is_kernel;
	char *name;
	size_t n;

	for (; *text; text += n + (text[n] == ';')) {
		n = strcspn(text, ";");
		name = strndup(text, n);
		if (!name)
			abort();
		is_kernel = n >= strlen(MARK) && !strcmp(name + n - strlen(MARK), MARK);
		if (is_kernel)
			name[n - strlen(MARK)] = 0;
		unescape(name);
		node = plumb_tree_add(t, node, name, is_kernel);
		free(name);
	}
	return node;
}

void plumb_tree_close(struct plumb_tree *t)
{
	free(t->name_places);
	free(t->node_places);
	t->name_places = t->node_places = NULL;
}

void plumb_tree_free(struct plumb_tree *t)
{
	plumb_tree_close(t);
	for (uint32_t i = 1; i < t->n_names; i++)
		free(t->names[i].text);
	free(t->names);
	free(t->nodes);
	*t = (struct plumb_tree){};
}

static int depth_of(const struct plumb_tree *t, uint32_t node)
{
	int depth = 0;

	for (; node; node = t->nodes[node].caller)
		depth++;
	return depth;
}

int plumb_tree_compare(const struct plumb_tree *t, uint32_t a, uint32_t b)
{
	int deeper = a == b ? 0 : depth_of(t, a) - depth_of(t, b), order = deeper;
	const struct plumb_name *x, *y;

	for (; deeper > 0; deeper--)
		a = t->nodes[a].caller;
	for (; deeper < 0; deeper++)
		b = t->nodes[b].caller;
	if (a == b)
		return order;
	while (t->nodes[a].caller != t->nodes[b].caller) {
		a = t->nodes[a].caller;
		b = t->nodes[b].caller;
	}
	x = plumb_tree_name(t, a);
	y = plumb_tree_name(t, b);
	order = strcmp(x->text, y->text);
	return order ?: x->is_kernel - y->is_kernel;
}

/* --- stacks --- */

static int by_leaf(const void *a, const void *b)
{
	const struct plumb_folded *x = a, *y = b;

	return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

static int by_weight(const void *a, const void *b, void *tree)
{
	const struct plumb_folded *x = a, *y = b;

	return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
				      : plumb_tree_compare(tree, x->leaf, y->leaf);
}

size_t plumb_folded_merge(const struct plumb_tree *t, struct plumb_folded *stacks, size_t n)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(stacks, n, sizeof(*stacks), by_leaf);
	for (size_t i = 0; i < n; i++) {
		struct plumb_folded *to = &stacks[kept - 1], *from = &stacks[i];

		if (!kept || to->leaf != from->leaf) {
			stacks[kept++] = *from;
			continue;
		}
		to->weight += from->weight;
		to->count += from->count;
		to->max = from->max > to->max ? from->max : to->max;
		to->min = from->min < to->min ? from->min : to->min;
		to->idle += from->idle;
	}
	qsort_r(stacks, kept, sizeof(*stacks), by_weight, (void *)t);
	return kept;
}

/* Escapes the separator as other bytes that cannot be printed are (text.h). */
static void print_name(const struct plumb_name *name, FILE *out)
{
	for (const char *c = name->text; *c; c++)
		if (*c == ';')
			fputs(SEPARATOR, out);
		else
			fputc(*c, out);
	fputs(name->is_kernel ? MARK : "", out);
}

static void print_path(const struct plumb_tree *t, uint32_t node, FILE *out)
{
	if (!node)
		return;
	print_path(t, t->nodes[node].caller, out);
	if (t->nodes[node].caller)
		fputc(';', out);
	print_name(plumb_tree_name(t, node), out);
}

void plumb_folded_print(const struct plumb_tree *t, const struct plumb_folded *stacks, size_t n,
			FILE *out)
{
	for (size_t i = 0; i < n; i++) {
		print_path(t, stacks[i].leaf, out);
		fprintf(out, " %llu\n", (unsigned long long)stacks[i].weight);
	}
}
