/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "live/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/core/config.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/functions/probe.h>
#include <plumb/guard/attached.h>
#include <plumb/guard/audit.h>
#include <plumb/guard/policy.h>
#include <plumb/user/probe-userfuncs.h>

#include <bpf/libbpf.h>

#include "probe-check.h"
#include "check/user.h"

#include "probe-check.skel.h"

/* A target with a probe on it. */
struct live_probe {
	struct probe_check_bpf *skel;
	struct plumb_probes probes;
	uint64_t before; /* fires until all are attached, not counted */
};

static volatile sig_atomic_t interrupted;
static bool forbidden;

static void on_signal(int number)
{
	interrupted = 1;
}

/* --- attaching: 0 or -errno, perhaps after a message --- */

static int attach_function(const struct kernel *k, struct live_probe *t,
			   const struct target *target)
{
	static const struct plumb_attach_target targets[] = {{"count_kprobe", PLUMB_KPROBE}, {}};
	struct plumb_functions found;
	char what[256];
	int err = kernel_functions(k, (const char *const *)&target->name, 1, &found);

	if (!err)
		err = plumb_probe_attach(&t->probes, t->skel->obj, targets, &found, what,
					 sizeof(what));
	plumb_functions_free(&found);
	return err;
}

static int attach_tracepoint(const struct kernel *k, struct live_probe *t, const char *category,
			     const char *name)
{
	struct plumb_tracepoints found;
	char pattern[512], what[256];
	int err;

	snprintf(pattern, sizeof(pattern), "%s:%s", category, name);
	err = plumb_tracepoints_find(k->tracefs, pattern, &found);
	if (!err)
		err = plumb_probe_tracepoints(&t->probes, t->skel->obj, "count_raw",
					      "count_tracepoint", &found, 0, what, sizeof(what));
	plumb_tracepoints_free(&found);
	return err;
}

/* By its name: some have no event in tracefs. */
static int attach_raw(struct live_probe *t, const struct target *target)
{
	struct plumb_tracepoint raw = {.category = "*", .name = target->name, .is_raw = true};
	struct plumb_tracepoints one = {.list = &raw, .n = 1};
	char what[256];

	return plumb_probe_tracepoints(&t->probes, t->skel->obj, "count_raw", NULL, &one, 0, what,
				       sizeof(what));
}

static int attach_syscall(const struct kernel *k, struct live_probe *t, const struct target *target)
{
	char function[128], event[128];

	syscall_hooks(target->name, function, event);
	return attach_tracepoint(k, t, "syscalls", event);
}

/* Attach uprobes to a function, or to all places of a USDT probe, which raises its semaphores. */
static int attach_user(struct live_probe *t, const struct target *target)
{
	static const struct plumb_attach_target hook = {"count_kprobe", PLUMB_UPROBE};
	struct plumb_userfuncs found = {};
	char what[4096];
	int err = target->kind == TARGET_USDT
			  ? usdt_find(target, &found)
			  : userfuncs_find(target->file, target->name, target->offset, &found);

	if (err)
		return err;
	err = plumb_probe_userfuncs(&t->probes, t->skel->obj, &hook, &found, 0, 0, what,
				    sizeof(what));
	plumb_userfuncs_free(&found);
	return err;
}

static int attach(const struct kernel *k, struct live_probe *t, const struct target *target)
{
	switch (target->kind) {
	case TARGET_FUNCTION:
		return attach_function(k, t, target);
	case TARGET_TRACEPOINT:
		return attach_tracepoint(k, t, target->file, target->name);
	case TARGET_RAW_TRACEPOINT:
		return attach_raw(t, target);
	case TARGET_SYSCALL:
		return attach_syscall(k, t, target);
	default:
		return attach_user(t, target);
	}
}

/* --- one target --- */

/* Load only the programs for this kind of target, since the kernel may refuse the others. */
static int load(struct live_probe *t, enum target_kind kind)
{
	bool is_raw = kind == TARGET_RAW_TRACEPOINT,
	     is_tracepoint = kind == TARGET_TRACEPOINT || kind == TARGET_SYSCALL;

	t->skel = probe_check_bpf__open();
	if (!t->skel)
		return -errno;
	bpf_program__set_autoload(t->skel->progs.count_kprobe, !is_tracepoint && !is_raw);
	bpf_program__set_autoload(t->skel->progs.count_raw, is_tracepoint || is_raw);
	bpf_program__set_autoload(t->skel->progs.count_tracepoint, is_tracepoint);
	return probe_check_bpf__load(t->skel);
}

/*
 * A probe on a target that is gone or unknown could be on the code after it, or on something else
 * of that name; one that is refused could damage a program.
 */
static bool may_be_tried(const struct check *c)
{
	const bool is_user = c->target.kind == TARGET_USER || c->target.kind == TARGET_USDT;

	return c->verdict != VERDICT_GONE && c->verdict != VERDICT_UNKNOWN &&
	       !(is_user && c->verdict == VERDICT_REFUSED);
}

static void begin(const struct kernel *k, struct live_probe *t, struct check *c)
{
	char words[sizeof(c->obstacle)];
	bool loaded;
	int err;

	if (!may_be_tried(c))
		return;
	plumb_divert(words, sizeof(words));
	err = load(t, c->target.kind);
	loaded = !err;
	err = err ?: attach(k, t, &c->target);
	plumb_divert(NULL, 0);
	c->live = !err;
	forbidden |= err == -PLUMB_FORBIDDEN;
	if (err && *words)
		snprintf(c->obstacle, sizeof(c->obstacle), "%s", words);
	else if (err)
		snprintf(c->obstacle, sizeof(c->obstacle), "%s%s", plumb_errno_name(err),
			 loaded && err == -EACCES ? plumb_perf_not_permitted()
						  : plumb_errno_hint(err));
}

static uint64_t read_fires(const struct live_probe *t)
{
	uint64_t n = 0;

	for (size_t cpu = 0; cpu < FIRES; cpu++)
		n += t->skel->bss->fires[cpu].n;
	return n;
}

static void end(struct live_probe *t)
{
	plumb_probe_detach(&t->probes);
	plumb_probe_close(&t->probes);
	probe_check_bpf__destroy(t->skel);
}

/* --- all --- */

/* Wait for NS or until a signal; return the seconds waited. */
static double wait_for(uint64_t ns)
{
	struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	uint64_t start = plumb_now();

	while (!interrupted && nanosleep(&left, &left) && errno == EINTR)
		;
	return (plumb_now() - start) / 1e9;
}

static void handle_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static void judge(struct check *c, double seconds)
{
	if (c->live)
		check_judge_fires(c, seconds);
	else if (may_be_tried(c))
		check_add(c, "cannot be tried here: %s",
			  *c->obstacle ? c->obstacle : "interrupted");
}

/* Writes the audit record; 0, or -errno after a message. */
static int leave_record(const struct live_probe *probes, size_t n)
{
	struct plumb_attached a = {};

	for (size_t i = 0; i < n; i++) {
		if (probes[i].probes.n)
			plumb_attached_add_object(&a, probes[i].skel->obj);
		plumb_attached_add_probes(&a, &probes[i].probes);
	}
	return plumb_attached_write(&a, "live", NULL);
}

bool live_is_forbidden(void)
{
	return forbidden;
}

int live_check(const struct kernel *k, struct check *checks, size_t n, uint64_t ns)
{
	struct live_probe *probes = calloc(n + 1, sizeof(*probes));
	double seconds = 0;
	int tried = 0, err = 0;

	if (!probes)
		return plumb_error(ENOMEM, "no memory for probes");
	handle_signals();
	for (size_t i = 0; i < n && !interrupted; i++) {
		begin(k, &probes[i], &checks[i]);
		tried += checks[i].live;
	}
	if (tried)
		err = leave_record(probes, n);
	for (size_t i = 0; i < n; i++)
		if (checks[i].live)
			probes[i].before = read_fires(&probes[i]);
	if (tried && !err) {
		plumb_audit_begin_limit();
		plumb_warn("tracing …");
		seconds = wait_for(ns);
	}
	/* Read all before any is detached, since detaching takes time. */
	for (size_t i = 0; i < n; i++)
		if (checks[i].live)
			checks[i].fires = read_fires(&probes[i]) - probes[i].before;
	if (tried && !err)
		err = plumb_audit_check() ?: plumb_audit_end_limit();
	for (size_t i = 0; i < n; i++) {
		end(&probes[i]);
		judge(&checks[i], seconds);
	}
	plumb_audit_detached();
	free(probes);
	return err ?: tried;
}
