/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <plumb/guard/allowed.h>
#include <plumb/guard/policy.h>

#include <bpf/libbpf.h>

#define LONGEST (PATH_MAX + 1024)

int plumb_allowed(const char *name, char *what, size_t size)
{
	if (!plumb_policy_forbids_target(name))
		return 0;
	snprintf(what, size, "%s", name);
	return -PLUMB_FORBIDDEN;
}

int plumb_allowed_name(const char *kind, const char *name, char *what, size_t size)
{
	char all[LONGEST];

	if (!plumb_policy_has_targets())
		return 0;
	snprintf(all, sizeof(all), "%s:%s", kind, name);
	return plumb_allowed(all, what, size);
}

const char *plumb_section_name(const struct bpf_program *p, char *text, size_t size)
{
	static const struct {
		const char *section, *kind;
	} kinds[] = {
		{"raw_tp/", "r"}, {"tp_btf/", "r"}, {"tp/", "t"},        {"fentry/", "k"},
		{"fexit/", "k"},  {"kprobe/", "k"}, {"kretprobe/", "k"},
	};
	const char *section = bpf_program__section_name(p);
	char *slash;

	*text = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].section);

		if (!strncmp(section, kinds[i].section, n))
			snprintf(text, size, "%s:%s", kinds[i].kind, section + n);
	}
	/* "tp/CATEGORY/NAME" */
	slash = *text == 't' ? strchr(text, '/') : NULL;
	if (slash)
		*slash = ':';
	return text;
}

int plumb_allowed_section(const struct bpf_program *p, char *what, size_t size)
{
	char name[256], *of;
	int err = 0;

	if (!plumb_policy_has_targets() || !*plumb_section_name(p, name, sizeof(name)))
		return 0;
	err = plumb_allowed(name, what, size);
	of = *name == 't' ? strrchr(name, ':') : NULL;
	return err || !of ? err : plumb_allowed_name("r", of + 1, what, size);
}
