/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "audit-parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <plumb/core/json.h>
#include <plumb/core/parse.h>

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, got = 1;

	if (fd < 0)
		return -1;
	while ((size_t)n + 1 < size && (got = read(fd, text + n, size - 1 - n)) > 0)
		n += got;
	close(fd);
	text[n] = 0;
	return got < 0 ? -1 : n;
}

/* The number in the file; null: none was set, or the kernel has none. */
static json_t *number_in(const char *path)
{
	char text[32];
	uint64_t id;

	if (read_file(path, text, sizeof(text)) <= 0)
		return json_null();
	text[strcspn(text, "\n")] = 0;
	if (plumb_parse_u64(text, 0, UINT32_MAX - 1, &id))
		return json_null();
	return plumb_json_u64(id);
}

static json_t *environment(const char *name)
{
	/* Any user can set it; sudo runs the tool as root, as far as this is known here. */
	const char *value = getuid() ? NULL : getenv(name);

	return value ? plumb_json_bytes(value) : json_null();
}

/* "ttyS0" of a device that is not a pseudo terminal. */
static json_t *name_device(unsigned int number)
{
	char path[64], text[512], *name;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/uevent", major(number), minor(number));
	name = read_file(path, text, sizeof(text)) > 0 ? strstr(text, "DEVNAME=") : NULL;
	if (!name)
		return json_sprintf("%u:%u", major(number), minor(number));
	name += strlen("DEVNAME=");
	name[strcspn(name, "\n")] = 0;
	return plumb_json_text(name);
}

/* The controlling terminal, whatever the standard streams are. */
static json_t *terminal(void)
{
	enum { PTS = 136, PTS_END = 144 };
	char text[1024], *after;
	int number = 0;

	/* Field 7 of proc(5), counted from the end of the name, which may contain anything. */
	if (read_file("/proc/self/stat", text, sizeof(text)) <= 0 ||
	    !(after = strrchr(text, ')')) ||
	    sscanf(after + 1, " %*c %*d %*d %*d %d", &number) != 1 || !number)
		return json_null();
	if (major(number) >= PTS && major(number) < PTS_END)
		return json_sprintf("pts/%u", (major(number) - PTS) * 256 + minor(number));
	return name_device(number);
}

/* As it was typed; argp has changed the order of argv. */
static json_t *command_line(size_t *n)
{
	FILE *f = fopen("/proc/self/cmdline", "re");
	json_t *words = json_array();
	char *word = NULL;
	size_t room = 0;

	*n = 0;
	for (; f && getdelim(&word, &room, 0, f) > 0; ++*n)
		json_array_append_new(words, plumb_json_bytes(word));
	free(word);
	if (f)
		fclose(f);
	return words;
}

json_t *plumb_audit_who(const char *tool)
{
	json_t *who = json_object(), *words;
	struct utsname uts;
	size_t n;

	uname(&uts);
	words = command_line(&n);
	json_object_set_new(who, "id", json_string(plumb_run_id()));
	json_object_set_new(who, "pid", json_integer(getpid()));
	json_object_set_new(who, "loginuid", number_in("/proc/self/loginuid"));
	json_object_set_new(who, "session", number_in("/proc/self/sessionid"));
	json_object_set_new(who, "uid", plumb_json_u64(getuid()));
	json_object_set_new(who, "euid", plumb_json_u64(geteuid()));
	json_object_set_new(who, "sudo_user", environment("SUDO_USER"));
	json_object_set_new(who, "sudo_uid", environment("SUDO_UID"));
	json_object_set_new(who, "tty", terminal());
	json_object_set_new(who, "host", plumb_json_text(uts.nodename));
	json_object_set_new(who, "kernel", plumb_json_text(uts.release));
	json_object_set_new(who, "tool", json_string(tool));
	json_object_set_new(who, "version", json_string(PLUMB_VERSION));
	json_object_set_new(who, "n_command", plumb_json_u64(n));
	json_object_set_new(who, "command", words);
	return who;
}
