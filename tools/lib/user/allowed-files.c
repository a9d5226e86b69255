/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/guard/allowed.h>
#include <plumb/guard/policy.h>
#include <plumb/symbols/elffile.h>
#include <plumb/user/allowed-files.h>

#include "file-names.h"

#define LONGEST (PATH_MAX + 1024)

/* What is judged: functions of a file, or probes, by each of their names and each path. */
struct judging {
	const char *kind;
	char **names;
	size_t n;
	char *what;
	size_t size;
};

static int add_name(const char *name, void *context)
{
	struct judging *j = context;

	*plumb_append(j->names, j->n) = plumb_copied(name);
	return 0;
}

static int judge_path(const char *path, void *context)
{
	const struct judging *j = context;
	char name[LONGEST];
	int err = 0;

	for (size_t i = 0; i < j->n && !err; i++) {
		snprintf(name, sizeof(name), "%s:%s:%s", j->kind, path, j->names[i]);
		err = plumb_allowed(name, j->what, j->size);
	}
	return err;
}

/* A file that is asked for, by what it is. */
struct identity {
	const struct judging *judging;
	struct stat st;
	unsigned char id[PLUMB_BUILD_ID_MAX];
	size_t id_size;
};

static size_t build_id_of(const char *path, unsigned char id[PLUMB_BUILD_ID_MAX])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf = NULL;
	size_t n = 0;

	if (fd >= 0 && elf_version(EV_CURRENT) != EV_NONE)
		elf = plumb_elf_begin(fd, ELF_C_READ_MMAP);
	if (elf)
		n = plumb_elf_build_id(elf, id);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return n;
}

/* By the path of a forbidden file, if it is the same one, or has the same code. */
static int judge_same(const char *path, const struct identity *of)
{
	unsigned char id[PLUMB_BUILD_ID_MAX];
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return 0;
	if ((st.st_dev != of->st.st_dev || st.st_ino != of->st.st_ino) &&
	    (!of->id_size || build_id_of(path, id) != of->id_size ||
	     memcmp(id, of->id, of->id_size) != 0))
		return 0;
	return judge_path(path, (void *)of->judging);
}

/* The files that there are of PATH, of PATH:FUNC or PATH:PROVIDER:NAME. */
static int judge_expanded(char *path, const struct identity *of)
{
	int err = 0;
	glob_t g;

	for (char *end = strchr(path, ':'); end && !err; end = strchr(end + 1, ':')) {
		*end = 0;
		if (!glob(path, GLOB_NOSORT, NULL, &g))
			for (size_t i = 0; i < g.gl_pathc && !err; i++)
				err = judge_same(g.gl_pathv[i], of);
		globfree(&g);
		*end = ':';
	}
	return err;
}

static int judge_identity(const char *path, const struct judging *j)
{
	struct identity of = {.judging = j};
	const char *text, *from;
	char *copy;
	int err = 0;

	if (stat(path, &of.st))
		return 0;
	of.id_size = build_id_of(path, of.id);
	for (size_t i = 0; !err && (text = plumb_policy_target_at(i)); i++) {
		from = strchr(text, ':');
		if (*text != 'u' || !from || from[1] != '/')
			continue;
		copy = plumb_copied(from + 1);
		err = judge_expanded(copy, &of);
		free(copy);
	}
	return err;
}

/* The path by which the user knows it, what the path leads to, and the names by mounts. */
static int judge_paths(const char *path, const char *shown, struct judging *j)
{
	char *real = realpath(path, NULL);
	int err = judge_path(shown, j);

	if (!err && real)
		err = judge_path(real, j);
	free(real);
	if (err)
		return err;
	err = plumb_file_names(path, shown, judge_path, j);
	if (err && err != -PLUMB_FORBIDDEN) {
		snprintf(j->what, j->size, "%s (whose mount cannot be found)", shown);
		plumb_policy_forbid_files();
		err = -PLUMB_FORBIDDEN;
	}
	return err ?: judge_identity(path, j);
}

int plumb_allowed_userfuncs(const struct plumb_userfuncs *u, char *what, size_t size)
{
	struct judging j = {.kind = u->is_usdt ? "usdt" : "u", .what = what, .size = size};
	const char *shown = u->shown ?: u->path;
	int err = 0;

	if (!plumb_policy_has_files())
		return 0;
	for (size_t i = 0; i < u->n; i++)
		if (u->list[i].name)
			add_name(u->list[i].name, &j);
	if (!u->is_usdt)
		err = plumb_userfuncs_spell(u, add_name, &j);
	if (err)
		snprintf(what, size, "%s", shown);
	else
		err = judge_paths(u->path, shown, &j);
	while (j.n)
		free(j.names[--j.n]);
	free(j.names);
	return err;
}
