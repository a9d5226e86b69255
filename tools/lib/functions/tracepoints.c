/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/btf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/terminal/suggest.h>

/* --- its events --- */

void plumb_tracepoints_free(struct plumb_tracepoints *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->list[i].category);
		free(t->list[i].name);
	}
	free(t->list);
	*t = (struct plumb_tracepoints){};
}

/* Reads the category and name of each event that can be enabled. */
static int read_events(int tracefs, struct plumb_tracepoints *all)
{
	FILE *f = plumb_tracefs_file(tracefs, "available_events");
	struct plumb_tracepoint one = {};

	if (!f)
		return plumb_tracefs_refused(errno);
	while (fscanf(f, " %m[^:\n]:%ms", &one.category, &one.name) == 2)
		*plumb_append(all->list, all->n) = one;
	fclose(f);
	return 0;
}

/* --- raw tracepoints --- */

struct raw_names {
	char *text; /* each ends with a NUL */
	size_t size;
};

/*
 * The kernel declares a type btf_trace_NAME for each raw tracepoint.  They are searched for in the
 * names of all types, which needs less time and memory than parsing BTF.
 */
static void read_raw_names(FILE *btf, struct raw_names *names)
{
	static const char prefix[] = "btf_trace_";
	FILE *all = open_memstream(&names->text, &names->size);
	struct btf_header header;
	size_t room = 0, length = sizeof(prefix) - 1;
	char *name = NULL;

	if (all && fread(&header, sizeof(header), 1, btf) == 1 && header.magic == BTF_MAGIC &&
	    !fseek(btf, header.hdr_len + header.str_off, SEEK_SET))
		while (getdelim(&name, &room, 0, btf) >= 0)
			if (!strncmp(name, prefix, length))
				fwrite(name + length, strlen(name + length) + 1, 1, all);
	free(name);
	if (all)
		fclose(all);
}

static void mark_raw_of(const struct raw_names *names, struct plumb_tracepoints *found)
{
	for (const char *name = names->text; name && name < names->text + names->size;
	     name += strlen(name) + 1)
		for (size_t i = 0; i < found->n; i++)
			if (!strcmp(found->list[i].name, name))
				found->list[i].is_raw = true;
}

/* The kernel's own names (some 40 kB) never change and are kept for later searches. */
static void mark_raw_of_file(int dir, const char *name, struct plumb_tracepoints *found)
{
	static struct raw_names kernel;
	struct raw_names names = strcmp(name, "vmlinux") ? (struct raw_names){} : kernel;
	FILE *btf = names.text ? NULL : plumb_tracefs_file(dir, name);

	if (btf) {
		read_raw_names(btf, &names);
		fclose(btf);
	}
	mark_raw_of(&names, found);
	if (strcmp(name, "vmlinux"))
		free(names.text);
	else
		kernel = names;
}

static bool are_all_raw(const struct plumb_tracepoints *found)
{
	for (size_t i = 0; i < found->n; i++)
		if (!found->list[i].is_raw)
			return false;
	return true;
}

static void mark_raw(struct plumb_tracepoints *found)
{
	DIR *dir = opendir("/sys/kernel/btf");
	struct dirent *entry;

	if (!dir)
		return;
	mark_raw_of_file(dirfd(dir), "vmlinux", found);
	/* Modules may be loaded and removed: their names are read each time, as long as needed. */
	while (!are_all_raw(found) && (entry = readdir(dir)))
		if (strcmp(entry->d_name, "vmlinux"))
			mark_raw_of_file(dirfd(dir), entry->d_name, found);
	closedir(dir);
}

/* --- names --- */

/* Prints which part of CATEGORY:NAME does not match. */
static int complain(const struct plumb_tracepoints *all, const char *category, const char *name)
{
	const char **names = plumb_zeroed(all->n, sizeof(*names));
	char suggestion[512];
	size_t n = 0;
	int err;

	for (size_t i = 0; i < all->n; i++)
		if (!fnmatch(category, all->list[i].category, 0))
			names[n++] = all->list[i].name;
	if (n) {
		plumb_suggest(name, names, n, suggestion, sizeof(suggestion));
		err = plumb_error(ENOENT, "no such tracepoint: %s%s%s%s%s",
				  strcmp(category, "*") ? category : "",
				  strcmp(category, "*") ? ":" : "", name, suggestion,
				  *suggestion ? "?" : "");
	} else {
		for (; n < all->n; n++)
			names[n] = all->list[n].category;
		plumb_suggest(category, names, n, suggestion, sizeof(suggestion));
		err = plumb_error(ENOENT, "no such category of tracepoints: %s%s%s", category,
				  suggestion, *suggestion ? "?" : "");
	}
	free(names);
	return err;
}

/* Moves what matches from ALL to FOUND. */
static int take(int tracefs, const char *category, const char *name, struct plumb_tracepoints *all,
		struct plumb_tracepoints *found)
{
	for (size_t i = 0; i < all->n; i++) {
		struct plumb_tracepoint *t = &all->list[i];
		int err;

		if (fnmatch(category, t->category, 0) || fnmatch(name, t->name, 0))
			continue;
		err = plumb_tracefs_id(tracefs, t->category, t->name, &t->id);
		if (err == -ENOENT) /* its module was just removed */
			continue;
		if (err)
			return plumb_error(err, "cannot read the id of tracepoint %s:%s: %s",
					   t->category, t->name, strerror(-err));
		*plumb_append(found->list, found->n) = *t;
		t->category = t->name = NULL;
	}
	return found->n ? 0 : complain(all, category, name);
}

/*
 * If the names are not globs, finds their tracepoint without reading the long list of all.  Like
 * that list, it has only tracepoints that can be enabled.
 */
static bool find_one(int tracefs, const char *category, const char *name,
		     struct plumb_tracepoints *found)
{
	struct plumb_tracepoint one = {};
	char path[512];

	if (strpbrk(category, "*?[\\/") || strpbrk(name, "*?[\\/") || *category == '.' ||
	    *name == '.')
		return false;
	snprintf(path, sizeof(path), "events/%s/%s/enable", category, name);
	if (faccessat(tracefs, path, F_OK, 0))
		return false;
	if (plumb_tracefs_id(tracefs, category, name, &one.id))
		return false;
	one.category = plumb_copied(category);
	one.name = plumb_copied(name);
	*plumb_append(found->list, found->n) = one;
	return true;
}

int plumb_tracepoints_find(int tracefs, const char *pattern, struct plumb_tracepoints *found)
{
	struct plumb_tracepoints all = {};
	char *category = plumb_copied(pattern), *name = strchr(category, ':');
	int err;

	*found = (struct plumb_tracepoints){};
	if (!name || name == category || !name[1] || strchr(name + 1, ':')) {
		free(category);
		return plumb_error(EINVAL, "tracepoint '%s': should be CATEGORY:NAME", pattern);
	}
	*name++ = 0;
	err = find_one(tracefs, category, name, found)
		      ? 0
		      : read_events(tracefs, &all) ?: take(tracefs, category, name, &all, found);
	if (err)
		plumb_tracepoints_free(found);
	else
		mark_raw(found);
	plumb_tracepoints_free(&all);
	free(category);
	return err;
}
