/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/glob.h>
#include <plumb/core/parse.h>
#include <plumb/core/text.h>
#include <plumb/core/tool.h>
#include <plumb/recorder/trigger.h>
#include <plumb/syscalls/syscalls.h>

/* --- values, as rows print them --- */

/* A name of a thread as -c takes it, but * ? and [ are these characters, as in printed names. */
static int take_name(const char *value, char *text, size_t size)
{
	char pattern[256], name[PLUMB_COMM_LEN] = "";
	struct plumb_globs none = {};
	size_t n = 0;

	for (; *value && n + 2 < sizeof(pattern); value++) {
		if (strchr("*?[", *value))
			pattern[n++] = '\\';
		pattern[n++] = *value;
		/* What is escaped is not seen again. */
		if (*value == '\\' && value[1])
			pattern[n++] = *++value;
	}
	pattern[n] = 0;
	if (*value || plumb_globs_add(&none, pattern, name) != 1)
		return -EINVAL;
	plumb_escape(text, name, size);
	return 0;
}

static int take_syscall(const char *value, char *text, size_t size)
{
	struct syscall_config config = {};
	uint32_t i = 0;

	if (plumb_syscall_select(&config, value))
		return -EINVAL;
	if (config.n_others) {
		plumb_syscall_name(config.others[0], config.others[0] >> 32, text, size);
		return 0;
	}
	while (!(config.bitmap[i / 64] >> i % 64 & 1))
		i++;
	plumb_syscall_name(i % PLUMB_SYSCALLS, i / PLUMB_SYSCALLS, text, size);
	return 0;
}

/* Values of other keys are compared with what rows print. */
static const struct {
	const char *name, *expected;
	int (*take)(const char *value, char *text, size_t size); /* NULL: a number */
	uint64_t least;
} kinds[] = {
	{"pid", "a number above 0", NULL, 1},
	{"tid", "a number above 0", NULL, 1},
	{"cpu", "a number", NULL, 0},
	{"comm", "a name of at most 15 bytes, as printed", take_name, 0},
	{"process", "a name of at most 15 bytes, as printed", take_name, 0},
	{"syscall", "the name of a system call, as printed", take_syscall, 0},
};

/* --- keys --- */

static int take_value(struct plumb_trigger_part *part, const char *value, char *why, size_t size)
{
	const size_t room = sizeof(part->printed);
	uint64_t number;

	part->text = value;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, part->field->name) != 0)
			continue;
		part->text = part->printed;
		if (kinds[i].take && !kinds[i].take(value, part->printed, room))
			return 0;
		if (!kinds[i].take && !plumb_parse_u64(value, kinds[i].least, INT32_MAX, &number)) {
			snprintf(part->printed, room, "%llu", (unsigned long long)number);
			return 0;
		}
		snprintf(why, size, "%s: expected %s: %s", kinds[i].name, kinds[i].expected, value);
		return -EINVAL;
	}
	return 0;
}

static int add_part(const char *part, const struct plumb_tool *tool, uint32_t by,
		    struct plumb_trigger_key *key, char *why, size_t size)
{
	const char *equals = strchr(part, '=');
	const struct plumb_field *field;
	char name[64];

	if (!equals || equals == part || !equals[1]) {
		snprintf(why, size, "KEY=VALUE, as comm=nginx: %s", part);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(equals - part), part);
	field = plumb_field_find(tool, name);
	if (!field || !(by & field->bit)) {
		snprintf(why, size, "rows have no key %s: -b %s", name,
			 field ? "must name it" : "help lists those that there are");
		return -EINVAL;
	}
	for (size_t i = 0; i < key->n; i++) {
		if (key->parts[i].field != field)
			continue;
		snprintf(why, size, "%s is given twice, a row has one", name);
		return -EINVAL;
	}
	if (key->n == sizeof(key->parts) / sizeof(key->parts[0])) {
		snprintf(why, size, "at most %zu keys", key->n);
		return -EINVAL;
	}
	key->parts[key->n].field = field;
	return take_value(&key->parts[key->n++], equals + 1, why, size);
}

int plumb_trigger_key_parse(char *text, const struct plumb_tool *tool, uint32_t by,
			    struct plumb_trigger_key *key, char *why, size_t size)
{
	char *part;
	int err = 0;

	*key = (struct plumb_trigger_key){};
	while (!err && (part = strsep(&text, ",")))
		err = add_part(part, tool, by, key, why, size);
	return err;
}

/* The text of JSON, if it has one: a table can add to it. */
static bool is_text(const struct plumb_field *field, const void *key, const char *wanted)
{
	json_t *json = field->json ? field->json(key) : NULL;
	char text[4096];
	bool same;

	if (json_is_string(json)) {
		same = !strcmp(json_string_value(json), wanted);
	} else {
		same = !strcmp(plumb_field_format(field, key, text, sizeof(text)), wanted);
	}
	json_decref(json);
	return same;
}

bool plumb_trigger_key_matches(const struct plumb_trigger_key *key, const struct plumb_row *row)
{
	if (key->n && !row->slot)
		return false;
	for (size_t i = 0; i < key->n; i++)
		if (!is_text(key->parts[i].field, row->key, key->parts[i].text))
			return false;
	return true;
}
