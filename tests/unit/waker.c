// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* waker: who it was, as text and as JSON. */
#include "unit.h"
#include <plumb/split/waker.h>

static const char *text_of(struct plumb_waker w)
{
	static char text[128];

	return plumb_waker_text(&w, text, sizeof(text));
}

static void says(struct plumb_waker w, const char *wanted)
{
	json_t *json = plumb_waker_json(&w);
	char *text = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT);

	assert_string_equal(text, wanted);
	free(text);
	json_decref(json);
}

static void a_thread_has_its_tid_or_else_its_pid(void **state)
{
	struct plumb_waker w = {.kind = PLUMB_WAKER_THREAD, .pid = 7, .tid = 8, .comm = "a b"};

	assert_string_equal(text_of(w), "woken by a b/8");
	says(w,
	     "{\"event\":\"wakeup\",\"context\":\"thread\",\"pid\":7,\"tid\":8,\"comm\":\"a b\"}");
	w.tid = 0;
	assert_string_equal(text_of(w), "woken by a b/7");
	says(w, "{\"event\":\"wakeup\",\"context\":\"thread\",\"pid\":7,\"comm\":\"a b\"}");
}

static void an_interrupt_names_no_thread(void **state)
{
	struct plumb_waker w = {.kind = PLUMB_WAKER_INTERRUPT, .pid = 7, .comm = "victim"};

	assert_string_equal(text_of(w), "woken by an interrupt");
	says(w, "{\"event\":\"wakeup\",\"context\":\"interrupt\",\"pid\":null,\"comm\":null}");
}

static void timers_and_devices_are_told(void **state)
{
	struct plumb_waker w = {.kind = PLUMB_WAKER_TIMER, .pid = 7, .comm = "victim"};

	assert_string_equal(text_of(w), "woken by a timer");
	says(w, "{\"event\":\"wakeup\",\"context\":\"interrupt\",\"pid\":null,\"comm\":null,"
		"\"device\":null}");
	w = (struct plumb_waker){.kind = PLUMB_WAKER_DEVICE, .comm = "nvme0q1"};
	assert_string_equal(text_of(w), "woken by device nvme0q1");
	says(w, "{\"event\":\"wakeup\",\"context\":\"interrupt\",\"pid\":null,\"comm\":null,"
		"\"device\":\"nvme0q1\"}");
}

static void a_cpu_is_taken_or_left_idle(void **state)
{
	struct plumb_waker w = {.kind = PLUMB_PREEMPTER, .pid = 7, .comm = "x;\n"};

	assert_string_equal(text_of(w), "preempted by x;\\x0a/7");
	w = (struct plumb_waker){.kind = PLUMB_PREEMPTER_IDLE, .comm = "swapper/1"};
	assert_string_equal(text_of(w), "preempted, its CPU idle");
	says(w, "{\"event\":\"preemption\",\"context\":\"idle\",\"pid\":null,\"comm\":null}");
}

static void a_softirq_names_its_thread(void **state)
{
	struct plumb_waker w = {.kind = PLUMB_WAKER_SOFTIRQ, .pid = 7, .comm = "\xff\\"};

	assert_string_equal(text_of(w), "woken by a softirq on \\xff\\\\/7");
	says(w, "{\"event\":\"wakeup\",\"context\":\"softirq\",\"pid\":7,"
		"\"comm\":\"\\\\xff\\\\\\\\\"}");
	w.kind = PLUMB_WAKER_EITHER;
	assert_string_equal(text_of(w), "woken by a softirq or interrupt on \\xff\\\\/7");
}

static void a_quota_is_no_threads_doing(void **state)
{
	struct plumb_waker w = {.kind = PLUMB_THROTTLED, .pid = 7, .comm = "next"};

	assert_string_equal(text_of(w), "out of CPU quota");
	says(w, "{\"event\":\"throttling\",\"context\":\"quota\",\"pid\":null,\"comm\":null}");
}

static void unknown_is_no_text_and_null(void **state)
{
	struct plumb_waker w = {};

	assert_string_equal(text_of(w), "");
	says(w, "null");
	w.kind = 1000;
	assert_string_equal(text_of(w), "");
	says(w, "null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_has_its_tid_or_else_its_pid),
		cmocka_unit_test(an_interrupt_names_no_thread),
		cmocka_unit_test(a_softirq_names_its_thread),
		cmocka_unit_test(a_quota_is_no_threads_doing),
		cmocka_unit_test(timers_and_devices_are_told),
		cmocka_unit_test(a_cpu_is_taken_or_left_idle),
		cmocka_unit_test(unknown_is_no_text_and_null),
	};

	return run_all(tests);
}
