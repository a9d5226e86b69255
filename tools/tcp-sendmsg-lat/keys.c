/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>

#include "addresses.h"
#include "keys.h"

uint64_t tcp_size_step;
struct tcp_labels tcp_labels;

/* "size:512": classes of 512 bytes; "size": classes of the default widths. */
bool tcp_take_key(const char *item, struct plumb_options *o)
{
	uint64_t step = 0;

	if (tcp_take_port(item, o))
		return true;
	if (strcmp(item, "size") && strncmp(item, "size:", 5))
		return false;
	if (item[4] && plumb_parse_size(item + 5, 1, 1ULL << 32, &step))
		plumb_usage_error("--by: size:BYTES, as size:512 or size:64K: %s", item);
	if (o->by & TCP_BY_SIZE && step != tcp_size_step)
		plumb_usage_error("--by: size of one width only: %s", item);
	tcp_size_step = step;
	o->by |= TCP_BY_SIZE;
	return true;
}

/* Exact: a multiple of 1024 has a suffix, anything else is in bytes. */
static const char *format_bound(uint64_t bytes, char *text, size_t size)
{
	static const char *const suffixes[] = {"", "K", "M", "G"};
	int suffix = 0;

	for (; suffix < 3 && bytes && !(bytes % 1024); suffix++)
		bytes /= 1024;
	snprintf(text, size, "%llu%s", (unsigned long long)bytes, suffixes[suffix]);
	return text;
}

/* "4K-8K": 4096 bytes and more, fewer than 8192. */
static void format_size(const void *key, char *text, size_t size)
{
	uint64_t lowest = ((const struct send_key *)key)->size, beyond;
	char from[24], to[24];

	if (tcp_size_step)
		beyond = lowest + tcp_size_step;
	else
		beyond = lowest ? 2 * lowest : 1024;
	snprintf(text, size, "%s-%s", format_bound(lowest, from, sizeof(from)),
		 format_bound(beyond, to, sizeof(to)));
}

static void format_label(const void *key, char *text, size_t size)
{
	const struct send_key *k = key;

	snprintf(text, size, "%s", k->label ? tcp_labels.list[k->label - 1].name : "-");
}

const struct plumb_field tcp_fields[TCP_N_FIELDS] = {
	{"label", TCP_BY_LABEL, .format = format_label},
	{PLUMB_FIELD("size", TCP_BY_SIZE, PLUMB_NUMBER, send_key, size), .format = format_size},
	{PLUMB_FIELD("errno", TCP_BY_ERRNO, PLUMB_ERRNO, send_key, error)},
	TCP_ENDS_FIELDS,
};
