// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* atomic file: what a symbolic link leads to may be absent, if the link is the caller's. */
#include "directory.h"

#include <errno.h>
#include <plumb/base/atomic-file.h>
#include <sys/stat.h>

static int write_to(const char *path, const char *text, int err)
{
	struct plumb_atomic_file r;
	int begun = plumb_atomic_file_begin(&r, path);

	if (begun)
		return begun;
	fputs(text, r.out);
	return plumb_atomic_file_end(&r, err);
}

static void has(const char *path, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	fread(found, 1, sizeof(found) - 1, f);
	fclose(f);
	assert_string_equal(found, text);
}

static void where_nothing_is_own_links_lead_only(void **state)
{
	struct stat st;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(symlink("nothing", "link") || symlink("link", "ours"), 0);
	assert_int_equal(write_to("ours", "failed", -ECANCELED), -ECANCELED);
	assert_true(access("nothing", F_OK));
	for (int run = 0; run < 2; run++) {
		assert_int_equal(write_to("ours", "new", 0), 0);
		assert_int_equal(lstat("nothing", &st), 0);
		assert_true(S_ISREG(st.st_mode));
		assert_int_equal(lstat("link", &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		has("nothing", "new");
		assert_int_equal(unlink("nothing"), 0);
	}
	assert_int_equal(lchown("link", 65534, 65534), 0);
	assert_int_equal(write_to("ours", "new", 0), -ELOOP);
	assert_int_equal(unlink("link") || symlink("no/where", "link"), 0);
	assert_int_equal(write_to("link", "new", 0), -ENOENT);
	/* Root's are followed to files that there are. */
	assert_int_equal(unlink("link") || symlink("nothing", "link") || chmod(".", 0777), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(write_to("link", "new", 0), -ENOLINK);
	assert_int_equal(seteuid(0) || chmod(".", 0700), 0);
	assert_true(access("nothing", F_OK));
	unlink("link");
	unlink("ours");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_nothing_is_own_links_lead_only),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter, leave);
}
