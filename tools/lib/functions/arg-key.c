/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/functions/arg-key.h>

#define PREFIX "arg:"

bool plumb_arg_key_parse(struct plumb_arg_key *key, const char *item)
{
	const char *shift = strchr(item, '>');
	const size_t prefix = strlen(PREFIX);
	uint64_t value = 0;

	if (strncmp(item, PREFIX, prefix) || !item[prefix])
		return false;
	if (*key->item && strcmp(key->item, item))
		plumb_usage_error("--by: one argument only: %s, %s", key->item, item);
	if (shift && (shift == item + prefix || shift[1] != '>' ||
		      plumb_parse_u64(shift + 2, 0, 63, &value)))
		plumb_usage_error("--by: arg:NAME>>SHIFT, with a shift from 0 to 63: %s", item);
	if (strlen(item) >= sizeof(key->item))
		plumb_usage_error("--by: too long: %s", item);
	strcpy(key->item, item);
	strcpy(key->name, item + prefix);
	key->name[strcspn(key->name, ">")] = 0;
	key->arg.shift = value;
	return true;
}

static bool is_signed(const struct plumb_arg *arg)
{
	return arg->is_signed || !arg->bits;
}

void plumb_arg_key_format(const struct plumb_arg_key *key, uint64_t value, char *text, size_t size)
{
	if (key->arg.position & PLUMB_POINTER)
		snprintf(text, size, "%#llx", (unsigned long long)value);
	else if (is_signed(&key->arg))
		snprintf(text, size, "%lld", (long long)value);
	else
		snprintf(text, size, "%llu", (unsigned long long)value);
}

json_t *plumb_arg_key_json(const struct plumb_arg_key *key, uint64_t value)
{
	char text[32];

	if (!(key->arg.position & PLUMB_POINTER) && (is_signed(&key->arg) || value <= INT64_MAX))
		return json_integer(value);
	plumb_arg_key_format(key, value, text, sizeof(text));
	return json_string(text);
}
