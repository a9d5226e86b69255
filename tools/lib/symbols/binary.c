/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/binary.h>

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#define MACHINE EM_X86_64
#else
#define TRIPLET "aarch64-linux-gnu"
#define MACHINE EM_AARCH64
#endif

/* Whether a file is 64-bit ELF for this architecture: a directory may have others too. */
static bool is_loadable(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Ehdr h = {};
	ssize_t n = fd < 0 ? -1 : read(fd, &h, sizeof(h));

	if (fd >= 0)
		close(fd);
	return n == sizeof(h) && !memcmp(h.e_ident, ELFMAG, SELFMAG) &&
	       h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == MACHINE;
}

bool plumb_binary_is_named(const char *file, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(file, name, n))
		return false;
	file += n;
	return !*file || !strcmp(file, ".so") || !strncmp(file, ".so.", 4);
}

/* Searches one directory for library NAME; several links to one file are no error. */
static int look_in(const char *directory, const char *name, char **found)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char link[4096], *path;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		snprintf(link, sizeof(link), "%s/%s", directory, entry->d_name);
		path = plumb_binary_is_named(entry->d_name, name) && is_loadable(link)
			       ? realpath(link, NULL)
			       : NULL;
		if (path && *found && strcmp(path, *found))
			err = plumb_error(EINVAL, "library %s: use a path: %s or %s", name, *found,
					  path);
		if (*found)
			free(path);
		else
			*found = path;
	}
	if (dir)
		closedir(dir);
	return err;
}

static int look_as_told(const char *conf, const char *name, char **found);

/* Searches the files of an "include" in CONF; a path is relative to the directory of CONF. */
static int look_as_included(const char *conf, const char *pattern, const char *name, char **found)
{
	int beside = *pattern == '/' ? 0 : strrchr(conf, '/') + 1 - conf, err = 0;
	char path[4096];
	glob_t files;

	snprintf(path, sizeof(path), "%.*s%s", beside, conf, pattern);
	if (!glob(path, 0, NULL, &files))
		for (size_t i = 0; i < files.gl_pathc && !err && !*found; i++)
			err = look_as_told(files.gl_pathv[i], name, found);
	globfree(&files);
	return err;
}

/* Searches the directories that a file in the format of ld.so.conf lists. */
static int look_as_told(const char *conf, const char *name, char **found)
{
	static int depth; /* a file may include itself */
	char *line = NULL, *word, *rest;
	FILE *f = depth < 4 ? fopen(conf, "re") : NULL;
	size_t room = 0;
	int err = 0;

	if (!f)
		return 0;
	depth++;
	while (!err && !*found && getline(&line, &room, f) >= 0) {
		line[strcspn(line, "#\n")] = 0;
		word = strtok_r(line, " \t", &rest);
		if (word && !strcmp(word, "include"))
			while (!err && !*found && (word = strtok_r(NULL, " \t", &rest)))
				err = look_as_included(conf, word, name, found);
		else if (word && *word == '/')
			err = look_in(word, name, found);
	}
	depth--;
	free(line);
	fclose(f);
	return err;
}

static int look_for_library(const char *name, char **found)
{
	static const char *const standard[] = {
		"/lib/" TRIPLET, "/usr/lib/" TRIPLET, "/lib64",        "/usr/lib64",
		"/lib",          "/usr/lib",          "/usr/local/lib"};
	int err = look_as_told("/etc/ld.so.conf", name, found);

	for (size_t i = 0; !err && !*found && i < sizeof(standard) / sizeof(standard[0]); i++)
		err = look_in(standard[i], name, found);
	return err;
}

static char *look_for_program(const char *name)
{
	char *path = plumb_copied(getenv("PATH") ?: ""), *rest = path, *dir, *found = NULL,
	     file[4096];
	struct stat st;

	while (!found && (dir = strsep(&rest, ":"))) {
		snprintf(file, sizeof(file), "%s/%s", *dir ? dir : ".", name);
		if (!stat(file, &st) && S_ISREG(st.st_mode) && !access(file, X_OK))
			found = realpath(file, NULL);
	}
	free(path);
	return found;
}

int plumb_binary_find(const char *name, char **path)
{
	int err = 0;

	*path = NULL;
	if (strchr(name, '/')) /* unchanged: a link below /proc/PID/root is relative to that root */
		*path = plumb_copied(name);
	else if (!(err = look_for_library(name, path)) && !*path)
		*path = look_for_program(name);
	if (!err && !*path)
		return plumb_error(ENOENT, "no library or program is named %s%s%s%s", name,
				   access(name, F_OK) ? "" : "; did you mean ./",
				   access(name, F_OK) ? "" : name, access(name, F_OK) ? "" : "?");
	if (err) {
		free(*path);
		*path = NULL;
	}
	return err;
}
