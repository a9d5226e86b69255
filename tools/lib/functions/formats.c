/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/functions/formats.h>
#include <plumb/kernel/tracefs.h>

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * Returns the end of the declared name: "[16]" or ")(void *)" may follow it.  Brackets may also
 * precede it ("__data_loc char[] name").
 */
static const char *end_of_name(const char *declaration)
{
	const char *pointer = strstr(declaration, "(*"), *end;

	if (pointer) {
		for (end = pointer + 2; *end == ' '; end++)
			;
		while (is_of_name(*end))
			end++;
		return end;
	}
	end = declaration + strlen(declaration);
	while (end > declaration && end[-1] == ']')
		do
			end--;
		while (end > declaration && *end != '[');
	return end;
}

static int split_declaration(struct plumb_format_field *f)
{
	const char *end = end_of_name(f->declaration), *name = end, *before;

	while (name > f->declaration && is_of_name(name[-1]))
		name--;
	for (before = name; before > f->declaration && before[-1] == ' '; before--)
		;
	if (name == end || before == f->declaration)
		return -EINVAL;
	f->name = plumb_text("%.*s", (int)(end - name), name);
	f->type = plumb_text("%.*s%s", (int)(before - f->declaration), f->declaration, end);
	return 0;
}

/* "field:char comm[16];\toffset:8;\tsize:16;\tsigned:0;" */
static int read_field(const char *line, struct plumb_format *format)
{
	struct plumb_format_field *f = plumb_append(format->fields, format->n);
	unsigned int is_signed = 0;
	int err;

	*f = (struct plumb_format_field){};
	if (sscanf(line, "field:%m[^;]; offset:%u; size:%u; signed:%u;", &f->declaration,
		   &f->offset, &f->size, &is_signed) != 4)
		return -EINVAL;
	err = split_declaration(f);
	if (err)
		return err;
	f->is_signed = is_signed;
	f->is_dynamic = !strncmp(f->declaration, "__data_loc ", 11) ||
			!strncmp(f->declaration, "__rel_loc ", 10);
	f->is_common = !strncmp(f->name, "common_", 7);
	return 0;
}

static int read_line(const char *line, struct plumb_format *format)
{
	line += strspn(line, " \t");
	if (!strncmp(line, "field:", 6))
		return read_field(line, format);
	if (!strncmp(line, "name: ", 6) && !format->name)
		format->name = plumb_copied(line + 6);
	if (!strncmp(line, "ID: ", 4) && sscanf(line + 4, "%u", &format->id) != 1)
		return -EINVAL;
	return 0;
}

int plumb_format_parse(const char *text, struct plumb_format *format)
{
	char *copy = plumb_copied(text), *rest = copy, *line;
	int err = 0;

	*format = (struct plumb_format){};
	/* The print format is the last item and can contain anything. */
	while (!err && rest && strncmp(rest, "print fmt:", 10)) {
		line = strsep(&rest, "\n");
		err = read_line(line, format);
	}
	if (!err && (!format->name || !format->n))
		err = -EINVAL;
	if (err)
		plumb_format_free(format);
	free(copy);
	return err;
}

int plumb_format_read(int tracefs, const char *category, const char *name,
		      struct plumb_format *format)
{
	char path[512], *text = NULL;
	size_t room = 0;
	int err = 0;
	FILE *f;

	*format = (struct plumb_format){};
	snprintf(path, sizeof(path), "events/%s/%s/format", category, name);
	f = plumb_tracefs_file(tracefs, path);
	if (!f)
		return -errno;
	if (getdelim(&text, &room, 0, f) < 0)
		err = ferror(f) ? -errno : -EINVAL;
	fclose(f);
	err = err ?: plumb_format_parse(text, format);
	free(text);
	return err;
}

void plumb_format_free(struct plumb_format *format)
{
	for (size_t i = 0; i < format->n; i++) {
		free(format->fields[i].declaration);
		free(format->fields[i].name);
		free(format->fields[i].type);
	}
	free(format->fields);
	free(format->name);
	*format = (struct plumb_format){};
}
