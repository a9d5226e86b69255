/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* boundaries: whether bytes of x86 code are those of a direct call, by decoding their function. */
#include "image/x86.h"
#include "inlining/code.h"
#include <errno.h>
#include <stdlib.h>

int plumb_scan_start(struct plumb_scan *scan, uint64_t address)
{
	uint64_t *list;

	/* The capacity is a power of two, and is doubled when it is full. */
	if (!(scan->n_starts & (scan->n_starts - 1))) {
		list = reallocarray(scan->starts, scan->n_starts ? 2 * scan->n_starts : 1,
				    sizeof(*list));
		if (!list)
			return -ENOMEM;
		scan->starts = list;
	}
	scan->starts[scan->n_starts++] = address;
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void plumb_scan_sort_starts(struct plumb_scan *scan)
{
	if (scan->n_starts)
		qsort(scan->starts, scan->n_starts, sizeof(*scan->starts), by_address);
}

/* The last start that is at most ADDRESS; 0: none. */
static uint64_t find_start(const struct plumb_scan *scan, uint64_t address)
{
	size_t low = 0, high = scan->n_starts, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (scan->starts[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? scan->starts[low - 1] : 0;
}

/* The bytes [opcode, end), by address. */
struct search {
	uint64_t opcode, end;
	uint64_t at; /* of the last instruction */
	bool is_decoded, is_call;
};

static bool look(const cs_insn *in, void *context)
{
	struct search *s = context;

	s->at = in->address;
	s->is_decoded = in->address + in->size > s->opcode;
	s->is_call = s->is_decoded && in->address <= s->opcode &&
		     in->address + in->size == s->end && x86_is_direct(in);
	return !s->is_decoded;
}

/* Code is scanned by ascending address: each function is decoded once. */
bool plumb_scan_is_call(struct plumb_scan *scan, const struct plumb_block *block, size_t at,
			size_t length)
{
	struct search s = {.opcode = block->address + at, .end = block->address + at + length};
	uint64_t start = find_start(scan, s.opcode);

	if (!start || start < block->address)
		return true;
	if (scan->boundary > start && scan->boundary <= s.opcode)
		start = scan->boundary;
	s.at = start;
	at = start - block->address;
	x86_visit(block->bytes + at, block->size - at, start, scan->machine == EM_386, look, &s);
	scan->boundary = s.at;
	return !s.is_decoded || s.is_call;
}
