// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* probe-check: snapshots of kernels, and their differences. */
#include "unit.h"
#include "said.h"
#include "compare/snapshot.h"
#include <sys/stat.h>
#include <unistd.h>

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
	snprintf(directory, sizeof(directory), "%s/snapshot.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/file", directory);
	return 0;
}

static int remove_directory(void **state)
{
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_said),
		cmocka_unit_test(differences_of_fields_are_said),
		cmocka_unit_test(what_is_compared_is_counted),
		cmocka_unit_test_setup_teardown(hostile_snapshots_are_refused, make_directory,
						remove_directory),
		cmocka_unit_test_setup_teardown(a_snapshot_is_written_whole_or_not, make_directory,
						remove_directory),
	};

	return run_all(tests);
}
