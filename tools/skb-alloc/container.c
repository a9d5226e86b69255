/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "container.h"

#include <ctype.h>
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

/* A part that begins with PREFIX, without SUFFIX if it ends so. */
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
			name_between(path, length, "machine-", ".scope", text, size);
		below_lxc = length == 3 && !strncmp(path, "lxc", 3);
	}
	return text;
}
