// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* audit sinks: where records go; without one that takes them nothing is run. */
#include "audit.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#define OTHER "/etc/other"

static void refused_for(const char *why)
{
	check(run_apart(NULL) == 1 && !has_run(), "%s: %s", why, complaint);
	check(strstr(complaint, why), "%s: %s", why, complaint);
}

/* --- files --- */

static void a_file_has_the_records_of_all_runs(void **state)
{
	struct stat st;

	umask(0);
	unlink(LOG);
	assert_int_equal(run_apart(NULL), 0);
	assert_string_equal(events_of(LOG), "begin end");
	assert_true(!stat(LOG, &st) && (st.st_mode & 0777) == 0600);
	assert_int_equal(run_apart(NULL), 0);
	assert_string_equal(events_of(LOG), "begin end begin end");
	umask(022);
}

/* As after a full disk: the next record has a line of its own. */
static void a_line_without_its_end_is_ended(void **state)
{
	assert_true(write_all(LOG, "{\"event\":\"cut\"}", 15));
	assert_int_equal(run_apart(NULL), 0);
	assert_string_equal(events_of(LOG), "cut begin end");
}

static void a_file_that_others_can_change_is_refused(void **state)
{
	unlink(LOG);
	assert_true(write_all(LOG, "", 0));
	assert_int_equal(chmod(LOG, 0620), 0);
	refused_for("audit-sinks: --audit=/etc/log: can be written by others\n");
	assert_int_equal(chmod(LOG, 0602), 0);
	refused_for("can be written by others");
	assert_int_equal(chmod(LOG, 0644), 0);
	if (!chown(LOG, 1, 0))
		refused_for("belongs to another user");
	unlink(LOG);
	assert_int_equal(symlink("other", LOG), 0);
	refused_for("a symbolic link is not followed");
	assert_int_equal(access(OTHER, F_OK), -1);
	unlink(LOG);
	assert_int_equal(mkfifo(LOG, 0600), 0);
	refused_for("not a regular file");
	unlink(LOG);

	assert_int_equal(chmod("/etc", 0777), 0);
	refused_for("its folder can be written by others");
	assert_int_equal(chmod("/etc", 01777), 0);
	assert_int_equal(run_apart(NULL), 0);
	assert_int_equal(chmod("/etc", 0755), 0);
	sink = "/etc/none/log";
	refused_for("--audit=/etc/none/log: No such file or directory");
	sink = LOG;
}

/* --- two --- */

static void the_policys_and_that_of_the_option(void **state)
{
	have_policy("audit=/etc/other\n");
	unlink(LOG);
	assert_int_equal(run_apart(NULL), 0);
	assert_string_equal(events_of(LOG), "begin end");
	assert_string_equal(events_of(OTHER), "begin end");
	sink = NULL;
	assert_int_equal(run_apart(NULL), 0);
	assert_string_equal(events_of(OTHER), "begin end begin end");

	/* One file, by its name, and by another. */
	unlink(OTHER);
	sink = OTHER;
	assert_int_equal(run_apart(NULL), 0);
	assert_string_equal(events_of(OTHER), "begin end");
	unlink(LOG);
	assert_int_equal(link(OTHER, LOG), 0);
	sink = LOG;
	assert_int_equal(run_apart(NULL), 0);
	assert_string_equal(events_of(OTHER), "begin end begin end");

	unlink(OTHER);
	unlink(LOG);
	assert_int_equal(mkdir(OTHER, 0700), 0);
	refused_for("/etc/plumb/policy: audit=/etc/other: Is a directory\n");
	assert_int_equal(rmdir(OTHER), 0);
	/* Who has the first record has the last. */
	have_policy("audit=/etc/other\nforbid-tool=syscall-*\n");
	refused_for("forbidden by /etc/plumb/policy:2");
	assert_string_equal(events_of(OTHER), "begin end");
	assert_string_equal(json_string_value(json_object_get(last_of(OTHER), "ended")), "refused");
	unlink(POLICY);
	unlink(OTHER);
}

/* --- what fails --- */

static int attaches_much(void)
{
	char much[8192];

	memset(much, 'x', sizeof(much) - 1);
	much[sizeof(much) - 1] = 0;
	return plumb_audit_attached(json_pack("{s:s}", "mechanism", much)) == -ENOSPC ? 0 : 2;
}

static void a_full_disk_ends_it(void **state)
{
	char page[4096];

	assert_int_equal(mkdir("/etc/small", 0755), 0);
	assert_int_equal(mount("none", "/etc/small", "tmpfs", 0, "size=4k"), 0);
	memset(page, 'x', sizeof(page));
	assert_true(write_all("/etc/small/x", page, sizeof(page)));
	sink = "/etc/small/log";
	refused_for("--audit=/etc/small/log: No space left on device\n");

	/* Later, when a part of the record still finds room; then there is none for the end. */
	unlink("/etc/small/x");
	unlink("/etc/small/log");
	assert_int_equal(run_apart(attaches_much), 1);
	assert_true(has_run());
	assert_non_null(strstr(complaint, "only a part of the record could be written"));
	assert_int_equal(umount("/etc/small"), 0);
	sink = LOG;
}

static int removes_it(void)
{
	return unlink(LOG);
}

static void a_removed_file_is_no_record(void **state)
{
	unlink(LOG);
	assert_int_equal(run_apart(removes_it), 1);
	assert_string_equal(complaint, "audit-sinks: --audit=/etc/log: it was removed during the "
				       "run, with its records\n");
}

/* --- syslog --- */

static int daemon_socket(void)
{
	static const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	unlink(log.sun_path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&log, sizeof(log)), 0);
	return fd;
}

/* The record in the next message, its length in *N; NULL: there is none. */
static json_t *message(int daemon, size_t *n)
{
	static char text[1 << 16];
	ssize_t got = recv(daemon, text, sizeof(text) - 1, 0);
	char month[4], *json;
	int level, day, hour, minute, second, pid;

	if (got < 0)
		return NULL;
	text[got] = 0;
	*n = got;
	check(sscanf(text, "<%d>%3s %d %d:%d:%d syscall-count[%d]: ", &level, month, &day, &hour,
		     &minute, &second, &pid) == 7,
	      "%s", text);
	assert_int_equal(level, LOG_AUTHPRIV | LOG_NOTICE);
	json = strstr(text, "]: ") + 3;
	return json_loads(json, 0, NULL);
}

static const char *event_of(const json_t *record)
{
	return json_string_value(json_object_get(record, "event")) ?: "";
}

static void syslog_gets_messages(void **state)
{
	json_t *first, *second;
	int daemon;
	size_t n;

	sink = "syslog";
	unlink("/dev/log");
	refused_for("--audit=syslog: no daemon listens on /dev/log: No such file or directory\n");
	daemon = daemon_socket();
	assert_int_equal(run_apart(NULL), 0);
	first = message(daemon, &n);
	second = message(daemon, &n);
	assert_string_equal(event_of(first), "begin");
	assert_string_equal(event_of(second), "end");
	assert_null(message(daemon, &n));
	json_decref(first);
	json_decref(second);
	close(daemon);
	refused_for("--audit=syslog: no daemon listens on /dev/log: Connection refused\n");
	sink = LOG;
}

/* Words of a command line that is longer than what a daemon takes. */
static char *long_words[400];

static int with_long_words(void)
{
	return execv("/proc/self/exe", long_words) ? 99 : 0;
}

static void check_cut(int daemon, size_t words)
{
	json_t *record;
	size_t n;

	assert_int_equal(apart(with_long_words), 0);
	for (int i = 0; i < 2; i++) {
		record = message(daemon, &n);
		check(n > 4000 && n <= 8096, "%zu of %zu words", n, words);
		assert_true(json_is_object(record));
		assert_true(json_is_true(json_object_get(record, "cut")));
		assert_int_equal(json_integer_value(json_object_get(record, "n_command")), words);
		/* What it is about is whole. */
		assert_string_equal(json_string_value(json_object_get(record, "tool")),
				    "syscall-count");
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(record, "command"), 1)),
			"run");
		json_decref(record);
	}
}

/* The longest list is cut, or the longest word, in whole characters, as the JSON is UTF-8. */
static void what_is_too_long_is_cut(void **state)
{
	int daemon = daemon_socket();
	char *word = malloc(100001);

	memset(word, '\'', 100);
	word[100] = 0;
	for (size_t i = 0; i < LENGTH(long_words) - 1; i++)
		long_words[i] = i == 0 ? "audit" : i == 1 ? "run" : word;
	check_cut(daemon, LENGTH(long_words) - 1);

	for (size_t i = 0; i < 100000; i += 4)
		memcpy(word + i, "\xf0\x9f\x90\x9d", 4);
	word[100000] = 0;
	long_words[3] = NULL;
	check_cut(daemon, 3);
	word[0] = 0xff; /* in hexadecimal */
	check_cut(daemon, 3);
	free(word);
	close(daemon);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_the_records_of_all_runs),
		cmocka_unit_test(a_line_without_its_end_is_ended),
		cmocka_unit_test(a_file_that_others_can_change_is_refused),
		cmocka_unit_test(the_policys_and_that_of_the_option),
		cmocka_unit_test(a_full_disk_ends_it),
		cmocka_unit_test(a_removed_file_is_no_record),
		cmocka_unit_test(syslog_gets_messages),
		cmocka_unit_test(what_is_too_long_is_cut),
	};

	if (argc > 1) {
		sink = "syslog";
		return run();
	}
	have_own_etc();
	if (mount("none", "/dev", "tmpfs", 0, "mode=755"))
		return 1;
	return run_all(tests);
}
