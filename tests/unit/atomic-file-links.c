// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* atomic file: which symbolic links are followed. */
#include "directory.h"
#include "replaced.h"

#include <errno.h>
#include <sys/stat.h>
#include <plumb/files/atomic-file.h>

static void where_nothing_is_own_links_lead_only(void **state)
{
	struct stat st;

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

/* On the way to the file: only one's own and root's, also within what these lead to. */
static void folders_of_others_are_not_entered(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(mkdir("real", 0755) || mkdir("real/deep", 0755), 0);
	assert_int_equal(symlink("real", "way") || symlink("../way/deep", "real/up"), 0);
	assert_int_equal(write_to("way/deep/../file", "through", 0), 0);
	has("real/file", "through");
	assert_int_equal(write_to("way/up//file", "twice", 0), 0);
	has("real/deep/file", "twice");
	assert_int_equal(lchown("way", 65534, 65534), 0);
	assert_int_equal(write_to("way/file", "other", 0), -ELOOP);
	assert_int_equal(write_to("real/up/file", "other", 0), -ELOOP);
	has("real/file", "through");
	has("real/deep/file", "twice");
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(write_to("way/file", "their", 0), -EACCES);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(symlink("round", "round"), 0);
	assert_int_equal(write_to("round/file", "", 0), -EMLINK);
	assert_int_equal(write_to("real/file/x", "", 0), -ENOTDIR);
	assert_int_equal(write_to("none/x", "", 0), -ENOENT);
	unlink("real/file");
	unlink("real/deep/file");
	unlink("real/up");
	unlink("way");
	unlink("round");
	assert_int_equal(rmdir("real/deep") || rmdir("real"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_nothing_is_own_links_lead_only),
		cmocka_unit_test(folders_of_others_are_not_entered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter, leave);
}
