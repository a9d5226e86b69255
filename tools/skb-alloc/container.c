/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "container.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ID_LENGTH    64 /* hexadecimal digits of an id, with every runtime */
#define SHORT_LENGTH 12

static size_t id_length(const char *text)
{
	size_t n = 0;

	while (isxdigit((unsigned char)text[n]) && !isupper((unsigned char)text[n]))
		n++;
	return n;
}

/* "docker-ID.scope", "cri-containerd-ID.scope", "crio-ID", "libpod-ID.scope", or only ID. */
static bool name_by_id(const char *part, size_t length, char *text, size_t size)
{
	const char *end = part + length, *id = part;

	for (const char *c = part; c < end; c++)
		if (*c == '-' || *c == ':')
			id = c + 1;
	if (id_length(id) != ID_LENGTH || id + ID_LENGTH > end)
		return false;
	snprintf(text, size, "%.*s", SHORT_LENGTH, id);
	return true;
}

/* If PART begins with PREFIX, copy the rest of it to TEXT, without SUFFIX if it ends with that. */
static bool name_between(const char *part, size_t length, const char *prefix, const char *suffix,
			 char *text, size_t size)
{
	size_t skip = strlen(prefix), tail = strlen(suffix);

	if (length < skip || strncmp(part, prefix, skip))
		return false;
	if (length >= skip + tail && !strncmp(part + length - tail, suffix, tail))
		length -= tail;
	if (length == skip)
		return false;
	snprintf(text, size, "%.*s", (int)(length - skip), part + skip);
	return true;
}

/*
 * The byte of an escape as systemd writes it, "\x2d"; 0: TEXT does not begin with one, or its byte
 * is not printable ASCII.  Such escapes stay: no machine's name has them, and a terminal could
 * interpret the byte.
 */
static unsigned char escaped_byte(const char *text)
{
	unsigned int byte;

	if (strncmp(text, "\\x", 2) || id_length(text + 2) < 2 ||
	    sscanf(text + 2, "%2x", &byte) < 1)
		return 0;
	return byte >= ' ' && byte < 0x7f ? byte : 0;
}

static void unescape(char *text)
{
	char *to = text;
	unsigned char c;

	for (; *text; to++) {
		c = escaped_byte(text);
		*to = c ? c : *text;
		text += c ? 4 : 1;
	}
	*to = 0;
}

/* systemd's "machine-NAME.scope", of nspawn, libvirt and others. */
static bool name_by_machine(const char *part, size_t length, char *text, size_t size)
{
	char escaped[NAME_MAX + 1];

	if (!name_between(part, length, "machine-", ".scope", escaped, sizeof(escaped)))
		return false;
	unescape(escaped);
	snprintf(text, size, "%s", escaped);
	return true;
}

const char *container_name(const char *path, char *text, size_t size)
{
	bool below_lxc = false;
	size_t length;

	snprintf(text, size, "-");
	for (; *path; path += length) {
		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (below_lxc && length) /* lxc/NAME, until 4.0 */
			snprintf(text, size, "%.*s", (int)length, path);
		else if (!name_by_id(path, length, text, size) &&
			 !name_between(path, length, "lxc.payload.", "", text, size))
			name_by_machine(path, length, text, size);
		below_lxc = length == 3 && !strncmp(path, "lxc", 3);
	}
	return text;
}
