/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <plumb/core/memory.h>
#include <plumb/functions/modules.h>

static struct module {
	char *name;
	ino_t inode; /* of its directory in /sys/module, which is another when it is loaded again */
} * modules;
static size_t n_modules;

/* 0: it is not loaded. */
static ino_t inode_of(const char *name)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return stat(path, &st) ? 0 : st.st_ino;
}

static bool is_noted(const char *name)
{
	for (size_t i = 0; i < n_modules; i++)
		if (!strcmp(modules[i].name, name))
			return true;
	return false;
}

static void note(const char *name)
{
	const ino_t inode = inode_of(name);

	if (inode)
		*plumb_append(modules, n_modules) = (struct module){plumb_copied(name), inode};
}

void plumb_modules_note(const struct plumb_functions *found)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->all[i].module && !is_noted(found->all[i].module))
			note(found->all[i].module);
}

const char *plumb_modules_gone(size_t n)
{
	for (size_t i = 0; i < n_modules; i++)
		if (inode_of(modules[i].name) != modules[i].inode && !n--)
			return modules[i].name;
	return NULL;
}
