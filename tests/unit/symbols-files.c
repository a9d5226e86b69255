// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbols-files: names from files of all kinds, their debug files, and damaged ones. */
#include "specimen.h"
#include "../../tools/lib/symbols/symbols.h"
#include <sys/resource.h>

static const char source[] =
	"#define BEGIN(name) .type name,%function; name:\n"
	"#define GLOBAL(name) .globl name; BEGIN(name)\n"
	"#define END(name) .size name,.-name\n"
	".text\n"
	"GLOBAL(plain) .ascii \"<plain>\"; END(plain)\n"
	"BEGIN(inner) .ascii \"<inner>\"; END(inner)\n"
	"GLOBAL(__alias) GLOBAL(_alias) GLOBAL(alias) GLOBAL(another_alias)\n"
	"BEGIN(a) .ascii \"<alias>\"; END(__alias); END(_alias); END(alias); END(another_alias)\n"
	"END(a)\n"
	"GLOBAL(around) .ascii \"<before>\"; BEGIN(nested) .ascii \"<nested>\"; END(nested)\n"
	"label: .ascii \"<behind>\"; END(around)\n"
	".ascii \"<none>\"\n"
	"GLOBAL(unsized) .ascii \"<unsized>\"\n"
	"unsized_label: .ascii \"<label>\"\n"
	".section .text.other,\"ax\",%progbits; .ascii \"<nothing>\"\n"
	".section .text.mangled,\"ax\",%progbits\n"
	"GLOBAL(_ZN3foo3barEi) .ascii \"<mangled>\"; END(_ZN3foo3barEi)\n"
	".globl thing; .type thing,%object; thing: .ascii \"<thing>\"; .size thing,7\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static const char inlining[] =
	"#define ALWAYS static inline __attribute__((always_inline))\n"
	"ALWAYS void innermost(void) { asm volatile(\".ascii \\\"<innermost>\\\"\"); }\n"
	"ALWAYS void middle(void) { asm volatile(\".ascii \\\"<middle>\\\"\"); innermost(); }\n"
	"__attribute__((section(\".text.far\"))) void outer(void)\n"
	"{ asm volatile(\".ascii \\\"<outer>\\\"\"); { int x; asm volatile(\"\" : \"=r\"(x));"
	" middle(); asm volatile(\"\" :: \"r\"(x)); } asm volatile(\".ascii \\\"<end>\\\"\"); }\n"
	"void other(void) { asm volatile(\".ascii \\\"<other>\\\"\"); }\n";

static int make_files(void **state)
{
	(void)state;
	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	write_file("inline.c", inlining, strlen(inlining));
	run("${CC:-cc} -nostdlib -fPIC -shared -Wl,--build-id s.S -o lib.so");
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	return remove_specimens();
}

/* --- what an address in a file is called --- */

static char text[256];

/* The innermost name of what is at MARK in SYMBOLS_OF, in FILE, which PID has mapped to BASE. */
static const char *name_there(pid_t pid, uint64_t base, const char *file, const char *mark)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct plumb_frame_name frame;

	assert_non_null(s);
	assert_int_equal(
		plumb_symbolize_user(s, pid, base + offset_of_mark(file, mark), false, &frame, 1),
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
	(void)state;
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
	(void)state;
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

	(void)state;
	for (size_t i = 0; i < LENGTH(flags); i++) {
		run("${CC:-cc} -nostdlib s.S %s -o kind", flags[i]);
		assert_string_equal(name("kind", "<plain>"), "plain");
		assert_string_equal(name("kind", "<inner>"), "inner");
	}
}

/* --- names that are elsewhere --- */

static void stripped_files_have_the_names_that_are_left(void **state)
{
	(void)state;
	run("strip lib.so -o stripped.so");
	assert_string_equal(name("stripped.so", "<plain>"), "plain");
	assert_string_equal(name("stripped.so", "<inner>"), unnamed("stripped.so", "<inner>"));
}

static void a_compressed_symbol_table_is_read(void **state)
{
	(void)state;
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
	(void)state;
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
	(void)state;
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

	(void)state;
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

/* --- inline functions --- */

/* "innermost,middle,outer" */
static const char *chain(const char *file, const char *mark, size_t max)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(true);
	uint64_t base = map_file(file), at = base + offset_of_mark(file, mark);
	struct plumb_frame_name frames[8] = {};
	size_t n, size;

	n = plumb_symbolize_user(s, getpid(), at, false, frames, max);
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

	(void)state;
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

/* --- what is no good --- */

/* All that a mapped file is asked, of DATA; how much of it was found. */
static size_t read_file(const void *data, size_t size, uint64_t offset)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(true);
	struct plumb_symfile *file;
	const char *names[8];
	uint64_t address;
	size_t found = 0;
	int fd = memfd_create("damaged", 0);

	assert_int_equal(write(fd, data, size), size);
	file = plumb_symfile_get(s, fd, "/damaged", -1);
	assert_non_null(file);
	plumb_symfile_read(s, file);
	for (uint64_t end = offset + 500; offset < end; offset += 5) {
		if (!plumb_symfile_address(file, offset, &address))
			continue;
		found += !!plumb_symtab_find(&file->table, address);
		if (file->inlines)
			found += plumb_inlines_find(file->inlines, address, names, LENGTH(names));
	}
	plumb_symbolizer_free(s);
	return found;
}

static void damaged_files_do_no_damage(void **state)
{
	uint64_t random = 42, mark;
	size_t size, at, whole, found = 0;
	char *data;

	(void)state;
	run("${CC:-cc} -O2 -g -nostdlib -fPIC -shared inline.c s.S -o all.so;"
	    "objcopy --add-section .gnu_debugdata=mini.xz all.so damaged.so");
	data = contents("damaged.so", &size);
	mark = offset_of_mark("damaged.so", "<innermost>");
	whole = read_file(data, size, mark);
	assert_true(whole > 3);
	for (size_t n = 0; n < size; n += size / 300 + 1)
		read_file(data, n, mark);
	for (int i = 0; i < 3000; i++) {
		char *copy = malloc(size);

		memcpy(copy, data, size);
		for (int k = 0; k < 1 + i % 4; k++) {
			/* The headers, at either end, twice as often as the rest. */
			at = next_random(&random) % (i % 3 == 0 ? 1024 : size);
			at = i % 3 == 1 ? size - 1 - at % 3000 : at;
			copy[at] = next_random(&random);
		}
		found += read_file(copy, size, mark);
		free(copy);
	}
	assert_between(found, 1000, 3000 * whole); /* most are only a little damaged */
	free(data);
}

static void what_is_no_elf_file_is_counted(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct plumb_frame_name frame;
	uint64_t base = map_file("inline.c");

	(void)state;
	plumb_symbolize_user(s, getpid(), base + 8, false, &frame, 1);
	assert_string_equal(plumb_frame_name_text(&frame, text, sizeof(text)), "inline.c+0x8");
	assert_int_equal(plumb_symbolizer_counts(s)->unread, 1);
	plumb_symbolizer_note(s, getpid());
	assert_int_equal(plumb_symbolizer_counts(s)->unread, 1);
	plumb_symbolizer_free(s);
	munmap((void *)base, strlen(inlining));
}

/* A file that claims a large table may have it, of zeros that take no room. */
static void a_table_too_large_to_be_true_is_not_read(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct rusage before, after;
	struct plumb_symfile *file;
	Elf64_Ehdr header;
	Elf64_Shdr section;
	int fd;

	(void)state;
	run("cp lib.so huge.so");
	fd = open("huge.so", O_RDWR);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (int i = 0; i < header.e_shnum; i++) {
		off_t at = header.e_shoff + i * sizeof(section);

		assert_int_equal(pread(fd, &section, sizeof(section), at), sizeof(section));
		if (section.sh_type == SHT_SYMTAB)
			section.sh_size = 24UL << 24;
		assert_int_equal(pwrite(fd, &section, sizeof(section), at), sizeof(section));
	}
	assert_int_equal(ftruncate(fd, 32UL << 30), 0);
	getrusage(RUSAGE_SELF, &before);
	file = plumb_symfile_get(s, fd, "/huge", -1);
	plumb_symfile_read(s, file);
	getrusage(RUSAGE_SELF, &after);
	assert_between(file->table.n, 1, 100); /* of the other table */
	assert_between(after.ru_maxrss - before.ru_maxrss, 0, 64 << 10);
	plumb_symbolizer_free(s);
}

static void nothing_but_files_is_opened(void **state)
{
	int root = open("/", O_PATH), fd;

	(void)state;
	run("mkfifo fifo");
	assert_true(plumb_open_here("/dev/null") < 0);
	assert_true(plumb_open_here("fifo") < 0);
	assert_true(plumb_open_here("/") < 0);
	assert_true(plumb_open_here("none") < 0);
	assert_true(plumb_open_in_root(root, "/dev/null", true) < 0);
	assert_true(plumb_open_in_root(root, "/proc/self/exe", true) < 0);
	fd = plumb_open_here("lib.so");
	assert_true(fd >= 0);
	close(fd);
	close(root);
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
		cmocka_unit_test(inlined_functions_are_frames_if_that_is_wanted),
		cmocka_unit_test(damaged_files_do_no_damage),
		cmocka_unit_test(what_is_no_elf_file_is_counted),
		cmocka_unit_test(a_table_too_large_to_be_true_is_not_read),
		cmocka_unit_test(nothing_but_files_is_opened),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
