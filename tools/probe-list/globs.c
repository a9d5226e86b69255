/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "globs.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/terminal/suggest.h>

/* Return whether TEXT has N parts: FILE:GLOB, or FILE:PROVIDER:GLOB. */
static bool has_parts(const char *text, int n)
{
	while (--n) {
		const char *colon = strchr(text, ':');

		if (!colon || colon == text)
			return false;
		text = colon + 1;
	}
	return *text;
}

void glob_read(struct glob *g, const char *text)
{
	*g = (struct glob){.text = text, .name = text, .kinds = ALL_OF_KERNEL};
	for (enum kind k = 0; k < KINDS; k++) {
		size_t n = strlen(kinds[k].prefix);

		if (!strncmp(text, kinds[k].prefix, n) && text[n] == ':') {
			g->name = text + n + 1;
			g->kinds = 1 << k;
		}
	}
	/* t:syscalls:GLOB means system calls, by the names of their events. */
	g->only_events = g->kinds == 1 << TRACEPOINT && !strncmp(g->name, "syscalls:", 9);
	if (g->only_events)
		g->kinds = 1 << SYSCALL;
	g->only_names = g->kinds == 1 << SYSCALL && !g->only_events;
	if (g->kinds == 1 << USER_FUNCTION && !has_parts(g->name, 2))
		plumb_usage_error("GLOB: should be u:FILE:GLOB: %s", text);
	if (g->kinds == 1 << USDT && !has_parts(g->name, 3))
		plumb_usage_error("GLOB: should be usdt:FILE:PROVIDER:NAME, with globs: %s", text);
	if (g->kinds & 1 << FUNCTION && !strncmp(g->name, "vmlinux:", 8)) {
		g->kinds = 1 << FUNCTION;
		g->built_in = true;
		g->name += 8;
	}
}

static bool matches(const char *glob, const char *name)
{
	return !fnmatch(glob, name, 0);
}

/* What follows the last colon: an event without its category, a function without its module. */
static const char *last_part(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* Match without the compiler's suffix: tcp_* and *_sendmsg also match tcp_sendmsg.isra.0. */
static bool matches_source(const char *glob, const char *name)
{
	size_t n = strcspn(name, ".");
	char copy[256];

	if (!name[n] || n >= sizeof(copy) || strchr(glob, '.'))
		return false;
	memcpy(copy, name, n);
	copy[n] = 0;
	return matches(glob, copy);
}

static bool matches_event(const struct glob *g, const struct plumb_tracepoint *t)
{
	char name[256];

	if (!t)
		return false;
	plumb_tracepoint_name(t, name, sizeof(name));
	return matches(g->name, name + strlen("t:")) || matches(g->name, t->name);
}

static bool matches_target(const struct glob *g, const struct target *target)
{
	const char *name = target->name + strlen(kinds[target->kind].prefix) + 1;
	const char *last = last_part(name);

	if (!(g->kinds >> target->kind & 1) ||
	    (g->built_in && target->function && target->function->module))
		return false;
	if (target->kind == SYSCALL && !g->only_names &&
	    (matches_event(g, target->events[0]) || matches_event(g, target->events[1])))
		return true;
	if (g->only_events)
		return false;
	return matches(g->text, target->name) || matches(g->name, name) ||
	       (last != name && matches(g->name, last)) ||
	       (target->kind == FUNCTION && matches_source(g->name, last));
}

size_t glob_take(const struct glob *g, struct targets *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (matches_target(g, &p->list[i])) {
			p->list[i].taken = true;
			n++;
		}
	return n;
}

void glob_complain(const struct glob *g, const struct targets *p)
{
	const char **names = calloc(p->n + 1, sizeof(*names));
	char suggestion[1024] = "";

	/* Suggest names with as many parts as the glob has. */
	for (size_t i = 0; names && i < p->n; i++) {
		const struct target *target = &p->list[i];
		const char *name = target->name + strlen(kinds[target->kind].prefix) + 1;

		if (g->kinds >> target->kind & 1)
			names[i] = strchr(g->name, ':') ? name : last_part(name);
	}
	if (names && strlen(g->name) < 256 && !strpbrk(g->name, "*?["))
		plumb_suggest(g->name, names, p->n, suggestion, sizeof(suggestion));
	plumb_warn("no target matches %s%s%s", g->text, suggestion, *suggestion ? "?" : "");
	free(names);
}
