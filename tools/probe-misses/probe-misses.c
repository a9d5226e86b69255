/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/guard/attached.h>
#include <plumb/guard/audit.h>
#include <plumb/guard/confine.h>
#include <plumb/kernel/kernel.h>

#include <bpf/bpf.h>

#define SEC_NS 1000000000ULL

static struct {
	__u64 duration, interval, count; /* ns; 0: none */
	__u64 rows;
	bool all, json, top;
} asked;

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Duration:", .group = 10},
	{"duration", 'd', "SEC", "stop after SEC seconds (default 1 without INTERVAL)", 10, .seconds = &asked.duration},
	{.doc = "Output:", .group = 20},
	{"all", 'a', NULL, "also list programs that neither ran nor missed executions", 20, .given = &asked.all},
	{"json", 'j', NULL, "print JSON lines, one object per report", 20, .given = &asked.json},
	{"top", 0, "N", "print only the first N rows (default: one screen) every INTERVAL (default 1); a terminal is redrawn", 20, .optional = true, .given = &asked.top, .number = &asked.rows, .min = 1, .max = UINT32_MAX},
	{0},
};
/* clang-format on */

static void take_argument(const char *text)
{
	if (!asked.interval)
		asked.interval = plumb_option_seconds("INTERVAL", text);
	else if (!asked.count)
		asked.count = plumb_option_number("COUNT", text, 1, UINT32_MAX);
	else
		plumb_usage_error("unexpected argument: %s", text);
}

static void complete(struct plumb_options *o)
{
	if (asked.top && !asked.interval)
		asked.interval = SEC_NS;
	if (!asked.interval && !asked.duration)
		asked.duration = SEC_NS;
}

static const struct plumb_cli cli = {
	.name = "probe-misses",
	.summary = "Show missed executions and the cost of all loaded BPF programs.",
	.about = "hooks:     none: the kernel's list of programs and links, and its\n"
		 "           run-time statistics, enabled while the tool runs\n"
		 "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		 "cost:      two clock reads for each run of any BPF program\n",
	.usage = "[INTERVAL [COUNT]]",
	.options = options,
	.argument = take_argument,
	.complete = complete,
};

/* The loop's own state. */
struct run {
	int signals; /* a signalfd */
	bool over, counted, on_before;
	uint64_t reports;
	struct census last;
};

/* Wait until DEADLINE (ns, monotonic), or until the run is over. */
static void wait_until(struct run *run, uint64_t deadline)
{
	struct pollfd fds[] = {
		{.fd = run->signals, .events = POLLIN},
		{.fd = STDOUT_FILENO, .events = 0}, /* POLLERR when the reader is gone */
	};
	struct timespec left;
	uint64_t now;

	while (!run->over && (now = plumb_now()) < deadline) {
		left = (struct timespec){(deadline - now) / SEC_NS, (deadline - now) % SEC_NS};
		if (ppoll(fds, 2, &left, NULL) > 0)
			run->over = fds[0].revents || fds[1].revents & (POLLERR | POLLHUP);
	}
}

static int print(struct report *r)
{
	int err = 0;

	if (asked.json)
		err = report_json(r, stdout);
	else if (asked.top && isatty(STDOUT_FILENO))
		report_redraw(r, stdout);
	else {
		if (r->seq > 1)
			fputc('\n', stdout);
		report_rows(r, stdout);
		report_footer(r, stdout);
	}
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = -errno;
	return err && err != -EPIPE
		       ? plumb_error(err, "cannot write to standard output: %s", strerror(-err))
		       : err;
}

/* Report on the time since the last report. */
static int report(struct run *run, bool final)
{
	struct report r = {
		.start = run->last.taken,
		.seq = ++run->reports,
		.final = final,
		.timed = asked.interval,
		.all = asked.all,
		.top = asked.rows,
		.on_before = run->on_before,
	};
	struct census now;
	struct rows rows;
	int err = census_take(&now, &run->last);

	if (err)
		return err;
	err = rows_make(&rows, &now, &run->last, run->counted);
	r.rows = &rows;
	r.now = &now;
	if (!err)
		err = plumb_audit_check() ?: print(&r);
	rows_free(&rows);
	census_free(&run->last);
	run->last = now;
	return err;
}

static int loop(struct run *run)
{
	uint64_t start = run->last.clock,
		 end = asked.duration ? start + asked.duration : UINT64_MAX;
	uint64_t next;
	bool final;
	int err = 0;

	for (uint64_t i = 1; !err; i++) {
		next = asked.interval ? start + i * asked.interval : end;
		if (next > end)
			next = end;
		wait_until(run, next);
		final = run->over || next == end || i == asked.count;
		err = report(run, final);
		if (final)
			break;
	}
	return err;
}

/* Return whether statistics were enabled by sysctl, for all programs. */
static bool are_statistics_on(void)
{
	FILE *f = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");
	int c = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	return c == '1';
}

/* Enable statistics until the descriptor is closed or this program dies.  -1 after a message. */
static int enable_statistics(int *status)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd >= 0)
		return fd;
	if (errno == EPERM) {
		plumb_warn("listing all BPF programs needs root (CAP_SYS_ADMIN; CAP_BPF is not "
			   "enough)");
		*status = PLUMB_EXIT_FAILED;
	} else {
		plumb_warn("this kernel does not time BPF programs (BPF_ENABLE_STATS, 5.8): %s",
			   strerror(errno));
		*status = PLUMB_EXIT_UNSUPPORTED;
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct plumb_attached nothing = {};
	struct run run = {};
	int statistics, status = 0, err;

	plumb_cli_parse(&cli, argc, argv);
	run.on_before = are_statistics_on();
	statistics = enable_statistics(&status);
	if (statistics < 0)
		return plumb_close_stdout(status);
	run.counted = plumb_kprobe_misses_are_counted();
	run.signals = plumb_signals_open(0);
	err = census_take(&run.last, NULL);
	if (!err)
		err = plumb_attached_write(&nothing, "run-time statistics", NULL);
	if (!err) {
		plumb_retain(PLUMB_CAP(SYS_ADMIN) | PLUMB_CAP(SYSLOG) | PLUMB_CAP(DAC_READ_SEARCH),
			     PLUMB_CALLS_LIST, "the programs of BPF of the system");
		err = plumb_confine();
	}
	if (!err) {
		plumb_audit_begin_limit();
		fputs("probe-misses: tracing … by run-time statistics\n", stderr);
		err = loop(&run);
	}
	err = plumb_audit_end_limit() ?: err;
	close(statistics);
	plumb_audit_detached();
	census_free(&run.last);
	return plumb_close_stdout(err && err != -EPIPE ? PLUMB_EXIT_FAILED : 0);
}
