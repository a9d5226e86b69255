/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unwind: --user-stacks, and what became of the walks of user stacks. */
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/stack/unwind.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/core/stacking.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>

#include <bpf/libbpf.h>

#include "areas.h"

uint32_t unwind_how;
static const char *asked;

static const char *const words[] = {
	[PLUMB_USER_STACKS_AUTO] = "auto",
	[PLUMB_USER_STACKS_FP] = "fp",
	[PLUMB_USER_STACKS_TABLES] = "tables",
	[PLUMB_USER_STACKS_NONE] = "none",
};

/* clang-format off */
static const struct plumb_option options[] = {
	{"user-stacks", 0, "HOW", "walk user stacks by unwind tables and frame pointers (auto), one of them (tables, fp), or not (none)", 45, .text = &asked},
	{0},
};
/* clang-format on */

static bool has(const struct plumb_tool *tool)
{
	return tool && tool->stacking && tool->stacking->tables_due;
}

static void complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	const uint32_t n = sizeof(words) / sizeof(*words);

	while (asked && unwind_how < n && strcmp(asked, words[unwind_how]))
		unwind_how++;
	if (unwind_how == n)
		plumb_usage_error("--user-stacks: '%s' is none of auto, fp, tables, none", asked);
}

static void check(const struct plumb_options *o, const struct plumb_tool *tool)
{
	if (asked && !has(tool))
		plumb_usage_error("--user-stacks: no user stacks are taken");
}

static void configure(struct plumb_bpf *bpf)
{
	if (asked)
		bpf->config->user_stacks = unwind_how;
}

#define AT_ONCE (3 * PLUMB_SECOND)

/* The tool is confined.  What takes longer is read while the trace runs. */
static void begin(struct plumb_run *run)
{
	const uint64_t end = plumb_now() + AT_ONCE;

	while (has(run->tool) && run->tool->stacking->tables_due() == 1 && plumb_now() < end)
		;
}

/* --- reports --- */

/* How many walks ended in each way; returns how many there were. */
static uint64_t count(const struct plumb_report *r, uint64_t walks[PLUMB_WALKS])
{
	const int map =
		bpf_object__find_map_fd_by_name(r->run->instance.bpf.object, "plumb_unwind_counts");
	const int cpus = libbpf_num_possible_cpus();
	uint64_t *each = plumb_zeroed(cpus, sizeof(*each)), all = 0;

	for (uint32_t i = 0; i < PLUMB_WALKS; i++) {
		walks[i] = 0;
		for (int cpu = 0; !plumb_map_lookup(map, &i, each) && cpu < cpus; cpu++)
			walks[i] += each[cpu];
		all += walks[i];
	}
	free(each);
	return all;
}

/* If that was not as it should be. */
static void print(const struct plumb_report *r, FILE *out)
{
	static const char *const how[PLUMB_WALKS] = {
		[PLUMB_WALK_FP] = "by frame pointers",
		[PLUMB_WALK_COMPLETE] = "whole",
		[PLUMB_WALK_MIXED] = "whole, in part by frame pointers",
		[PLUMB_WALK_DEEP] = "truncated",
		[PLUMB_WALK_NO_TABLE] = "cut: no unwind table",
		[PLUMB_WALK_LOST] = "cut: a register is lost",
		[PLUMB_WALK_MEMORY] = "cut: not a stack",
	};
	uint64_t walks[PLUMB_WALKS], all;
	char text[256] = "", share[16];
	int n = 0;

	all = has(r->run->tool) ? count(r, walks) : 0;
	if (!all || (!plumb_verbosity && (20 * walks[PLUMB_WALK_COMPLETE] >= 19 * all ||
					  unwind_how == PLUMB_USER_STACKS_FP)))
		return;
	for (int i = 0; i < PLUMB_WALKS; i++)
		if (walks[i])
			n += snprintf(
				text + n, sizeof(text) - n, "%s%s %% %s",
				n ? ", " : "user stacks: ",
				plumb_format_percent(100.0 * walks[i] / all, share, sizeof(share)),
				how[i]);
	plumb_print_wrapped(text, out);
	if (r->run->tool->stacking->tables_full())
		fputs("user stacks: unwind tables of some files are too large, and were not read\n",
		      out);
}

static void add(const struct plumb_report *r, FILE *out, json_t *json)
{
	static const char *const names[PLUMB_WALKS] = {
		[PLUMB_WALK_FP] = "frame_pointers",  [PLUMB_WALK_COMPLETE] = "whole",
		[PLUMB_WALK_DEEP] = "truncated",     [PLUMB_WALK_NO_TABLE] = "no_table",
		[PLUMB_WALK_LOST] = "register_lost", [PLUMB_WALK_MEMORY] = "not_a_stack",
		[PLUMB_WALK_MIXED] = "mixed",
	};
	uint64_t walks[PLUMB_WALKS];
	json_t *stacks;

	if (out || !has(r->run->tool))
		return;
	count(r, walks);
	stacks = json_object();
	for (int i = 0; i < PLUMB_WALKS; i++)
		json_object_set_new(stacks, names[i], plumb_json_u64(walks[i]));
	json_object_set_new(json, "user_stacks", stacks);
}

const struct plumb_part plumb_unwind_part = {
	.name = "unwind",
	.options = options,
	.has = has,
	.complete = complete,
	.check = check,
	.configure = configure,
	.begin = begin,
	.footer = print,
	.add = add,
};
