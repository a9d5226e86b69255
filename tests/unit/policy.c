// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* policy: what it demands; what would demand nothing is refused. */
#include "apart.h"
#include "own-etc.h"
#include <plumb/guard/allowed.h>
#include <plumb/guard/policy.h>

#define SECOND 1000000000ULL

/* --- what a policy that is taken answers; each process reads one --- */

static const char *asked;

static int reads(void)
{
	return plumb_policy_read() ? 1 : 0;
}

/* Whether it is taken. */
static bool takes(const char *text)
{
	have_policy(text);
	return !apart(reads);
}

/* 3: it does not permit anything. */
static int forbids_target(void)
{
	return plumb_policy_read() ? 3 : plumb_policy_forbids_target(asked);
}

static int forbids_tool(void)
{
	return plumb_policy_read() ? 3 : plumb_policy_forbids_tool(asked);
}

static int tells_sink(void)
{
	const char *sink;

	if (plumb_policy_read())
		return 3;
	sink = plumb_policy_sink();
	return asked && sink ? strcmp(asked, sink) != 0 : asked != sink;
}

static uint64_t expected_ns;

static int tells_limit(void)
{
	return plumb_policy_read() ? 3 : plumb_policy_max_duration() != expected_ns;
}

static int demands_nothing(void)
{
	return plumb_policy_read() || plumb_policy_sink() || plumb_policy_max_duration() ||
	       plumb_policy_has_targets() || plumb_policy_has_files() ||
	       plumb_policy_target_at(0) || plumb_policy_forbids_tool("syscall-count") ||
	       plumb_policy_forbids_target("k:tcp_sendmsg") || *plumb_policy_reason();
}

static void without_a_file_nothing_is_demanded(void **state)
{
	unlink(POLICY);
	assert_int_equal(apart(demands_nothing), 0);
	assert_int_equal(rmdir("/etc/plumb"), 0);
	assert_int_equal(apart(demands_nothing), 0);
	assert_string_equal(complaint, "");
	assert_int_equal(mkdir("/etc/plumb", 0755), 0);
}

static void sinks(void **state)
{
	static const char *const samples[] = {"syslog", "audit", "/var/log/plumb", "/a=b #c"};
	char text[64];

	for (size_t i = 0; i < LENGTH(samples); i++) {
		snprintf(text, sizeof(text), "audit=%s\n", samples[i]);
		have_policy(text);
		asked = samples[i];
		check(!apart(tells_sink), "%s", text);
	}
	have_policy("max-duration=1h\n");
	asked = NULL;
	assert_int_equal(apart(tells_sink), 0);
	assert_false(takes("audit=log/plumb\n"));
	assert_false(takes("audit=Syslog\n"));
	assert_false(takes("audit=syslog\naudit=syslog\n"));
}

static void limits(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns; /* 0: refused */
	} samples[] = {
		{"1s", SECOND},
		{"90s", 90 * SECOND},
		{"1.000000001s", SECOND + 1},
		{"0.5m", 30 * SECOND},
		{"1.5h", 5400 * SECOND},
		{"366d", 366 * 86400 * SECOND},
		{"366.000000001d", 0},
		{"0.999999999s", 0},
		{"0s", 0},
		{"0.01m", 0},
		{"-1s", 0},
		{"90", 0},
		{"s", 0},
		{"1h30m", 0},
		{"90 s", 0},
		{"90S", 0},
		{"90s ", 0},
		{"1e3s", 0},
		{"90ms", 0},
		{"213503982335d", 0}, /* 2^64 ns and some */
	};
	char text[64];

	for (size_t i = 0; i < LENGTH(samples); i++) {
		snprintf(text, sizeof(text), "max-duration=%s\n", samples[i].text);
		have_policy(text);
		expected_ns = samples[i].ns;
		check(apart(tells_limit) == (samples[i].ns ? 0 : 3), "%s", text);
	}
	assert_false(takes("max-duration=1h\nmax-duration=1h\n"));
}

static int is_limited(void)
{
	if (plumb_policy_read())
		return 3;
	plumb_policy_check_duration(0); /* until it is stopped */
	plumb_policy_check_duration(90 * SECOND);
	plumb_policy_check_duration(90 * SECOND + 1);
	return 0;
}

static void a_longer_trace_is_told_so(void **state)
{
	have_policy("max-duration=1.5m\n");
	assert_int_equal(apart(is_limited), 0);
	assert_string_equal(
		complaint, "policy: the trace ends after 1.5m (/etc/plumb/policy: max-duration)\n");
	have_policy("audit=syslog\n");
	assert_int_equal(apart(is_limited), 0);
	assert_string_equal(complaint, "");
}

struct sample {
	const char *list, *name;
	int forbids; /* 3: the list is refused */
};

static const struct sample tools[] = {
	{"syscall-count", "syscall-count", 1},
	{"syscall-count", "syscall-latency", 0},
	{"syscall-latency,runq-*", "runq-latency", 1},
	{"*", "event-rate", 1},
	{"[e-f]*", "event-rate", 1},
	{"[!e]*", "event-rate", 0},
	/* What forbids no tool that there is. */
	{"syscall-cuont", "syscall-count", 3},
	{"Syscall-count", "syscall-count", 3},
	{"syscall-count,", "syscall-count", 3},
	{"syscall-count, event-rate", "event-rate", 3},
	{"syscall-count ", "syscall-count", 3},
};

static const struct sample targets[] = {
	{"k:tcp_sendmsg", "k:tcp_sendmsg", 1},
	{"k:tcp_sendmsg", "k:tcp_sendmsg_locked", 0},
	{"k:tcp_sendmsg", "r:tcp_sendmsg", 0},
	{"r:sys_enter,k:tcp_*", "k:tcp_recvmsg", 1},
	{"*:tcp_sendmsg", "k:tcp_sendmsg", 1},
	{"*", "event:page-faults", 1},
	{"t:sched:*", "t:sched:sched_switch", 1},
	{"t:*", "t:sched:sched_switch", 1},
	{"s:read", "s:read", 1},
	{"s:rea?", "s:readv", 0},
	{"u:/usr/lib/*:malloc", "u:/usr/lib/x86_64-linux-gnu/libc.so.6:malloc", 1},
	{"u:/usr/lib/*:malloc", "u:/usr/bin/redis-server:malloc", 0},
	{"u:*", "u:/opt/a:b:c", 1},
	{"usdt:/usr/bin/python3*:python:*", "usdt:/usr/bin/python3.12:python:gc__start", 1},
	{"sample:cpu-clock", "sample:cpu-clock", 1},
	{"event:page-f*", "event:page-faults", 1},
	{"k:[st]*", "k:tcp_sendmsg", 1},
	{"k:[!t]*", "k:tcp_sendmsg", 0},
	{"k:a[]]", "k:a]", 1},
	{"k:a[^]]", "k:ab", 1},
	{"k:a\\[b", "k:a[b", 1},
	{"k:a\\\\", "k:a\\", 1},
	{"k:a\\\\[b]", "k:a\\b", 1},
	/* What no target can match, and so would forbid nothing. */
	{"tcp_sendmsg", "k:tcp_sendmsg", 3},
	{"K:tcp_sendmsg", "k:tcp_sendmsg", 3},
	{"kprobe:tcp_sendmsg", "k:tcp_sendmsg", 3},
	{"?:tcp_sendmsg", "k:tcp_sendmsg", 3},
	{"t:sched_switch", "t:sched:sched_switch", 3},
	{"t:sched", "t:sched:sched_switch", 3},
	{"u:malloc", "u:/usr/bin/a:malloc", 3},
	{"u:bin/a:malloc", "u:/usr/bin/a:malloc", 3},
	{"usdt:/usr/bin/a:b", "usdt:/usr/bin/a:b:c", 3},
	{"k:tcp_sendmsg,", "k:tcp_sendmsg", 3},
	{",k:tcp_sendmsg", "k:tcp_sendmsg", 3},
	{"k:a, k:b", "k:b", 3},
	{"k:a ,k:b", "k:b", 3},
	{"k:a ", "k:a", 3},
	{"k:a\\", "k:a", 3},
	{"k:a\\\\\\", "k:a\\", 3},
	{"k:[a", "k:a", 3},
	{"k:a[]", "k:a", 3},
	{"k:a[!]", "k:a", 3},
	{"k:[a]b[c", "k:abc", 3},
	{"k:[a\\]", "k:a", 3},
	{"k:]a[", "k:a", 3},
	{"k:a\\\\[b", "k:a\\b", 3},
};

static void check_lists(const char *setting, const struct sample *samples, size_t n,
			int (*forbids)(void))
{
	char text[128];

	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%s=%s\n", setting, samples[i].list);
		have_policy(text);
		asked = samples[i].name;
		check(apart(forbids) == samples[i].forbids, "%s: %s", samples[i].list, asked);
	}
}

static void forbidden_tools(void **state)
{
	check_lists("forbid-tool", tools, LENGTH(tools), forbids_tool);
	have_policy("# 1\nforbid-tool=event-rate\nforbid-tool=func-*,syscall-[c]*\n");
	asked = "syscall-count";
	assert_int_equal(apart(forbids_tool), 1);
	assert_string_equal(complaint,
			    "policy: forbidden by /etc/plumb/policy:3: forbid-tool=syscall-[c]*\n");
}

static void forbidden_targets(void **state)
{
	check_lists("forbid-target", targets, LENGTH(targets), forbids_target);
}

/* Functions that ask before they attach. */
static int asks_all(void)
{
	char what[64] = "";

	if (plumb_policy_read() || !plumb_policy_has_targets() || !plumb_policy_has_files() ||
	    strcmp(plumb_policy_target_at(1), "u:/opt/*") != 0 || plumb_policy_target_at(3))
		return 3;
	if (plumb_allowed("k:free", what, sizeof(what)) || *what || *plumb_policy_reason() ||
	    plumb_allowed_name("event", "cpu-clock", what, sizeof(what)))
		return 4;
	if (plumb_allowed_name("k", "kfree", what, sizeof(what)) != -PLUMB_FORBIDDEN ||
	    strcmp(what, "k:kfree") != 0)
		return 5;
	if (strcmp(plumb_policy_reason(),
		   ", forbidden by /etc/plumb/policy:1: forbid-target=k:k*") != 0)
		return 6;
	/* Of a file whose names cannot be known, the first line on files is the reason. */
	plumb_policy_forbid_files();
	return strcmp(plumb_policy_reason(),
		      ", forbidden by /etc/plumb/policy:3: forbid-target=u:/opt/*") != 0;
}

static void the_line_that_forbids_is_named(void **state)
{
	have_policy("forbid-target=k:k*\n\nforbid-target=u:/opt/*,*:kfree\n");
	assert_int_equal(apart(asks_all), 0);
}

static int has_files(void)
{
	return plumb_policy_read() ? 3 : plumb_policy_has_files();
}

/* Whose names have to be read only then. */
static void files_matter_where_one_may_be_forbidden(void **state)
{
	static const struct {
		const char *text;
		int matter;
	} samples[] = {{"forbid-target=k:*,t:*,s:*,r:*,sample:*,event:*", 0},
		       {"forbid-target=usdt:*", 1},
		       {"forbid-target=*", 1}};

	for (size_t i = 0; i < LENGTH(samples); i++) {
		have_policy(samples[i].text);
		check(apart(has_files) == samples[i].matter, "%s", samples[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_file_nothing_is_demanded),
		cmocka_unit_test(sinks),
		cmocka_unit_test(limits),
		cmocka_unit_test(a_longer_trace_is_told_so),
		cmocka_unit_test(forbidden_tools),
		cmocka_unit_test(forbidden_targets),
		cmocka_unit_test(the_line_that_forbids_is_named),
		cmocka_unit_test(files_matter_where_one_may_be_forbidden),
	};

	have_own_etc();
	return run_all(tests);
}
