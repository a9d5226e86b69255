/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "slow.h"

#include <stdio.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/recorder/in-order.h>

#include "fields.h"

static int print(const void *record, FILE *out);

static struct plumb_in_order waiting = {.size = sizeof(struct block_slow), .print = print};
static bool as_json, headed;

void slow_begin(bool json)
{
	as_json = json;
	plumb_in_order_offer(&waiting);
}

int slow_add(const void *record, size_t size)
{
	return plumb_in_order_add(&waiting, record, size);
}

int slow_print(bool all, uint64_t *again)
{
	return plumb_in_order_print(&waiting, all, again);
}

/* The request's key, for the fields that format keys. */
static struct block_key key_of(const struct block_slow *r)
{
	struct block_key key = {.dev = r->dev, .op = r->op, .flags = r->flags, .error = r->error};

	snprintf(key.disk, sizeof(key.disk), "%.*s", BLOCK_DISK_LEN - 1, r->disk);
	return key;
}

/* R's member that is the key BY. */
static const char *text_of(const struct block_slow *r, uint32_t by, char *text, size_t size)
{
	const struct block_key key = key_of(r);

	for (size_t i = 0; i < BLOCK_N_FIELDS; i++)
		if (block_fields[i].bit == by)
			plumb_field_format(&block_fields[i], &key, text, size);
	return text;
}

void slow_print_none(uint64_t min_ns, FILE *out)
{
	plumb_in_order_print_none(&waiting, min_ns, out);
}

static void print_line(const struct block_slow *r, FILE *out)
{
	char text[64], comm[PLUMB_ESCAPED];

	if (!headed)
		fprintf(out, "%-12s %6s %6s %6s %6s %-7s %-5s %5s %s\n", "ENDED", "TOOK", "BEFORE",
			"QUEUED", "DEVICE", "DISK", "OP", "BYTES", "COMM/TID FLAGS");
	headed = true;
	plumb_in_order_print_time(r->end, out);
	for (int i = 0; i < BLOCK_STAGES; i++)
		fprintf(out, " %6s", plumb_format_time(r->ns[i], PLUMB_AUTO, text, sizeof(text)));
	fprintf(out, " %-7s", text_of(r, BLOCK_BY_DISK, text, sizeof(text)));
	fprintf(out, " %-5s %5s", block_op_name(r->op),
		plumb_format_size(r->bytes, text, sizeof(text)));
	plumb_escape(comm, r->comm, sizeof(comm));
	fprintf(out, " %s/%u", comm, r->tid);
	if (r->flags)
		fprintf(out, " %s", text_of(r, BLOCK_BY_FLAGS, text, sizeof(text)));
	if (r->error)
		fprintf(out, " %s", text_of(r, BLOCK_BY_ERRNO, text, sizeof(text)));
	fputc('\n', out);
}

static json_t *json_of(const struct block_slow *r)
{
	static const struct {
		const char *name;
		uint32_t by;
	} texts[] = {{"disk", BLOCK_BY_DISK},
		     {"part", BLOCK_BY_PART},
		     {"op", BLOCK_BY_OP},
		     {"flags", BLOCK_BY_FLAGS},
		     {"errno", BLOCK_BY_ERRNO}};
	struct timespec t = plumb_in_order_time(r->end);
	char text[PLUMB_ESCAPED + 64];
	json_t *j = json_object();

	json_object_set_new(j, "end", plumb_json_time(&t));
	json_object_set_new(j, "pid", json_integer(r->pid));
	json_object_set_new(j, "tid", json_integer(r->tid));
	plumb_escape(text, r->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_object_set_new(j, texts[i].name,
				    plumb_json_text(text_of(r, texts[i].by, text, sizeof(text))));
	json_object_set_new(j, "bytes", json_integer(r->bytes));
	json_object_set_new(j, "sector", plumb_json_u64(r->sector));
	for (int i = 0; i < BLOCK_STAGES; i++)
		json_object_set_new(j, block_stage_name(i), plumb_json_u64(r->ns[i]));
	return json_pack("{s:o}", "request", j);
}

static int print(const void *record, FILE *out)
{
	if (as_json)
		return plumb_json_print(json_of(record), out);
	print_line(record, out);
	return 0;
}
