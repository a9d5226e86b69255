/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/inflight.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/files/append-file.h>
#include <plumb/files/atomic-file.h>
#include <plumb/files/folder.h>
#include <plumb/files/writer.h>
#include <plumb/outputs/openmetrics.h>
#include <plumb/outputs/otlp.h>
#include <plumb/outputs/series.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* A file, and whether the latest write has failed. */
struct output {
	const char *option, *path;
	bool failed;
};

static struct output prom = {.option = "--openmetrics"}, otlp = {.option = "--otlp"};
static char instance[PLUMB_UUID_SIZE];
static bool statistics;       /* the kernel takes the programs' run times */
static uint64_t start, began; /* ns: of the wall clock, of the monotonic one */
static bool stays;            /* the file of --openmetrics, with the numbers of the whole run */

/* --- the files, before privileges are given up --- */

static int refused(const struct output *o, int err, const char *why)
{
	return plumb_error(err, "%s: cannot write %s: %s", o->option, o->path, why);
}

/* What takes a new file of that name each time. */
static int open_prom(void)
{
	struct plumb_atomic_file file;
	int err = plumb_atomic_file_find(&file, prom.path);

	if (!err && file.as_it_is) {
		plumb_atomic_file_end(&file, -ECANCELED);
		return refused(&prom, EINVAL, "not a regular file");
	}
	if (!err)
		err = plumb_atomic_file_open(&file);
	if (err)
		return refused(&prom, err, plumb_atomic_file_error(err));
	err = sole_claim(prom.option, prom.path, file.dir, file.name);
	plumb_writer_add(prom.path, plumb_atomic_file_takes(&file));
	plumb_atomic_file_end(&file, -ECANCELED);
	return err;
}

/* It is opened again for each line, since it may have been renamed meanwhile. */
static int open_lines(void)
{
	struct plumb_atomic_file at = {}; /* a new one */
	const char *name;
	int fd = plumb_append_file_open(otlp.path), err;

	if (fd < 0)
		return refused(&otlp, fd, plumb_append_file_error(fd));
	close(fd);
	at.dir = plumb_folder_of(AT_FDCWD, otlp.path, &name);
	if (at.dir < 0)
		return refused(&otlp, at.dir, plumb_append_file_error(at.dir));
	plumb_writer_add(otlp.path, plumb_atomic_file_takes(&at));
	close(at.dir);
	plumb_retain(0, PLUMB_CALLS_TRUNCATE, otlp.option); /* a line that a full disk cut */
	err = plumb_otlp_instance(instance);
	return err ? refused(&otlp, err, strerror(-err)) : 0;
}

/* Whether kernel.bpf_stats_enabled is set.  It costs all programs of the machine: not set here. */
static bool statistics_are_on(void)
{
	FILE *f = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");
	bool on = f && fgetc(f) == '1';

	if (f)
		fclose(f);
	return on;
}

static int open_files(struct plumb_run *run)
{
	void *own;
	int err = 0;

	prom.path = outputs.openmetrics;
	otlp.path = outputs.otlp;
	if ((prom.path || otlp.path) && run->tool->view.rows_json)
		return plumb_error(EINVAL, "%s: not of stacks",
				   prom.path ? prom.option : otlp.option);
	statistics = statistics_are_on();
	own = plumb_as_user();
	if (prom.path)
		err = open_prom();
	if (!err && otlp.path)
		err = open_lines();
	plumb_as_tool(own);
	return err;
}

/* --- the report of the whole run so far --- */

static void add_program(int fd, json_t *list)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	json_t *p;
	size_t i;

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return;
	json_array_foreach(list, i, p)
	{
		if (strcmp(json_string_value(json_object_get(p, "name")), info.name) != 0)
			continue;
		info.run_time_ns += json_integer_value(json_object_get(p, "run_ns"));
		info.run_cnt += json_integer_value(json_object_get(p, "runs"));
		json_array_remove(list, i);
		break;
	}
	json_array_append_new(list, json_pack("{s:s,s:o,s:o}", "name", info.name, "run_ns",
					      plumb_json_u64(info.run_time_ns), "runs",
					      plumb_json_u64(info.run_cnt)));
}

/* By name: a program for functions is loaded once more for each of them. */
static json_t *programs_of(const struct plumb_run *run)
{
	const struct plumb_probes *probes = &run->instance.probes;
	json_t *list = json_array();
	struct bpf_program *p;

	bpf_object__for_each_program(p, run->instance.bpf.object) {
		if (bpf_program__autoload(p))
			add_program(bpf_program__fd(p), list);
	}
	for (size_t n = 0; n < probes->n; n++)
		add_program(probes->list[n].program, list);
	return list;
}

/* A counter that fell would be taken for a restart: what was lost at most may be less later on. */
static void keep_rising(json_t *ledger)
{
	static json_int_t highest[16];
	json_t *value;
	size_t i;

	for (i = 0; plumb_series_counts[i].member; i++) {
		value = json_object_get(ledger, plumb_series_counts[i].member);
		if (!json_is_integer(value) || plumb_series_counts[i].falls)
			continue;
		if (json_integer_value(value) < highest[i])
			json_integer_set(value, highest[i]);
		highest[i] = json_integer_value(value);
	}
}

/* Those that began before the trace are not in the ledger. */
static void add_flights(const struct plumb_flights *f, json_t *j)
{
	json_t *in_flight = json_object_get(json_object_get(j, "ledger"), "in_flight");
	const json_int_t found = f->n + f->unlisted;

	if (found > json_integer_value(in_flight))
		json_integer_set(in_flight, found);
	json_object_set_new(j, "in_flight_oldest_ns", plumb_json_u64(plumb_flights_oldest(f)));
}

/* When the run began, by the present wall clock if that was set back: not in the future. */
static struct timespec start_of(const struct plumb_report *interval)
{
	const struct timespec *now = &interval->snap->taken;
	const uint64_t wall = now->tv_sec * PLUMB_SECOND + now->tv_nsec;
	uint64_t by_now;

	if (interval->seq == 1) {
		start = interval->start.tv_sec * PLUMB_SECOND + interval->start.tv_nsec;
		began = interval->snap->clock - interval->elapsed;
	}
	by_now = wall - (interval->snap->clock - began);
	if (by_now + PLUMB_SECOND < start)
		start = by_now;
	return (struct timespec){start / PLUMB_SECOND, start % PLUMB_SECOND};
}

/* What only this tool's readers know is not asked for: of columns only counters are. */
static json_t *take_counters(struct plumb_measure *m)
{
	static struct plumb_column counters[PLUMB_COUNTERS + 1];
	json_t *names = json_array();
	size_t n = 0;

	for (const struct plumb_column *c = m->columns; c && c->name; c++) {
		if (!plumb_column_is_counter(c) || n == PLUMB_COUNTERS)
			continue;
		counters[n++] = *c;
		json_array_append_new(names, json_pack("{s:s,s:b,s:s}", "name", c->name, "bytes",
						       c->kind == PLUMB_COLUMN_BYTES, "about",
						       c->about ?: c->name));
	}
	counters[n] = (struct plumb_column){};
	m->columns = counters;
	return names;
}

static json_t *whole_run(const struct plumb_report *interval)
{
	struct plumb_tool tool = *interval->run->tool;
	struct plumb_run run = *interval->run;
	struct plumb_report r = *interval;
	json_t *j, *row, *counters = take_counters(&tool.measure);
	size_t i;

	/* Nor is each call in flight. */
	tool.view.row_json = NULL;
	tool.view.report_json = NULL;
	tool.files = NULL;
	tool.inflight = NULL;
	run.tool = &tool;
	r.run = &run;
	r.snap = (struct plumb_snapshot *)interval->total;
	r.start = start_of(interval);
	j = plumb_report_object(&r);
	json_object_set_new(j, "counters", counters);
	if (interval->run->tool->inflight)
		add_flights(interval->flights, j);
	if (!tool.measure.errors)
		json_array_foreach(json_object_get(j, "rows"), i, row)
			json_object_del(row, "errors");
	if (statistics)
		json_object_set_new(j, "programs", programs_of(interval->run));
	keep_rising(json_object_get(j, "ledger"));
	return j;
}

/* --- writing --- */

/* "syscalls" of "/var/lib/…/syscalls.prom": no two runs in a folder have the same. */
static char *run_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash ? slash + 1 : path);

	if (!name)
		abort();
	name[strlen(name) - strlen(".prom")] = 0;
	return name;
}

static int write_prom(const json_t *report)
{
	char bytes[256], *run = run_of(prom.path);
	struct plumb_atomic_file file;
	int err = plumb_atomic_file_begin(&file, prom.path);

	plumb_escape(bytes, run, sizeof(bytes));
	free(run);
	if (err)
		return err;
	err = plumb_openmetrics_write(report, &outputs.times, &outputs.sizes, bytes, file.out);
	return plumb_atomic_file_end(&file, err);
}

/* A line that is not whole is taken back: its reader would stop there. */
static int append(int fd, const char *line, size_t n)
{
	struct stat before;
	ssize_t done = -1;
	int err = 0;

	if (!fstat(fd, &before))
		done = write(fd, line, n);
	if (done < 0)
		err = -errno;
	else if ((size_t)done < n)
		err = ftruncate(fd, before.st_size) ? -errno : -ENOSPC;
	return close(fd) && !err ? -errno : err;
}

static int write_line(const json_t *report)
{
	json_t *j = plumb_otlp(report, instance);
	char *text = json_dumps(j, JSON_COMPACT);
	const size_t n = text ? strlen(text) : 0;
	int fd = -ENOMEM, err;

	json_decref(j);
	if (text) {
		text[n] = '\n'; /* in place of the NUL */
		fd = plumb_append_file_open(otlp.path);
	}
	err = fd < 0 ? fd : append(fd, text, n + 1);
	free(text);
	return err;
}

/* Tells of the first failure, and of its end. */
static void judge(struct output *o, int err)
{
	if (err && !o->failed)
		plumb_warn("%s: cannot write %s: %s; tracing goes on", o->option, o->path,
			   plumb_append_file_error(err));
	if (!err && o->failed)
		plumb_warn("%s: %s is written again", o->option, o->path);
	o->failed = err;
}

/* Whether the user said when the run ends, so that its last numbers are its result. */
static bool is_bounded(const struct plumb_run *run)
{
	return run->options.duration || run->options.until || run->options.count || run->child;
}

/* A file that cannot be written is told of once, and does not end the run. */
static int take(const struct plumb_report *interval)
{
	json_t *report;

	if (!prom.path && !otlp.path)
		return 0;
	report = whole_run(interval);
	stays = interval->final && is_bounded(interval->run);
	if (prom.path && (!interval->final || stays)) /* or it would be removed at once */
		judge(&prom, write_prom(report));
	if (otlp.path)
		judge(&otlp, write_line(report));
	json_decref(report);
	return 0;
}

/* A file that is left would be read on as if its numbers were of now. */
static void remove_prom(void)
{
	int err = plumb_writer_remove(prom.path);

	if (err)
		plumb_warn("%s: cannot remove %s: %s", prom.option, prom.path,
			   plumb_atomic_file_error(err));
}

/* -EIO if the latest rows could not be written. */
static int close_files(void)
{
	if (prom.path && !stays)
		remove_prom();
	return prom.failed || otlp.failed ? -EIO : 0;
}

const struct plumb_part plumb_outputs_part = {
	.name = "outputs",
	.options = outputs_options,
	.has = outputs_has,
	.complete = outputs_complete,
	.open = open_files,
	.interval = take,
	.close = close_files,
};
