// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* probe-check: targets as they are typed, verdicts, tools' mechanisms, snapshots and their
 * differences.
 */
#include "unit.h"
#include <elf.h>
#include "said.h"
#include "../../tools/probe-check/plan.h"
#include "../../tools/probe-check/remains.h"
#include "../../tools/probe-check/copies.h"
#include "../../tools/probe-check/snapshot.h"
#include "../../tools/probe-check/x86.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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
		{"s:openat", TARGET_SYSCALL, NULL, "openat", 0},
		{"u:libc:malloc", TARGET_USER, "libc", "malloc", 0},
		{"u:/bin/x:f+16", TARGET_USER, "/bin/x", "f", 16},
		{"u:/bin/x:f+0x1F", TARGET_USER, "/bin/x", "f", 31},
		{"u:./x:main.(*T).f", TARGET_USER, "./x", "main.(*T).f", 0},
		{"u:x:_ZN3foo3barEv", TARGET_USER, "x", "_ZN3foo3barEv", 0},
		{"usdt:libc:libc:setjmp", TARGET_USDT, "libc", "libc:setjmp", 0},
	};

	(void)state;
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
		"",           "k:",           "k::x",
		"k:x:",       "k:vfs_*",      "r:x",
		"t:",         "t:sched",      "t:sched:",
		"t::x",       "t:a:b:c",      "t:s*:x",
		"s:",         "s:ia32:x",     "u:libc",
		"u::malloc",  "u:libc:",      "u:x:+1",
		"u:x:f+",     "u:x:f+x",      "u:x:f+-1",
		"u:x:f+0x",   "u:x:f+0xg",    "u:x:f+1 ",
		"usdt:libc",  "usdt:a:b",     "usdt:a:b:",
		"usdt:a::c",  "usdt::b:c",    "s:op*",
		"usdt:a:b:*", "usdt:a:[b]:c", "u:x:f+0x11112222333344445",
	};
	struct target t;
	const char *flaw;

	(void)state;
	for (size_t i = 0; i < LENGTH(all); i++) {
		check(target_parse(all[i], &t, &flaw) == -EINVAL, "%s", all[i]);
		check(flaw && *flaw, "%s", all[i]);
	}
}

/* --- verdicts --- */

static void each_verdict_has_a_word(void **state)
{
	(void)state;
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
	(void)state;
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

	(void)state;
	check_judge(&c, VERDICT_OK, "%02000d", 1);
	for (int i = 0; i < 100; i++)
		check_add(&c, "%0100d", i);
	assert_int_equal(strlen(c.why), sizeof(c.why) - 1);
}

/* --- what remains of a function --- */

static struct check judged;

/* The verdict on "foo"; -1: nothing is wrong. */
static int judge_hollow(const struct plumb_callee *callees, size_t n, size_t exact, bool is_kernel,
			const struct plumb_calls *calls)
{
	struct remains r = {
		.check = &judged,
		.callees = callees,
		.n = n,
		.n_exact = exact,
		.calls = calls,
		.is_kernel = is_kernel,
	};

	judged = (struct check){};
	return remains_judge_hollow(&r) ? (int)judged.verdict : -1;
}

static const struct plumb_calls counted = {.has_code = true, .has_data = true};
static const struct plumb_calls uncounted = {};

static void what_is_never_called_is_inlined(void **state)
{
	struct plumb_callee c = {.name = "foo", .address = 16};

	(void)state;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), VERDICT_INLINED);
	c.exported = true;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), VERDICT_INLINED);
	assert_int_equal(judge_hollow(&c, 1, 1, false, &counted), -1);
	assert_int_equal(judge_hollow(&c, 1, 1, true, &uncounted), -1);
	c.direct = 1;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
	c.direct = 0, c.taken = 1;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
	c.taken = 0, c.address = 0; /* hidden */
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
	/* It is known not to be inlined: then nobody calls it. */
	c.address = 16, c.described = true;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
}

static void what_is_inlined_here_and_called_there_is_partly_inlined(void **state)
{
	struct plumb_callee c[] = {
		{.name = "foo", .address = 16, .described = true, .inlined = 3, .direct = 2},
		{.name = "foo.part.0", .address = 32, .direct = 1},
	};

	(void)state;
	assert_int_equal(judge_hollow(c, 1, 1, true, &counted), VERDICT_PARTLY_INLINED);
	assert_true(judged.has_inlined && judged.has_direct);
	assert_int_equal(judged.inlined, 3);
	assert_int_equal(judged.direct, 2);
	assert_non_null(strstr(judged.why, "inlined at 3 places; a probe sees only the 2 direct"));
	assert_string_equal(strstr(judged.why, " left"), " left");
	c[0].exported = true;
	assert_int_equal(judge_hollow(c, 1, 1, false, &counted), VERDICT_PARTLY_INLINED);
	assert_non_null(strstr(judged.why, "are left, and those of other files"));
	c[0].taken = 1;
	assert_int_equal(judge_hollow(c, 1, 1, true, &counted), VERDICT_PARTLY_INLINED);
	assert_non_null(strstr(judged.why, "are left, and calls by pointer"));
	assert_null(strstr(judged.why, "other files"));
	c[0].inlined = c[0].taken = 0, c[0].exported = false;
	assert_int_equal(judge_hollow(c, 2, 1, true, &counted), -1); /* its own call */
	c[1].direct = 2;
	assert_int_equal(judge_hollow(c, 2, 1, true, &counted), VERDICT_PARTLY_INLINED);
	assert_non_null(strstr(judged.why, "foo.part.0"));
	c[1].direct = 0;
	assert_int_equal(judge_hollow(c, 2, 1, true, &uncounted), VERDICT_PARTLY_INLINED);
	c[1].name = "foo.cold";
	assert_int_equal(judge_hollow(c, 2, 1, true, &uncounted), -1);
}

static enum verdict judge_made(const char *one, const char *two)
{
	struct plumb_callee c[] = {{.name = one, .address = 16}, {.name = two, .address = 32}};
	struct remains r = {.check = &judged, .callees = c, .n = two ? 2 : 1, .calls = &counted};

	judged = (struct check){};
	assert_true(remains_judge_made(&r));
	return judged.verdict;
}

static void suffixes_tell_what_was_made(void **state)
{
	(void)state;
	assert_int_equal(judge_made("foo.isra.0", NULL), VERDICT_RENAMED);
	assert_int_equal(judge_made("foo.isra.0", "foo.isra.0.cold"), VERDICT_RENAMED);
	assert_int_equal(judge_made("foo.part.0", NULL), VERDICT_PARTLY_INLINED);
	assert_int_equal(judge_made("foo.cold", NULL), VERDICT_INLINED);
	assert_int_equal(judge_made("foo.part.0", "foo.constprop.0"), VERDICT_RENAMED);
	assert_non_null(strstr(judged.why, "foo.part.0, foo.constprop.0"));
}

static void what_is_left_may_have_no_symbol(void **state)
{
	struct plumb_callee c = {.name = "foo", .described = true, .inlined = 2};
	struct remains r = {.check = &judged, .callees = &c, .calls = &counted};

	(void)state;
	judged = (struct check){};
	assert_true(remains_judge_inlined(&r));
	assert_int_equal(judged.verdict, VERDICT_INLINED);
	c.compiled = true;
	judged = (struct check){};
	assert_true(remains_judge_inlined(&r));
	assert_int_equal(judged.verdict, VERDICT_PARTLY_INLINED);
	c.inlined = 0;
	assert_false(remains_judge_inlined(&r));
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

	(void)state;
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
	(void)state;
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
	(void)state;
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
	struct target all[MAX_CHECKS];
	size_t n = 0;

	(void)state;
	assert_true(n_tool_lines >= 6);
	for (enum target_kind kind = TARGET_FUNCTION; kind <= TARGET_USDT; kind++)
		n += plan_known(kind, all + n, MAX_CHECKS - n);
	assert_true(n >= 7);
	for (size_t i = 0; i < n_tool_lines; i++) {
		char *copy = strdup(tool_lines[i].targets), *rest = copy, *word;

		check(*tool_lines[i].mechanisms && *copy, "%s", tool_lines[i].tool);
		while ((word = strsep(&rest, " "))) {
			bool is_known = !strcmp(word, "*");

			for (size_t j = 0; j < n; j++)
				is_known |= !strcmp(all[j].text, word);
			check(is_known, "%s: %s", tool_lines[i].tool, word);
		}
		free(copy);
	}
	while (n)
		target_free(&all[--n]);
}

/* --- system calls --- */

static void a_call_that_is_newer_than_the_table_is_known_by_its_event(void **state)
{
	struct check checks[] = {{.target = read_target("s:brand_new")},
				 {.target = read_target("s:bland_new")}};
	char tree[] = "/tmp/probe-check.XXXXXX", command[256];
	struct kernel k = {.running = true, .name = "this kernel"};

	(void)state;
	assert_non_null(mkdtemp(tree));
	snprintf(command, sizeof(command),
		 "cd %s && echo syscalls:sys_enter_brand_new >available_events && "
		 "mkdir -p events/syscalls/sys_enter_brand_new && "
		 "echo 7 >events/syscalls/sys_enter_brand_new/id",
		 tree);
	assert_int_equal(system(command), 0);
	k.tracefs = open(tree, O_RDONLY | O_DIRECTORY);
	assert_int_equal(syscalls_check(&k, checks, LENGTH(checks)), 0);
	assert_int_equal(checks[0].verdict, VERDICT_OK);
	assert_non_null(strstr(checks[0].why, "syscalls:sys_enter_brand_new"));
	assert_int_equal(checks[1].verdict, VERDICT_GONE);
	close(k.tracefs);
	snprintf(command, sizeof(command), "rm -r %s", tree);
	assert_int_equal(system(command), 0);
	for (size_t i = 0; i < LENGTH(checks); i++)
		target_free(&checks[i].target);
}

/* --- snapshots --- */

static const char was[] =
	"{'schema': 'plumb-snapshot/1', 'kernel': '1', 'arch': 'x86_64',"
	" 'functions': {'f': {'arguments': ['int a', 'char *b'], 'returns': 'int'}, 'plain': {}},"
	" 'tracepoints': {'c:e': ["
	"  {'name': 'x', 'type': 'int', 'offset': 8, 'size': 4, 'signed': true},"
	"  {'name': 'y', 'type': 'u32', 'offset': 12, 'size': 4, 'signed': false},"
	"  {'name': 'comm', 'type': 'char[16]', 'offset': 16, 'size': 16, 'signed': true}]},"
	" 'prototypes': {'e': ['bool', 'struct request_queue *', 'struct request *']}}";

static char differences[4096];

static void tell(void *context, enum difference_class class, const char *target, const char *what)
{
	size_t n = strlen(differences);

	(void)context;
	snprintf(differences + n, sizeof(differences) - n, "%c %s: %s\n", "BMAN"[class], target,
		 what);
}

/* TEXT has ' for ". */
static json_t *parse(const char *text)
{
	char *copy = strdup(text);
	json_error_t error;
	json_t *j;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	j = json_loads(copy, 0, &error);
	free(copy);
	return j;
}

/* What WAS becomes by replacing OLD by NEW is different in these ways. */
static void differs(const char *old, const char *new, const char *wanted)
{
	const char *at = strstr(was, old);
	struct compared compared;
	char is[2048];
	json_t *a, *b;

	assert_non_null(at);
	snprintf(is, sizeof(is), "%.*s%s%s", (int)(at - was), was, new, at + strlen(old));
	a = parse(was);
	b = parse(is);
	check(b, "%s", is);
	*differences = 0;
	snapshot_compare(a, b, NULL, tell, NULL, &compared);
	assert_string_equal(differences, wanted);
	json_decref(a);
	json_decref(b);
}

static void differences_are_said(void **state)
{
	(void)state;
	differs("'1'", "'2'", "");
	differs("'x86_64'", "'aarch64'", "B arch: was x86_64, is aarch64\n");
	differs("'x86_64'", "''", ""); /* of types alone */
	differs("'int a'", "'long a'", "B k:f: argument 0 was int a, is long a\n");
	differs(", 'char *b'", "", "B k:f: argument 1, char *b, is gone\n");
	differs("'int a', ", "", "B k:f: argument 0, int a, is gone\n");
	differs("'int a', ", "'int a', 'int n', ", "B k:f: argument 1 is new: int n\n");
	differs("'char *b']", "'char *b', 'int n']", "A k:f: argument 2 is new: int n\n");
	differs("'int a', 'char *b'", "'char *b', 'int a'",
		"B k:f: argument 0, int a, is gone\nA k:f: argument 1 is new: int a\n");
	differs("'char *b'", "'const char *b'",
		"N k:f: argument 1 was char *b, is const char *b\n");
	differs("'returns': 'int'", "'returns': 'void'", "B k:f: returned int, returns void\n");
	differs("'f': {", "'g': {", "B k:f: gone\n");
	differs("'plain'", "'other'", "B k:plain: gone\n");
	differs("{'arguments': ['int a', 'char *b'], 'returns': 'int'}", "{}",
		"B k:f: its types are no longer known\n");
	differs("'plain': {}", "'plain': {'arguments': [], 'returns': 'int'}", "");
	differs("['bool', 'struct request_queue *', 'struct request *']",
		"['bool', 'struct request *']",
		"B raw_tp:e: argument 1, struct request_queue *, is gone\n");
	differs("'struct request *']", "'struct request *', 'unsigned int']",
		"A raw_tp:e: argument 3 is new: unsigned int\n");
	differs("'e': ['bool'", "'e2': ['bool'", "B raw_tp:e: gone\n");
}

static void differences_of_fields_are_said(void **state)
{
	(void)state;
	differs("'offset': 12", "'offset': 16", "M t:c:e: field y moved from offset 12 to 16\n");
	differs("'type': 'int'", "'type': 'long'", "N t:c:e: field x was int, is long\n");
	differs("'type': 'int'", "'type': 'char *'", "B t:c:e: field x was int, is char *\n");
	differs("'size': 4", "'size': 8", "B t:c:e: field x had 4 bytes, has 8\n");
	differs("'type': 'int', 'offset': 8, 'size': 4", "'type': 'u64', 'offset': 8, 'size': 8",
		"B t:c:e: field x had 4 bytes, has 8, and is u64\n");
	differs("'signed': true", "'signed': false", "B t:c:e: field x is unsigned now\n");
	differs("'size': 16, 'signed': true", "'size': 16, 'signed': false",
		"N t:c:e: field comm is unsigned now\n");
	differs("'name': 'x'", "'name': 'z'", "B t:c:e: field x is renamed: z\n");
	differs("'name': 'x', 'type': 'int'", "'name': 'z', 'type': 'char *'",
		"B t:c:e: field x is gone\nA t:c:e: field z is new\n");
	differs("'c:e'", "'c:f'", "B t:c:e: gone\n");
	differs("'c:e'", "'d:e'", "B t:c:e: renamed: t:d:e\n");
	/* An image has none: they are not compared. */
	differs("'tracepoints'", "'nothing'", "");
}

static void what_is_compared_is_counted(void **state)
{
	struct compared compared;
	json_t *a = parse(was), *b = parse(was);

	(void)state;
	*differences = 0;
	snapshot_compare(a, b, NULL, tell, NULL, &compared);
	assert_int_equal(compared.n[SNAPSHOT_FUNCTIONS], 2);
	assert_int_equal(compared.by_name, 1);
	assert_int_equal(compared.n[SNAPSHOT_PROTOTYPES], 1);
	assert_int_equal(compared.n[SNAPSHOT_FORMATS], 1);
	assert_non_null(strstr(compared.why_not[SNAPSHOT_RECORDS], "formats of tracepoints say"));
	json_object_del(b, "tracepoints");
	json_object_del(a, "prototypes");
	snapshot_compare(a, b, NULL, tell, NULL, &compared);
	assert_non_null(strstr(compared.why_not[SNAPSHOT_PROTOTYPES], "the snapshot has none"));
	assert_non_null(strstr(compared.why_not[SNAPSHOT_FORMATS], "only a running kernel"));
	assert_string_equal(differences, "");
	json_decref(a);
	json_decref(b);
}

static char directory[64], path[80];

static json_t *read_text(const char *text, const char **words)
{
	FILE *f = fopen(path, "w");
	json_t *j;

	assert_non_null(f);
	for (const char *p = text; *p; p++)
		fputc(*p == '\'' ? '"' : *p, f);
	assert_int_equal(fclose(f), 0);
	listen_to_stderr();
	j = snapshot_read(path);
	*words = said();
	return j;
}

static int make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "%s/snapshot.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/file", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static void hostile_snapshots_are_refused(void **state)
{
#define HEAD "{'schema': 'plumb-snapshot/1', 'kernel': '1', 'arch': 'x', 'functions': "
	static const struct {
		const char *text, *words;
	} all[] = {
		{"", "line"},
		{"{", "line"},
		{"[]", "not a snapshot"},
		{"{}", "not a snapshot"},
		{"null", "line"},
		{"{'schema': 1}", "not a snapshot"},
		{"{'schema': 'plumb/2'}", "not a snapshot"},
		{"{'schema': 'plumb-snapshot/2'}", "another version"},
		{"{'schema': 'plumb-snapshot/1'}", "name its kernel"},
		{"{'schema': 'plumb-snapshot/1', 'kernel': 5, 'arch': 'x'}", "name its kernel"},
		{"{'schema': 'plumb-snapshot/1', 'kernel': '1', 'arch': 'x'}", "functions are"},
		{HEAD "[]}", "functions are"},
		{HEAD "{'f': 1}}", "functions are"},
		{HEAD "{'f': {'arguments': []}}}", "functions are"},
		{HEAD "{'f': {'returns': 'int'}}}", "functions are"},
		{HEAD "{'f': {'arguments': {}, 'returns': 'int'}}}", "functions are"},
		{HEAD "{'f': {'arguments': [1], 'returns': 'int'}}}", "functions are"},
		{HEAD "{'f': {'arguments': ['a'], 'returns': null}}}", "functions are"},
		{HEAD "{}, 'tracepoints': []}", "tracepoints are"},
		{HEAD "{}, 'tracepoints': {'a:b': {}}}", "tracepoints are"},
		{HEAD "{}, 'tracepoints': {'a:b': [1]}}", "tracepoints are"},
		{HEAD "{}, 'tracepoints': {'a:b': [{'name': 'x', 'type': 'int', 'offset': '8',"
		      " 'size': 4, 'signed': true}]}}",
		 "tracepoints are"},
		{HEAD "{}, 'tracepoints': {'a:b': [{'name': 'x', 'type': 'int', 'offset': 1e99,"
		      " 'size': 4, 'signed': true}]}}",
		 "tracepoints are"},
		{HEAD "{'f': {}, 'f': {}}}", "line"},
		{HEAD "{}}", "nothing in it"},
		{HEAD "{}, 'tracepoints': {}}", "nothing in it"},
	};
	const char *words;
	char *deep;
	json_t *j;

	(void)state;
	for (size_t i = 0; i < LENGTH(all); i++) {
		check(!read_text(all[i].text, &words), "%s", all[i].text);
		check(strstr(words, all[i].words), "%s: %s", all[i].text, words);
		check(strstr(words, "--against: ") && strstr(words, path), "%s", words);
	}
	deep = calloc(1, 1 << 20);
	memset(deep, '[', (1 << 20) - 1);
	assert_null(read_text(deep, &words));
	free(deep);
	j = read_text(was, &words);
	assert_non_null(j);
	json_decref(j);
}

static void a_snapshot_is_written_whole_or_not(void **state)
{
	json_t *a = parse(was), *b;
	mode_t mask = umask(027);
	const char *words;
	struct stat st;

	(void)state;
	assert_int_equal(snapshot_write(a, path), 0);
	assert_int_equal(snapshot_write(a, path), 0); /* over it */
	b = snapshot_read(path);
	assert_true(json_equal(a, b));
	json_decref(b);
	assert_false(stat(path, &st));
	assert_int_equal(st.st_mode & 0777, 0640);
	listen_to_stderr();
	assert_true(snapshot_write(a, "/nonexistent/file") < 0);
	words = said();
	check(strstr(words, "--save") && strstr(words, "/nonexistent/file"), "%s", words);
	umask(mask);
	json_decref(a);
}

/* --- code --- */

static void instructions_are_taken_apart(void **state)
{
	static const struct {
		unsigned char code[16];
		struct x86_instruction in;
	} known[] = {
		/* testb $4,0xc(%rdi); testb $4,0xc(%r12) */
		{{0xf6, 0x47, 0x0c, 0x04}, {4, 0xf6, 0, true, true, true, false, 0, 7, 12, 4}},
		{{0x41, 0xf6, 0x44, 0x24, 0x0c, 0x04},
		 {6, 0xf6, 0, true, true, true, false, 0, 12, 12, 4}},
		/* mov $-29,%rax; movabs; mov $1,%al; mov $258,%ax */
		{{0x48, 0xc7, 0xc0, 0xe3, 0xff, 0xff, 0xff},
		 {7, 0xc7, X86_WIDE, true, false, true, false, 0, 0, 0, -29}},
		{{0x49, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},
		 {10, 0xb8, X86_WIDE, false, false, true, false, 0, 0, 0, 0x0807060504030201}},
		{{0x66, 0xb8, 0x02, 0x01},
		 {4, 0xb8, X86_SHORT, false, false, true, false, 0, 0, 0, 258}},
		/* mov -8(%rsp),%rax; mov 0x10(%rip),%rax; mov 0x10(,%rax,8),%rax */
		{{0x48, 0x8b, 0x44, 0x24, 0xf8},
		 {5, 0x8b, X86_WIDE, true, true, false, false, 0, X86_SP, -8, 0}},
		{{0x48, 0x8b, 0x05, 0x10, 0, 0, 0},
		 {7, 0x8b, X86_WIDE, true, true, false, false, 0, X86_IP, 16, 0}},
		{{0x48, 0x8b, 0x04, 0xc5, 0x10, 0, 0, 0},
		 {8, 0x8b, X86_WIDE, true, true, false, false, 0, X86_NO_BASE, 16, 0}},
		/* call, je, nopl 0(%rax,%rax,1), pshufb, lock cmpxchg */
		{{0xe8, 0xfb, 0xff, 0xff, 0xff},
		 {5, 0xe8, 0, false, false, false, true, 0, 0, -5, 0}},
		{{0x0f, 0x84, 0x10, 0, 0, 0},
		 {6, 0x0f84, 0, false, false, false, true, 0, 0, 16, 0}},
		{{0x0f, 0x1f, 0x44, 0, 0}, {5, 0x0f1f, 0, true, true, false, false, 0, 0, 0, 0}},
		{{0x66, 0x0f, 0x38, 0x00, 0xc1},
		 {5, 0x3800, X86_SHORT, true, false, false, false, 0, 0, 0, 0}},
		{{0xf0, 0x48, 0x0f, 0xb1, 0x0f},
		 {5, 0x0fb1, X86_WIDE, true, true, false, false, 1, 7, 0, 0}},
	};
	struct x86_instruction in;

	(void)state;
	for (size_t i = 0; i < LENGTH(known); i++) {
		assert_true(x86_decode(known[i].code, sizeof(known[i].code), &in));
		check(!memcmp(&in, &known[i].in, sizeof(in)), "instruction %zu", i);
		/* Not a byte more is read. */
		assert_true(x86_decode(known[i].code, known[i].in.length, &in));
		for (size_t n = 0; n < known[i].in.length; n++)
			assert_false(x86_decode(known[i].code, n, &in));
	}
	assert_false(x86_decode((const unsigned char *)"\xc5\xf8\x77", 3, &in)); /* vzeroupper */
}

/*
 * f: testb $4,12(a); je; mov 40(a),b; mov 16(b),b; jmp *b; mov $-29,result; ret.  g has it in other
 * registers, with a call for the jump, and more.
 */
static unsigned char text_of_two[128] = {
	0xf6, 0x47, 0x0c, 0x04, 0x74, 0x0a, 0x48, 0x8b, 0x47, 0x28, 0x48, 0x8b,        0x40,
	0x10, 0xff, 0xe0, 0x48, 0xc7, 0xc0, 0xe3, 0xff, 0xff, 0xff, 0xc3, [64] = 0x53, 0x48,
	0x89, 0xfb, 0x83, 0x43, 0x40, 0x01, 0x83, 0xfa, 0x05, 0xf6, 0x43, 0x0c,        0x04,
	0x74, 0x0d, 0x4c, 0x8b, 0x73, 0x28, 0x4d, 0x8b, 0x4e, 0x10, 0x41, 0xff,        0xd1,
	0x5b, 0xc3, 0x49, 0xc7, 0xc5, 0xe3, 0xff, 0xff, 0xff, 0x5b, 0xc3,
};

static const char *copy_of_f(void)
{
	static char symbols[] = "1000 T f\n1040 t g\n1080 T h\n", name[16];
	struct plumb_span span = {0x1000, text_of_two, sizeof(text_of_two), true};
	const struct plumb_image image = {
		.machine = EM_X86_64, .symbols = symbols, .spans = &span, .n_spans = 1};

	return copies_find(&image, 0x1000, name, sizeof(name)) ?: "none";
}

static void a_copy_is_found_and_what_differs_is_none(void **state)
{
	unsigned char *g = text_of_two + 64;

	(void)state;
	memset(text_of_two + 24, 0xcc, 40);
	memset(text_of_two + 103, 0xcc, 25);
	assert_string_equal(copy_of_f(), "g");
	/* Another field; another bit; another error. */
	for (size_t i = 0; i < 3; i++) {
		size_t at = (size_t[]){20, 14, 33}[i];

		g[at] ^= 1;
		assert_string_equal(copy_of_f(), "none");
		g[at] ^= 1;
	}
	/* It calls f, too: call -78. */
	memcpy(g + 39, "\xe8\x94\xff\xff\xff", 5);
	assert_string_equal(copy_of_f(), "none");
	/* What is not understood is not judged. */
	memcpy(g + 39, "\xc5\xf8\x77\xcc\xcc", 5);
	assert_string_equal(copy_of_f(), "none");
	memset(g + 39, 0xcc, 5);
	assert_string_equal(copy_of_f(), "g");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_read),
		cmocka_unit_test(what_is_no_target_is_refused),
		cmocka_unit_test(each_verdict_has_a_word),
		cmocka_unit_test(fires_decide),
		cmocka_unit_test(words_never_overflow),
		cmocka_unit_test(what_is_never_called_is_inlined),
		cmocka_unit_test(what_is_inlined_here_and_called_there_is_partly_inlined),
		cmocka_unit_test(what_is_left_may_have_no_symbol),
		cmocka_unit_test(suffixes_tell_what_was_made),
		cmocka_unit_test(mechanisms_are_told_apart),
		cmocka_unit_test(a_tool_holds_by_one_mechanism),
		cmocka_unit_test(a_target_is_checked_once),
		cmocka_unit_test(each_line_of_our_tools_is_of_targets),
		cmocka_unit_test(a_call_that_is_newer_than_the_table_is_known_by_its_event),
		cmocka_unit_test(differences_are_said),
		cmocka_unit_test(differences_of_fields_are_said),
		cmocka_unit_test(what_is_compared_is_counted),
		cmocka_unit_test(instructions_are_taken_apart),
		cmocka_unit_test(a_copy_is_found_and_what_differs_is_none),
		cmocka_unit_test_setup_teardown(hostile_snapshots_are_refused, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(a_snapshot_is_written_whole_or_not, make_directory,
						remove_directory),
	};

	return run_all(tests);
}
