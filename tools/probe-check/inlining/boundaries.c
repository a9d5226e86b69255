/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* boundaries: whether bytes of x86 code are those of a direct call, by decoding their function. */
#include "inlining/code.h"
#include <errno.h>
#include <stdlib.h>
#include <plumb/user/code.h>

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

/* The bytes [opcode, end), from where decoding starts. */
struct search {
	size_t opcode, end;
	size_t at; /* of the last instruction */
	bool is_decoded, is_call;
};

static bool look(const struct plumb_instruction *in, void *context)
{
	struct search *s = context;

	s->at = in->at;
	s->is_decoded = in->at + in->length > s->opcode;
	s->is_call = s->is_decoded && in->at <= s->opcode && in->at + in->length == s->end &&
		     (in->kind == PLUMB_INSTRUCTION_CALL || in->kind == PLUMB_INSTRUCTION_JUMP);
	return !s->is_decoded;
}

/* Code is scanned by ascending address: each function is decoded once. */
bool plumb_scan_is_call(struct plumb_scan *scan, const struct plumb_block *block, size_t at,
			size_t length)
{
	const uint64_t address = block->address + at;
	uint64_t start = find_start(scan, address);
	struct search s = {};

	if (!start || start < block->address)
		return true;
	if (scan->boundary > start && scan->boundary <= address)
		start = scan->boundary;
	s.opcode = address - start;
	s.end = s.opcode + length;
	at = start - block->address;
	plumb_code_visit(block->bytes + at, block->size - at, scan->machine == EM_386, look, &s);
	scan->boundary = start + s.at;
	return !s.is_decoded || s.is_call;
}
