// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* probe-check: targets as they are typed, verdicts, tools' mechanisms, system calls. */
#include "unit.h"
#include "check/kernel.h"
#include "plan/plan.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* --- targets --- */

static struct target read_target(const char *text)
{
	struct target t;
	const char *flaw;

	check(!target_parse(text, &t, &flaw), "%s: %s", text, flaw);
	assert_string_equal(t.text, text);
	return t;
}

static void targets_are_read(void **state)
{
	static const struct {
		const char *text;
		enum target_kind kind;
		const char *file, *name;
		uint64_t offset;
	} all[] = {
		{"k:vfs_read", TARGET_FUNCTION, NULL, "vfs_read", 0},
		{"k:foo.isra.0", TARGET_FUNCTION, NULL, "foo.isra.0", 0},
		{"k:nf_tables:nft_do_chain", TARGET_FUNCTION, NULL, "nf_tables:nft_do_chain", 0},
		{"t:sched:sched_switch", TARGET_TRACEPOINT, "sched", "sched_switch", 0},
		{"r:sched_switch", TARGET_RAW_TRACEPOINT, NULL, "sched_switch", 0},
		{"s:openat", TARGET_SYSCALL, NULL, "openat", 0},
		{"u:libc:malloc", TARGET_USER, "libc", "malloc", 0},
		{"u:/bin/x:f+16", TARGET_USER, "/bin/x", "f", 16},
		{"u:/bin/x:f+0x1F", TARGET_USER, "/bin/x", "f", 31},
		{"u:./x:main.(*T).f", TARGET_USER, "./x", "main.(*T).f", 0},
		{"u:x:_ZN3foo3barEv", TARGET_USER, "x", "_ZN3foo3barEv", 0},
		{"usdt:libc:libc:setjmp", TARGET_USDT, "libc", "libc:setjmp", 0},
	};

	for (size_t i = 0; i < LENGTH(all); i++) {
		struct target t = read_target(all[i].text);

		check(t.kind == all[i].kind, "%s", t.text);
		check(!strcmp(t.file ?: "", all[i].file ?: ""), "%s: %s", t.text, t.file);
		check(!strcmp(t.name, all[i].name), "%s: %s", t.text, t.name);
		check(t.offset == all[i].offset, "%s", t.text);
		target_free(&t);
	}
}

static void what_is_no_target_is_refused(void **state)
{
	static const char *const all[] = {
		"",
		"k:",
		"k::x",
		"k:x:",
		"k:vfs_*",
		"r:",
		"r:sched:x",
		"r:sched_*",
		"t:",
		"t:sched",
		"t:sched:",
		"t::x",
		"t:a:b:c",
		"t:s*:x",
		"s:",
		"s:ia32:x",
		"u:libc",
		"u::malloc",
		"u:libc:",
		"u:x:+1",
		"u:x:f+",
		"u:x:f+x",
		"u:x:f+-1",
		"u:x:f+0x",
		"u:x:f+0xg",
		"kprobe:f",
		"tracepoint:sched:sched_switch",
		"u:x:f+1 ",
		"usdt:libc",
		"usdt:a:b",
		"usdt:a:b:",
		"usdt:a::c",
		"usdt::b:c",
		"s:op*",
		"usdt:a:b:*",
		"usdt:a:[b]:c",
		"u:x:f+0x11112222333344445",
	};
	struct target t;
	const char *flaw;

	for (size_t i = 0; i < LENGTH(all); i++) {
		check(target_parse(all[i], &t, &flaw) == -EINVAL, "%s", all[i]);
		check(flaw && *flaw, "%s", all[i]);
	}
}

/* --- verdicts --- */

static void each_verdict_has_a_word(void **state)
{
	for (enum verdict v = VERDICT_UNKNOWN; v <= VERDICT_SILENT; v++)
		check(verdict_word(v) && *verdict_word(v), "%d", v);
	assert_false(verdict_fails(VERDICT_OK));
	assert_false(verdict_fails(VERDICT_NO_BTF));
	assert_false(verdict_fails(VERDICT_DUPLICATED));
	assert_true(verdict_fails(VERDICT_DIFFERENT));
	assert_true(verdict_fails(VERDICT_UNKNOWN));
	assert_string_equal(verdict_word(VERDICT_DIFFERENT), verdict_word(VERDICT_DUPLICATED));
}

static enum verdict after_fires(enum verdict before, bool has_inlined, uint64_t fires)
{
	struct check c = {.live = true, .fires = fires, .has_inlined = has_inlined};

	check_judge(&c, before, "because");
	check_judge_fires(&c, 2);
	check(!strncmp(c.why, "because; ", 9), "%s", c.why);
	return c.verdict;
}

static void fires_decide(void **state)
{
	assert_int_equal(after_fires(VERDICT_OK, false, 1), VERDICT_OK);
	assert_int_equal(after_fires(VERDICT_OK, false, 0), VERDICT_SILENT);
	assert_int_equal(after_fires(VERDICT_DUPLICATED, false, 0), VERDICT_SILENT);
	assert_int_equal(after_fires(VERDICT_INLINED, true, 0), VERDICT_INLINED);
	/* It was called, from where calls are not counted. */
	assert_int_equal(after_fires(VERDICT_INLINED, false, 1), VERDICT_OK);
	assert_int_equal(after_fires(VERDICT_INLINED, true, 1), VERDICT_PARTLY_INLINED);
	assert_int_equal(after_fires(VERDICT_MAYBE_INLINED, false, 0), VERDICT_SILENT);
	assert_int_equal(after_fires(VERDICT_MAYBE_INLINED, false, 7), VERDICT_MAYBE_INLINED);
	assert_int_equal(after_fires(VERDICT_PARTLY_INLINED, true, 9), VERDICT_PARTLY_INLINED);
}

static void words_never_overflow(void **state)
{
	struct check c = {};

	check_judge(&c, VERDICT_OK, "%02000d", 1);
	for (int i = 0; i < 100; i++)
		check_add(&c, "%0100d", i);
	assert_int_equal(strlen(c.why), sizeof(c.why) - 1);
}

/* --- tools --- */

static struct plan plan;

static void set(const char *target, enum verdict verdict)
{
	for (size_t i = 0; i < plan.n; i++)
		if (!strcmp(plan.checks[i].target.text, target)) {
			check_judge(&plan.checks[i], verdict, "so");
			return;
		}
	fail_msg("not planned: %s", target);
}

static void refuse(const char *mechanism)
{
	plan.refused.list[plan.refused.n++].mechanism = mechanism;
}

static void mechanisms_are_told_apart(void **state)
{
	static const struct tool_line line = {"x", "fsession, kprobe.multi, kprobe", "k:x"};
	char text[64];

	refuse("kprobe");
	assert_string_equal(plan_mechanisms(&plan, &line, true, text, sizeof(text)), "kprobe");
	assert_string_equal(plan_mechanisms(&plan, &line, false, text, sizeof(text)),
			    "fsession, kprobe.multi");
	refuse("fsession");
	assert_string_equal(plan_mechanisms(&plan, &line, true, text, sizeof(text)),
			    "fsession, kprobe");
	plan.refused.n = 0;
}

static void a_tool_holds_by_one_mechanism(void **state)
{
	plan_free(&plan);
	plan.n_tools = 0;
	plan_add_tool(&plan, "tcp-sendmsg-lat");
	plan_add_tool(&plan, "tcp-sendmsg-lat");
	assert_int_equal(plan.n_tools, 1);
	for (size_t i = 0; i < plan.n; i++)
		check_judge(&plan.checks[i], VERDICT_OK, "so");
	assert_true(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	set("k:tcp_sendmsg", VERDICT_GONE);
	assert_true(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	set("t:sock:sock_send_length", VERDICT_GONE);
	assert_false(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	set("k:tcp_sendmsg", VERDICT_NO_BTF);
	assert_true(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	refuse("fsession"), refuse("fentry"), refuse("kprobe.session"), refuse("kprobe.multi");
	assert_true(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	refuse("kprobe");
	assert_false(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	plan.refused.n = 0;
	assert_false(plan_tool_is_unknown(&plan, "tcp-sendmsg-lat"));
	set("t:sched:sched_process_exit", VERDICT_UNKNOWN); /* that all mechanisms take */
	assert_false(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	assert_true(plan_tool_is_unknown(&plan, "tcp-sendmsg-lat"));
	set("t:sched:sched_process_exit", VERDICT_GONE);
	assert_false(plan_tool_holds(&plan, "tcp-sendmsg-lat"));
	assert_false(plan_tool_is_unknown(&plan, "tcp-sendmsg-lat"));
}

static void a_target_is_checked_once(void **state)
{
	plan_free(&plan);
	plan_add_tool(&plan, "skb-alloc");
	size_t n = plan.n;

	plan_add_target(&plan, "k:__alloc_skb");
	assert_int_equal(plan.n, n);
	plan_add_target(&plan, "k:other");
	assert_int_equal(plan.n, n + 1);
	for (size_t i = 0; i < plan.n; i++)
		assert_int_equal(plan.checks[i].asked,
				 !strcmp(plan.checks[i].target.text, "k:__alloc_skb") ||
					 !strcmp(plan.checks[i].target.text, "k:other"));
	plan_free(&plan);
}

static void each_line_of_our_tools_is_of_targets(void **state)
{
	assert_true(n_tool_lines >= 6);
	for (size_t i = 0; i < n_tool_lines; i++)
		check(*tool_lines[i].mechanisms && *tool_lines[i].targets, "%s",
		      tool_lines[i].tool);
	plan_free(&plan);
	plan_add_all_tools(&plan); /* which ends the program for anything else */
	assert_true(plan.n >= 7);
	plan_free(&plan);
}

/* --- system calls --- */

static void a_call_that_is_newer_than_the_table_is_known_by_its_event(void **state)
{
	struct check checks[] = {{.target = read_target("s:brand_new")},
				 {.target = read_target("s:bland_new")}};
	char tree[] = "/tmp/probe-check.XXXXXX", command[256];
	struct kernel k = {.running = true, .name = "this kernel"};

	assert_non_null(mkdtemp(tree));
	snprintf(command, sizeof(command),
		 "cd %s && echo syscalls:sys_enter_brand_new >available_events && "
		 "mkdir -p events/syscalls/sys_enter_brand_new && "
		 "echo 7 >events/syscalls/sys_enter_brand_new/id",
		 tree);
	assert_int_equal(system(command), 0);
	k.tracefs = open(tree, O_RDONLY | O_DIRECTORY);
	assert_int_equal(events_check(&k, checks, LENGTH(checks)), 0);
	assert_int_equal(checks[0].verdict, VERDICT_OK);
	assert_non_null(strstr(checks[0].why, "syscalls:sys_enter_brand_new"));
	assert_int_equal(checks[1].verdict, VERDICT_GONE);
	close(k.tracefs);
	snprintf(command, sizeof(command), "rm -r %s", tree);
	assert_int_equal(system(command), 0);
	for (size_t i = 0; i < LENGTH(checks); i++)
		target_free(&checks[i].target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_read),
		cmocka_unit_test(what_is_no_target_is_refused),
		cmocka_unit_test(each_verdict_has_a_word),
		cmocka_unit_test(fires_decide),
		cmocka_unit_test(words_never_overflow),
		cmocka_unit_test(mechanisms_are_told_apart),
		cmocka_unit_test(a_tool_holds_by_one_mechanism),
		cmocka_unit_test(a_target_is_checked_once),
		cmocka_unit_test(each_line_of_our_tools_is_of_targets),
		cmocka_unit_test(a_call_that_is_newer_than_the_table_is_known_by_its_event),
	};

	return run_all(tests);
}
