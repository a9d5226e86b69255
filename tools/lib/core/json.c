/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>

const char *plumb_run_id(void)
{
	static char id[33];
	uint64_t random[2] = {};

	if (!*id && getrandom(random, sizeof(random), 0) == sizeof(random))
		snprintf(id, sizeof(id), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	return id;
}

json_t *plumb_json_text(const char *bytes)
{
	json_t *s = json_string(bytes);
	char copy[4 * 4096];

	if (s)
		return s;
	plumb_escape(copy, bytes, sizeof(copy));
	return json_string(copy);
}

json_t *plumb_json_bytes(const char *bytes)
{
	json_t *s = json_string(bytes), *hex;
	size_t n = strlen(bytes);
	char *text;

	if (s)
		return s;
	text = malloc(2 * n + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
	hex = json_pack("{s:s}", "hex", text);
	free(text);
	return hex;
}

json_t *plumb_json_u64(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *plumb_json_time(const struct timespec *t)
{
	char day[32], all[64];
	struct tm tm;

	gmtime_r(&t->tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(all, sizeof(all), "%s.%09ldZ", day, t->tv_nsec);
	return json_string(all);
}

uint64_t plumb_json_ns(const json_t *time)
{
	const char *text = json_string_value(time), *rest;
	struct tm tm = {};
	unsigned int ns;

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!rest || sscanf(rest, ".%9uZ", &ns) != 1)
		return 0;
	return timegm(&tm) * 1000000000ULL + ns;
}

json_t *plumb_json_new(const char *tool)
{
	json_t *j = json_object();
	struct utsname uts;

	uname(&uts);
	json_object_set_new(j, "schema", json_string("plumb/2"));
	json_object_set_new(j, "tool", json_string(tool));
	json_object_set_new(j, "version", json_string(PLUMB_VERSION));
	json_object_set_new(j, "host", plumb_json_text(uts.nodename));
	json_object_set_new(j, "kernel", plumb_json_text(uts.release));
	json_object_set_new(j, "arch", json_string(uts.machine));
	return j;
}

int plumb_json_print_rows(json_t *object, int (*rows)(const void *of, FILE *out), const void *of,
			  FILE *out)
{
	const char *name, *before = "{";
	json_t *value;
	int err = 0;

	json_object_foreach(object, name, value)
	{
		fprintf(out, "%s\"%s\":", before, name);
		before = ",";
		if (rows && !strcmp(name, "rows"))
			err = rows(of, out);
		else if (json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY))
			err = -(errno ?: EIO);
		if (err)
			break;
	}
	json_decref(object);
	if (!err)
		fputs("}\n", out);
	return err;
}

int plumb_json_print(json_t *object, FILE *out)
{
	return plumb_json_print_rows(object, NULL, NULL, out);
}
