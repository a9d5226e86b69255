/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "slower.h"

#include <errno.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/reasons.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/meanwhile/waits.h>
#include <plumb/split/split.h>
#include <plumb/split/waker.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/syscalls/tail.h>

#include "syscall-slower.h"

static struct {
	bool stacks, wakers;
} calls;

static struct kept kept;
static bool is_kept;

/* Calls whose recall came after they had been printed, which must not be printed again. */
#define PRINTED 64
static struct recall printed[PRINTED];
static size_t n_printed;

struct kept *calls_keep(void)
{
	is_kept = true;
	return &kept;
}

void calls_begin(bool stacks, bool wakers)
{
	plumb_cgroup_retain();
	arguments_begin();
	calls.stacks = stacks;
	calls.wakers = wakers;
}

/* Drops the record of a call that is not over. */
static void take_back(const struct recall *r)
{
	struct slow_record *list = (void *)slow_calls.list;

	slow_calls.awaits = true; /* it comes again */
	for (size_t i = slow_calls.n; i-- > 0;) {
		const struct slow_call *c = &list[i].call;

		if (c->tid != r->tid || c->end != r->end)
			continue;
		arguments_recall(c);
		slow_calls.n--;
		memmove(&list[i], &list[i + 1], (slow_calls.n - i) * sizeof(*list));
		if (is_kept)
			kept_remove(&kept, r->tid, r->end);
		return;
	}
	printed[n_printed++ % PRINTED] = *r;
}

static bool was_printed(const struct slow_call *c)
{
	for (size_t i = 0; i < PRINTED && c->replaces; i++)
		if (printed[i].end == c->replaces && printed[i].tid == c->tid)
			return true;
	return false;
}

static bool takes(const void *record, size_t size)
{
	if (size == sizeof(struct recall))
		take_back(record);
	if (size < sizeof(struct slow_call) || was_printed(record))
		return false;
	if (is_kept)
		kept_add(&kept, record, false);
	return true;
}

static void name_frames(struct plumb_frames *f, uint32_t pid, int32_t kernel, int32_t user)
{
	struct plumb_stack_key key = {.kernel = kernel, .user = user, .tgid = pid};

	plumb_frames_name(f, slow_calls.run->instance.bpf.object, &key);
}

/* Of the column of a part: 100 per cent, or its heading. */
static int width_of(const struct plumb_part_name *part)
{
	const size_t n = strlen(part->column);

	return n > 4 ? n : 4;
}

static void print_heading(FILE *out)
{
	if (plumb_tail.min_ns)
		fprintf(out, " %7s %7s", "ATLEAST", "ATMOST");
	else
		fprintf(out, " %7s", "TOOK");
	for (size_t i = 0; i <= PLUMB_RETURN_PARTS; i++)
		fprintf(out, " %*s", width_of(&plumb_return_parts[i]),
			plumb_return_parts[i].column);
	fprintf(out, " %-16s %s\n", "COMM/TID", "CALL");
}

/* Why its thread had no CPU on the way out; NULL: it had. */
static const char *held_by(const struct slow_call *c)
{
	static const char *const causes[PLUMB_RETURN_CAUSES] = {
		[PLUMB_RETURN_QUOTA] = "quota",
		[PLUMB_RETURN_ASLEEP] = "asleep",
		[PLUMB_RETURN_PREEMPTED] = "preempted",
	};

	return c->off[PLUMB_RETURN] ? causes[c->held_by] : NULL;
}

/* Whether the call ended because the time for which it was to wait had passed. */
static bool is_timed_out(const struct slow_call *c)
{
	static const char *const sleeps[] = {"nanosleep",  "clock_nanosleep", "poll",
					     "ppoll",      "select",          "pselect6",
					     "epoll_wait", "epoll_pwait",     "epoll_pwait2"};
	const char *name = plumb_syscall_known(c->nr, c->abi);

	/* Of those whose result is not seen, the first two return for nothing else. */
	for (size_t i = 0;
	     name && !c->ret && (i < 2 || !c->at_most) && i < sizeof(sleeps) / sizeof(sleeps[0]);
	     i++)
		if (!strcmp(name, sleeps[i]))
			return true;
	return c->ret == -ETIMEDOUT ||
	       (c->ret == -EAGAIN && name &&
		(!strcmp(name, "rt_sigtimedwait") || !strcmp(name, "semtimedop")));
}

/* An interrupt that ends a wait for a time is a timer's, whatever thread it came upon. */
static struct plumb_waker woken_by(const struct slow_call *c)
{
	struct plumb_waker w = c->woken_by;

	if ((w.kind == PLUMB_WAKER_INTERRUPT || w.kind == PLUMB_WAKER_EITHER) && is_timed_out(c))
		w = (struct plumb_waker){.kind = PLUMB_WAKER_TIMER};
	return w;
}

static void print_waker(const struct plumb_waker *w, FILE *out)
{
	char text[PLUMB_ESCAPED + 64];

	if (*plumb_waker_text(w, text, sizeof(text)))
		fprintf(out, "; %s", text);
}

static bool is_unseen(const struct plumb_part_name *part)
{
	const struct plumb_run *run = slow_calls.run;

	return plumb_part_is_unseen(run->tool, run->instance.no_return, part);
}

/* Whether NS of the call's time are more than 0 %, rounded. */
static bool is_shown(const struct slow_call *c, uint64_t ns)
{
	return ns * 200 >= c->ns;
}

static const struct bpf_object *object(void)
{
	return slow_calls.run->instance.bpf.object;
}

/* Of a record in slow_calls.list. */
static const struct plumb_waits *waits_of(const struct slow_call *c)
{
	return &((const struct slow_record *)c)->waits;
}

/* Fields of unlimited length come last. */
static void print_line(const struct slow_call *c, FILE *out)
{
	const struct plumb_waker waker = woken_by(c);
	char text[PLUMB_ESCAPED + 16], comm[PLUMB_ESCAPED];

	fprintf(out, " %7s", plumb_format_time(c->ns, PLUMB_AUTO, text, sizeof(text)));
	if (c->at_most)
		fprintf(out, " %7s", plumb_format_time(c->at_most, PLUMB_AUTO, text, sizeof(text)));
	for (size_t i = 0; i <= PLUMB_RETURN_PARTS; i++)
		if (is_unseen(&plumb_return_parts[i]))
			fprintf(out, " %*s", width_of(&plumb_return_parts[i]), "-");
		else
			fprintf(out, " %*.0f", width_of(&plumb_return_parts[i]),
				c->ns ? 100.0 * slow_call_part(c, plumb_return_parts[i].part) /
						c->ns
				      : 0);
	plumb_escape(comm, c->comm, sizeof(comm));
	snprintf(text, sizeof(text), "%s/%u", comm, c->tid);
	fprintf(out, " %-16s ", text);
	arguments_print(c, out);
	/* Of what the shares show. */
	if (is_shown(c, c->off[PLUMB_BLOCKED] + c->off[PLUMB_RUNQ]))
		print_waker(&waker, out);
	if (is_shown(c, c->off[PLUMB_PREEMPTED]))
		print_waker(&c->preempted_by, out);
	plumb_waits_print(object(), waits_of(c), c->ns, "; waited for a CPU ", out);
	if (held_by(c))
		fprintf(out, "; held on its way out: %s", held_by(c));
	fputc('\n', out);
}

/* The part (preempted, runq or blocked) to which most of the longest time off the CPU belongs. */
static const struct plumb_part_name *why_longest(const struct slow_call *c)
{
	enum plumb_split_part part = c->preempted                       ? PLUMB_PREEMPTED
				     : c->longest_wait > c->longest / 2 ? PLUMB_RUNQ
									: PLUMB_BLOCKED;
	size_t i = 0;

	while (plumb_split_parts[i].part != part)
		i++;
	return &plumb_split_parts[i];
}

static void print_frames(struct plumb_frames *f, FILE *out)
{
	for (size_t i = 0; i < f->n; i++)
		fprintf(out, "%s    %s\n", i && i == f->n_kernel ? "    --\n" : "", f->text[i]);
	plumb_frames_free(f);
}

static void print_stack(const struct slow_call *c, FILE *out)
{
	struct plumb_frames f;
	char text[32];

	if (!c->longest)
		return;
	fprintf(out, "    off the CPU %s, %s:\n",
		plumb_format_time(c->longest, PLUMB_AUTO, text, sizeof(text)),
		why_longest(c)->heading);
	name_frames(&f, c->pid, c->kernel, c->user);
	print_frames(&f, out);
}

static bool has_waker_stack(const struct slow_call *c)
{
	const struct plumb_waker w = woken_by(c);

	return calls.wakers && plumb_waker_has_stack(&w);
}

static void print_waker_stack(const struct slow_call *c, FILE *out)
{
	const struct plumb_waker *w = &c->woken_by;
	char text[PLUMB_ESCAPED + 64];
	struct plumb_frames f;

	if (!has_waker_stack(c))
		return;
	fprintf(out, "    %s:\n", plumb_waker_text(w, text, sizeof(text)));
	name_frames(&f, w->pid, w->kernel, w->user);
	print_frames(&f, out);
}

/* Keep the last path: a lookup takes longer than all else, and most calls have the same cgroup. */
static const char *cgroup_path(const struct slow_call *c)
{
	static char path[4096];
	static uint64_t of;

	if (c->cgroup != of)
		plumb_cgroup_path(c->cgroup, path, sizeof(path));
	of = c->cgroup;
	return path;
}

static json_t *json_of_longest(const struct slow_call *c)
{
	struct plumb_frames f;
	json_t *j;

	name_frames(&f, c->pid, c->kernel, c->user);
	j = json_pack("{s:o, s:s, s:o}", "ns", plumb_json_u64(c->longest), "why",
		      why_longest(c)->json, "stack", plumb_frames_json(&f));
	plumb_frames_free(&f);
	return j;
}

static json_t *json_of_woken(const struct slow_call *c)
{
	const struct plumb_waker waker = woken_by(c);
	json_t *json = plumb_waker_json(&waker);
	struct plumb_frames f;

	if (!has_waker_stack(c))
		return json;
	name_frames(&f, c->woken_by.pid, c->woken_by.kernel, c->woken_by.user);
	json_object_set_new(json, "stack", plumb_frames_json(&f));
	plumb_frames_free(&f);
	return json;
}

static void add_json(const void *record, json_t *j)
{
	const struct slow_call *c = record;
	char text[64];

	json_object_set_new(j, "pid", json_integer(c->pid));
	json_object_set_new(j, "tid", json_integer(c->tid));
	plumb_escape(text, c->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	json_object_set_new(j, "cgroup", plumb_json_text(cgroup_path(c)));
	json_object_set_new(j, "cpu", json_integer(c->cpu));
	plumb_syscall_name(c->nr, c->abi, text, sizeof(text));
	json_object_set_new(j, "syscall", json_string(text));
	arguments_add_json(c, j);
	json_object_set_new(j, "ns", plumb_json_u64(c->ns));
	json_object_set_new(j, "at_most", c->at_most ? plumb_json_u64(c->at_most) : json_null());
	for (size_t i = 0; i <= PLUMB_RETURN_PARTS; i++)
		json_object_set_new(
			j, plumb_return_parts[i].json,
			is_unseen(&plumb_return_parts[i])
				? json_null()
				: plumb_json_u64(slow_call_part(c, plumb_return_parts[i].part)));
	json_object_set_new(j, "held_by", held_by(c) ? json_string(held_by(c)) : json_null());
	json_object_set_new(j, "woken_by", json_of_woken(c));
	json_object_set_new(j, "preempted_by", plumb_waker_json(&c->preempted_by));
	plumb_waits_json(object(), waits_of(c), j);
	if (calls.stacks)
		json_object_set_new(j, "longest", c->longest ? json_of_longest(c) : json_null());
}

static void print(const void *record, FILE *out)
{
	const struct slow_call *c = record;

	print_line(c, out);
	if (calls.stacks)
		print_stack(c, out);
	print_waker_stack(c, out);
}

struct plumb_in_order slow_calls = {
	.size = sizeof(struct slow_record),
	.least = sizeof(struct slow_call),
	.heading = print_heading,
	.print = print,
	.json_name = "call",
	.add_json = add_json,
	.takes = takes,
	.on_its_way = PRINTED_AFTER,
	.may_keep = true,
};
