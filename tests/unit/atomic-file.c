/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "directory.h"
#include "replaced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/privileges.h>
#include <plumb/files/atomic-file.h>

static void a_file_is_replaced_by_what_was_written(void **state)
{
	struct stat st;

	umask(027);
	assert_int_equal(write_to("file", "old", 0), 0);
	has("file", "old");
	assert_int_equal(stat("file", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(write_to("file", "new", 0), 0);
	has("file", "new");
}

static void what_fails_leaves_the_old_one(void **state)
{
	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(write_to("file", "half", -EIO), -EIO);
	has("file", "old");
}

static void who_reads_meanwhile_has_the_old_one(void **state)
{
	struct plumb_atomic_file r;

	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(plumb_atomic_file_begin(&r, "file"), 0);
	fputs("new", r.out);
	fflush(r.out);
	has("file", "old");
	assert_int_equal(plumb_atomic_file_end(&r, 0), 0);
	has("file", "new");
}

/* The number of files here whose name begins so. */
static size_t count(const char *prefix)
{
	DIR *d = opendir(".");
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)))
		n += !strncmp(entry->d_name, prefix, strlen(prefix));
	closedir(d);
	return n;
}

static void nothing_is_left_of_who_is_killed_meanwhile(void **state)
{
	int probe = open(".", O_TMPFILE | O_WRONLY, 0600);
	struct plumb_atomic_file r;
	pid_t pid;

	if (probe < 0)
		skip();
	close(probe);
	assert_int_equal(write_to("file", "old", 0), 0);
	pid = fork();
	if (!pid) {
		if (!plumb_atomic_file_begin(&r, "file")) {
			fputs("half", r.out);
			fflush(r.out);
		}
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(count(".plumb-"), 0);
	has("file", "old");
}

static uint64_t takes(const char *path)
{
	struct plumb_atomic_file r;
	uint64_t capabilities;

	assert_int_equal(plumb_atomic_file_find(&r, path), 0);
	capabilities = plumb_atomic_file_takes(&r);
	plumb_atomic_file_end(&r, -ECANCELED);
	return capabilities;
}

static void replacing_what_is_not_ones_own_takes_capabilities(void **state)
{
	const uint64_t others = PLUMB_CAP(DAC_OVERRIDE) | PLUMB_CAP(FOWNER);

	if (geteuid())
		skip();
	assert_int_equal(write_to("file", "own", 0), 0);
	assert_int_equal(takes("file"), 0);
	assert_int_equal(chown("file", 0, 65534), 0);
	assert_int_equal(takes("file"), PLUMB_CAP(CHOWN));
	assert_int_equal(chown("file", 65534, 65534), 0);
	assert_int_equal(takes("file"), others | PLUMB_CAP(CHOWN));
	assert_int_equal(mkdir("theirs", 0755), 0);
	assert_int_equal(chown("theirs", 65534, 65534), 0);
	assert_int_equal(takes("theirs/none"), others);
	assert_int_equal(rmdir("theirs"), 0);
	assert_int_equal(unlink("file"), 0);
}

static void a_link_stays_one(void **state)
{
	struct stat st;

	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(write_to("link", "new", 0), 0);
	has("file", "new");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void a_device_stays_one(void **state)
{
	struct stat before, after;

	assert_int_equal(stat("/dev/full", &before), 0);
	assert_true(S_ISCHR(before.st_mode));
	assert_int_equal(write_to("/dev/full", "text", 0), -ENOSPC);
	assert_int_equal(stat("/dev/full", &after), 0);
	assert_true(S_ISCHR(after.st_mode));
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(write_to("/dev/null", "text", 0), 0);
}

static void a_pipe_is_written_to_if_somebody_reads_it(void **state)
{
	struct plumb_atomic_file r;
	char found[8] = "";
	int fd;

	assert_int_equal(mkfifo("pipe", 0600), 0);
	alarm(10);
	assert_int_equal(write_to("pipe", "text", 0), -ENXIO);
	fd = open("pipe", O_RDONLY | O_NONBLOCK);
	assert_int_equal(plumb_atomic_file_begin(&r, "pipe"), 0);
	assert_int_equal(fcntl(fileno(r.out), F_GETFL) & O_NONBLOCK, 0);
	fputs("text", r.out);
	assert_int_equal(plumb_atomic_file_end(&r, 0), 0);
	assert_int_equal(read(fd, found, sizeof(found)), 4);
	assert_string_equal(found, "text");
	close(fd);
	alarm(0);
}

static void owner_and_mode_stay(void **state)
{
	uid_t owner = geteuid() ? geteuid() : 65534;
	struct stat st;

	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(chown("file", owner, -1), 0);
	assert_int_equal(chmod("file", 0604), 0);
	assert_int_equal(write_to("file", "new", 0), 0);
	has("file", "new");
	assert_int_equal(stat("file", &st), 0);
	assert_int_equal(st.st_uid, owner);
	assert_int_equal(st.st_mode & 07777, 0604);
	unlink("file");
}

static void another_users_link_is_not_followed(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(write_to("file", "old", 0), 0);
	unlink("link");
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(lchown("link", 65534, 65534), 0);
	assert_int_equal(write_to("link", "new", 0), -ELOOP);
	/* Nor where a link of ours leads to it. */
	assert_int_equal(symlink("link", "ours"), 0);
	assert_int_equal(write_to("ours", "new", 0), -ELOOP);
	unlink("ours");
	unlink("link");
	has("file", "old");
	assert_int_equal(symlink("ours", "link"), 0);
	assert_int_equal(symlink("link", "ours"), 0);
	assert_int_equal(write_to("link", "new", 0), -EMLINK);
	unlink("link");
	unlink("ours");
}

static void another_users_file_stays_where_all_may_write(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(chown("file", 65534, -1), 0);
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(write_to("file", "new", 0), -EEXIST);
	has("file", "old");
	assert_int_equal(chown("file", 0, -1), 0);
	assert_int_equal(write_to("file", "new", 0), 0);
	assert_int_equal(chmod(".", 0700), 0);
	has("file", "new");
}

static void what_comes_meanwhile_stays(void **state)
{
	struct plumb_atomic_file r;

	unlink("file");
	assert_int_equal(plumb_atomic_file_begin(&r, "file"), 0);
	assert_int_equal(symlink("nowhere", "file"), 0);
	assert_int_equal(plumb_atomic_file_end(&r, 0), -ESTALE);
	assert_int_equal(unlink("file"), 0);

	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(plumb_atomic_file_begin(&r, "file"), 0);
	assert_int_equal(write_to("other", "other", 0), 0);
	assert_int_equal(rename("other", "file"), 0);
	assert_int_equal(plumb_atomic_file_end(&r, 0), -ESTALE);
	has("file", "other");
}

/* Another user puts links, files and nothing there by turns, in a directory where all may write. */
static void attack(void)
{
	if (setgid(65534) || setuid(65534))
		_exit(1);
	for (;;) {
		symlink("file", "race");
		unlink("race");
		close(open("race", O_WRONLY | O_CREAT | O_EXCL, 0666));
		symlink("file", "swap");
		rename("swap", "race");
		unlink("race");
	}
}

static void a_race_changes_nothing_but_the_name(void **state)
{
	int refused = 0, written = 0, err;
	time_t end = time(NULL) + 20;
	struct stat before, after;
	pid_t pid;

	if (geteuid())
		skip();
	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(stat("file", &before), 0);
	assert_int_equal(chmod(".", 01777), 0);
	pid = fork();
	if (!pid)
		attack();
	for (int i = 0; (i < 5000 || !refused || !written) && time(NULL) < end; i++) {
		err = write_to("race", "new", 0);
		written += !err;
		refused += err == -ELOOP;
		if (!err)
			unlink("race"); /* what is root's in there stays, for the other */
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink("race");
	unlink("swap");
	assert_int_equal(chmod(".", 0700), 0);
	check(refused && written, "%d refused, %d written", refused, written);
	has("file", "old");
	assert_int_equal(stat("file", &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
}

static void a_directory_is_the_one_that_was_found(void **state)
{
	struct plumb_atomic_file r;

	assert_int_equal(mkdir("found", 0700) || mkdir("later", 0700), 0);
	assert_int_equal(plumb_atomic_file_find(&r, "found/file"), 0);
	assert_int_equal(rename("found", "moved") || symlink("later", "found"), 0);
	assert_int_equal(plumb_atomic_file_open(&r), 0);
	fputs("text", r.out);
	assert_int_equal(plumb_atomic_file_end(&r, 0), 0);
	has("moved/file", "text");
	assert_int_equal(unlink("moved/file") || rmdir("moved"), 0);
	assert_int_equal(unlink("found") || rmdir("later"), 0);
}

static void a_file_too_large_leaves_the_old_one(void **state)
{
	struct rlimit old, small;
	static char much[100000];

	assert_int_equal(write_to("file", "old", 0), 0);
	memset(much, 'x', sizeof(much) - 1);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){4096, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(write_to("file", much, 0), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	has("file", "old");
}

static void where_nothing_can_be_it_says_why(void **state)
{
	assert_int_equal(write_to("missing/file", "text", 0), -ENOENT);
	assert_int_equal(write_to(".", "text", 0), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_replaced_by_what_was_written),
		cmocka_unit_test(what_fails_leaves_the_old_one),
		cmocka_unit_test(who_reads_meanwhile_has_the_old_one),
		cmocka_unit_test(nothing_is_left_of_who_is_killed_meanwhile),
		cmocka_unit_test(replacing_what_is_not_ones_own_takes_capabilities),
		cmocka_unit_test(a_link_stays_one),
		cmocka_unit_test(a_device_stays_one),
		cmocka_unit_test(a_pipe_is_written_to_if_somebody_reads_it),
		cmocka_unit_test(owner_and_mode_stay),
		cmocka_unit_test(another_users_link_is_not_followed),
		cmocka_unit_test(another_users_file_stays_where_all_may_write),
		cmocka_unit_test(what_comes_meanwhile_stays),
		cmocka_unit_test(a_race_changes_nothing_but_the_name),
		cmocka_unit_test(a_directory_is_the_one_that_was_found),
		cmocka_unit_test(a_file_too_large_leaves_the_old_one),
		cmocka_unit_test(where_nothing_can_be_it_says_why),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
