/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "words.h"

#include <fcntl.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/core/text.h>

#include "variables.h"

struct named {
	struct futex_word_key word;
	char *name;
};

/* A line of /proc/PID/maps. */
struct area {
	uint64_t start, end, offset, inode;
	char path[512];
};

static bool parse(const char *line, struct area *a)
{
	*a->path = 0;
	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64 " %511[^\n]",
		      &a->start, &a->end, &a->offset, &a->inode, a->path) >= 4;
}

/*
 * Finds the area of ADDRESS; FILE is the last one of a file before it, or itself.  False: there is
 * none, or the process is gone.
 */
static bool find_area(uint32_t pid, uint64_t address, struct area *found, struct area *file)
{
	char path[32], line[1024];
	bool is_found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	while (maps && !is_found && fgets(line, sizeof(line), maps)) {
		if (!parse(line, found))
			continue;
		if (found->inode)
			*file = *found;
		is_found = address >= found->start && address < found->end;
	}
	if (maps)
		fclose(maps);
	return is_found;
}

/* A file is read if it belongs to root, to the user of the process or to that of the tool. */
static bool is_known_owner(int fd, uint32_t pid)
{
	struct stat file, process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !fstat(fd, &file) && !stat(path, &process) &&
	       (!file.st_uid || file.st_uid == process.st_uid || file.st_uid == getuid());
}

static const struct variables *read_file(uint32_t pid, const struct area *file)
{
	const struct variables *v = NULL;
	char link[96];
	int fd;

	snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, file->start,
		 file->end);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && is_known_owner(fd, pid))
		v = variables_of(fd);
	if (fd >= 0)
		close(fd);
	return v;
}

/*
 * The name of a word in a file's area, or in the memory behind it for variables that are zero in
 * the beginning, which are not in the file; NULL: it is in neither.
 */
static char *name_in_file(uint32_t pid, uint64_t address, const struct area *area,
			  const struct area *file)
{
	const struct variables *v = file->inode ? read_file(pid, file) : NULL;
	const char *base = strrchr(file->path, '/'), *variable;
	char text[PLUMB_ESCAPED], symbol[256];
	uint64_t at = 0, offset;

	if (v && variables_address(v, file->offset, &at))
		at += address - file->start;
	if (!area->inode && (!at || !variables_have(v, at)))
		return NULL;
	plumb_escape(text, base ? base + 1 : file->path, sizeof(text));
	variable = at ? variables_find(v, at, &offset) : NULL;
	if (!variable)
		return plumb_text("%s+%#" PRIx64, text, at ?: address - area->start + area->offset);
	plumb_escape(symbol, variable, sizeof(symbol));
	return offset ? plumb_text("%s:%s+%#" PRIx64, text, symbol, offset)
		      : plumb_text("%s:%s", text, symbol);
}

static char *find_name(const struct futex_word_key *word, uint32_t pid)
{
	const uint64_t address = word->address;
	struct area area, file = {};
	char text[PLUMB_ESCAPED];
	char *name;

	if (!find_area(pid, address, &area, &file))
		return plumb_text("%#" PRIx64, address);
	name = name_in_file(pid, address, &area, &file);
	plumb_escape(text, *area.path ? area.path : "[anon]", sizeof(text));
	return name ?: plumb_text("%s%#" PRIx64, text, address);
}

static int by_word(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct futex_word_key));
}

static const struct named *named(const struct futex_word_key *word, uint32_t pid)
{
	static void *all;
	struct named **found = tfind(word, &all, by_word), *one;

	if (found || !pid)
		return found ? *found : NULL;
	one = plumb_zeroed(1, sizeof(*one));
	one->word = *word;
	one->name = find_name(word, pid);
	plumb_required(tsearch(one, &all, by_word));
	return one;
}

const char *words_name(const struct futex_word_key *word, uint32_t pid, char *text, size_t size)
{
	const struct named *one = named(word, pid);

	if (one)
		snprintf(text, size, "%s", one->name);
	else
		snprintf(text, size, "%#" PRIx64, (uint64_t)word->address);
	return text;
}

static int see(void *context, const void *record, size_t size)
{
	const struct futex_seen *seen = record;

	(void)context;
	if (size >= sizeof(*seen))
		named(&seen->word, seen->pid);
	return 0;
}

static int idle(void *context, bool all, uint64_t *again)
{
	(void)context, (void)all, (void)again;
	return 0;
}

const struct plumb_ring_handlers words_seen = {NULL, see, idle};
