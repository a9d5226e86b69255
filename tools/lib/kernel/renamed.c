/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/kernel/renamed.h>

#include <string.h>

static const struct {
	const char *name, *other;
} renamed[] = {
#include "renamed.inc"
};

const char *plumb_other_name(const char *name, size_t i)
{
	for (size_t k = 0; k < sizeof(renamed) / sizeof(renamed[0]); k++)
		if (!strcmp(renamed[k].name, name) && !i--)
			return renamed[k].other;
	return NULL;
}

bool plumb_is_named(const char *name, const char *known)
{
	const char *other;

	if (!strcmp(name, known))
		return true;
	for (size_t i = 0; (other = plumb_other_name(known, i)); i++)
		if (!strcmp(name, other))
			return true;
	return false;
}
