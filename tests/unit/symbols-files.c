// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbols-files: names from files of all kinds and from their debug files. */
#include "symbols-files.h"
#include <sched.h>

/* The innermost name of what is at MARK in SYMBOLS_OF, in FILE, which PID has mapped to BASE. */
static const char *name_there(pid_t pid, uint64_t base, const char *file, const char *mark)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct plumb_frame_name frame;

	assert_non_null(s);
	assert_int_equal(plumb_symbolize_user(s, pid, 0, base + offset_of_mark(file, mark), false,
					      &frame, 1),
			 1);
	plumb_frame_name_text(&frame, text, sizeof(text));
	plumb_symbolizer_free(s);
	return text;
}

/* That of a file that this process maps. */
static const char *name(const char *file, const char *mark)
{
	uint64_t base = map_file(file);
	size_t size;

	name_there(getpid(), base, file, mark);
	free(contents(file, &size));
	munmap((void *)base, size);
	return text;
}

static const char *unnamed(const char *file, const char *mark)
{
	static char expected[128];

	snprintf(expected, sizeof(expected), "%s+0x%lx", file, offset_of_mark(file, mark));
	return expected;
}

static void each_symbol_reaches_as_far_as_it_says_or_to_the_next(void **state)
{
	assert_string_equal(name("lib.so", "<plain>"), "plain");
	assert_string_equal(name("lib.so", "plain>"), "plain");
	assert_string_equal(name("lib.so", "<inner>"), "inner");
	assert_string_equal(name("lib.so", "<before>"), "around");
	assert_string_equal(name("lib.so", "<nested>"), "nested");
	assert_string_equal(name("lib.so", "<behind>"), "around");
	assert_string_equal(name("lib.so", "<none>"), unnamed("lib.so", "<none>"));
	assert_string_equal(name("lib.so", "nsized>"), "unsized");
	assert_string_equal(name("lib.so", "<label>"), "unsized_label");
	assert_string_equal(name("lib.so", "<thing>"), unnamed("lib.so", "<thing>"));
	assert_string_equal(name("lib.so", "<mangled>"), "foo::bar(int)");
}

static void of_several_names_the_plainest_is_taken(void **state)
{
	assert_string_equal(name("lib.so", "<alias>"), "alias");
}

static void each_kind_of_file_has_names(void **state)
{
	static const char *const flags[] = {
		"-static -Wl,-e,plain",
		"-fPIE -pie -Wl,-e,plain",
		"-static -Wl,-e,plain -Wl,-Ttext=0x7000000",
		"-fPIC -shared -Wl,-Ttext-segment=0x40000000", /* prelinked */
		"-fPIC -shared -Wl,-z,noseparate-code",
#if defined(__x86_64__)
		"-m32 -fPIC -shared",
#endif
	};

	for (size_t i = 0; i < LENGTH(flags); i++) {
		run("${CC:-cc} -nostdlib s.S %s -o kind", flags[i]);
		assert_string_equal(name("kind", "<plain>"), "plain");
		assert_string_equal(name("kind", "<inner>"), "inner");
	}
}

/* --- names that are elsewhere --- */

static void stripped_files_have_the_names_that_are_left(void **state)
{
	run("strip lib.so -o stripped.so");
	assert_string_equal(name("stripped.so", "<plain>"), "plain");
	assert_string_equal(name("stripped.so", "<inner>"), unnamed("stripped.so", "<inner>"));
}

static void a_compressed_symbol_table_is_read(void **state)
{
	run("nm lib.so | grep inner | cut -d' ' -f3 >names;"
	    "objcopy -S --keep-symbols=names lib.so mini && xz -kf mini &&"
	    "objcopy -S --add-section .gnu_debugdata=mini.xz lib.so mini.so");
	assert_string_equal(name("mini.so", "<inner>"), "inner");
	assert_string_equal(name("mini.so", "<plain>"), "plain");
	run("head -c 60 mini.xz >cut; objcopy -S --add-section .gnu_debugdata=cut lib.so mini.so");
	assert_string_equal(name("mini.so", "<inner>"), unnamed("mini.so", "<inner>"));
	assert_string_equal(name("mini.so", "<plain>"), "plain");
}

static void a_debug_file_is_found_by_its_link(void **state)
{
	run("mkdir -p .debug; objcopy --only-keep-debug lib.so lib.debug;"
	    "objcopy -S --add-gnu-debuglink=lib.debug lib.so linked.so");
	assert_string_equal(name("linked.so", "<inner>"), "inner");
	run("mv lib.debug .debug");
	assert_string_equal(name("linked.so", "<inner>"), "inner");
	/* That of another build. */
	run("sed s/'<plain>'/'<PLAIN>'/ s.S >other.S;"
	    "${CC:-cc} -nostdlib -fPIC -shared -Wl,--build-id other.S -o other.so;"
	    "objcopy --only-keep-debug other.so .debug/lib.debug");
	assert_string_equal(name("linked.so", "<inner>"), unnamed("linked.so", "<inner>"));
	run("rm .debug/lib.debug");
}

static void without_a_build_id_its_checksum_tells(void **state)
{
	run("${CC:-cc} -nostdlib -fPIC -shared -Wl,--build-id=none s.S -o noid.so;"
	    "objcopy --only-keep-debug noid.so noid.debug;"
	    "objcopy -S --add-gnu-debuglink=noid.debug noid.so linked.so");
	assert_string_equal(name("linked.so", "<inner>"), "inner");
	run("printf x >>noid.debug");
	assert_string_equal(name("linked.so", "<inner>"), unnamed("linked.so", "<inner>"));
}

static uint64_t map_in_root(const char *root)
{
	return chroot(root) || chdir("/") ? 0 : map_file("stripped.so");
}

/* Its root has a link that would lead elsewhere in ours. */
static void a_debug_file_is_found_by_build_id_in_the_processs_root(void **state)
{
	unsigned char id[PLUMB_BUILD_ID_MAX];
	char path[256] = "";
	struct child child;
	size_t n;
	Elf *elf;
	int fd;

	if (geteuid())
		skip();
	elf_version(EV_CURRENT);
	fd = open("lib.so", O_RDONLY);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	n = plumb_elf_build_id(elf, id);
	elf_end(elf);
	close(fd);
	assert_int_equal(n, 20);
	for (size_t i = 0; i < n; i++)
		sprintf(path + strlen(path), i == 1 ? "/%02x" : "%02x", id[i]);
	run("mkdir -p root/usr/lib root/there/.build-id/%.2s; ln -s /there root/usr/lib/debug;"
	    "strip lib.so -o root/stripped.so; objcopy --only-keep-debug lib.so "
	    "root/there/.build-id/%s.debug",
	    path, path);
	child = start_child(map_in_root, "root");
	assert_string_equal(name_there(child.pid, child.address, "root/stripped.so", "<inner>"),
			    "inner");
	/* Another user's is not believed. */
	run("chown 65534 root/there/.build-id/%s.debug", path);
	assert_string_equal(name_there(child.pid, child.address, "root/stripped.so", "<inner>"),
			    unnamed("root/stripped.so", "<inner>") + strlen("root/"));
	assert_string_equal(name_there(child.pid, child.address, "root/stripped.so", "<plain>"),
			    "plain");
	end_child(&child);
}

/* Below the place that debuginfod-find(1) names; that of another build is not taken. */
static void what_debuginfod_has_fetched_is_a_debug_file(void **state)
{
	run("readelf -n lib.so | sed -n 's/.*Build ID: //p' >id; mkdir $(cat id);"
	    "strip lib.so -o fetched.so; objcopy --only-keep-debug lib.so $(cat id)/debuginfo");
	assert_string_equal(name("fetched.so", "<inner>"), unnamed("fetched.so", "<inner>"));
	setenv("DEBUGINFOD_CACHE_PATH", specimens, 1);
	assert_string_equal(name("fetched.so", "<inner>"), "inner");
	run("objcopy --only-keep-debug other.so "
	    "$(cat id)/debuginfo");
	assert_string_equal(name("fetched.so", "<inner>"), unnamed("fetched.so", "<inner>"));
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

/* Which of the files is found of which only the build id is left: the inode of what is opened. */
static ino_t found_of_build(void)
{
	unsigned char id[PLUMB_BUILD_ID_MAX];
	int fd = open("lib.so", O_RDONLY);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const size_t n = plumb_elf_build_id(elf, id);
	struct stat st = {};

	elf_end(elf);
	close(fd);
	fd = plumb_debug_find_build(-1, id, n);
	fstat(fd, &st);
	close(fd);
	return st.st_ino;
}

static ino_t inode_of(const char *path)
{
	struct stat st = {};

	return stat(path, &st) ? 0 : st.st_ino;
}

static void by_its_build_id_the_file_itself_is_preferred(void **state)
{
	elf_version(EV_CURRENT);
	setenv("DEBUGINFOD_CACHE_PATH", specimens, 1);
	run("rm -rf $(cat id); mkdir $(cat id); cp lib.so whole; objcopy --only-keep-debug lib.so "
	    "part");
	assert_int_equal(found_of_build(), 0);
	run("ln part $(cat id)/debuginfo");
	assert_int_equal(found_of_build(), inode_of("part"));
	run("ln whole $(cat id)/executable");
	assert_int_equal(found_of_build(), inode_of("whole"));
	run("cp other.so $(cat id)/executable"); /* of another build */
	assert_int_equal(found_of_build(), inode_of("part"));
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

/* --- owners --- */

static uint64_t map_as_1001(const char *file)
{
	return setresuid(1001, 1001, 1001) ? 0 : map_file(file);
}

/* A set-user-ID program that is this user's again, and can become root. */
static uint64_t map_as_1001_of_root(const char *file)
{
	return setresuid(1001, 1001, 0) ? 0 : map_file(file);
}

/* As user 1001 of a namespace, whose users are ours plus 100000. */
static uint64_t map_in_namespace(const char *file)
{
	static const char users[] = "0 100000 2000";
	char path[64], go;
	int fd, fds[2], done[2];

	if (pipe(fds) || pipe(done))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", getpid());
	if (!fork()) {
		fd = read(fds[0], &go, 1) == 1 ? open(path, O_WRONLY) : -1;
		if (fd < 0 || write(fd, users, strlen(users)) < 0 || write(done[1], "", 1) != 1)
			_exit(1);
		_exit(0);
	}
	close(done[1]);
	if (unshare(CLONE_NEWUSER) || write(fds[1], "", 1) != 1 || read(done[0], &go, 1) != 1 ||
	    setresuid(1001, 1001, 1001))
		return 0;
	return map_file(file);
}

/* What is seen of a file of UID in a process that maps it by MAP; 0, or 1 if it is not read. */
static uint64_t is_foreign(uint64_t (*map)(const char *), uid_t uid)
{
	struct child child;
	const char *expected;
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct plumb_frame_name frame;
	uint64_t foreign;

	run("cp lib.so owned.so");
	assert_int_equal(chown("owned.so", uid, -1), 0);
	child = start_child(map, "owned.so");
	plumb_symbolize_user(s, child.pid, 0, child.address + offset_of_mark("owned.so", "<plain>"),
			     false, &frame, 1);
	plumb_frame_name_text(&frame, text, sizeof(text));
	foreign = plumb_symbolizer_counts(s)->foreign;
	expected = foreign ? unnamed("owned.so", "<plain>") : "plain";
	assert_string_equal(text, expected);
	plumb_symbolizer_free(s);
	end_child(&child);
	return foreign;
}

static void files_of_others_are_not_read(void **state)
{
	if (geteuid())
		skip();
	unsetenv("SUDO_UID");
	assert_int_equal(is_foreign(map_file, 0), 0);
	assert_int_equal(is_foreign(map_file, 1001), 1);
	assert_int_equal(is_foreign(map_as_1001, 0), 0);
	assert_int_equal(is_foreign(map_as_1001, 1001), 0);
	assert_int_equal(is_foreign(map_as_1001, 1002), 1);
	assert_int_equal(is_foreign(map_as_1001_of_root, 1001), 0);
	assert_int_equal(is_foreign(map_as_1001_of_root, 1002), 1);
}

static void files_of_a_containers_root_are_read(void **state)
{
	if (geteuid())
		skip();
	assert_int_equal(is_foreign(map_in_namespace, 100000), 0); /* its root */
	assert_int_equal(is_foreign(map_in_namespace, 101001), 0); /* its user */
	assert_int_equal(is_foreign(map_in_namespace, 0), 0);
	assert_int_equal(is_foreign(map_in_namespace, 1001), 1); /* ours of that number */
	assert_int_equal(is_foreign(map_in_namespace, 101002), 1);
}

static void files_of_who_became_root_are_read(void **state)
{
	char login[32] = "";
	int fd = open("/proc/self/loginuid", O_RDONLY);
	bool known =
		fd >= 0 && read(fd, login, sizeof(login) - 1) > 0 && strcmp(login, "4294967295");

	if (fd >= 0)
		close(fd);
	if (geteuid() || known)
		skip();
	setenv("SUDO_UID", "1001", 1);
	assert_int_equal(is_foreign(map_file, 1001), 0);
	assert_int_equal(is_foreign(map_file, 1002), 1);
	setenv("SUDO_UID", "1001x", 1);
	assert_int_equal(is_foreign(map_file, 1001), 1);
	unsetenv("SUDO_UID");
}

/* --- inline functions --- */

/* "innermost,middle,outer" */
static const char *chain(const char *file, const char *mark, size_t max)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(true);
	uint64_t base = map_file(file), at = base + offset_of_mark(file, mark);
	struct plumb_frame_name frames[8] = {};
	size_t n, size;

	n = plumb_symbolize_user(s, getpid(), 0, at, false, frames, max);
	assert_between(n, 1, max);
	*text = 0;
	for (size_t i = 0; i < n; i++) {
		char one[64];

		assert_int_equal(frames[i].is_inlined, i < n - 1);
		strcat(strcat(text, i ? "," : ""),
		       plumb_frame_name_text(&frames[i], one, sizeof(one)));
	}
	plumb_symbolizer_free(s);
	free(contents(file, &size));
	munmap((void *)base, size);
	return text;
}

static void inlined_functions_are_frames_if_that_is_wanted(void **state)
{
	static const char *const flags[] = {"-gdwarf-5", "-gdwarf-4", "-g -ffunction-sections",
					    "-g -gz"};

	for (size_t i = 0; i < LENGTH(flags); i++) {
		run("${CC:-cc} -O2 -nostdlib -fPIC -shared -Wl,--build-id %s inline.c -o inl.so",
		    flags[i]);
		assert_string_equal(chain("inl.so", "<innermost>", 8), "innermost,middle,outer");
		assert_string_equal(chain("inl.so", "<middle>", 8), "middle,outer");
		assert_string_equal(chain("inl.so", "<outer>", 8), "outer");
		assert_string_equal(chain("inl.so", "<end>", 8), "outer");
		assert_string_equal(chain("inl.so", "<other>", 8), "other");
		assert_string_equal(chain("inl.so", "<innermost>", 2), "innermost,outer");
		assert_string_equal(chain("inl.so", "<innermost>", 1), "outer");
		assert_string_equal(name("inl.so", "<innermost>"), "outer");
	}
	run("objcopy --only-keep-debug inl.so inl.debug;"
	    "objcopy -S --add-gnu-debuglink=inl.debug inl.so stripped.so");
	assert_string_equal(chain("stripped.so", "<innermost>", 8), "innermost,middle,outer");
	/* With names, but not those of inlined functions. */
	run("objcopy -g --add-gnu-debuglink=inl.debug inl.so stripped.so");
	assert_string_equal(chain("stripped.so", "<innermost>", 8), "innermost,middle,outer");
	run("rm inl.debug");
	assert_string_equal(chain("stripped.so", "<innermost>", 8), "outer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_symbol_reaches_as_far_as_it_says_or_to_the_next),
		cmocka_unit_test(of_several_names_the_plainest_is_taken),
		cmocka_unit_test(each_kind_of_file_has_names),
		cmocka_unit_test(stripped_files_have_the_names_that_are_left),
		cmocka_unit_test(a_compressed_symbol_table_is_read),
		cmocka_unit_test(a_debug_file_is_found_by_its_link),
		cmocka_unit_test(without_a_build_id_its_checksum_tells),
		cmocka_unit_test(a_debug_file_is_found_by_build_id_in_the_processs_root),
		cmocka_unit_test(what_debuginfod_has_fetched_is_a_debug_file),
		cmocka_unit_test(by_its_build_id_the_file_itself_is_preferred),
		cmocka_unit_test(files_of_others_are_not_read),
		cmocka_unit_test(files_of_a_containers_root_are_read),
		cmocka_unit_test(files_of_who_became_root_are_read),
		cmocka_unit_test(inlined_functions_are_frames_if_that_is_wanted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
