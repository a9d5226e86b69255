/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* diff's tables and JSON. */
#include "results/diff.h"
#include "printing/print.h"
#include "results/results.h"
#include <errno.h>
#include <stdlib.h>
#include <plumb/core/cli.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/terminal/text-table.h>

static const char *const verdicts[] = {
	[DIFF_NONE] = "no difference that these samples can show",
	[DIFF_SLOWER] = "slower",
	[DIFF_FASTER] = "faster",
	[DIFF_TOO_FEW] = "too few calls",
};

/* What is printed, as it is found. */
struct printing {
	const struct reading *before, *after;
	struct plumb_text_table *table;
	json_t *changes, *only_before, *only_after;
	size_t known;  /* changes of enough calls */
	size_t judged; /* ... beyond --fail-above */
};

/* 0: calls are drawn. */
static size_t blocks_of(const struct reading *r)
{
	size_t blocks = merge_blocks(&r->merge);

	return blocks < DIFF_LEAST_BLOCKS ? 0 : blocks;
}

static struct diff_side side_of(const struct reading *r, const struct merged_row *row)
{
	return (struct diff_side){.row = row, .blocks = blocks_of(r)};
}

static const struct merged_row *find(struct merged_row *const *rows, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i]->key, key))
			return rows[i];
	return NULL;
}

static void add_value(struct printing *p, uint64_t value)
{
	char text[32];

	plumb_format_time(value, print_unit(p->before, FIRST), text, sizeof(text));
	plumb_text_table_cell(p->table, "%s", text);
}

static void add_percent(struct printing *p, const struct diff_change *c, double value)
{
	/* Of 0 ns there is none. */
	if (c->verdict == DIFF_TOO_FEW || !c->before)
		plumb_text_table_cell(p->table, "-");
	else
		plumb_text_table_cell(p->table, "%+.1f%%", value);
}

static void add_change(struct printing *p, const char *key, const char *name,
		       const struct diff_change *c)
{
	bool known = c->verdict != DIFF_TOO_FEW && c->before;
	json_t *j = json_object();
	char *text = print_key(key);

	plumb_text_table_cell(p->table, "%s", text);
	plumb_text_table_cell(p->table, "p%s", name);
	add_value(p, c->before);
	add_value(p, c->after);
	add_percent(p, c, c->change);
	add_percent(p, c, c->low);
	add_percent(p, c, c->high);
	plumb_text_table_cell(p->table, "%s",
			      c->verdict == DIFF_NONE ? "no difference" : verdicts[c->verdict]);
	free(text);
	json_object_set_new(j, "key", json_loads(key, 0, NULL));
	json_object_set_new(j, "percentile", json_string(name));
	json_object_set_new(j, "before", plumb_json_u64(c->before));
	json_object_set_new(j, "after", plumb_json_u64(c->after));
	json_object_set_new(j, "change_percent", c->before ? json_real(c->change) : json_null());
	json_object_set_new(j, "low", known ? json_real(c->low) : json_null());
	json_object_set_new(j, "high", known ? json_real(c->high) : json_null());
	json_object_set_new(j, "verdict", json_string(verdicts[c->verdict]));
	json_array_append_new(p->changes, j);
}

static void compare_rows(struct printing *p, const struct merged_row *before,
			 const struct merged_row *after)
{
	const struct options *o = p->before->options;
	struct diff_side a = side_of(p->before, before), b = side_of(p->after, after);
	struct diff_change c;

	for (size_t i = 0; i < o->shared.n_percentiles; i++) {
		c = diff_judge(&a, &b, o->shared.percentiles[i].p);
		add_change(p, before->key, o->shared.percentiles[i].name, &c);
		p->known += c.verdict != DIFF_TOO_FEW;
		p->judged += o->judge && c.verdict != DIFF_TOO_FEW && c.low > o->fail_above;
	}
}

static void compare(struct printing *p)
{
	uint64_t top = p->before->options->shared.top;
	size_t n, m;
	struct merged_row **before = results_rows(p->before, UINT64_MAX, &n),
			  **after = results_rows(p->after, UINT64_MAX, &m);
	const bool both = merge_has(&p->before->merge, FIRST) && merge_has(&p->after->merge, FIRST);
	const struct merged_row *other;

	for (size_t i = 0; i < n && (!top || i < top); i++) {
		other = find(after, m, before[i]->key);
		if (!other)
			json_array_append_new(p->only_before, json_loads(before[i]->key, 0, NULL));
		else if (both)
			compare_rows(p, before[i], other);
	}
	for (size_t i = 0; i < m && (!top || i < top); i++)
		if (!find(before, n, after[i]->key))
			json_array_append_new(p->only_after, json_loads(after[i]->key, 0, NULL));
	free(before);
	free(after);
}

static void print_only(const char *side, const json_t *keys)
{
	json_t *key;
	size_t i;

	json_array_foreach(keys, i, key)
	{
		char *plain = json_dumps(key, JSON_COMPACT), *text = print_key(plain);

		printf("only %s: %s\n", side, text);
		free(text);
		free(plain);
	}
}

static void print_side(const char *side, const char *file, const struct reading *r)
{
	const struct ledger *l = &r->hosts.sum.ledger;
	const uint64_t lost = l->n[LEDGER_LOST];
	size_t blocks = blocks_of(r);
	char *name = plumb_escaped_text(file);

	printf("%s: %s: " MANY ", %" PRIu64 " calls; ", side, name, N(r->merge.reports, "report"),
	       r->merge.count);
	free(name);
	if (lost)
		printf("%" PRIu64 " lost: a sample; ", lost);
	if (l->unknown[LEDGER_LOST])
		fputs("misses unknown on a kernel; ", stdout);
	if (!blocks)
		puts("drawn by calls, as if these were independent");
	else
		printf("drawn by %zu blocks of reports\n", blocks);
}

static void print_tables(const struct printing *p)
{
	const struct options *o = p->before->options;

	plumb_text_table_print(p->table, stdout);
	print_only("before", p->only_before);
	print_only("after", p->only_after);
	putchar('\n');
	print_side("before", o->files[0], p->before);
	print_side("after", o->files[1], p->after);
	puts("low, high: 95 % interval by bootstrap, widened by the buckets; no difference: none\n"
	     "  that these samples can show");
	if (!p->known)
		puts("nothing compared: no key has enough calls on both sides (--by keeps those "
		     "that "
		     "both\n  can have: pids differ from run to run)");
	if (o->judge && p->known)
		printf("--fail-above: " MANY " rose by more than %g %%\n",
		       N(p->judged, "percentile"), o->fail_above);
}

static void set_side(json_t *j, const char *const *names, const struct reading *r)
{
	const struct ledger *l = &r->hosts.sum.ledger;

	json_object_set_new(j, names[0], plumb_json_u64(r->merge.count));
	json_object_set_new(j, names[1],
			    l->unknown[LEDGER_LOST] ? json_null()
						    : plumb_json_u64(l->n[LEDGER_LOST]));
	json_object_set_new(j, names[2], plumb_json_u64(blocks_of(r)));
}

static int print_object(struct printing *p)
{
	static const char *const before[] = {"calls_before", "lost_before", "blocks_before"},
				 *const after[] = {"calls_after", "lost_after", "blocks_after"};
	const struct options *o = p->before->options;
	json_t *j = plumb_json_new("hist-merge");

	json_object_set_new(j, "of", json_string(p->before->tool));
	json_object_set_new(j, "before", plumb_json_text(o->files[0]));
	json_object_set_new(j, "after", plumb_json_text(o->files[1]));
	json_object_set_new(j, "unit",
			    json_string(reading_is_of_sizes(p->before) ? "bytes" : "ns"));
	json_object_set(j, "changes", p->changes);
	json_object_set(j, "only_before", p->only_before);
	json_object_set(j, "only_after", p->only_after);
	set_side(j, before, p->before);
	set_side(j, after, p->after);
	if (o->judge)
		json_object_set_new(j, "above_limit", plumb_json_u64(p->judged));
	errno = 0;
	plumb_json_print(j, stdout);
	return plumb_flush_stdout();
}

int diff_print(const struct reading *before, const struct reading *after)
{
	static const char *const headings[] = {"KEY",     ">PCT", ">BEFORE", ">AFTER",
					       ">CHANGE", ">LOW", ">HIGH",   "VERDICT"};
	struct printing p = {
		.before = before,
		.after = after,
		.table = plumb_text_table_new(headings, 8),
		.changes = json_array(),
		.only_before = json_array(),
		.only_after = json_array(),
	};
	int err = 0;

	compare(&p);
	if (before->options->shared.json)
		err = print_object(&p);
	else
		print_tables(&p);
	plumb_text_table_free(p.table);
	json_decref(p.changes);
	json_decref(p.only_before);
	json_decref(p.only_after);
	if (err && err != -EPIPE)
		return PLUMB_EXIT_FAILED;
	if (before->options->judge && !p.known) {
		plumb_warn("--fail-above: nothing could be compared");
		return PLUMB_EXIT_FAILED;
	}
	return p.judged ? PLUMB_EXIT_JUDGED : 0;
}
