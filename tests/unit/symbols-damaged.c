// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbols-damaged: files that are damaged, huge, or of another kind. */
#include "symbols-files.h"
#include <errno.h>
#include <sys/resource.h>

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

	run("${CC:-cc} -O2 -g -nostdlib -fPIC -shared inline.c s.S -o all.so;"
	    "nm lib.so | grep inner | cut -d' ' -f3 >names;"
	    "objcopy -S --keep-symbols=names lib.so mini && xz -f mini &&"
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

	plumb_symbolize_user(s, getpid(), 0, base + 8, false, &frame, 1);
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

/* The memory, kB, that it takes to read a file with this many sections, with N symbol tables. */
static long memory_for(uint64_t sections, size_t n)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(true);
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = 4096,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	const Elf64_Shdr first = {.sh_size = sections};
	const Elf64_Shdr strings = {.sh_type = SHT_STRTAB, .sh_offset = 8192, .sh_size = 4096};
	struct rusage before, after;
	struct plumb_symfile *file;
	int fd = memfd_create("many", 0);

	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &first, sizeof(first), 4096), sizeof(first));
	assert_int_equal(pwrite(fd, &strings, sizeof(strings), 4096 + sizeof(first)),
			 sizeof(strings));
	for (size_t i = 0; i < n; i++) {
		const Elf64_Shdr table = {.sh_type = SHT_SYMTAB,
					  .sh_offset = 1UL << 34,
					  .sh_size = 24UL << 20,
					  .sh_entsize = 24,
					  .sh_link = 1};

		assert_int_equal(pwrite(fd, &table, sizeof(table), 4096 + (2 + i) * sizeof(table)),
				 sizeof(table));
	}
	assert_int_equal(ftruncate(fd, 1UL << 35), 0);
	getrusage(RUSAGE_SELF, &before);
	file = plumb_symfile_get(s, fd, "/many", -1);
	assert_non_null(file);
	plumb_symfile_read(s, file);
	getrusage(RUSAGE_SELF, &after);
	plumb_symbolizer_free(s);
	return after.ru_maxrss - before.ru_maxrss;
}

static void more_sections_than_a_program_has_take_no_memory(void **state)
{
	assert_between(memory_for(8 << 20, 0), 0, 64 << 10);
}

static void all_tables_together_have_a_limit(void **state)
{
	assert_between(memory_for(80, 78), 0, 800 << 10);
}

static void nothing_but_files_is_opened(void **state)
{
	int root = open("/", O_PATH), fd;

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

/* The text of the file that PATH leads to below the directory "root"; -errno. */
static int found(const char *path, bool follow)
{
	int root = open("root", O_PATH), fd = plumb_open_in_root(root, path, follow);
	char c = 0;

	if (fd >= 0) {
		assert_int_equal(read(fd, &c, 1), 1);
		close(fd);
	}
	close(root);
	return fd < 0 ? fd : c;
}

static void no_path_leads_out_of_a_root(void **state)
{
	char deep[3 * 70 + 8] = "";

	run("echo outside >f; mkdir -p root/a/b root/c && echo inside >root/f && echo below "
	    ">root/a/b/g");
	run("cd root && ln -s /f absolute && ln -s ../../../f up && ln -s a dir && ln -s g "
	    "a/b/same && "
	    "ln -s loop loop && ln -s nowhere dangling && ln -s ../../../../../../../../etc/passwd "
	    "out");
	assert_int_equal(found("/f", true), 'i');
	assert_int_equal(found("f", true), 'i');
	assert_int_equal(found("//./a/../f", true), 'i');
	assert_int_equal(found("/../../f", true), 'i');
	assert_int_equal(found("a/b/g", false), 'b');
	assert_int_equal(found("dir/b/g", false), 'b'); /* only the last name must be no link */
	assert_int_equal(found("a/b/same", true), 'b');
	assert_int_equal(found("a/b/same", false), -EINVAL);
	assert_int_equal(found("absolute", true), 'i');
	assert_int_equal(found("up", true), 'i');
	assert_int_equal(found("c/../up", true), 'i');
	assert_int_equal(found("loop", true), -ELOOP);
	assert_int_equal(found("dangling", true), -ENOENT);
	assert_int_equal(found("out", true), -ENOENT); /* there is none in this root */
	assert_int_equal(found("f/g", true), -ENOTDIR);
	assert_true(found("a", true) < 0);
	assert_true(found("", true) < 0);
	run("cd root && d=.; for i in $(seq 70); do d=$d/d; done; mkdir -p $d && echo deep >$d/f");
	for (int i = 0; i < 70; i++)
		strcat(deep, "d/");
	strcat(deep, "f");
	assert_int_equal(found(deep, true), -ENAMETOOLONG);
	run("rm -r root f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_files_do_no_damage),
		cmocka_unit_test(what_is_no_elf_file_is_counted),
		cmocka_unit_test(a_table_too_large_to_be_true_is_not_read),
		cmocka_unit_test(more_sections_than_a_program_has_take_no_memory),
		cmocka_unit_test(all_tables_together_have_a_limit),
		cmocka_unit_test(nothing_but_files_is_opened),
		cmocka_unit_test(no_path_leads_out_of_a_root),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
