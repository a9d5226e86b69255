/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "check/remains.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/symbols/demangle.h>
#include <plumb/user/userfuncs.h>

const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static bool is_cold(const struct plumb_callee *c)
{
	return strstr(c->name, ".cold");
}

static bool is_part(const struct plumb_callee *c)
{
	return strstr(c->name, ".part.") && !is_cold(c);
}

struct plumb_callee remains_sum(const struct remains *r)
{
	struct plumb_callee all = {.address = 1};

	for (size_t i = 0; i < r->n_exact; i++) {
		const struct plumb_callee *one = &r->callees[i];

		all.described |= one->described;
		all.inlined += one->inlined;
		all.direct += one->direct;
		all.taken += one->taken;
		all.exported |= one->exported;
		if (!one->address)
			all.address = 0;
	}
	return all;
}

/* --- no symbol has the name --- */

bool remains_judge_inlined(const struct remains *r)
{
	size_t n = r->callees[0].inlined;
	bool is_left = r->callees[0].compiled;

	if (!n)
		return false;
	r->check->has_inlined = true;
	r->check->inlined = n;
	check_judge(r->check, is_left ? VERDICT_PARTLY_INLINED : VERDICT_INLINED,
		    "inlined at %zu place%s, and %s", n, plural(n),
		    is_left ? "what is left has no symbol" : "no function is left to probe");
	return true;
}

/* How many calls of functions that match the name are inlined. */
static size_t count_inlined(const char *path, const char *name)
{
	struct plumb_userfuncs found = {};
	struct plumb_inlined facts = {};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char words[256];
	size_t n = 0;

	plumb_divert(words, sizeof(words));
	if (fd >= 0 && !plumb_userfuncs_inlined(fd, path, name, &found, &facts)) {
		n = found.n + facts.lost;
		plumb_userfuncs_free(&found);
	}
	plumb_divert(NULL, 0);
	if (fd >= 0)
		close(fd);
	return n;
}

bool remains_judge_spelled(const struct remains *r, const char *path, const char *name)
{
	size_t n = count_inlined(path, name);
	char text[1024], *last = text, *scope;

	if (n) {
		r->check->has_inlined = true;
		r->check->inlined = n;
		check_judge(r->check, VERDICT_INLINED,
			    "inlined at %zu place%s, and no function is left to probe", n,
			    plural(n));
		return true;
	}
	plumb_demangle_function(name, false, text, sizeof(text));
	if (strchr(text, '<'))
		return false;
	text[strcspn(text, "(")] = 0;
	while ((scope = strstr(last, "::")))
		last = scope + 2;
	n = strcmp(last, name) ? count_inlined(path, last) : 0;
	if (n)
		check_judge(r->check, VERDICT_UNKNOWN,
			    "no function of that name is left to probe; %s, of which debugging "
			    "information has no other name, is inlined at %zu place%s",
			    last, n, plural(n));
	return n;
}

static void note_made(const struct remains *r)
{
	struct check *check = r->check;

	for (size_t i = 0; i < r->n; i++) {
		check->has_inlined |= r->callees[i].described;
		check->inlined += r->callees[i].inlined;
		check->direct += is_cold(&r->callees[i]) ? 0 : r->callees[i].direct;
	}
	check->has_direct = r->calls->has_code;
}

bool remains_judge_made(const struct remains *r)
{
	size_t hot = 0, parts = 0, length = 0;
	char names[256] = "";

	if (!r->n)
		return false;
	for (size_t i = 0; i < r->n; i++) {
		if (is_cold(&r->callees[i]))
			continue;
		hot++;
		parts += is_part(&r->callees[i]);
		if (length < sizeof(names))
			length += snprintf(names + length, sizeof(names) - length, "%s%s",
					   *names ? ", " : "", r->callees[i].name);
	}
	note_made(r);
	if (!hot)
		check_judge(r->check, VERDICT_INLINED,
			    "all that is left is %s, a part that is jumped to: the rest is inlined",
			    r->callees[0].name);
	else if (hot == parts)
		check_judge(r->check, VERDICT_PARTLY_INLINED,
			    "inlined but for %s, which callers call on some paths only", names);
	else
		check_judge(r->check, VERDICT_RENAMED,
			    "it is %s here: a probe has to name it so, and its arguments may have "
			    "changed",
			    names);
	return true;
}

/* --- a symbol has the name --- */

/*
 * If foo's beginning was inlined into its callers, foo.part.0 is the rest of it, which they call.
 * foo itself may call it once.
 */
static const char *shared_part(const struct remains *r)
{
	for (size_t i = r->n_exact; i < r->n; i++)
		if (is_part(&r->callees[i]) && (!r->calls->has_code || r->callees[i].direct > 1))
			return r->callees[i].name;
	return NULL;
}

static bool is_never_called(const struct remains *r, const struct plumb_callee *all)
{
	return r->check->has_direct && r->calls->has_data && !all->direct && !all->taken &&
	       (r->is_kernel || !all->exported) && (all->inlined || !all->described);
}

/* Without init code it is not known whether handlers were registered at boot. */
static void judge_not_called(const struct remains *r, const struct plumb_callee *all)
{
	if (all->described)
		check_judge(r->check, VERDICT_PARTLY_INLINED,
			    "inlined at %zu place%s, and no direct call is left", all->inlined,
			    plural(all->inlined));
	else
		check_judge(r->check, VERDICT_MAYBE_INLINED,
			    "no call of it is left in the code of the kernel");
	check_add(r->check, "it may be called by a pointer that was set at boot, by code that was "
			    "freed then: check the file of the kernel (--image), or use --live");
}

static void judge_never_called(const struct remains *r, const struct plumb_callee *all)
{
	const char *part = shared_part(r);

	if (all->described)
		check_judge(r->check, VERDICT_INLINED,
			    "inlined at %zu place%s, and no call is left", all->inlined,
			    plural(all->inlined));
	else
		check_judge(r->check, VERDICT_INLINED, "no call of it is left in the code of %s",
			    r->is_kernel ? "the kernel" : "the file");
	check_add(r->check, all->exported
				    ? "a probe would see calls from modules only: probe a function "
				      "that calls it"
				    : "a probe would never fire: probe a function that calls it");
	if (part)
		check_add(r->check, "callers call %s on some paths", part);
}

/* Names the calls that the count of direct calls does not include. */
static const char *uncounted(const struct remains *r, const struct plumb_callee *all)
{
	if (all->exported && !r->is_kernel)
		return all->taken ? ", and calls by pointer, and those of other files"
				  : ", and those of other files";
	return all->taken ? ", and calls by pointer" : "";
}

bool remains_judge_hollow(const struct remains *r)
{
	struct plumb_callee all = remains_sum(r);
	const char *part = shared_part(r);
	struct check *check = r->check;

	check->has_inlined = all.described;
	check->inlined = all.inlined;
	check->has_direct = r->calls->has_code && all.address;
	check->direct = all.direct;
	if (is_never_called(r, &all)) {
		if (r->is_kernel && !r->calls->has_init)
			judge_not_called(r, &all);
		else
			judge_never_called(r, &all);
		return true;
	}
	if (all.inlined) {
		check_judge(check, VERDICT_PARTLY_INLINED, "inlined at %zu place%s", all.inlined,
			    plural(all.inlined));
		if (check->has_direct)
			check_add(check, "a probe sees only the %zu direct call%s that %s left%s",
				  all.direct, plural(all.direct), all.direct == 1 ? "is" : "are",
				  uncounted(r, &all));
		return true;
	}
	if (part)
		check_judge(check, VERDICT_PARTLY_INLINED,
			    "its beginning is inlined into callers, which then call %s: a probe "
			    "misses those calls",
			    part);
	return part;
}

void remains_add_calls(const struct remains *r)
{
	struct plumb_callee all = remains_sum(r);

	if (r->check->has_direct)
		check_add(r->check, "%zu direct call%s%s", all.direct, plural(all.direct),
			  uncounted(r, &all));
	if (all.described)
		check_add(r->check, "inlined nowhere");
	else if (r->check->has_direct && r->is_kernel)
		check_add(r->check, "more may be inlined (no debugging information)");
}
