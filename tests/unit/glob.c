// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* glob: patterns for names, against the C library's. */
#include "unit.h"
#include <errno.h>
#include <fnmatch.h>
#include <plumb/core/glob.h>

static const uint64_t some_seed = 88172645463325252;

static bool matches(const struct plumb_globs *g, const char *name)
{
	uint64_t words[2] = {};

	memcpy(words, name, strlen(name));
	return plumb_globs_match(g, words[0], words[1]);
}

/* Few letters, so that chance finds names that match. */
static void write_random(char *text, size_t size, const char *const *letters, size_t n,
			 uint64_t *seed)
{
	*text = 0;
	for (size_t left = next_random(seed) % 16; left; left--) {
		const char *next = letters[next_random(seed) % n];

		if (strlen(text) + strlen(next) < size)
			strcat(text, next);
	}
}

static void they_match_what_fnmatch_matches(void **state)
{
	static const char *const parts[] = {"a",    "b",     "-",     "/",      "*",          "?",
					    "[ab]", "[!a]",  "[a-c]", "[^-b]",  "[]a]",       "[",
					    "\\*",  "[\\]]", "\\?",   "[*?-a]", "[[:alpha:]]"};
	static const char *const letters[] = {"a", "b", "c", "-", "/", "*", "?", "]", "[", "\xc3"};
	uint64_t seed = some_seed, matched = 0;
	char pattern[128], name[PLUMB_COMM_LEN], literal[PLUMB_COMM_LEN];

	for (int i = 0; i < 20000; i++) {
		struct plumb_globs g = {};
		int kind;

		write_random(pattern, sizeof(pattern), parts, LENGTH(parts), &seed);
		kind = plumb_globs_add(&g, pattern, literal);
		if (kind < 0)
			continue;
		for (int n = 0; n < 20; n++) {
			bool expected, is;

			write_random(name, sizeof(name), letters, LENGTH(letters), &seed);
			expected = !fnmatch(pattern, name, 0);
			is = kind ? !strcmp(literal, name) : matches(&g, name);
			check(is == expected, "'%s' and '%s': %d", pattern, name, is);
			matched += is;
		}
	}
	check(matched > 1000, "%llu", (unsigned long long)matched);
}

static void plain_names_are_names(void **state)
{
	static const struct {
		const char *pattern, *name;
	} plain[] = {
		{"sshd", "sshd"},      {"kworker/0:1", "kworker/0:1"},
		{"a\\*b", "a*b"},      {"a\\\\b", "a\\b"},
		{"\\x1b[m", "\x1b[m"}, {"15-letters-long", "15-letters-long"},
		{"[x", "[x"},          {"x\\", "x\\"},
		{"\\x2c", ","},        {"a[b]", "ab"},
	};
	char name[PLUMB_COMM_LEN];

	for (size_t i = 0; i < LENGTH(plain); i++) {
		struct plumb_globs g = {};

		check(plumb_globs_add(&g, plain[i].pattern, name) == 1, "%s", plain[i].pattern);
		assert_string_equal(name, plain[i].name);
		assert_int_equal(g.n, 0);
	}
}

static void several_are_kept_apart(void **state)
{
	static const char *const yes[] = {"ab", "axxxb", "pool-7", "pool-x", "x", "zz"};
	static const char *const no[] = {"", "a", "b", "pool-", "pool-77", "axc", "abx", "xx", "z"};
	static const char *const patterns[] = {"a*b", "pool-?", "[xy]", "?[z]"};
	struct plumb_globs g = {};
	char name[PLUMB_COMM_LEN];

	for (size_t i = 0; i < LENGTH(patterns); i++)
		assert_int_equal(plumb_globs_add(&g, patterns[i], name), 0);
	for (size_t i = 0; i < LENGTH(yes); i++)
		check(matches(&g, yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < LENGTH(no); i++)
		check(!matches(&g, no[i]), "%s", no[i]);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct plumb_globs g = {}, before;
	char name[PLUMB_COMM_LEN];

	assert_int_equal(plumb_globs_add(&g, "sixteen-letters-", name), -ENAMETOOLONG);
	assert_int_equal(plumb_globs_add(&g, "*sixteen-letters-*", name), -ENAMETOOLONG);
	for (int i = 0; i < 4; i++)
		assert_int_equal(plumb_globs_add(&g, "*15-letters-long", name), 0);
	before = g;
	assert_int_equal(plumb_globs_add(&g, "a*", name), -E2BIG);
	assert_memory_equal(&g, &before, sizeof(g));
	check(matches(&g, "15-letters-long"), "the last state");
	check(!matches(&g, "14-letters-long"), "the last state");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_match_what_fnmatch_matches),
		cmocka_unit_test(plain_names_are_names),
		cmocka_unit_test(several_are_kept_apart),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return run_all(tests);
}
