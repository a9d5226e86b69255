// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbols-mapped: files that a process maps but that no path leads to, and many of them. */
#include "symbols.h"
#include <dlfcn.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

static uint64_t map_and_delete(const char *file)
{
	uint64_t address = map_file(file);

	return unlink(file) ? 0 : address;
}

static void a_deleted_file_has_names(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	struct plumb_frame_name frame;
	struct child child;
	FILE *f;

	if (geteuid()) /* only root may follow the links to files that have no path */
		skip();
	run("cp lib.so gone.so");
	child = start_child(map_and_delete, "gone.so");
	/* Neither this, nor the file of the name that the kernel shows. */
	f = fopen("gone.so (deleted)", "w");
	assert_non_null(f);
	fclose(f);
	run("cp fixed gone.so");
	plumb_symbolize_user(s, child.pid, 0, child.address + offset_of_mark("lib.so", "<plain>"),
			     false, &frame, 1);
	assert_string_equal(frame.function, "plain");
	assert_string_equal(frame.module, "gone.so");
	end_child(&child);
	plumb_symbolizer_free(s);
}

static uint64_t map_elsewhere(const char *file)
{
	char copy[64];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mkdir("hidden", 0755) || mount("none", "hidden", "tmpfs", 0, NULL))
		return 0;
	snprintf(copy, sizeof(copy), "cp %s hidden/%s", file, file);
	if (system(copy))
		return 0;
	return map_file(copy + strlen("cp lib.so "));
}

static void a_file_of_another_mount_namespace_has_names(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	struct child child;

	if (geteuid())
		skip();
	child = start_child(map_elsewhere, "lib.so");
	assert_int_equal(access("hidden/lib.so", F_OK), -1);
	assert_string_equal(name(s, child.pid, child.address + offset_of_mark("lib.so", "<plain>")),
			    "plain");
	assert_int_equal(plumb_symbolizer_counts(s)->unread, 0);
	end_child(&child);
	plumb_symbolizer_free(s);
}

static uint64_t map_memfd(const char *file)
{
	size_t size;
	char *data = contents(file, &size);
	int fd = memfd_create("made", 0);

	if (write(fd, data, size) != (ssize_t)size)
		return 0;
	return (uintptr_t)mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

static void a_file_in_memory_has_names(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	struct plumb_frame_name frame;
	struct child child;

	if (geteuid())
		skip();
	child = start_child(map_memfd, "lib.so");
	plumb_symbolize_user(s, child.pid, 0, child.address + offset_of_mark("lib.so", "<plain>"),
			     false, &frame, 1);
	assert_string_equal(frame.function, "plain");
	assert_string_equal(frame.module, "memfd:made");
	end_child(&child);
	plumb_symbolizer_free(s);
}

/* --- code that was copied to memory of no file --- */

static void *anonymous(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
}

/* The library of FILE, with the page of its functions copied to the same address. */
static uint64_t copy_in_place(const char *file)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	void *library = dlopen(file, RTLD_NOW), *plain = library ? dlsym(library, "plain") : NULL,
	     *copy = anonymous(page), *code = (void *)((uintptr_t)plain & -page);

	if (!plain || copy == MAP_FAILED)
		return 0;
	memcpy(copy, code, page);
	if (mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, code) != code)
		return 0;
	return (uintptr_t)plain;
}

/* Between its pages, but not as the image of the file has them. */
static uint64_t put_between(const char *file)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = open(file, O_RDONLY);
	char *at = anonymous(3 * page);
	uint64_t offset = offset_of_mark(file, "<plain>");

	if (fd < 0 || at == MAP_FAILED ||
	    mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != at ||
	    mmap(at + 2 * page, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, offset & -page) !=
		    at + 2 * page)
		return 0;
	return (uintptr_t)at + page + offset % page;
}

static void code_copied_in_place_is_named(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	struct child copied = start_child(copy_in_place, "./lib.so"),
		     between = start_child(put_between, "lib.so");

	assert_string_equal(name(s, copied.pid, copied.address), "plain");
	assert_memory_equal(name(s, between.pid, between.address), "[anon]+", 7);
	assert_int_equal(plumb_symbolizer_note(s, copied.pid), 0); /* again */
	assert_string_equal(name(s, copied.pid, copied.address), "plain");
	end_child(&copied);
	end_child(&between);
	plumb_symbolizer_free(s);
}

/* --- without rights on /proc/PID/map_files --- */

static bool drop_rights(void)
{
	return geteuid() ||
	       (!setgroups(0, NULL) && !setresgid(65534, 65534, 65534) &&
		!setresuid(65534, 65534, 65534) && !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

/* Maps over/used.so, then calls CHANGE: the code has that name.  How many files were not read. */
static int name_without_rights(int (*change)(void), const char *expected)
{
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t at;
	int status;
	pid_t pid;

	run("mkdir -p over && cp lib.so over/used.so");
	pid = fork();
	if (!pid) {
		at = map_file("over/used.so") + offset_of_mark("lib.so", "<plain>");
		map_file("fixed");
		map_file("over/used.so");
		if (change() || !drop_rights())
			_exit(1);
		at = strncmp(name(s, getpid(), at), expected, strlen(expected));
		_exit(at ? 2 : 10 + plumb_symbolizer_counts(s)->unread);
	}
	waitpid(pid, &status, 0);
	plumb_symbolizer_free(s);
	assert_true(WIFEXITED(status));
	assert_between(WEXITSTATUS(status), 10, 20);
	return WEXITSTATUS(status) - 10;
}

static int change_nothing(void)
{
	return 0;
}

static int replace_file(void)
{
	return system("cp lib.so other.so && mv other.so over/used.so");
}

static int hide_file(void)
{
	return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("none", "over", "tmpfs", 0, NULL) || system("cp lib.so over/used.so");
}

static void without_rights_the_path_is_believed_if_it_is_that_file(void **state)
{
	int unread = name_without_rights(change_nothing, "plain"); /* this program may be */

	assert_int_equal(name_without_rights(replace_file, "used.so+"), unread + 1);
	if (!geteuid())
		assert_int_equal(name_without_rights(hide_file, "used.so+"), unread + 1);
}

/* --- many --- */

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void copies_are_read_once_and_few_files_are_open(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	uint64_t copies[8], others[300], offset = offset_of_mark("lib.so", "<plain>");
	size_t before, files, size;
	char file[32], *data = contents("fixed", &size);

	assert_int_equal(plumb_symbolizer_note(s, getpid()), 0);
	before = open_descriptors();
	files = plumb_symbolizer_counts(s)->files;
	for (size_t i = 0; i < LENGTH(copies); i++) {
		snprintf(file, sizeof(file), "copy%zu", i);
		run("cp lib.so %s", file);
		copies[i] = map_file(file);
	}
	assert_int_equal(plumb_symbolizer_note(s, getpid()), 0);
	assert_between(plumb_symbolizer_counts(s)->files - files, 0, 1);
	assert_between(open_descriptors() - before, 0, 1);
	files = plumb_symbolizer_counts(s)->files;
	for (size_t i = 0; i < LENGTH(others); i++) { /* they have no build id */
		snprintf(file, sizeof(file), "other%zu", i);
		write_file(file, data, size);
		others[i] = map_file(file);
	}
	assert_int_equal(plumb_symbolizer_note(s, getpid()), 0);
	assert_int_equal(plumb_symbolizer_counts(s)->files - files, LENGTH(others));
	assert_between(open_descriptors(), before, before + 150);
	for (size_t i = 0; i < LENGTH(copies); i++)
		assert_string_equal(name(s, getpid(), copies[i] + offset), "plain");
	offset = offset_of_mark("fixed", "<next>");
	for (size_t i = 0; i < LENGTH(others); i++)
		assert_string_equal(name(s, getpid(), others[i] + offset), "next");
	assert_between(open_descriptors(), 0, before);
	plumb_symbolizer_free(s);
	for (size_t i = 0; i < LENGTH(others); i++)
		munmap((void *)others[i], size);
	free(data);
}

static uint64_t map_as_nobody(const char *path)
{
	return setresuid(65534, 65534, 65534) ? 0 : map_file(path);
}

static void a_build_id_is_believed_of_its_owner_only(void **state)
{
	struct plumb_symbolizer *s = new_symbolizer();
	struct child nobody;
	uint64_t files = 0, at;

	if (geteuid())
		skip();
	/* The same id and size, and other names. */
	run("sed s/plain/false/g lib.so > forged.so && chown 65534 forged.so");
	nobody = start_child(map_as_nobody, "forged.so");
	at = nobody.address + offset_of_mark("forged.so", "<false>");
	assert_int_equal(plumb_symbolizer_note(s, nobody.pid), 0);
	assert_string_equal(name(s, nobody.pid, at), "false");
	end_child(&nobody);
	files = plumb_symbolizer_counts(s)->files;
	at = map_file("lib.so") + offset_of_mark("lib.so", "<plain>");
	assert_int_equal(plumb_symbolizer_note(s, getpid()), 0);
	assert_string_equal(name(s, getpid(), at), "plain");
	assert_between(plumb_symbolizer_counts(s)->files, files, files + 1);
	plumb_symbolizer_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deleted_file_has_names),
		cmocka_unit_test(a_file_of_another_mount_namespace_has_names),
		cmocka_unit_test(a_file_in_memory_has_names),
		cmocka_unit_test(code_copied_in_place_is_named),
		cmocka_unit_test(without_rights_the_path_is_believed_if_it_is_that_file),
		cmocka_unit_test(copies_are_read_once_and_few_files_are_open),
		cmocka_unit_test(a_build_id_is_believed_of_its_owner_only),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
