/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merged.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/text.h>

struct link {
	char *name, *folder;
};

static struct link *links;
static size_t n_links;

static void add(int folder, const char *name)
{
	char target[256];
	ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);
	struct link *more;

	if (n <= 0) /* not a link */
		return;
	target[n] = 0;
	more = realloc(links, (n_links + 1) * sizeof(*links));
	if (!more)
		return;
	links = more;
	links[n_links] = (struct link){strdup(name), strdup(target)};
	if (links[n_links].name && links[n_links].folder)
		n_links++;
}

void merged_read(void)
{
	DIR *all = opendir("/sys/kernel/slab");
	struct dirent *e;

	while (all && (e = readdir(all)))
		add(dirfd(all), e->d_name);
	if (all)
		closedir(all);
}

static const char *folder_of(const char *name)
{
	for (size_t i = 0; i < n_links; i++)
		if (!strcmp(links[i].name, name))
			return links[i].folder;
	return NULL;
}

static bool is_other(const struct link *l, const char *name, const char *folder)
{
	return folder && !strcmp(l->folder, folder) && strcmp(l->name, name) != 0;
}

size_t merged_count(const char *name)
{
	const char *folder = folder_of(name);
	size_t n = 0;

	for (size_t i = 0; i < n_links; i++)
		n += is_other(&links[i], name, folder);
	return n;
}

json_t *merged_names(const char *name)
{
	const char *folder = folder_of(name);
	json_t *names = json_array();
	char text[PLUMB_ESCAPED];

	for (size_t i = 0; i < n_links; i++) {
		if (!is_other(&links[i], name, folder))
			continue;
		plumb_escape(text, links[i].name, sizeof(text));
		json_array_append_new(names, json_string(text));
	}
	return names;
}
