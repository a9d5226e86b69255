// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* policy file: one that is not understood as a whole, or not root's alone, permits nothing. */
#include "apart.h"
#include "own-etc.h"
#include <plumb/guard/policy.h>

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

static void lines(void **state)
{
	static const char *const taken[] = {"", "\n", "\n\n#\n# audit=x\n#\t\r\nforbid-tool=*\n",
					    "max-duration=1h", "forbid-target=k:\xc3\xa9*\n"};
	static const struct {
		const char *text, *said;
	} refused[] = {
		{"# all\n\n audit=syslog\n", "policy:3: audit, max-duration, forbid-tool and "
					     "forbid-target are known:  audit\n"},
		{"audit =syslog\n", ":1: audit, max-duration"},
		{"Audit=syslog\n", ":1: audit, max-duration"},
		{"audit=syslog\nx\n", "policy:2: not NAME=VALUE: x\n"},
		{" \n", ":1: not NAME=VALUE:  \n"},
		{"=\n", ":1: no value: \n"},
		{"audit=\n", ":1: no value: audit\n"},
		{"forbid-tool=\n", ":1: no value"},
		{"audit=syslog\r\n", ":1: a control character"},
		{"audit=\tsyslog\n", ":1: a control character"},
		{"\xef\xbb\xbf# by Windows\n", ":1: not NAME=VALUE"},
		{"audit=syslog\nmax-duration=1\n", "policy:2: max-duration takes a time from 1s"},
	};

	for (size_t i = 0; i < LENGTH(taken); i++)
		check(takes(taken[i]) && !*complaint, "%s", taken[i]);
	for (size_t i = 0; i < LENGTH(refused); i++) {
		check(!takes(refused[i].text), "%s", refused[i].text);
		check(strstr(complaint, refused[i].said), "%s: %s", refused[i].text, complaint);
	}
	/* What follows a NUL byte would not be read. */
	assert_true(write_all(POLICY, "#\0\nforbid-tool=*\n", 17));
	assert_int_equal(apart(reads), 1);
	assert_string_equal(complaint, "policy-file: /etc/plumb/policy: has a NUL byte\n");
}

static void size_is_limited(void **state)
{
	const size_t most = 64 << 10;
	char *text = malloc(most + 1);

	memset(text, '#', most + 1);
	assert_true(write_all(POLICY, text, most));
	assert_int_equal(apart(reads), 0);
	assert_true(write_all(POLICY, text, most + 1));
	assert_int_equal(apart(reads), 1);
	assert_string_equal(
		complaint, "policy-file: /etc/plumb/policy is larger than 64 KB: nothing is run\n");
	free(text);
}

static void refused_for(const char *why)
{
	assert_int_equal(apart(reads), 1);
	check(strstr(complaint, why) && strstr(complaint, ": nothing is run\n"), "%s: %s", why,
	      complaint);
}

static void a_file_that_others_could_have_made_is_not_read(void **state)
{
	for (mode_t mode = 0; mode < 07777; mode += 0111) {
		have_policy("");
		assert_int_equal(chmod(POLICY, mode), 0);
		check((apart(reads) != 0) == ((mode & 022) != 0), "%o", mode);
	}
	refused_for("policy can be written by others");
	/* As 1 in a user namespace that knows no other user. */
	have_policy("");
	if (!chown(POLICY, 1, 0))
		refused_for("policy does not belong to root");

	unlink(POLICY);
	assert_int_equal(symlink("real", POLICY), 0);
	refused_for("policy is a symbolic link");
	assert_true(write_all("/etc/plumb/real", "", 0));
	refused_for("policy is a symbolic link");
	unlink(POLICY);
	assert_int_equal(mkfifo(POLICY, 0600), 0); /* nobody writes: it must not wait */
	refused_for("policy is not a regular file");
	unlink(POLICY);
	assert_int_equal(mkdir(POLICY, 0700), 0);
	refused_for("policy is not a regular file");
	rmdir(POLICY);
	unlink("/etc/plumb/real");
}

static void nor_one_in_such_a_folder(void **state)
{
	have_policy("");
	assert_int_equal(chmod("/etc/plumb", 01777), 0);
	refused_for("/etc/plumb can be written by others");
	assert_int_equal(chmod("/etc/plumb", 0700), 0);
	if (!chown("/etc/plumb", 1, 0)) {
		refused_for("/etc/plumb does not belong to root");
		assert_int_equal(chown("/etc/plumb", 0, 0), 0);
	}
	/* Without a file in it, too: there could have been one. */
	unlink(POLICY);
	assert_int_equal(chmod("/etc/plumb", 0777), 0);
	refused_for("/etc/plumb can be written by others");
	assert_int_equal(chmod("/etc/plumb", 0755), 0);

	assert_int_equal(rename("/etc/plumb", "/etc/real"), 0);
	assert_int_equal(symlink("real", "/etc/plumb"), 0);
	refused_for("/etc/plumb is a symbolic link");
	unlink("/etc/plumb");
	assert_true(write_all("/etc/plumb", "", 0));
	refused_for("/etc/plumb is no directory");
	unlink("/etc/plumb");
	assert_int_equal(rename("/etc/real", "/etc/plumb"), 0);
}

static int reads_as_another(void)
{
	return setgid(1) || setuid(1) ? 77 : reads();
}

static void who_may_not_read_it_may_do_nothing(void **state)
{
	int status;

	have_policy("");
	assert_int_equal(chmod(POLICY, 0600), 0);
	status = apart(reads_as_another);
	if (status == 77)
		skip();
	assert_int_equal(status, 1);
	assert_non_null(strstr(complaint, "policy Permission denied: nothing is run\n"));
	assert_int_equal(chmod(POLICY, 0644), 0);
	assert_int_equal(chmod("/etc/plumb", 0700), 0);
	assert_int_equal(apart(reads_as_another), 1);
	assert_int_equal(chmod("/etc/plumb", 0711), 0);
	assert_int_equal(apart(reads_as_another), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(size_is_limited),
		cmocka_unit_test(a_file_that_others_could_have_made_is_not_read),
		cmocka_unit_test(nor_one_in_such_a_folder),
		cmocka_unit_test(who_may_not_read_it_may_do_nothing),
	};

	have_own_etc();
	return run_all(tests);
}
