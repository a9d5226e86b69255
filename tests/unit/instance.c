// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* instance: what options and mechanism make of a BPF object before it is loaded, and after. */
#include "said.h"
#include <dirent.h>
#include <errno.h>
#include <sys/prctl.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/instance.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../../tools/lib/core/configure.h"
#include "runq-latency.skel.h"

#define MOST_BYTES (256ULL << 20) /* of histograms */

static int fails_to_open(struct plumb_bpf *bpf, bool calibration)
{
	(void)bpf, (void)calibration;
	return -EMFILE;
}

static int open_object(struct plumb_bpf *bpf, bool calibration)
{
	struct runq_latency_bpf *skel = runq_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch");
	bpf->config->waits = 1;
	return 0;
}

static const char *const programs[] = {"thread_woken_new", "on_leave", NULL};
static const char *const test_runs[] = {"thread_number", NULL};
static const struct plumb_mechanism mechanism = {.name = "raw_tracepoint",
						 .open = open_object,
						 .programs = programs,
						 .test_runs = test_runs};
static const struct plumb_mechanism other = {
	.name = "other", .open = open_object, .programs = programs + 1};
static const struct plumb_mechanism broken = {.name = "broken", .open = fails_to_open};

static struct plumb_tool tool = {.keys.size = sizeof(struct plumb_who)};
static struct plumb_run run;

/* A run of usual options, changed by the test before configured(). */
static struct plumb_options *usual(void)
{
	run = (struct plumb_run){.tool = &tool, .statistics = -1};
	run.options.max_keys = 256;
	run.options.precision = 6;
	return &run.options;
}

static struct plumb_instance *configured(void)
{
	run.instance = (struct plumb_instance){.mechanism = &mechanism};
	assert_int_equal(mechanism.open(&run.instance.bpf, false), 0);
	plumb_configure(&run, &run.instance);
	return &run.instance;
}

static struct bpf_map *map(const char *name)
{
	struct bpf_map *m = bpf_object__find_map_by_name(run.instance.bpf.object, name);

	check(m, "%s", name);
	return m;
}

static bool is_loaded(const char *program)
{
	struct bpf_program *p = bpf_object__find_program_by_name(run.instance.bpf.object, program);

	check(p, "%s", program);
	return bpf_program__autoload(p);
}

/* --- constants --- */

static void filters_are_constants(void **state)
{
	struct plumb_options *o = usual();
	const struct plumb_config *c;
	unsigned int first, last;
	FILE *f = fopen("/sys/devices/system/cpu/possible", "re");

	o->pids[o->n_pids++] = 7;
	o->pids[o->n_pids++] = 8;
	o->tids[o->n_tids++] = 9;
	strcpy(o->comms[o->n_comms++], "nginx");
	o->by = PLUMB_BY_CGROUP_ID;
	c = configured()->bpf.config;
	assert_int_equal(c->self, getpid());
	assert_int_equal(c->npids, 2);
	assert_true(c->pids[0] == 7 && c->pids[1] == 8);
	assert_true(c->ntids == 1 && c->tids[0] == 9);
	assert_true(c->ncomms == 1 && !strcmp(c->comms[0], "nginx"));
	assert_int_equal(c->ncgroups, 0);
	assert_int_equal(c->descendants, 0);
	/* Rows of ids have the names beside them. */
	assert_int_equal(c->by, PLUMB_BY_CGROUP_ID | PLUMB_BY_CGROUP);
	assert_int_equal(c->limited, 0);
	assert_true(f && fscanf(f, "%u-%u", &first, &last) >= 1);
	fclose(f);
	if (c->cpus > 1)
		assert_int_equal(c->cpus, last + 1);
	plumb_instance_close(&run.instance);
}

static void of_descendants_their_map_is_the_filter(void **state)
{
	struct plumb_options *o = usual();

	o->pids[o->n_pids++] = 7;
	o->follow = true;
	configured();
	assert_int_equal(run.instance.bpf.config->npids, 0);
	assert_int_equal(run.instance.bpf.config->descendants, 1);
	assert_true(is_loaded("thread_fork") && is_loaded("process_free"));
	assert_true(bpf_map__max_entries(map("plumb_descendants")) > 1);
	plumb_instance_close(&run.instance);

	usual();
	configured();
	assert_false(is_loaded("thread_fork") || is_loaded("process_free"));
	assert_int_equal(bpf_map__max_entries(map("plumb_descendants")), 1);
	plumb_instance_close(&run.instance);
}

/* --- programs --- */

static void only_what_is_used_is_loaded(void **state)
{
	struct plumb_instance *in;

	usual();
	in = configured();
	assert_true(is_loaded("thread_woken_new") && is_loaded("on_leave") &&
		    is_loaded("thread_number"));
	/* One of the two, by the kernel. */
	assert_true(is_loaded("thread_woken"));
	assert_false(is_loaded("cgroup_removed"));
	assert_false(bpf_map__autocreate(map("plumb_cgroups_gone")));
	for (size_t i = 0; i < in->n_threads; i++)
		assert_true(bpf_program__autoload(in->threads[i]));
	plumb_instance_close(in);

	/* Of another mechanism's programs none. */
	usual();
	run.instance = (struct plumb_instance){.mechanism = &other};
	assert_int_equal(other.open(&run.instance.bpf, false), 0);
	plumb_configure(&run, &run.instance);
	assert_true(is_loaded("on_leave") && is_loaded("thread_woken"));
	assert_false(is_loaded("thread_woken_new") || is_loaded("thread_number"));
	plumb_instance_close(&run.instance);

	usual()->by = PLUMB_BY_CGROUP;
	configured();
	assert_true(is_loaded("cgroup_removed"));
	assert_true(bpf_map__autocreate(map("plumb_cgroups_gone")));
	plumb_instance_close(&run.instance);
}

/* --- sizes --- */

static void maps_are_as_large_as_the_options_say(void **state)
{
	static const uint64_t keys[] = {1, 2, 256, 4095};

	for (size_t i = 0; i < LENGTH(keys); i++) {
		for (uint64_t precision = 1; precision <= 10; precision += 3) {
			struct plumb_options *o = usual();
			const struct plumb_config *c;
			uint64_t size;

			o->max_keys = keys[i];
			o->precision = precision;
			if (plumb_configure_check_memory(&run))
				continue;
			c = configured()->bpf.config;
			assert_int_equal(c->slots, keys[i] + 1); /* and [other] */
			assert_int_equal(bpf_map__max_entries(map("plumb_keys")), keys[i]);
			assert_int_equal(bpf_map__max_entries(map("plumb_keys_by_slot")),
					 keys[i] + 1);
			assert_int_equal(bpf_map__max_entries(map("plumb_free_slots")), keys[i]);
			size = bpf_map__value_size(map("plumb_hists"));
			assert_int_equal(size, c->buckets * sizeof(uint64_t) +
						       sizeof(struct plumb_totals));
			assert_int_equal(bpf_map__max_entries(map("plumb_hists")),
					 c->slots * c->shards);
			/* In shards of their own, CPUs need no atomics. */
			assert_int_equal(c->exclusive, c->shards == c->cpus);
			assert_true(c->exclusive || !(c->shards & (c->shards - 1)));
			check((uint64_t)c->slots * c->shards * c->buckets * 8 <= MOST_BYTES,
			      "%u slots, %u shards, %u buckets", c->slots, c->shards, c->buckets);
			plumb_instance_close(&run.instance);
		}
	}
}

static void too_much_is_refused(void **state)
{
	struct plumb_options *o = usual();

	assert_int_equal(plumb_configure_check_memory(&run), 0);
	o->max_keys = 1 << 20;
	o->precision = 10;
	listen_to_stderr();
	assert_int_equal(plumb_configure_check_memory(&run), -E2BIG);
	assert_non_null(strstr(said(), "lower --max-keys or lower --precision\n"));
	tool.keys.fewer = "choose fewer functions";
	listen_to_stderr();
	assert_int_equal(plumb_configure_check_memory(&run), -E2BIG);
	assert_non_null(strstr(said(), ": choose fewer functions or lower --precision\n"));
	tool.keys.fewer = NULL;
	/* The most that fits: all but one of these slots. */
	o->precision = 6;
	o->max_keys = MOST_BYTES / 8 / plumb_hist_buckets(6);
	listen_to_stderr();
	assert_int_equal(plumb_configure_check_memory(&run), -E2BIG);
	said();
	o->max_keys--;
	assert_int_equal(plumb_configure_check_memory(&run), 0);
	/* A split doubles histograms, and adds those of the parts. */
	o->split = true;
	listen_to_stderr();
	assert_int_equal(plumb_configure_check_memory(&run), -E2BIG);
	said();
	/* Without histograms their precision does not matter. */
	o->split = false;
	o->precision = 10;
	tool.measure.kind = PLUMB_COUNTS;
	assert_int_equal(plumb_configure_check_memory(&run), 0);
	tool.measure.kind = PLUMB_TIMES;
}

/* --- calibration --- */

static void a_calibration_is_of_this_thread_or_of_none(void **state)
{
	struct plumb_config c = {.self = 1, .npids = 3};
	char name[PLUMB_COMM_LEN];

	plumb_configure_calibration(&c, PLUMB_NO_CALIBRATION);
	assert_true(c.self == 1 && c.npids == 3);
	plumb_configure_calibration(&c, PLUMB_CALIBRATION_TAKES);
	assert_true(!c.self && !c.npids && c.ntids == 1 && c.tids[0] == (uint32_t)gettid());
	plumb_configure_calibration(&c, PLUMB_CALIBRATION_REJECTS);
	assert_true(!c.npids && c.ntids == 1 && c.tids[0] == 1);
	/* By the filter that the user chose, since each costs something else. */
	prctl(PR_GET_NAME, name);
	c.ncomms = 2;
	strcpy(c.comms[0], name);
	strcpy(c.comms[1], "other");
	plumb_configure_calibration(&c, PLUMB_CALIBRATION_REJECTS);
	assert_int_equal(c.ntids, 0);
	assert_string_not_equal(c.comms[0], name);
	assert_string_not_equal(c.comms[1], name);
	plumb_configure_calibration(&c, PLUMB_CALIBRATION_TAKES);
	assert_string_equal(c.comms[1], name);
}

/* --- in the kernel --- */

static size_t open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void what_was_loaded_is_in_the_kernel(void **state)
{
	const size_t files = open_files();
	struct bpf_map_info info = {};
	struct bpf_link_info link = {};
	__u32 size = sizeof(info);
	char why[192] = "";
	int err;

	usual()->max_keys = 5;
	err = plumb_instance_load(&run, &mechanism, why, sizeof(why));
	if (err == -EPERM)
		skip();
	check(!err, "%s", why);
	assert_int_equal(bpf_obj_get_info_by_fd(bpf_map__fd(map("plumb_keys")), &info, &size), 0);
	assert_int_equal(info.max_entries, 5);
	assert_false(bpf_program__fd(bpf_object__find_program_by_name(run.instance.bpf.object,
								      "thread_fork")) >= 0);
	err = plumb_instance_attach(&run.instance, why, sizeof(why));
	check(!err, "%s", why);
	/* Those that follow threads first. */
	assert_int_equal(run.instance.n_links, run.instance.n_threads + LENGTH(programs) - 1);
	size = sizeof(link);
	assert_int_equal(
		bpf_obj_get_info_by_fd(bpf_link__fd(run.instance.links[run.instance.n_links - 1]),
				       &link, &size),
		0);
	assert_int_equal(link.type, BPF_LINK_TYPE_RAW_TRACEPOINT);
	*run.instance.bpf.live = 1;
	plumb_instance_detach(&run.instance);
	assert_int_equal(*run.instance.bpf.live, 0);
	assert_int_equal(run.instance.n_links, 0);
	plumb_instance_close(&run.instance);
	assert_null(run.instance.bpf.object);
	assert_int_equal(open_files(), files);
}

static void what_fails_says_why_and_leaves_nothing(void **state)
{
	const size_t files = open_files();
	char why[192] = "";

	usual();
	assert_int_equal(plumb_instance_load(&run, &broken, why, sizeof(why)), -EMFILE);
	check(!strncmp(why, "open: EMFILE", 12), "%s", why);
	assert_null(run.instance.bpf.object);
	assert_int_equal(open_files(), files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_constants),
		cmocka_unit_test(of_descendants_their_map_is_the_filter),
		cmocka_unit_test(only_what_is_used_is_loaded),
		cmocka_unit_test(maps_are_as_large_as_the_options_say),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(a_calibration_is_of_this_thread_or_of_none),
		cmocka_unit_test(what_was_loaded_is_in_the_kernel),
		cmocka_unit_test(what_fails_says_why_and_leaves_nothing),
	};

	libbpf_set_print(NULL);
	return run_all(tests);
}
