/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pattern: matches what the user typed with the names of functions in the kernel. */
#include <fnmatch.h>
#include <string.h>
#include <plumb/functions/lists.h>

void plumb_pattern_read(struct plumb_pattern *p, const char *text)
{
	/* A colon may also be in a glob: [[:alpha:]]. */
	size_t n;

	*p = (struct plumb_pattern){.text = text};
	if (!strncmp(text, "k:", 2)) /* accepted by tools with other kinds of targets */
		text += 2;
	n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	p->name = text;
	if (text[n] == ':' && n && n < sizeof(p->module_name)) {
		memcpy(p->module_name, text, n);
		p->module = p->module_name;
		p->name = text + n + 1;
	}
	p->literal = strcspn(p->name, "*?[");
	p->is_glob = p->name[p->literal];
}

bool plumb_pattern_is_about(const struct plumb_pattern *p, const struct plumb_symbol *s)
{
	return !p->module || !strcmp(p->module, s->module ?: "vmlinux");
}

bool plumb_name_is_cold(const char *name)
{
	const char *part = name;

	while ((part = strstr(part, ".cold"))) {
		part += strlen(".cold");
		if (!*part || *part == '.')
			return true;
	}
	return false;
}

/*
 * With link-time optimization, clang (.llvm.N) and gcc (.lto_priv.N) give a static function that
 * other files use a unique name.
 */
bool plumb_suffix_is_harmless(const char *name)
{
	static const char *const renames[] = {".llvm.", ".lto_priv."};
	const char *suffix = strchrnul(name, '.');
	size_t n;

	for (size_t i = 0; i < 2; i++) {
		n = strlen(renames[i]);
		if (!strncmp(suffix, renames[i], n) && suffix[n] &&
		    !suffix[n + strspn(suffix + n, "0123456789")])
			return true;
	}
	return !*suffix;
}

bool plumb_pattern_names(const struct plumb_pattern *p, const struct plumb_symbol *s)
{
	return !strcmp(s->name, p->name);
}

bool plumb_pattern_left(const struct plumb_pattern *p, const struct plumb_symbol *s)
{
	return p->literal && !strncmp(s->name, p->name, p->literal) && s->name[p->literal] == '.';
}

bool plumb_pattern_became(const struct plumb_pattern *p, const struct plumb_symbol *s)
{
	return plumb_pattern_left(p, s) && !plumb_name_is_cold(s->name);
}

bool plumb_pattern_globs(const struct plumb_pattern *p, const struct plumb_symbol *s)
{
	char *suffix;
	bool matches;

	if (strncmp(s->name, p->name, p->literal) || plumb_symbol_is_internal(s) ||
	    plumb_name_is_cold(s->name))
		return false;
	suffix = strchr(p->name, '.') ? NULL : strchr(s->name, '.');
	if (suffix)
		*suffix = 0;
	matches = !fnmatch(p->name, s->name, 0);
	if (suffix)
		*suffix = '.';
	return matches;
}
