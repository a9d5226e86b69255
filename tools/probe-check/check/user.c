/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "check/user.h"
#include "check/remains.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/symbols/binary.h>
#include <plumb/symbols/elffile.h>
#include <plumb/user/uprobe-defects.h>

/* A target, its file's symbols of that name, and what the compiler left of them. */
struct candidate {
	struct check *check;
	const char *name;
	char *path, *mangled;
	struct plumb_function_parts parts;
	struct plumb_callee *callees;
	struct plumb_calls calls;
	struct remains remains;
};

bool user_is_32bit(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf;
	bool is;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = plumb_elf_begin(fd, ELF_C_READ);
	is = gelf_getclass(elf) == ELFCLASS32;
	elf_end(elf);
	close(fd);
	return is;
}

/* --- what the file has --- */

/*
 * Append the symbols with exactly the name (EXACT) or the others to the N callees; return how many
 * there are then.
 */
static size_t list(struct candidate *c, bool exact, size_t n)
{
	for (size_t i = 0; i < c->parts.n; i++) {
		const struct plumb_part *p = &c->parts.all[i];

		if (!strcmp(p->name, c->name) == exact)
			c->callees[n++] =
				(struct plumb_callee){.name = p->name, .address = p->address};
	}
	return n;
}

static int count_calls(struct candidate *c)
{
	size_t exact, n;

	c->callees = calloc(c->parts.n + 1, sizeof(*c->callees));
	if (!c->callees)
		return -ENOMEM;
	exact = list(c, true, 0);
	n = list(c, false, exact);
	c->remains = (struct remains){
		.check = c->check,
		.callees = c->callees,
		.n = n,
		.n_exact = exact,
		.calls = &c->calls,
	};
	if (!n)
		c->callees[n++].name = c->name;
	return plumb_calls_in_file(c->path, c->callees, n, &c->calls);
}

/* A name of C++ or Rust as in the source, of one function: the symbol's is judged in its place. */
static void mangle(struct candidate *c)
{
	struct plumb_userfuncs found = {};

	for (size_t i = 0; i < c->parts.n; i++)
		if (!strcmp(c->parts.all[i].name, c->name))
			return;
	if (userfuncs_find(c->path, c->name, 0, &found))
		return;
	c->mangled = found.n == 1 ? plumb_parts_mangled(&found) : NULL;
	if (c->mangled) {
		c->name = c->mangled;
		plumb_parts_free(&c->parts);
		plumb_parts_find(c->path, c->name, &c->parts);
	}
	plumb_userfuncs_free(&found);
}

/* False if the file cannot be read, after setting VERDICT_GONE or VERDICT_UNKNOWN. */
static bool look_into(struct candidate *c)
{
	char words[1024];
	int err;

	plumb_divert(words, sizeof(words));
	err = plumb_binary_find(c->check->target.file, &c->path);
	if (!err)
		err = plumb_parts_find(c->path, c->name, &c->parts);
	if (!err)
		mangle(c);
	if (!err)
		err = count_calls(c);
	plumb_divert(NULL, 0);
	if (err)
		check_judge(c->check, err == -ENOENT ? VERDICT_GONE : VERDICT_UNKNOWN, "%s",
			    *words ? words : strerror(-err));
	return !err;
}

static void release(struct candidate *c)
{
	plumb_parts_free(&c->parts);
	free(c->callees);
	free(c->mangled);
	free(c->path);
}

/* --- verdicts --- */

/* Copy the name so that it is taken literally, not as a glob; return the end of the copy. */
static char *quote(char *to, const char *name)
{
	for (; *name; name++) {
		if (strchr("*?[\\", *name))
			*to++ = '\\';
		*to++ = *name;
	}
	*to = 0;
	return to;
}

void user_refuse_nops(struct plumb_userfuncs *found)
{
	int fd = open(found->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	plumb_uprobe_refuse_nops(fd, found);
	close(fd);
}

int userfuncs_find(const char *file, const char *name, uint64_t offset,
		   struct plumb_userfuncs *found)
{
	const size_t room = strlen(file) + 2 * strlen(name) + 32;
	char *target = malloc(room), *end;
	int err;

	if (!target)
		return -ENOMEM;
	end = quote(stpcpy(stpcpy(target, file), ":"), name);
	if (offset)
		snprintf(end, room - (end - target), "+%" PRIu64, offset);
	err = plumb_userfuncs_find(target, found);
	free(target);
	if (!err)
		user_refuse_nops(found);
	return err;
}

/* Find the function, OFFSET bytes in it; false, with a verdict, if there is none. */
static bool find_or_judge(struct candidate *c, uint64_t offset, struct plumb_userfuncs *found)
{
	char words[1024];
	int err;

	*found = (struct plumb_userfuncs){};
	plumb_divert(words, sizeof(words));
	err = userfuncs_find(c->path, c->name, offset, found);
	plumb_divert(NULL, 0);
	if (err)
		check_judge(c->check, VERDICT_GONE, "%s", *words ? words : strerror(-err));
	return !err;
}

/*
 * Return true, with a verdict, if the library that attaches uprobes does not find the function.  It
 * suggests similar names.  It also knows functions that are chosen at run time (ifunc): a symbol
 * with the name may then be an old version, which is not called.
 */
static bool judge_refusal(struct candidate *c)
{
	struct plumb_userfuncs found;
	const bool refused = !find_or_judge(c, 0, &found);

	plumb_userfuncs_free(&found);
	return refused;
}

/* Return true, with a verdict, if the offset is beyond the function's end. */
static bool judge_offset(struct candidate *c)
{
	const struct target *t = &c->check->target;
	uint64_t size = 0;

	for (size_t i = 0; i < c->parts.n; i++)
		if (!strcmp(c->parts.all[i].name, c->name) && c->parts.all[i].size > size)
			size = c->parts.all[i].size;
	if (!t->offset || t->offset < size)
		return false;
	check_judge(c->check, VERDICT_GONE,
		    "it is %" PRIu64 " bytes long: +%" PRIu64 " is behind its end", size,
		    t->offset);
	return true;
}

/* Return true, with a verdict, if the kernel or the processor has no place for a probe there. */
static bool judge_place(struct candidate *c)
{
	struct plumb_userfuncs found;
	const char *obstacle = NULL;

	if (!find_or_judge(c, c->check->target.offset, &found))
		return true;
	for (size_t i = 0; i < found.n; i++)
		obstacle = found.list[i].obstacle ?: obstacle;
	if (obstacle)
		check_judge(c->check, VERDICT_REFUSED, "%s", obstacle);
	plumb_userfuncs_free(&found);
	return obstacle;
}

/*
 * Find the functions, with their return instructions or with obstacles to return probes; set
 * whether exceptions leave them, or may once C++ is loaded.
 */
static int find_returns(const struct candidate *c, bool instructions, struct plumb_userfuncs *found,
			bool *unwinds, bool *may_unwind)
{
	char *name = malloc(2 * strlen(c->name) + 1);
	struct plumb_elf elf = {.fd = -1};
	int err;

	*found = (struct plumb_userfuncs){};
	if (!name)
		return -ENOMEM;
	quote(name, c->name);
	err = plumb_elf_open(c->path, &elf);
	*unwinds = !err && plumb_elf_unwinds(elf.elf);
	*may_unwind = !err && !plumb_elf_is_c_library(c->path) && plumb_elf_may_unwind(elf.elf);
	if (!err)
		err = plumb_userfuncs_find_in(elf.fd, c->path, name, instructions, found);
	if (!err && !instructions)
		plumb_userfuncs_check_returns(elf.fd, found);
	plumb_elf_close(&elf);
	free(name);
	return err;
}

/* Why the kernel's return probe cannot be on the function; NULL: it can be. */
static const char *return_probe_obstacle(const struct candidate *c)
{
	struct plumb_userfuncs found;
	const char *obstacle;
	bool unwinds, may_unwind;

	if (find_returns(c, false, &found, &unwinds, &may_unwind))
		return NULL;
	obstacle = found.list[0].return_obstacle;
	plumb_userfuncs_free(&found);
	return obstacle;
}

/* Add whether return probes, or probes on return instructions, can be on the function. */
static void add_returns(struct candidate *c)
{
	struct plumb_userfuncs found;
	const struct plumb_userfunc *u;
	const char *obstacle = NULL, *breaks;
	bool unwinds = false, may_unwind = false;
	char words[1024];
	int err;

	if (c->check->target.offset) {
		check_add(c->check, "there is no return probe at a place inside a function");
		return;
	}
	plumb_divert(words, sizeof(words));
	err = find_returns(c, true, &found, &unwinds, &may_unwind);
	if (!err)
		obstacle = return_probe_obstacle(c);
	plumb_divert(NULL, 0);
	if (err)
		return;
	u = &found.list[0];
	breaks = found.is_go  ? "ends a Go program, whose stacks move"
		 : unwinds    ? "ends a program that throws an exception through it"
		 : obstacle   ? obstacle
		 : may_unwind ? "ends the program if it loads C++ later, and an exception passes "
				"through it"
			      : NULL;
	if (breaks)
		check_add(c->check, "%s%s: its return instructions %s%s",
			  breaks == obstacle ? "no return probe (uretprobe): "
					     : "a return probe (uretprobe) ",
			  breaks,
			  u->return_obstacle ? "cannot be probed either: " : "can be probed",
			  u->return_obstacle ?: "");
	else if (u->return_obstacle && !u->n_returns && u->size)
		check_add(c->check, "of probes on return instructions: %s", u->return_obstacle);
	plumb_userfuncs_free(&found);
}

static void add_doubts(struct candidate *c)
{
	if (!c->check->has_inlined)
		check_add(c->check, "whether it is inlined besides is not known: %s",
			  c->calls.has_debug_info ? "debugging information has no such name"
						  : "there is no debugging information");
}

static void judge_found(struct candidate *c)
{
	size_t n = c->remains.n_exact;

	if (judge_refusal(c) || judge_offset(c) || remains_judge_hollow(&c->remains) ||
	    judge_place(c))
		return;
	if (n > 1)
		check_judge(c->check, VERDICT_DUPLICATED,
			    "%zu functions have that name (static ones, or a symbol's versions), "
			    "all are attached to",
			    n);
	else
		check_judge(c->check, VERDICT_OK, "uprobes take it");
	remains_add_calls(&c->remains);
	add_returns(c);
	add_doubts(c);
}

/* Set the verdict on functions that only the library finds, which reads more symbols. */
static void judge_elsewhere(struct candidate *c)
{
	struct plumb_userfuncs found = {};

	if (judge_place(c))
		return;
	userfuncs_find(c->path, c->name, 0, &found);
	if (found.n > 1)
		check_judge(c->check, VERDICT_DUPLICATED,
			    "%zu functions have that name, all are attached to, by symbols that "
			    "are not in the file's sections",
			    found.n);
	else
		check_judge(c->check, VERDICT_UNKNOWN,
			    "uprobes take it; whether calls of it are left is not known: the file "
			    "itself has no symbol of that name");
	plumb_userfuncs_free(&found);
	add_returns(c);
}

static void judge(struct candidate *c)
{
	if (c->remains.n_exact)
		judge_found(c);
	else if (remains_judge_made(&c->remains) || remains_judge_inlined(&c->remains))
		return;
	else if (strpbrk(c->name, "*?["))
		check_judge(c->check, VERDICT_GONE,
			    "nothing is called so to the letter, and wildcards are not taken: "
			    "probe-list has what they match");
	else if (!judge_refusal(c))
		judge_elsewhere(c);
	else if (!remains_judge_spelled(&c->remains, c->path, c->name) && c->callees[0].compiled)
		check_add(c->check, "debugging information has it, but the file no symbol");
}

static void check_one(struct check *check)
{
	struct candidate c = {.check = check, .name = check->target.name};

	if (look_into(&c)) {
		judge(&c);
		if (user_is_32bit(c.path))
			check_add(check, "32-bit file: its arguments are passed differently");
	}
	release(&c);
}

void userfuncs_check(struct check *checks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (checks[i].target.kind == TARGET_USER)
			check_one(&checks[i]);
}
