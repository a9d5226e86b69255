/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/outputs/series.h>

const struct plumb_series_count plumb_series_counts[] = {
	{"recorded", "recorded_calls", "Calls that are in rows", false},
	{"filtered_at_exit", "rejected_calls", "Calls that a filter rejected at their end", false},
	{"lost", "lost_calls",
	 "Calls that should be in a row but are in none, at most; those that were seen to be "
	 "lost, where skipped executions are not counted",
	 false},
	{"unmatched", "unmatched_calls", "Ends of calls whose beginning was not seen", false},
	{"abandoned", "abandoned_calls", "Calls whose thread exited inside them", false},
	{"pooled", "pooled_calls", "Recorded calls in the row [other]", false},
	{"missed", "missed_executions", "Executions of BPF programs that the kernel skipped",
	 false},
	{"in_flight", "in_flight_calls", "Calls that have not ended", true},
	{NULL, NULL, NULL, false},
};

json_t *plumb_series_count(const json_t *ledger, const struct plumb_series_count *c)
{
	json_t *value = json_object_get(ledger, c->member);

	return json_is_null(value) && !strcmp(c->member, "lost")
		       ? json_object_get(ledger, "lost_at_least")
		       : value;
}

json_t *plumb_series(const json_t *report)
{
	json_t *all = json_array(), *of_key = json_object(), *row, *one;
	char *key;
	size_t i;

	json_array_foreach(json_object_get(report, "rows"), i, row)
	{
		if (!json_integer_value(json_object_get(row, "count")))
			continue;
		key = json_dumps(json_object_get(row, "key"), JSON_COMPACT | JSON_SORT_KEYS);
		one = key ? json_object_get(of_key, key) : NULL;
		if (!one) {
			one = json_pack("{s:O,s:[]}", "key", json_object_get(row, "key"), "rows");
			json_array_append_new(all, one);
			if (key)
				json_object_set(of_key, key, one);
		}
		json_array_append(json_object_get(one, "rows"), row);
		free(key);
	}
	json_decref(of_key);
	return all;
}

json_int_t plumb_series_sum(const json_t *rows, const char *name)
{
	json_int_t sum = -1;
	json_t *row, *value;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		value = json_object_get(row, name);
		if (json_is_integer(value))
			sum = (sum < 0 ? 0 : sum) + json_integer_value(value);
	}
	return sum;
}

void plumb_series_name(const json_t *report, char *text, size_t size)
{
	const char *tool = json_string_value(json_object_get(report, "tool"));

	snprintf(text, size, "%s", tool ?: "");
	for (char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
}

bool plumb_series_are_sizes(const json_t *report)
{
	const char *unit = json_string_value(json_object_get(report, "unit"));

	return unit && !strcmp(unit, "bytes");
}

const char *plumb_series_second(const json_t *row)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)row, name,
			    value) if (json_is_array(json_object_get(value, "hist"))) return name;
	return NULL;
}

bool plumb_series_counter(const json_t *report, size_t i, struct plumb_series_counter *c)
{
	const json_t *counter = json_array_get(json_object_get(report, "counters"), i);
	const char *name = json_string_value(json_object_get(counter, "name"));

	if (!name)
		return false;
	c->member = name;
	c->bytes = json_is_true(json_object_get(counter, "bytes"));
	snprintf(c->help, sizeof(c->help), "%s",
		 json_string_value(json_object_get(counter, "about")));
	c->help[strcspn(c->help, ".")] = 0; /* the file has its own */
	snprintf(c->metric, sizeof(c->metric), "%s%s", name,
		 c->bytes && strcmp(name, "bytes") != 0 ? "_bytes" : "");
	return true;
}
