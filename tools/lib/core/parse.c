/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/parse.h>

static int in_range(uint64_t value, uint64_t min, uint64_t max, uint64_t *out)
{
	if (value < min || value > max)
		return -ERANGE;
	*out = value;
	return 0;
}

/* Parses digits, a point and digits, scaled by 10^places; *end points after them. */
static int fixed_prefix(const char *text, unsigned int places, const char **end, uint64_t *value)
{
	uint64_t v = 0;
	unsigned int decimals = 0;
	int point = 0, digits = 0;

	for (;; text++) {
		if (*text == '.' && !point) {
			point = 1;
			continue;
		}
		if (!isdigit((unsigned char)*text))
			break;
		digits = 1;
		if (point && ++decimals > places)
			return -EINVAL;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *text - '0', &v))
			return -ERANGE;
	}
	if (!digits || text[-1] == '.')
		return -EINVAL;
	for (; decimals < places; decimals++)
		if (__builtin_mul_overflow(v, 10, &v))
			return -ERANGE;
	*end = text;
	*value = v;
	return 0;
}

int plumb_parse_fixed(const char *text, unsigned int places, uint64_t min, uint64_t max,
		      uint64_t *value)
{
	uint64_t v;
	int err = fixed_prefix(text, places, &text, &v);

	if (err || *text)
		return err ?: -EINVAL;
	return in_range(v, min, max, value);
}

int plumb_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	return plumb_parse_fixed(text, 0, min, max, value);
}

int plumb_parse_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *ns)
{
	return plumb_parse_fixed(text, 9, min, max, ns);
}

static const struct unit {
	const char *name;
	unsigned int places; /* decimals */
	uint64_t times;
} units[] = {{"ns", 0, 1}, {"us", 3, 1}, {"ms", 6, 1}, {"s", 9, 1}, {"m", 9, 60}, {"h", 9, 3600}};
#define UNITS_OF_DURATIONS 4 /* of latencies: 1m would be a mistake for 1ms */

static int in_units(const char *text, size_t n, uint64_t min, uint64_t max, uint64_t *ns)
{
	const char *unit = text + strspn(text, "0123456789."), *end;
	uint64_t v;
	int err;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(unit, units[i].name))
			continue;
		err = fixed_prefix(text, units[i].places, &end, &v);
		if (err || end != unit)
			return err ?: -EINVAL;
		if (__builtin_mul_overflow(v, units[i].times, &v))
			return -ERANGE;
		return in_range(v, min, max, ns);
	}
	return -EINVAL;
}

int plumb_parse_duration(const char *text, uint64_t min, uint64_t max, uint64_t *ns)
{
	return in_units(text, UNITS_OF_DURATIONS, min, max, ns);
}

int plumb_parse_span(const char *text, uint64_t min, uint64_t max, uint64_t *ns)
{
	return in_units(text, sizeof(units) / sizeof(units[0]), min, max, ns);
}

int plumb_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *bytes)
{
	const char *suffix;
	uint64_t v;
	int err = fixed_prefix(text, 0, &suffix, &v), shift = 0;

	if (err)
		return err;
	if (*suffix) {
		shift = *suffix == 'K' ? 10 : *suffix == 'M' ? 20 : *suffix == 'G' ? 30 : 0;
		if (!shift || suffix[1])
			return -EINVAL;
	}
	if (__builtin_mul_overflow(v, 1ULL << shift, &v))
		return -ERANGE;
	return in_range(v, min, max, bytes);
}

int plumb_parse_list(const char *text, int (*each)(const char *item, void *context), void *context)
{
	char *copy = strdup(text), *rest = copy, *item;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (item = strsep(&rest, ",")))
		err = *item ? each(item, context) : -EINVAL;
	free(copy);
	return err;
}
