/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/guard/policy.h>

#define FOLDER  "/etc/plumb"
#define MOST    (64 << 10) /* bytes of the file */
#define SEC_NS  1000000000ULL
#define YEAR_NS (366ULL * 24 * 3600 * SEC_NS)

/* A glob, and the line that has it. */
struct glob {
	char *text;
	unsigned int line;
};

struct globs {
	struct glob *list;
	size_t n;
};

static struct {
	char *sink, *limit; /* as written */
	uint64_t max_duration;
	struct globs tools, targets;
	const struct glob *refused; /* by which a target was refused last */
} policy;

/* The line that is being parsed. */
static unsigned int line_number;

static int flaw(const char *what, const char *text)
{
	return plumb_error(EINVAL, PLUMB_POLICY_FILE ":%u: %s: %s", line_number, what, text);
}

/* --- values --- */

static int parse_sink(const char *text)
{
	if (policy.sink)
		return flaw("audit is there twice", text);
	if (*text != '/' && strcmp(text, "syslog") != 0 && strcmp(text, "audit") != 0)
		return flaw("audit takes syslog, audit or the absolute path of a file", text);
	policy.sink = strdup(text);
	return policy.sink ? 0 : -ENOMEM;
}

/* "90s", "1.5h". */
static int parse_limit(const char *text)
{
	static const struct {
		char name;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 24 * 3600}};
	char *number = strdup(text);
	size_t n = strlen(text);
	uint64_t value = 0;

	if (policy.max_duration || !number) {
		free(number);
		return flaw("max-duration is there twice", text);
	}
	for (size_t i = 0; n && i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[n - 1] != units[i].name)
			continue;
		number[n - 1] = 0;
		if (!plumb_parse_seconds(number, 1, YEAR_NS / units[i].seconds, &value))
			policy.max_duration = value * units[i].seconds;
	}
	free(number);
	if (policy.max_duration < SEC_NS)
		return flaw("max-duration takes a time from 1s to a year, as 90s, 15m, 1h or 1d",
			    text);
	policy.limit = strdup(text);
	return policy.limit ? 0 : -ENOMEM;
}

/* The end of the set that begins after a [, whose first character may be ]; NULL: it has none. */
static const char *end_of_set(const char *c)
{
	const char *first;

	c += *c == '!' || *c == '^';
	first = c;
	while (*c && (*c != ']' || c == first))
		c += *c == '\\' && c[1] ? 2 : 1;
	return *c ? c : NULL;
}

/* Globs with a blank at either end, a [ that is not closed or a last \\ would forbid nothing. */
static bool is_glob(const char *item)
{
	for (const char *c = item; *c; c++) {
		if (*c == '\\')
			c = c[1] ? c + 1 : NULL;
		else if (*c == '[')
			c = end_of_set(c + 1);
		if (!c)
			return false;
	}
	return *item != ' ' && item[strlen(item) - 1] != ' ';
}

static int add_glob(const char *item, void *context)
{
	struct globs *globs = context;
	struct glob *more;

	if (!is_glob(item))
		return -EINVAL;
	more = realloc(globs->list, (globs->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	globs->list = more;
	more[globs->n] = (struct glob){strdup(item), line_number};
	return more[globs->n++].text ? 0 : -ENOMEM;
}

/* What matches no tool would forbid nothing. */
static int add_tool(const char *item, void *context)
{
	static const char *const tools[] = {
#include "tools.inc"
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (!fnmatch(item, tools[i], 0))
			return add_glob(item, context);
	return -EINVAL;
}

static int parse_tools(const char *text)
{
	return plumb_parse_list(text, add_tool, &policy.tools)
		       ? flaw("forbid-tool takes names of tools and globs that match some, "
			      "separated by commas without blanks",
			      text)
		       : 0;
}

/*
 * Refuses what no target can match, and so would forbid nothing: without a kind, "tcp_sendmsg",
 * with too few parts, "t:sched", or with a relative path.
 */
static int add_target(const char *item, void *context)
{
	static const struct {
		const char *prefix, *parts;
		char first;
	} kinds[] = {{"k:", "*", 0},      {"t:", "*:*", 0},   {"s:", "*", 0},
		     {"r:", "*", 0},      {"u:", "*:*", '/'}, {"usdt:", "*:*:*", '/'},
		     {"sample:", "*", 0}, {"event:", "*", 0}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *rest = item + strlen(kinds[i].prefix);

		if (strncmp(item, kinds[i].prefix, rest - item) != 0)
			continue;
		if (!strchr(rest, '*') && fnmatch(kinds[i].parts, rest, 0))
			return -EINVAL;
		if (kinds[i].first && *rest != kinds[i].first && !strchr("*?[", *rest))
			return -EINVAL;
		return add_glob(item, context);
	}
	return *item == '*' ? add_glob(item, context) : -EINVAL;
}

static int parse_targets(const char *text)
{
	return plumb_parse_list(text, add_target, &policy.targets)
		       ? flaw("forbid-target takes globs of k:FUNC t:CATEGORY:EVENT s:NAME r:NAME "
			      "u:/PATH:FUNC usdt:/PATH:PROVIDER:NAME sample:cpu-clock or "
			      "event:NAME, separated by commas without blanks",
			      text)
		       : 0;
}

/* --- the file --- */

static int parse_line(char *line)
{
	static const struct {
		const char *name;
		int (*parse)(const char *text);
	} settings[] = {
		{"audit", parse_sink},
		{"max-duration", parse_limit},
		{"forbid-tool", parse_tools},
		{"forbid-target", parse_targets},
	};
	char *value = strchr(line, '=');

	line_number++;
	if (!*line || *line == '#')
		return 0;
	for (const char *c = line; *c; c++)
		if (iscntrl((unsigned char)*c))
			return flaw("a control character, such as CR before the line's end",
				    "refused");
	if (!value)
		return flaw("not NAME=VALUE", line);
	*value++ = 0;
	if (!*value)
		return flaw("no value", line);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(line, settings[i].name))
			return settings[i].parse(value);
	return flaw("audit, max-duration, forbid-tool and forbid-target are known", line);
}

static int parse(char *text, size_t size)
{
	char *line;
	int err = 0;

	if (memchr(text, 0, size))
		return plumb_error(EINVAL, PLUMB_POLICY_FILE ": has a NUL byte");
	while (!err && (line = strsep(&text, "\n")))
		err = parse_line(line);
	return err;
}

static int unsafe(const char *path, const char *why)
{
	return plumb_error(EPERM, "%s %s: nothing is run", path, why);
}

/* Whether only root can have made it what it is. */
static int check(int fd, const char *path, mode_t type)
{
	struct stat st;

	if (fstat(fd, &st))
		return unsafe(path, strerror(errno));
	if (S_ISLNK(st.st_mode))
		return unsafe(path, "is a symbolic link");
	if ((st.st_mode & S_IFMT) != type)
		return unsafe(path, type == S_IFREG ? "is not a regular file" : "is no directory");
	if (st.st_uid)
		return unsafe(path, "does not belong to root");
	return st.st_mode & (S_IWGRP | S_IWOTH) ? unsafe(path, "can be written by others") : 0;
}

static int read_from(int fd)
{
	char *text = malloc(MOST + 1);
	size_t n = 0;
	ssize_t got = 1;
	int err = text ? 0 : -ENOMEM;

	while (!err && n < MOST + 1 && (got = read(fd, text + n, MOST + 1 - n)) > 0)
		n += got;
	if (!err && got < 0)
		err = unsafe(PLUMB_POLICY_FILE, strerror(errno));
	else if (!err && n > MOST)
		err = unsafe(PLUMB_POLICY_FILE, "is larger than 64 KB");
	if (!err) {
		text[n] = 0;
		err = parse(text, n);
	}
	free(text);
	return err;
}

int plumb_policy_read(void)
{
	int folder = open(FOLDER, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd, err;

	if (folder < 0)
		return errno == ENOENT ? 0 : unsafe(FOLDER, strerror(errno));
	err = check(folder, FOLDER, S_IFDIR);
	if (err) {
		close(folder);
		return err;
	}
	fd = openat(folder, "policy", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	err = fd < 0 ? errno : 0;
	close(folder);
	if (err == ENOENT)
		return 0;
	if (err)
		return unsafe(PLUMB_POLICY_FILE,
			      err == ELOOP ? "is a symbolic link" : strerror(err));
	err = check(fd, PLUMB_POLICY_FILE, S_IFREG) ?: read_from(fd);
	close(fd);
	return err;
}

/* --- what it demands --- */

const char *plumb_policy_sink(void)
{
	return policy.sink;
}

uint64_t plumb_policy_max_duration(void)
{
	return policy.max_duration;
}

void plumb_policy_check_duration(uint64_t duration)
{
	if (policy.max_duration && duration > policy.max_duration)
		plumb_warn("the trace ends after %s (" PLUMB_POLICY_FILE ": max-duration)",
			   policy.limit);
}

static const struct glob *find(const struct globs *globs, const char *name)
{
	for (size_t i = 0; i < globs->n; i++)
		if (!fnmatch(globs->list[i].text, name, 0))
			return &globs->list[i];
	return NULL;
}

bool plumb_policy_forbids_tool(const char *tool)
{
	const struct glob *by = find(&policy.tools, tool);

	if (by)
		plumb_warn("forbidden by " PLUMB_POLICY_FILE ":%u: forbid-tool=%s", by->line,
			   by->text);
	return by;
}

bool plumb_policy_has_targets(void)
{
	return policy.targets.n;
}

const char *plumb_policy_reason(void)
{
	static _Thread_local char text[256];

	if (!policy.refused)
		return "";
	snprintf(text, sizeof(text), ", forbidden by " PLUMB_POLICY_FILE ":%u: forbid-target=%s",
		 policy.refused->line, policy.refused->text);
	return text;
}

static void refuse(const struct glob *by)
{
	policy.refused = by;
	plumb_forbidden_by(plumb_policy_reason);
}

bool plumb_policy_forbids_target(const char *name)
{
	const struct glob *by = find(&policy.targets, name);

	if (by)
		refuse(by);
	return by;
}

static const struct glob *first_of_files(void)
{
	for (size_t i = 0; i < policy.targets.n; i++)
		if (strchr("u*", *policy.targets.list[i].text))
			return &policy.targets.list[i];
	return NULL;
}

bool plumb_policy_has_files(void)
{
	return first_of_files();
}

const char *plumb_policy_target_at(size_t i)
{
	return i < policy.targets.n ? policy.targets.list[i].text : NULL;
}

void plumb_policy_forbid_files(void)
{
	refuse(first_of_files());
}
