// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* hist-merge's scanner takes what jansson takes, and reads the same numbers and texts. */
#include "unit.h"
#include "reading/line.h"
#include "reading/scan.h"

/* Each in parentheses, since clang takes two literals for a comma that was forgotten. */
static const char *const texts[] = {
	("{\"schema\":\"plumb/"
	 "2\",\"rows\":[{\"key\":{\"pid\":1,\"comm\":\"a\\u00e9\\\"\"},\"count\":3,"
	 "\"hist\":[[0,0,1],[10,10,2]],\"rate\":-1.5e+3}],\"missed\":null,\"final\":true,\"x\":[]"
	 "}"),
	("[1, -2 , 0.5, 1E5, [ ], { }, [[[[\"\\ud83d\\ude00\", "
	 "\"\303\251\360\237\230\200\"]]]], false]"),
	"{\"a\":{\"b\":{\"c\":[{\"d\":[0,10,200]},{}]}},\"\":\"\\b\\f\\n\\r\\t\\/\\\\\"}",
	" [\t0,\n\r-0,0e0,\"\\u0000\"] ",
};

/* Bytes that matter to the grammar, and some of UTF-8. */
static const char alphabet[] = "{}[]\",:\\0123456789.eE+-truefalsn "
			       "ud\t\n\x01\x7f\x80\xbf\xc0\xc2\xe0\xa0\xed\xf0\x90\xf4\xff";

static char buffer[4096];

static bool accepts(const char *text)
{
	struct scan s = {.at = strcpy(buffer, text)};
	struct span whole;

	return scan_value(&s, &whole) && scan_end(&s);
}

/* Whether jansson takes it; -1: it stopped at a number that is too large for it. */
static int is_json(const char *text)
{
	json_error_t error;
	json_t *j = json_loadb(text, strlen(text), JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

	json_decref(j);
	return j ? 1 : strstr(error.text, "too big") || strstr(error.text, "overflow") ? -1 : 0;
}

static void mutate(char *text, uint64_t *random)
{
	size_t n = strlen(text), at = next_random(random) % n;

	switch (next_random(random) % 4) {
	case 0: /* replace */
		text[at] = alphabet[next_random(random) % (sizeof(alphabet) - 1)];
		break;
	case 1: /* remove */
		memmove(text + at, text + at + 1, n - at);
		break;
	case 2: /* repeat */
		memmove(text + at + 1, text + at, n - at + 1);
		break;
	default: /* cut off */
		if (next_random(random) % 8 == 0)
			text[at + 1] = 0;
	}
}

static void it_takes_what_jansson_takes(void **state)
{
	uint64_t random = 88172645463325252;
	size_t taken = 0, tries = 400000;
	char text[1024];
	int json;

	for (size_t i = 0; i < tries; i++) {
		strcpy(text, texts[i % LENGTH(texts)]);
		for (size_t n = next_random(&random) % 3; n-- && text[0] && text[1];)
			mutate(text, &random);
		json = is_json(text);
		taken += json == 1;
		check(json < 0 || accepts(text) == json, "%s", text);
	}
	check(taken > tries / 10 && taken < tries * 9 / 10, "%zu of %zu were JSON", taken, tries);
}

static void what_json_is_not(void **state)
{
	static const char *const wrong[] = {
		"",     "{",         "[1,]",      "{\"a\":1,}", "{,}",     "[01]",        "[1.]",
		"[.5]", "[+1]",      "[1e]",      "[NaN]",      "[nul]",   "[truee]",     "{a:1}",
		"'a'",  "[1 2]",     "[\"\\x\"]", "[\"a]",      "{\"a\"}", "{\"a\":}",    "]",
		"[}",   "{\"a\":1]", "1 2",       "[-]",        "[--1]",   "[\"\\u12\"]", "/**/1",
	};

	for (size_t i = 0; i < LENGTH(wrong); i++) {
		check(!is_json(wrong[i]), "'%s' is JSON to jansson", wrong[i]);
		check(!accepts(wrong[i]), "'%s'", wrong[i]);
	}
}

static void nesting_is_limited(void **state)
{
	char text[200];

	for (int depth = 1; depth < 90; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		text[2 * depth] = 0;
		check(accepts(text) == (depth <= SCAN_DEPTH), "%d deep", depth);
	}
}

static void numbers_are_exact(void **state)
{
	uint64_t random = 42, value, number;
	struct scan s;

	for (size_t i = 0; i < 300000; i++) {
		number = next_random(&random) >> (1 + next_random(&random) % 63);
		snprintf(buffer, sizeof(buffer), "%" PRIu64 ",x", number);
		s = (struct scan){.at = buffer};
		check(scan_natural(&s, &value) && value == number && *s.at == ',', "%s", buffer);
	}
	assert_true(accepts("[9223372036854775807]"));
	strcpy(buffer, "9223372036854775807,");
	assert_true(scan_natural(&(struct scan){.at = buffer}, &value));
	assert_int_equal(value, INT64_MAX);
	strcpy(buffer, "9223372036854775808,");
	assert_false(scan_natural(&(struct scan){.at = buffer}, &value));
}

static void texts_are_decoded(void **state)
{
	static const struct {
		const char *string, *text;
	} known[] = {
		{"\"\"", ""},
		{"\"a b\"", "a b"},
		{"\"\\u0061\\/\\\"\\n\"", "a/\"\n"},
		{"\"\\ud83d\\ude00\\u00e9\"", "\360\237\230\200\303\251"},
	};

	for (size_t i = 0; i < LENGTH(known); i++) {
		struct scan s = {.at = strcpy(buffer, known[i].string)};
		struct span span;
		char *text;

		assert_true(scan_string(&s, &span));
		text = scan_text(span);
		assert_string_equal(text, known[i].text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_takes_what_jansson_takes), cmocka_unit_test(what_json_is_not),
		cmocka_unit_test(nesting_is_limited),          cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(texts_are_decoded),
	};

	return run_all(tests);
}
