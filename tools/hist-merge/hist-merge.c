/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "results/diff.h"
#include "merging/options.h"
#include "printing/print.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/files/writer.h>
#include <plumb/guard/confine.h>

static int report_left_out(const struct reading *r)
{
	if (r->left_out)
		plumb_warn("left out " MANY " that cannot be merged", N(r->left_out, "line"));
	if (r->unread)
		plumb_warn("left out " MANY " that cannot be read", N(r->unread, "file"));
	return r->left_out || r->unread ? PLUMB_EXIT_FAILED : 0;
}

static int merge(const struct options *o)
{
	struct reading r;
	int err, status;

	reading_begin(&r, o);
	err = reading_run(&r, o->files, o->n_files,
			  o->hgrm          ? print_hgrm
			  : o->openmetrics ? print_openmetrics
			  : o->shared.json ? print_json
					   : print_table);
	status = err ? PLUMB_EXIT_FAILED : report_left_out(&r);
	reading_end(&r);
	return err == -EPIPE ? 0 : status;
}

static int diff(const struct options *o)
{
	struct reading sides[2];
	int err, status = PLUMB_EXIT_FAILED;

	reading_begin(&sides[0], o);
	reading_begin(&sides[1], o);
	err = reading_run(&sides[0], &o->files[0], 1, NULL);
	if (!err)
		err = reading_run(&sides[1], &o->files[1], 1, NULL);
	if (!err && strcmp(sides[0].tool, sides[1].tool))
		err = plumb_error(EINVAL, "--diff: %s has reports of %s, %s of %s", o->files[0],
				  sides[0].tool, o->files[1], sides[1].tool);
	if (!err) {
		status = diff_print(&sides[0], &sides[1]);
		status = report_left_out(&sides[0]) | report_left_out(&sides[1]) ?: status;
	}
	reading_end(&sides[0]);
	reading_end(&sides[1]);
	return status;
}

/* A user reads and writes what he may himself, whatever his hist-merge may. */
static int keep(const struct options *o)
{
	const bool is_root = !getuid();
	uint64_t takes;

	if (is_root)
		plumb_retain(PLUMB_CAP(DAC_READ_SEARCH) | PLUMB_CAP(DAC_OVERRIDE), 0, "files");
	if (o->hgrm) {
		if (mkdir(o->hgrm, 0777) && errno != EEXIST)
			return plumb_error(errno, "--hgrm: %s: %s", o->hgrm, strerror(errno));
		plumb_retain(0, PLUMB_CALLS_WRITE | PLUMB_CALLS_CREATE | PLUMB_CALLS_REPLACE,
			     "--hgrm");
	}
	if (o->openmetrics) {
		if (openmetrics_try(o, &takes))
			return -EINVAL;
		plumb_writer_add(o->openmetrics, takes | PLUMB_CAP(FOWNER));
	}
	return 0;
}

/* Files may be hostile: what they make of this process shall not go far.  0 or -errno. */
static int confine(const struct options *o)
{
	void *own = plumb_as_user();
	int err = keep(o);

	plumb_as_tool(own);
	return err ?: plumb_writer_start(plumb_confine) ?: plumb_confine();
}

/* On a terminal, what is in its last line is the progress, which is not to stay. */
static void end_by(int number)
{
	ssize_t n = write(STDERR_FILENO, "\r\033[K", 4);

	(void)n;
	signal(number, SIG_DFL);
	raise(number);
}

int main(int argc, char **argv)
{
	struct options o;
	int status;

	options_parse(&o, argc, argv);
	if (isatty(STDERR_FILENO))
		signal(SIGINT, end_by);
	if (confine(&o))
		return PLUMB_EXIT_FAILED;
	status = o.diff ? diff(&o) : merge(&o);
	plumb_writer_stop();
	/* A verdict that could not be written is a failure. */
	return status == PLUMB_EXIT_FAILED ? status : plumb_close_stdout(0) ?: status;
}
