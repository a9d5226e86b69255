/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* userfuncs-code: whether and where functions can be probed, by their instructions. */
#include "userfuncs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/user/code.h>
#include <plumb/user/uprobe-defects.h>

/* Longest instruction of x86, in bytes. */
#define INSTRUCTION 15

/* What is looked at of a function's beginning: endbr64, a long nop, and an instruction. */
#define START (4 + 2 * INSTRUCTION)

/* Maximum size of a function that is decoded; a damaged symbol can claim to have a larger one. */
#define FUNCTION (16UL << 20)

static bool is_32bit(const struct plumb_elf *file)
{
	return gelf_getclass(file->elf) == ELFCLASS32;
}

/* --- OFFSET --- */

/* The instruction that contains an offset. */
struct place {
	uint64_t offset;
	struct plumb_instruction in;
	bool is_found;
};

static bool look_for_place(const struct plumb_instruction *in, void *context)
{
	struct place *p = context;

	p->in = *in;
	p->is_found = p->offset - in->at < in->length;
	return !p->is_found;
}

/* Checks that an instruction of the function begins START bytes after its first byte. */
static int check_start(const struct plumb_elf *file, struct plumb_userfunc *u, const void *code,
		       size_t size, uint64_t start)
{
	struct place p = {.offset = start};
	int before = strrchr(u->name, '+') - u->name;

	if (u->size && start >= u->size)
		return plumb_error(EINVAL, "%s in %s: the function has %" PRIu64 " bytes", u->name,
				   file->path, u->size);
	plumb_code_visit(code, size, is_32bit(file), look_for_place, &p);
	if (!p.is_found)
		return plumb_error(EINVAL, "%s in %s: the instructions before it cannot be decoded",
				   u->name, file->path);
	if (p.in.at != start)
		return plumb_error(EINVAL,
				   "%s in %s is inside an instruction; the nearest are %.*s+0x%zx "
				   "and %.*s+0x%zx",
				   u->name, file->path, before, u->name, p.in.at, before, u->name,
				   p.in.at + p.in.length);
	return 0;
}

/* --- returns --- */

/* Reads code at OFFSET; fewer bytes at the end of the file.  Returns their number. */
static size_t read_code(const struct plumb_elf *file, uint64_t offset, void *code, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n < size && (got = pread(file->fd, (char *)code + n, size - n, offset + n)) > 0)
		n += got;
	return n;
}

struct returns {
	const struct plumb_usersyms *syms;
	struct plumb_userfunc *u;
	const struct plumb_usersym *cold; /* its part elsewhere; NULL: none is known */
	uint64_t offset;                  /* in the file, of the code that is visited */
	bool leaves;                      /* by a jump */
};

static bool is_in(const struct plumb_usersym *s, uint64_t offset)
{
	return offset - s->offset < s->size;
}

/* The number of symbols that begin at the offset or before it. */
static size_t count_until(const struct plumb_usersyms *syms, uint64_t offset)
{
	size_t from = 0, to = syms ? syms->n : 0, middle;

	while (from < to) {
		middle = from + (to - from) / 2;
		if (syms->all[middle].offset <= offset)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Whether the part is of a function that begins at the offset: it has its name. */
static bool is_part_of(const struct plumb_usersyms *syms, const struct plumb_usersym *part,
		       uint64_t offset)
{
	const size_t stem = plumb_userfunc_stem(part);
	const struct plumb_usersym *s;

	for (size_t i = count_until(syms, offset); i-- > 0;) {
		s = &syms->all[i];
		if (s->offset != offset)
			return false;
		if (s->length >= stem && !memcmp(s->name, part->name, stem))
			return true;
	}
	return false;
}

/* The cold part (".cold") of the function that has this offset; NULL: none. */
static const struct plumb_usersym *find_cold(const struct returns *r, uint64_t offset)
{
	const size_t n = count_until(r->syms, offset);
	const struct plumb_usersym *s;

	for (size_t i = n; i-- > 0;) {
		s = &r->syms->all[i];
		if (s->offset != r->syms->all[n - 1].offset)
			return NULL;
		if (is_in(s, offset) && plumb_userfunc_is_cold(s) &&
		    is_part_of(r->syms, s, r->u->offset))
			return s;
	}
	return NULL;
}

/* Whether a jump to the offset stays in the function, or goes to its cold part. */
static bool stays(struct returns *r, uint64_t offset)
{
	if (offset - r->u->offset < r->u->size)
		return true;
	if (!r->cold)
		r->cold = find_cold(r, offset);
	return r->cold && is_in(r->cold, offset);
}

static bool take_return(const struct plumb_instruction *in, void *context)
{
	struct returns *r = context;

	r->leaves |= in->kind == PLUMB_INSTRUCTION_JUMP_INDIRECT ||
		     (in->kind == PLUMB_INSTRUCTION_JUMP && !stays(r, r->offset + in->target));
	if (in->kind == PLUMB_INSTRUCTION_RETURN)
		*plumb_append(r->u->returns, r->u->n_returns) = r->offset + in->at;
	return true;
}

/* The same of the cold part.  Returns whether all of it was decoded. */
static bool take_cold(const struct plumb_elf *file, struct returns *r)
{
	const size_t size = r->cold->size < FUNCTION ? r->cold->size : FUNCTION;
	void *code = plumb_zeroed(size, 1);
	size_t decoded = 0;

	r->offset = r->cold->offset;
	if (read_code(file, r->offset, code, size) == size)
		decoded = plumb_code_visit(code, size, is_32bit(file), take_return, r);
	free(code);
	return decoded == r->cold->size;
}

static void find_returns(const struct plumb_elf *file, const struct plumb_usersyms *syms,
			 struct plumb_userfunc *u, const void *code, size_t size)
{
	struct returns r = {.syms = syms, .u = u, .offset = u->offset};
	bool whole = plumb_code_visit(code, size, is_32bit(file), take_return, &r) == size;

	if (r.cold)
		whole &= take_cold(file, &r);
	if (!u->size || size < u->size)
		u->return_obstacle = "its size is not known, so its returns are not either";
	else if (!whole)
		u->return_obstacle =
			"an instruction of it cannot be decoded, so its returns are not known";
	else if (r.leaves)
		u->return_obstacle = "it ends in a jump to another function, which returns in its "
				     "place";
	else if (!u->n_returns)
		u->return_obstacle = "it has no return";
}

/* --- all --- */

/* Finds the instruction that contains OFFSET, decoded from START; false: it cannot be decoded. */
static bool find_place(const struct plumb_elf *file, uint64_t start, uint64_t offset,
		       struct place *p)
{
	size_t room = offset - start + INSTRUCTION;
	void *code;

	*p = (struct place){.offset = offset - start};
	if (offset - start >= FUNCTION)
		return false;
	code = plumb_zeroed(room, 1);
	plumb_code_visit(code, read_code(file, start, code, room), is_32bit(file), look_for_place,
			 p);
	free(code);
	return p->is_found;
}

bool plumb_userfuncs_is_instruction(const struct plumb_elf *file, uint64_t start, uint64_t offset)
{
	struct place p;

	return find_place(file, start, offset, &p) && p.in.at == p.offset;
}

bool plumb_userfuncs_is_inside(const struct plumb_elf *file, uint64_t start, uint64_t offset)
{
	struct place p;

	return find_place(file, start, offset, &p) && p.in.at != p.offset;
}

/*
 * The bytes of endbr64 or endbr32 at the function's beginning; 0: none.  The kernel single-steps
 * it, which takes microseconds, and emulates many an instruction that follows.
 */
static size_t skip_landing(const unsigned char *code, size_t size)
{
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e}; /* and 0xfa or 0xfb */

	if (size <= sizeof(endbr) + 1 || memcmp(code, endbr, sizeof(endbr)) ||
	    (code[sizeof(endbr)] & 0xfe) != 0xfa)
		return 0;
	return sizeof(endbr) + 1;
}

/*
 * How most Go functions begin: they compare the stack pointer with the end of the goroutine's stack
 * and jump to a call of runtime.morestack, after which they begin again.
 */
struct stack_check {
	size_t end;     /* behind the last of its jumps */
	int64_t target; /* of its jumps */
	int calls;      /* there */
	bool restarts;
};

static bool take_branch(const struct plumb_instruction *in, void *context)
{
	struct stack_check *c = context;
	const bool jumps = in->kind == PLUMB_INSTRUCTION_JUMP;

	if (in->kind == PLUMB_INSTRUCTION)
		return true;
	if (!c->end || (int64_t)in->at < c->target) {
		if (!c->end)
			c->target = in->target;
		if (jumps && in->target == c->target)
			c->end = in->at + in->length;
		return c->end && c->target > (int64_t)in->at;
	}
	c->calls += in->kind == PLUMB_INSTRUCTION_CALL;
	c->restarts = jumps && !in->target && c->calls == 1;
	return in->kind == PLUMB_INSTRUCTION_CALL;
}

/* The bytes of the stack check, which runs again for the same call when the stack has grown, or
 * when the goroutine was preempted; 0: none. */
static size_t skip_stack_check(const void *code, size_t size, bool is_32bit)
{
	struct stack_check c = {};

	plumb_code_visit(code, size, is_32bit, take_branch, &c);
	return c.restarts && c.end < size ? c.end : 0;
}

/* As plumb_code_obstacle(), of kernels as this one. */
static const char *find_obstacle(const void *code, size_t size, bool is_32bit, bool *called)
{
	const char *obstacle = plumb_uprobe_nop_obstacle(code, size, is_32bit, called);

	return obstacle || *called ? obstacle : plumb_code_obstacle(code, size, is_32bit);
}

/* Whether a loop may begin at that instruction of the function, which is no call then. */
static bool is_loop(const struct plumb_elf *file, const struct plumb_userfunc *u, size_t start)
{
	const size_t size = u->size < FUNCTION ? u->size : FUNCTION;
	void *code = plumb_zeroed(size + 1, 1);
	const bool jumps = plumb_code_jumps_to(start, code, read_code(file, u->offset, code, size),
					       is_32bit(file));

	free(code);
	return jumps || !size;
}

/* The bytes at the function's beginning after which it can be probed; 0: none. */
static size_t skip_start(const struct plumb_elf *file, const struct plumb_userfunc *u,
			 const unsigned char *code, size_t size)
{
	const size_t landing = skip_landing(code, size);
	const char *obstacle;
	size_t nop;
	bool called;

	obstacle = find_obstacle(code + landing, size - landing, is_32bit(file), &called);
	if (!obstacle)
		return landing;
	nop = plumb_code_long_nop(code + landing, size - landing, is_32bit(file));
	if (!nop || is_loop(file, u, landing + nop))
		return 0;
	plumb_info("%s in %s: probed after its nop: %s", u->name, file->path, obstacle);
	return landing + nop;
}

static int inspect(const struct plumb_elf *file, const struct plumb_usersyms *syms,
		   struct plumb_userfunc *u, uint64_t start, bool returns, bool is_go, void *code,
		   size_t room)
{
	size_t size = read_code(file, u->offset, code, room);
	size_t landing = 0;
	int err = start ? check_start(file, u, code, size, start) : 0;

	if (err)
		return err;
	if (!start && returns && !u->return_obstacle)
		find_returns(file, syms, u, code, size < u->size ? size : u->size);
	if (!start)
		landing = is_go ? skip_stack_check(code, size, is_32bit(file))
				: skip_start(file, u, code, size);
	if (landing &&
	    find_obstacle((char *)code + landing, size - landing, is_32bit(file), &u->is_called))
		landing = 0;
	code = (char *)code + start + landing;
	size -= start + landing;
	u->obstacle = find_obstacle(code, size, is_32bit(file), &u->is_called);
	u->is_stepped = plumb_code_is_stepped(code, size, is_32bit(file));
	u->offset += start + landing;
	u->size -= start + landing < u->size ? start + landing : u->size;
	if (!start)
		return 0;
	u->is_inside = true;
	u->return_obstacle = "a place inside a function has no return";
	return 0;
}

int plumb_userfuncs_inspect(const struct plumb_elf *file, const struct plumb_usersyms *syms,
			    uint64_t start, bool returns, struct plumb_userfuncs *found)
{
	int err = 0;

	returns |= found->is_go;
	for (size_t i = 0; !err && i < found->n; i++) {
		struct plumb_userfunc *u = &found->list[i];
		uint64_t room = START;
		void *code;

		if ((start || returns) && u->size > room)
			room = u->size < FUNCTION ? u->size : FUNCTION;
		if (start && !u->size)
			room = start < FUNCTION ? start + INSTRUCTION : FUNCTION;
		code = plumb_zeroed(room, 1);
		err = inspect(file, syms, u, start, returns, found->is_go, code, room);
		free(code);
	}
	return err;
}

void plumb_userfuncs_check_returns(int fd, struct plumb_userfuncs *found)
{
	const struct plumb_elf file = {.fd = fd};
	struct plumb_userfunc *u;
	size_t size;
	void *code;

	for (size_t i = 0; i < found->n && !found->is_go; i++) {
		u = &found->list[i];
		if (u->return_obstacle)
			continue;
		size = u->size < FUNCTION ? u->size : FUNCTION;
		code = plumb_zeroed(size, 1);
		size = read_code(&file, u->offset, code, size);
		u->return_obstacle = plumb_code_return_obstacle(code, size, found->is_32bit);
		free(code);
	}
}
