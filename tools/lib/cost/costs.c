/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/cost/costs.h>
#include <plumb/files/atomic-file.h>

#define MAX_BYTES (256 << 10)
#define MAX_NS    1e9 /* no probe costs a second */

/* The directory of the file; NULL: the file is not kept. */
static const char *directory(void)
{
	const char *cache = getenv("PLUMB_CACHE") ?: "/var/cache/plumb";

	return *cache ? cache : NULL;
}

/*
 * Names the CPU: "AMD EPYC 9654 96-Core Processor"; on arm64 implementer, variant, part: "0x41 0x3
 * 0xd0c".
 */
static void name_cpu(char *text, size_t size)
{
	static const char *const keys[] = {"model name", "CPU implementer", "CPU variant",
					   "CPU part"};
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *value;
	size_t n = 0;

	*text = 0;
	while (f && fgets(line, sizeof(line), f) && *line != '\n') { /* the first CPU's */
		value = strstr(line, ": ");
		line[strcspn(line, "\t\n:")] = 0;
		for (size_t i = 0; value && i < sizeof(keys) / sizeof(keys[0]); i++)
			if (!strcmp(line, keys[i]) && n < size)
				n += snprintf(text + n, size - n, "%s%.*s", n ? " " : "",
					      (int)strcspn(value + 2, "\n"), value + 2);
	}
	if (f)
		fclose(f);
}

void plumb_costs_describe(json_t *line)
{
	struct utsname uts;
	char cpu[256];

	uname(&uts);
	name_cpu(cpu, sizeof(cpu));
	json_object_set_new(line, "kernel_version", plumb_json_text(uts.version));
	json_object_set_new(line, "cpu", plumb_json_text(cpu));
}

/* Opened by plumb_costs_begin(). */
static struct plumb_atomic_file kept;

static bool find_path(char *path, size_t size)
{
	const char *dir = directory();

	return dir && snprintf(path, size, "%s/probe-cost.json", dir) < (int)size;
}

static int not_kept(const char *path, int err)
{
	return plumb_error(err, "not kept for func-count: %s: %s", path, strerror(-err));
}

/* Signals that end the tool leave no file behind, since it has no name yet. */
int plumb_costs_begin(void)
{
	const char *dir = directory();
	char path[PATH_MAX - 16];
	void *own;
	int err = 0;

	if (!find_path(path, sizeof(path)))
		return 0;
	own = plumb_as_user();
	if (mkdir(dir, 0755) && errno != EEXIST)
		err = -errno;
	err = err ?: plumb_atomic_file_begin(&kept, path);
	plumb_as_tool(own);
	/* read_file() ignores a file that other users can write. */
	if (!err && fchmod(fileno(kept.out), 0644))
		err = plumb_atomic_file_end(&kept, -errno);
	if (err) {
		kept = (struct plumb_atomic_file){};
		return not_kept(path, err);
	}
	plumb_retain(getuid() ? 0 : plumb_atomic_file_takes(&kept) & ~PLUMB_CAP(CHOWN),
		     PLUMB_CALLS_REPLACE, "the file for func-count");
	return 0;
}

int plumb_costs_end(const json_t *line)
{
	char path[PATH_MAX - 16];
	int err = line ? 0 : -ECANCELED;

	if (!kept.out)
		return 0;
	find_path(path, sizeof(path));
	if (line && (json_dumpf(line, kept.out, JSON_COMPACT) || fputc('\n', kept.out) == EOF))
		err = -(errno ?: EIO);
	err = plumb_atomic_file_end(&kept, err);
	return line && err ? not_kept(path, err) : 0;
}

/* Parses the file if only root can have written it. */
static json_t *read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	json_t *json = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !st.st_uid && !(st.st_mode & 022) &&
	    st.st_size <= MAX_BYTES)
		json = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
	else
		plumb_info("%s is ignored: root alone must be able to write it", path);
	close(fd);
	return json;
}

static bool is_same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *value = json_object_get(a, key);

	return json_is_string(value) && json_equal(value, json_object_get(b, key));
}

static bool is_of_this_host(const json_t *costs)
{
	static const char *const keys[] = {"schema",         "tool", "kernel",
					   "kernel_version", "arch", "cpu"};
	json_t *here = plumb_json_new("probe-cost");
	bool same = true;

	plumb_costs_describe(here);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		same &= is_same(costs, here, keys[i]);
	json_decref(here);
	return same;
}

static bool says(const json_t *row, const char *key, const char *word)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value && word && !strcmp(value, word);
}

static double find(const json_t *costs, const char *mechanism, const char *body)
{
	const json_t *rows = json_object_get(costs, "rows"), *row;
	double ns;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (!says(row, "mechanism", mechanism) || !says(row, "body", body))
			continue;
		ns = json_number_value(json_object_get(row, "ns"));
		return ns > 0 && ns < MAX_NS ? ns : 0;
	}
	return 0;
}

bool plumb_costs_load(struct plumb_kept_cost *costs, size_t n, char *date, size_t size)
{
	char path[PATH_MAX];
	json_t *line = find_path(path, sizeof(path)) ? read_file(path) : NULL;
	bool is_ours = line && is_of_this_host(line);

	if (line && !is_ours)
		plumb_info("%s is ignored: of another kernel or CPU", path);
	for (size_t i = 0; i < n && is_ours; i++)
		costs[i].ns = find(line, costs[i].mechanism, costs[i].body);
	if (is_ours)
		snprintf(date, size, "%.10s",
			 json_string_value(json_object_get(line, "end")) ?: "no date");
	json_decref(line);
	return is_ours;
}

double plumb_cost_percent(double ns, double rate)
{
	return rate * ns / 1e9 * 100;
}
