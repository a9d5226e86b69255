/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * instance: a tool's BPF object in this configuration, loaded and attached.
 */
#include <errno.h>
#include <plumb/hist.h>
#include <plumb/log.h>
#include <plumb/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* All histograms together; more is refused, and fewer shards are made first. */
#define MAX_HIST_BYTES (256ULL << 20)

static struct bpf_map *map(const struct plumb_bpf *bpf, const char *name)
{
	return bpf_object__find_map_by_name(bpf->object, name);
}

/* Task storage for these programs?  Asked once, by trying; -1: not asked yet. */
static int task_storage = -1;

static bool has_task_storage(void)
{
	if (task_storage < 0)
		task_storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1 &&
			       libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						       BPF_FUNC_task_storage_get, NULL) == 1;
	return task_storage;
}

/*
 * On 7.2 a tracing program gets no task storage where the CPU has no 16-byte
 * compare-and-exchange, though map and helper are there (its allocator, which
 * must not wait, seems to need that).  The loaded program says whether it does.
 */
static bool state_can_be_had(const struct plumb_bpf *bpf)
{
	struct bpf_program *trial = bpf_object__find_program_by_name(bpf->object, "state_trial");
	__u64 arguments[1] = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));

	/* Where it cannot be run (before 5.10) it is believed. */
	return bpf_prog_test_run_opts(bpf_program__fd(trial), &run) || run.retval;
}

static uint32_t power_of_two_below(uint64_t n)
{
	uint32_t p = 1;

	while (2ULL * p <= n && p < 1U << 31)
		p *= 2;
	return p;
}

/* A shard a CPU where memory allows; CPUs that share one need atomic increments. */
static void size_hist(const struct plumb_options *o, struct plumb_config *c)
{
	uint64_t slots = o->max_keys + 1;
	uint64_t bytes;

	c->precision = o->precision;
	c->buckets = plumb_hist_buckets(c->precision);
	bytes = slots * c->buckets * sizeof(uint64_t);
	c->exclusive = bytes * c->cpus <= MAX_HIST_BYTES;
	c->shards = c->exclusive ? c->cpus : power_of_two_below(MAX_HIST_BYTES / bytes);
	plumb_info("histograms: %llu slots, %u shards, %u buckets: %llu kB",
		   (unsigned long long)slots, c->shards, c->buckets,
		   (unsigned long long)(bytes * c->shards >> 10));
}

static bool is_listed(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name))
		list++;
	return *list;
}

/* Loads what this rung attaches, and the trial. */
static void choose_programs(struct plumb_instance *in)
{
	struct bpf_program *p;
	const char *name;

	bpf_object__for_each_program(p, in->bpf.object)
	{
		name = bpf_program__name(p);
		if (!strcmp(name, "thread_fork"))
			bpf_program__set_autoload(p, in->bpf.config->descendants);
		else if (strcmp(name, "state_trial") && !is_listed(in->rung->programs, name))
			bpf_program__set_autoload(p, false);
	}
}

static void configure(const struct plumb_session *s, struct plumb_instance *in)
{
	struct plumb_bpf *bpf = &in->bpf;
	const struct plumb_options *o = &s->options;
	struct plumb_config *c = bpf->config;
	struct bpf_map *m;

	plumb_filter_configure(s, c);
	c->by = o->by;
	c->cpus = libbpf_num_possible_cpus();
	c->slots = o->max_keys + 1;
	c->task_storage = has_task_storage();
	c->interleaved = in->rung->interleaved;
	bpf_map__set_autocreate(
		map(bpf, c->task_storage ? "plumb_threads_by_task" : "plumb_threads"), false);
	choose_programs(in);
	if (!c->descendants)
		bpf_map__set_max_entries(map(bpf, "plumb_family"), 1);
	m = map(bpf, "plumb_hists");
	if (m) {
		size_hist(o, c);
		bpf_map__set_value_size(m, c->buckets * sizeof(uint64_t));
		bpf_map__set_max_entries(m, (o->max_keys + 1) * c->shards);
	}
	bpf_map__set_max_entries(map(bpf, "plumb_totals"), (o->max_keys + 1) * c->cpus);
	bpf_map__set_max_entries(map(bpf, "plumb_ledger"), c->cpus);
	bpf_map__set_max_entries(map(bpf, "plumb_turned_away"), c->cpus);
	m = map(bpf, "plumb_seats");
	bpf_map__set_max_entries(m, bpf_map__max_entries(m) * c->cpus);
	bpf_map__set_max_entries(map(bpf, "plumb_keys"), o->max_keys);
	bpf_map__set_max_entries(map(bpf, "plumb_free_slots"), o->max_keys);
}

/* Slot 0 is [other]; all others can be had. */
static int fill_slots(const struct plumb_session *s, const struct plumb_bpf *bpf)
{
	int fd = bpf_map__fd(map(bpf, "plumb_free_slots"));

	for (uint32_t slot = 1; slot <= s->options.max_keys; slot++)
		if (bpf_map_update_elem(fd, NULL, &slot, BPF_ANY))
			return -errno;
	return 0;
}

/* Why the kernel may have said so, in words. */
static void explain(int err, const char *what, char *why, size_t size)
{
	const char *hint = "";

	if (err == -EPERM || err == -EACCES)
		hint = ", not permitted (kernel lockdown?)";
	else if (err == -ENOENT || err == -ESRCH)
		hint = ", not in this kernel";
	else if (err == -ENOMEM)
		hint = ", no memory: lower --max-keys or --precision";
	else if (err == -EINVAL || err == -EOPNOTSUPP || err == -524)
		hint = ", not supported by this kernel";
	snprintf(why, size, "%s: %s%s", what, plumb_errno_name(err), hint);
}

static int load(const struct plumb_session *s, const struct plumb_rung *rung,
		struct plumb_instance *in, bool twin, char *why, size_t size)
{
	int err;

	*in = (struct plumb_instance){.rung = rung};
	err = rung->open(&in->bpf, twin);
	if (err) {
		explain(err, "open", why, size);
		goto close;
	}
	configure(s, in);
	if (twin) {
		struct plumb_config *c = in->bpf.config;

		c->self = c->npids = c->ncomms = c->ncgroups = c->descendants = 0;
		c->ntids = 1;
		c->tids[0] = gettid();
	}
	err = bpf_object__load_skeleton(in->bpf.skeleton);
	if (!err && in->bpf.config->task_storage && !state_can_be_had(&in->bpf)) {
		plumb_info("no task storage on this CPU: threads are kept in a hash");
		task_storage = 0;
		plumb_instance_close(in);
		return load(s, rung, in, twin, why, size);
	}
	if (!err)
		err = plumb_filter_fill(s, in->bpf.object);
	if (!err)
		err = fill_slots(s, &in->bpf);
	if (!err)
		return 0;
	explain(err, "load", why, size);
close:
	plumb_instance_close(in);
	return err;
}

int plumb_instance_attach(struct plumb_instance *in, char *why, size_t size)
{
	struct bpf_program *p;
	int err;

	for (size_t i = 0; in->rung->programs[i]; i++) {
		p = bpf_object__find_program_by_name(in->bpf.object, in->rung->programs[i]);
		if (!bpf_program__autoload(p))
			continue;
		in->links[in->n_links] = bpf_program__attach(p);
		if (!in->links[in->n_links]) {
			err = -errno;
			explain(err, in->rung->programs[i], why, size);
			plumb_instance_detach(in);
			return err;
		}
		in->n_links++;
	}
	*in->bpf.live = 1;
	return 0;
}

/* In the reverse order: a call that has begun may still end. */
void plumb_instance_detach(struct plumb_instance *in)
{
	if (in->bpf.live)
		*in->bpf.live = 0;
	while (in->n_links)
		bpf_link__destroy(in->links[--in->n_links]);
}

void plumb_instance_close(struct plumb_instance *in)
{
	plumb_instance_detach(in);
	if (in->bpf.skeleton)
		bpf_object__destroy_skeleton(in->bpf.skeleton);
	free(in->bpf.owner);
	in->bpf = (struct plumb_bpf){};
}

int plumb_instance_check_memory(const struct plumb_session *s)
{
	uint64_t slots = s->options.max_keys + 1;
	uint64_t bytes = slots * plumb_hist_buckets(s->options.precision) * sizeof(uint64_t);
	uint64_t totals = slots * libbpf_num_possible_cpus() * sizeof(struct plumb_totals);

	if (totals > MAX_HIST_BYTES)
		return plumb_error(E2BIG, "counters of %llu MB, at most %llu: lower --max-keys",
				   (unsigned long long)(totals >> 20), MAX_HIST_BYTES >> 20);
	if (s->tool->counts_only || bytes <= MAX_HIST_BYTES)
		return 0;
	return plumb_error(E2BIG,
			   "histograms of %llu MB, at most %llu: lower --max-keys or --precision",
			   (unsigned long long)(bytes >> 20), MAX_HIST_BYTES >> 20);
}

int plumb_instance_load_twin(const struct plumb_session *s, struct plumb_instance *twin)
{
	struct plumb_session one_key = *s;
	char why[192];

	one_key.options.max_keys = 1;
	one_key.child = 0;
	one_key.options.n_cgroups = 0;
	return load(&one_key, s->instance.rung, twin, true, why, sizeof(why));
}

int plumb_instance_load(struct plumb_session *s, const struct plumb_rung *rung, char *why,
			size_t size)
{
	return load(s, rung, &s->instance, false, why, size);
}
