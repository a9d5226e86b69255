/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "detached.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>
#include <plumb/core/log.h>
#include <plumb/kernel/preemption.h>

#define OPTION "preempt="

/* Returns the value of the last preempt= on the command line, which takes effect. */
static const char *last_option(const char *cmdline)
{
	const char *found = NULL, *at = cmdline;

	while (at && (at = strstr(at, OPTION))) {
		if (at == cmdline || at[-1] == ' ')
			found = at + strlen(OPTION);
		at += strlen(OPTION);
	}
	return found;
}

static bool begins(const char *text, const char *with)
{
	return text && !strncmp(text, with, strlen(with));
}

bool plumb_preemption_judge(const struct plumb_preemption *p)
{
	const char *option = last_option(p->cmdline);

	if (!p->version || !strstr(p->version, "PREEMPT"))
		return !p->version;
	/* Only such kernels can change the model, at boot or later. */
	if (!strstr(p->version, "PREEMPT_DYNAMIC"))
		return true;
	if (p->mode && strchr(p->mode, '('))
		return !strstr(p->mode, "(none)") && !strstr(p->mode, "(voluntary)");
	if (option)
		return !begins(option, "none") && !begins(option, "voluntary");
	return !begins(p->config, "CONFIG_PREEMPT_NONE=y") &&
	       !begins(p->config, "CONFIG_PREEMPT_VOLUNTARY=y");
}

/* Reads the first line from FD and closes it; NULL: there is none. */
static const char *read_line(int fd, char *line, int size)
{
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	const char *read = f ? fgets(line, size, f) : NULL;

	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	return read;
}

static const char *read_mode(char *line, int size)
{
	const char *mode = read_line(open("/sys/kernel/debug/sched/preempt", O_RDONLY | O_CLOEXEC),
				     line, size);
	int debugfs;

	if (mode)
		return mode;
	debugfs = plumb_mount_detached("debugfs");
	if (debugfs < 0)
		return NULL;
	mode = read_line(openat(debugfs, "sched/preempt", O_RDONLY | O_CLOEXEC), line, size);
	close(debugfs);
	return mode;
}

/* Searches one file, compressed or not. */
static const char *read_config_of(const char *path, char *line, int size)
{
	gzFile f = gzopen(path, "re");
	const char *found = NULL;

	while (f && !found && gzgets(f, line, size))
		if (begins(line, "CONFIG_PREEMPT_NONE=y") ||
		    begins(line, "CONFIG_PREEMPT_VOLUNTARY=y"))
			found = line;
	if (f)
		gzclose(f);
	return found;
}

static const char *read_config(const char *release, char *line, int size)
{
	const char *found = read_config_of("/proc/config.gz", line, size);
	char path[128];

	if (found)
		return found;
	snprintf(path, sizeof(path), "/boot/config-%s", release);
	return read_config_of(path, line, size);
}

static bool ask(void)
{
	char mode[128], cmdline[4096], config[256];
	struct plumb_preemption p = {};
	struct utsname uts;

	if (!uname(&uts)) {
		p.version = uts.version;
		p.config = read_config(uts.release, config, sizeof(config));
	}
	p.mode = read_mode(mode, sizeof(mode));
	p.cmdline =
		read_line(open("/proc/cmdline", O_RDONLY | O_CLOEXEC), cmdline, sizeof(cmdline));
	return plumb_preemption_judge(&p);
}

bool plumb_kernel_is_preemptible(void)
{
	static int is = -1;

	if (is < 0) {
		is = ask();
		plumb_info("this kernel %s threads that run in it",
			   is ? "preempts" : "does not preempt");
	}
	return is;
}
