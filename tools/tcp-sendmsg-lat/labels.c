/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>

#include "labels.h"

#define BLANKS     " \t\r"
#define LARGEST    (16 << 20)
#define MAX_ERRORS 10 /* reported per file */

static bool is_name(const char *text)
{
	for (; *text; text++)
		if (!isascii(*text) || !isgraph(*text))
			return false;
	return true;
}

int tcp_parse_label(char *line, struct tcp_label *label, const char **why)
{
	char *rest, *endpoint = strtok_r(line, BLANKS, &rest), *name, *more;

	if (!endpoint || *endpoint == '#')
		return 0;
	name = strtok_r(NULL, BLANKS, &rest);
	more = name ? strtok_r(NULL, BLANKS, &rest) : NULL;
	*label = (struct tcp_label){};
	*why = NULL;
	if (tcp_parse_endpoint(endpoint, &label->prefix, &label->port))
		*why = "not an address (ADDRESS[/PREFIX][:PORT], IPv6 with a port in brackets)";
	else if (!name || *name == '#')
		*why = "no name behind the address";
	else if (more && *more != '#')
		*why = "a name is one word";
	else if (strlen(name) >= sizeof(label->name))
		*why = "a name has at most 31 characters";
	else if (!is_name(name))
		*why = "a name is of printable ASCII characters";
	else if (!strcmp(name, "-"))
		*why = "the name - is reserved";
	if (*why)
		return -EINVAL;
	strcpy(label->name, name);
	return 1;
}

/* Set NEW->first.  Return an entry with the same prefix and port as NEW; NULL: there is none. */
static const struct tcp_label *place(struct tcp_labels *labels, struct tcp_label *new)
{
	new->first = labels->n;
	for (size_t i = labels->n; i--;) {
		const struct tcp_label *old = &labels->list[i];

		if (old->port == new->port &&
		    !memcmp(&old->prefix, &new->prefix, sizeof(new->prefix)))
			return old;
		if (!strcmp(old->name, new->name))
			new->first = old->first;
	}
	return NULL;
}

/* Add the label of line N, with a NUL if it is CUT; 0, or -EINVAL after a message. */
static int add_line(struct tcp_labels *labels, const char *file, unsigned int n, char *line,
		    bool cut)
{
	struct tcp_label label;
	const struct tcp_label *same;
	const char *why;
	int found;

	if (cut)
		return plumb_error(EINVAL, "%s:%u: not a text", file, n);
	found = tcp_parse_label(line, &label, &why);
	if (found < 0)
		return plumb_error(EINVAL, "%s:%u: %s", file, n, why);
	if (!found)
		return 0;
	if (labels->n == TCP_MAX_LABELS)
		return plumb_error(EINVAL, "%s:%u: more than %d labels", file, n, TCP_MAX_LABELS);
	label.file = file;
	label.line = n;
	same = place(labels, &label);
	if (same)
		return plumb_error(EINVAL, "%s:%u: the same addresses as in %s:%u", file, n,
				   same->file, same->line);
	labels->list[labels->n++] = label;
	return 0;
}

/* TEXT of SIZE bytes and a NUL: what is behind another NUL is not read. */
static int read_lines(struct tcp_labels *labels, const char *file, char *text, size_t size)
{
	const char *end = text + size;
	unsigned int errors = 0;
	char *line;

	for (unsigned int n = 1; errors < MAX_ERRORS && (line = strsep(&text, "\n")); n++)
		errors += add_line(labels, file, n, line, !text && line + strlen(line) != end) != 0;
	if (errors == MAX_ERRORS)
		plumb_warn("%s: the rest is not read", file);
	return errors ? -EINVAL : 0;
}

int tcp_labels_read(struct tcp_labels *labels, const char *file)
{
	size_t size;
	char *text = plumb_file_read("--labels", file, LARGEST, &size);
	int err;

	if (!text)
		return -EINVAL;
	if (!labels->list)
		labels->list = calloc(TCP_MAX_LABELS, sizeof(*labels->list));
	err = labels->list ? read_lines(labels, file, text, size)
			   : plumb_error(ENOMEM, "--labels: no memory for %s", file);
	free(text);
	return err;
}
