// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* event-rate: names of events, what the kernel refuses, and counters that share the PMU. */
#include "unit.h"
#include "event-rate.h"
#include "events.h"

#include <errno.h>
#include <linux/perf_event.h>

static void assert_event(const char *name, uint32_t type, uint64_t config)
{
	struct event e;

	check(event_parse(name, &e), "%s", name);
	check(e.type == type && e.config == config, "%s: type %u, config %#" PRIx64, name, e.type,
	      e.config);
}

/* The numbers are those of perf's own attributes: perf stat -vv -e NAME. */
static void names_are_those_of_perf(void **state)
{
	assert_event("cycles", 0, 0);
	assert_event("cpu-cycles", 0, 0);
	assert_event("instructions", 0, 1);
	assert_event("branches", 0, 4);
	assert_event("ref-cycles", 0, 9);
	assert_event("cs", 1, 3);
	assert_event("faults", 1, 2);
	assert_event("migrations", 1, 4);
	assert_event("cgroup-switches", 1, 11);
	assert_event("L1-dcache-load-misses", 3, 0x10000);
	assert_event("L1-icache-loads", 3, 1);
	assert_event("LLC-store-misses", 3, 0x10102);
	assert_event("dTLB-prefetches", 3, 0x203);
	assert_event("node-load-misses", 3, 0x10006);
	assert_event("r1a8", 4, 0x1a8);
	assert_event("rFFFFffffFFFFffff", 4, UINT64_MAX);
}

static void other_words_are_no_events(void **state)
{
	static const char *const words[] = {"",     "page-fault", "Cycles", "r",
					    "r0x1", "rxyz",       "r12g",   "r11112222333344445"};
	struct event e;

	for (size_t i = 0; i < LENGTH(words); i++)
		check(!event_parse(words[i], &e), "%s", words[i]);
}

static void targets_are_spelled_as_by_perf(void **state)
{
	assert_string_equal(event_target("sched:sched_switch"), "t:sched:sched_switch");
	assert_string_equal(event_target("t:sched:*"), "t:sched:*");
	assert_string_equal(event_target("r:sched_switch"), "r:sched_switch");
	assert_string_equal(event_target("probe:do_wp_page"), "k:do_wp_page");
	assert_string_equal(event_target("k:do_wp_page"), "k:do_wp_page");
	assert_null(event_target("page-fault"));
	assert_null(event_target("do_wp_page"));
}

static void what_is_similar_is_suggested(void **state)
{
	char text[128];

	assert_non_null(strstr(event_suggest("page-fault", text, sizeof(text)), "page-faults"));
	assert_non_null(strstr(event_suggest("cycle", text, sizeof(text)), "cycles"));
	assert_string_equal(event_suggest("tcp_sendmsg", text, sizeof(text)), "");
}

static void assert_refused(const char *name, int err, bool pmu, bool unsupported, const char *why)
{
	struct event e;
	char text[192];

	assert_true(event_parse(name, &e));
	event_refusal(&e, err, pmu, text, sizeof(text));
	check(strstr(text, why), "%s: %s", name, text);
	check(event_is_unsupported(err) == unsupported, "%s: %d", name, err);
}

static void assert_modes(const char *name, uint64_t config, uint32_t modes)
{
	struct event e;

	assert_event(name, 0, config);
	assert_true(event_parse(name, &e));
	check(e.modes == modes, "%s: modes %u", name, e.modes);
}

static void modifiers_select_modes(void **state)
{
	struct event e;

	assert_modes("cycles", 0, 0);
	assert_modes("cycles:u", 0, EVENT_USER);
	assert_modes("instructions:k", 1, EVENT_KERNEL);
	assert_modes("instructions:hku", 1, EVENT_USER | EVENT_KERNEL | EVENT_HYPERVISOR);
	assert_false(event_parse("sched:sched_switch", &e));
	assert_false(event_parse(":u", &e));
	assert_true(event_parse("r1a8:u", &e));
	assert_true(e.type == PERF_TYPE_RAW && e.config == 0x1a8 && e.modes == EVENT_USER);
}

/* What perf_event_open() says of hardware where this test may run without any. */
static void a_refusal_has_its_reason(void **state)
{
	assert_refused("cycles", -ENOENT, false, true, "ENOENT, no hardware counters here");
	assert_refused("r1a8", -ENODEV, false, true, "ENODEV, no hardware counters here");
	assert_refused("cycles", -EOPNOTSUPP, false, true, "no hardware counters here");
	assert_refused("LLC-loads", -ENOENT, true, true, "ENOENT, this CPU does not count it");
	assert_refused("r1a8", -EINVAL, true, true, "EINVAL, this CPU does not count it");
	assert_refused("cgroup-switches", -ENOENT, false, true, "ENOENT, not in this kernel");
	assert_refused("cycles", -EACCES, true, false, "EACCES");
	assert_refused("page-faults", -EMFILE, false, false, "EMFILE");
}

static void a_counter_that_is_always_on_is_exact(void **state)
{
	assert_true(rate_scaled(0, 1000, 1000) == 0);
	assert_true(rate_scaled(12345, 1000, 1000) == 12345);
	/* The kernel reads the two times one after the other. */
	assert_true(rate_scaled(12345, 999, 1000) == 12345);
	assert_true(rate_scaled(UINT64_MAX, 7, 7) == UINT64_MAX);
	assert_true(rate_scaled(0, 1000, 0) == 0);
}

static void a_counter_that_shares_the_pmu_is_scaled(void **state)
{
	uint64_t seed = 20261123;

	assert_true(rate_scaled(1000, 2000, 1000) == 2000);
	assert_true(rate_scaled(1, 3000, 1000) == 3);
	for (int i = 0; i < 100000; i++) {
		uint64_t running = next_random(&seed) % (1ULL << 50) + 1;
		uint64_t enabled = running + next_random(&seed) % (1ULL << 53);
		uint64_t n = next_random(&seed) % 1000000000;
		double exact = (double)n * enabled / running;
		double is = rate_scaled(n, enabled, running);

		/* Until the product has more than 64 bits: these would be 5e5 CPU years. */
		if (exact < 1e15)
			check(is <= exact * 1.000001 + 1 && is >= exact * (1 - 1 / 1024.0) - 1,
			      "%" PRIu64 " %" PRIu64 " %" PRIu64 ": %g, not %g", n, enabled,
			      running, is, exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_perf),
		cmocka_unit_test(other_words_are_no_events),
		cmocka_unit_test(targets_are_spelled_as_by_perf),
		cmocka_unit_test(modifiers_select_modes),
		cmocka_unit_test(what_is_similar_is_suggested),
		cmocka_unit_test(a_refusal_has_its_reason),
		cmocka_unit_test(a_counter_that_is_always_on_is_exact),
		cmocka_unit_test(a_counter_that_shares_the_pmu_is_scaled),
	};

	return run_all(tests);
}
