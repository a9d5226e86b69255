// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* audit: what records say of who runs a tool, and of what is attached. */
#include "audit.h"
#include <time.h>
#include <plumb/guard/attached.h>

static char *own_path;

/* --- who runs it --- */

static const char *const hostile[] = {
	"a\nb",
	"\"}\n{\"event\":\"end\"",
	"\x1b[2J\r\x7f",
	"caf\xc3\xa9 \xe2\x80\xae",
	"it's",
	"\xff\xfe/",
	"\xed\xa0\x80",
	"",
	" ",
	"%s%n",
};

static int with_hostile_words(void)
{
	char *words[LENGTH(hostile) + 3] = {own_path, "run"};

	for (size_t i = 0; i < LENGTH(hostile); i++)
		words[i + 2] = (char *)hostile[i];
	setenv("SUDO_USER", "a\xff", 1);
	setenv("SUDO_UID", "1'0", 1);
	return execv("/proc/self/exe", words) ? 99 : 0;
}

static bool is_word(const json_t *word, const char *bytes)
{
	const char *hex = json_string_value(json_object_get(word, "hex"));
	char byte[3] = "";

	if (json_is_string(word))
		return !strcmp(json_string_value(word), bytes);
	if (!hex || strlen(hex) != 2 * strlen(bytes))
		return false;
	for (size_t i = 0; bytes[i]; i++) {
		memcpy(byte, hex + 2 * i, 2);
		if (strtoul(byte, NULL, 16) != (unsigned char)bytes[i])
			return false;
	}
	return true;
}

static void now(char *text, size_t size)
{
	const time_t t = time(NULL);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
}

static void words_are_those_of_the_command_line(void **state)
{
	json_t *all, *record;
	const json_t *words;
	size_t i;

	unlink(LOG);
	assert_int_equal(apart(with_hostile_words), 0);
	all = records_of(LOG);
	assert_int_equal(json_array_size(all), 2);
	json_array_foreach(all, i, record)
	{
		words = json_object_get(record, "command");
		assert_int_equal(json_array_size(words), LENGTH(hostile) + 2);
		assert_string_equal(shown(record, "n_command"), "12");
		for (size_t w = 0; w < LENGTH(hostile); w++)
			check(is_word(json_array_get(words, w + 2), hostile[w]), "%s: %s",
			      hostile[w], shown(record, "command"));
		if (!getuid()) {
			assert_string_equal(shown(record, "sudo_user"), "{\"hex\":\"61ff\"}");
			assert_string_equal(text_of(record, "sudo_uid"), "1'0");
		}
		assert_null(json_object_get(record, "cut"));
	}
	json_decref(all);
}

static void records_say_who_and_when(void **state)
{
	char before[32], after[32], host[256], kernel[256] = "", uid[16];
	FILE *f = fopen("/proc/sys/kernel/osrelease", "re");
	const char *id, *time;
	json_t *all, *record;
	size_t i;

	assert_true(f && fgets(kernel, sizeof(kernel), f));
	fclose(f);
	kernel[strcspn(kernel, "\n")] = 0;
	gethostname(host, sizeof(host));
	snprintf(uid, sizeof(uid), "%u", getuid());
	unlink(LOG);
	unsetenv("SUDO_USER");
	now(before, sizeof(before));
	assert_int_equal(run_apart(NULL), 0);
	now(after, sizeof(after));
	all = records_of(LOG);
	assert_int_equal(json_array_size(all), 2);
	id = text_of(json_array_get(all, 0), "id");
	assert_true(strlen(id) == 32 && strspn(id, "0123456789abcdef") == 32);
	json_array_foreach(all, i, record)
	{
		assert_string_equal(text_of(record, "schema"), "plumb-audit/1");
		assert_string_equal(text_of(record, "id"), id);
		assert_string_equal(text_of(record, "tool"), "syscall-count");
		assert_string_equal(text_of(record, "host"), host);
		assert_string_equal(text_of(record, "kernel"), kernel);
		assert_string_equal(shown(record, "uid"), uid);
		assert_string_equal(shown(record, "sudo_user"), "null");
		time = text_of(record, "time");
		check(strncmp(time, before, 19) >= 0 && strncmp(time, after, 19) <= 0 &&
			      strlen(time) == 30 && time[29] == 'Z',
		      "%s: from %s to %s", time, before, after);
	}
	json_decref(all);
}

/* --- what is attached --- */

static int attaches(void)
{
	struct plumb_attached a = {};
	char name[16];

	for (int i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "k:f%d", i / 2); /* each twice */
		plumb_attached_add_hook(&a, name);
	}
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "u:/\xff:%d", i);
		plumb_attached_add_hook(&a, name);
	}
	if (plumb_attached_write(&a, "tracepoint", json_pack("{s:[i]}", "pid", 1)) || a.hooks)
		return 2;
	plumb_audit_detached();
	plumb_audit_detached();
	return 0;
}

static void attached_hooks(void **state)
{
	json_t *all, *record;
	const json_t *hooks;

	unlink(LOG);
	assert_int_equal(run_apart(attaches), 0);
	assert_string_equal(events_of(LOG), "begin attach end");
	all = records_of(LOG);
	record = json_array_get(all, 1);
	hooks = json_object_get(record, "hooks");
	assert_string_equal(text_of(record, "mechanism"), "tracepoint");
	assert_string_equal(shown(record, "n_hooks"), "75");
	assert_int_equal(json_array_size(hooks), 64);
	assert_string_equal(json_string_value(json_array_get(hooks, 34)), "k:f34");
	assert_true(is_word(json_array_get(hooks, 35), "u:/\xff:0"));
	assert_string_equal(shown(record, "n_programs"), "0");
	assert_string_equal(shown(record, "filters"), "{\"pid\":[1]}");
	assert_int_equal(strlen(text_of(json_array_get(all, 2), "detached")), 30);
	json_decref(all);
}

static int has_none(void)
{
	struct stat st;

	return plumb_audit_is_on() || plumb_audit_watcher() || plumb_audit_deadline() ||
	       plumb_audit_needs_capability() || plumb_audit_check() ||
	       plumb_audit_attached(json_object()) || stat(RAN, &st) || plumb_audit_has_file(&st);
}

static void who_asks_for_none_has_none(void **state)
{
	sink = NULL;
	assert_int_equal(run_apart(has_none), 0);
	sink = LOG;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_the_command_line),
		cmocka_unit_test(records_say_who_and_when),
		cmocka_unit_test(attached_hooks),
		cmocka_unit_test(who_asks_for_none_has_none),
	};

	own_path = argv[0];
	if (argc > 1)
		return run();
	have_own_etc();
	return run_all(tests);
}
