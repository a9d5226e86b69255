// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* image: the kernel's table of symbols in the forms that it has had, and what is unpacked. */
#include "said.h"
#include "kallsyms.h"
#include "image/file.h"
#include <errno.h>
#include <sys/stat.h>

/* --- a table of symbols --- */

static void each_form_of_the_table_is_read(void **state)
{
	static const uint64_t span = BASE + 0x1000000;
	struct plumb_span s = {.address = span, .bytes = made.bytes};
	char name[512], line[600], *text, *p;
	bool is_relative;

	for (enum form form = BEFORE_6_2; form < N_FORMS; form++) {
		make_table(form, span);
		s.size = made.n;
		p = text = plumb_image_symbols(&s, &is_relative);
		check(text, "form %d", form);
		check(is_relative == (form == NOW), "form %d", form);
		for (int i = 0; i < SYMBOLS; i++) {
			name_of(i, name);
			sprintf(line, "%016lx %c %s\n", address_of(i, form), name[0], name + 1);
			check(!strncmp(p, line, strlen(line)), "form %d, %d: %.60s, not %s", form,
			      i, p, line);
			p += strlen(line);
		}
		assert_int_equal(*p, 0);
		free(text);
	}
}

/* Whatever is wrong with it: never more than none, and never outside of it. */
static void damaged_tables_are_survived(void **state)
{
	struct plumb_span s = {.address = BASE};
	unsigned char *copy;
	uint64_t random = 1;
	bool is_relative;
	int good = 0;

	for (int i = 0; i < 400; i++) {
		make_table(i % N_FORMS, BASE);
		s.size = i % 2 ? made.n : made.n * (i + 1) / 400;
		copy = malloc(s.size); /* its end is where the memory ends */
		assert_non_null(copy);
		memcpy(copy, made.bytes, s.size);
		for (int flips = 0; i % 2 && flips < 3; flips++)
			copy[next_random(&random) % s.size] ^= 1 << next_random(&random) % 8;
		s.bytes = copy;
		char *text = plumb_image_symbols(&s, &is_relative);

		good += text != NULL;
		free(text);
		free(copy);
	}
	check(good > 10 && good < 390, "%d", good);
}

/* --- files --- */

static char root[] = "/tmp/image.XXXXXX";

/* A little ELF that is linked where kernels are, and says what they say. */
static int make_kernel(void **state)
{
	static const char source[] = ".globl _start; _start: nop; nop\n"
				     ".section .rodata; .ascii \"Linux version %s (\"; .ascii "
				     "\"Linux version 6.99.1-x86 (a)\"\n"
				     ".section .init.text,\"ax\"; nop\n"
				     ".section .note.GNU-stack,\"\",%progbits\n";
	FILE *f;

	if (!mkdtemp(root) || chdir(root))
		return -1;
	f = fopen("k.S", "w");
	assert_non_null(f);
	fputs(source, f);
	fclose(f);
	return system("${CC:-cc} -nostdlib -static -Wl,--build-id=0x0123456789abcdef "
		      "-Wl,-Ttext=0x1000000 k.S -o vmlinux && "
		      "gzip -k vmlinux && cp vmlinux.gz k.gzip && xz -k -c vmlinux >k.xz && "
		      "xz -c --format=lzma vmlinux >k.lzma && zstd -q -k vmlinux -o k.zstd && "
		      "lz4 -q -l vmlinux k.lz4 && bzip2 -c vmlinux >k.bzip2");
}

static int remove_files(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return chdir("/") || system(command);
}

static unsigned char *contents(const char *path, size_t *size)
{
	unsigned char *data = malloc(1 << 20);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(data);
	*size = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static void write_file(const char *path, const void *head, size_t n, const void *data, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(head, 1, n, f), n);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* A bzImage, whose payload ends with its unpacked size. */
static void wrap_x86(const char *from, const char *to)
{
	unsigned char head[3 * 512 + 16] = {}, *data;
	uint32_t offset = 16, length;
	size_t size;

	data = contents(from, &size);
	length = size + 4;
	head[0x1f1] = 2;
	memcpy(head + 0x202, "HdrS", 4);
	head[0x206] = 15;
	head[0x207] = 2;
	memcpy(head + 0x248, &offset, 4);
	memcpy(head + 0x24c, &length, 4);
	memcpy(data + size, "size", 4);
	write_file(to, head, sizeof(head), data, size + 4);
	free(data);
}

/* EFI's zboot form. */
static void wrap_zboot(const char *from, const char *to)
{
	unsigned char head[64] = "MZ\0\0zimg", *data;
	uint32_t offset = sizeof(head), length;
	size_t size;

	data = contents(from, &size);
	length = size;
	memcpy(head + 8, &offset, 4);
	memcpy(head + 12, &length, 4);
	write_file(to, head, sizeof(head), data, size);
	free(data);
}

static void check_kernel(const char *path)
{
	static const unsigned char id[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	struct plumb_image image;
	bool has_code = false, has_init = false;

	check(!plumb_image_open(path, &image), "%s", path);
	assert_string_equal(image.release, "6.99.1-x86");
	assert_int_equal(image.build_id_size, sizeof(id));
	assert_memory_equal(image.build_id, id, sizeof(id));
	assert_null(image.symbols);
	assert_null(image.btf);
	for (size_t i = 0; i < image.n_spans; i++) {
		has_code |= image.spans[i].is_code && image.spans[i].address == 0x1000000;
		has_init |= image.spans[i].is_code && image.spans[i].is_init;
		check(!image.spans[i].is_code ||
			      image.spans[i].is_init == (image.spans[i].address != 0x1000000),
		      "code for boot is told apart");
	}
	check(has_code && has_init, "%s", path);
	plumb_image_close(&image);
	assert_null(image.spans);
}

static void each_wrapping_is_taken_off(void **state)
{
	static const char *const packed[] = {"k.gzip", "k.xz", "k.lzma", "k.zstd", "k.lz4"};

	check_kernel("vmlinux");
	check_kernel("vmlinux.gz");
	for (size_t i = 0; i < LENGTH(packed); i++) {
		wrap_x86(packed[i], "bzImage");
		check_kernel("bzImage");
		wrap_zboot(packed[i], "zboot");
		check_kernel("zboot");
	}
}

static void refuses(const char *path, int error, const char *words)
{
	struct plumb_image image;
	const char *text;
	int err;

	listen_to_stderr();
	err = plumb_image_open(path, &image);
	text = said();
	check(strstr(text, words), "'%s' says: %s", path, text);
	check(err == -error, "'%s' is %d", path, err);
	assert_null(image.spans);
	assert_null(image.file);
}

static void what_is_no_kernel_is_refused(void **state)
{
	refuses("none", ENOENT, "cannot open none: No such file");
	refuses("/dev/null", EINVAL, "/dev/null is not a file, or empty");
	refuses("k.S", ENOEXEC, "k.S is not a kernel that can be read");
	wrap_x86("k.bzip2", "bzImage");
	refuses("bzImage", ENOTSUP, "bzImage is compressed by bzip2, which is not read");
	wrap_x86("k.S", "bzImage");
	refuses("bzImage", ENOTSUP, "bzImage is compressed in a way that is not known");
	wrap_x86("k.zstd", "bzImage");
	assert_int_equal(truncate("bzImage", 3 * 512 + 200), 0);
	refuses("bzImage", EBADMSG, "bzImage is cut off");
}

/* Cut off, and with one byte changed, in the middle of what is packed. */
static void what_is_damaged_is_refused(void **state)
{
	static const char *const packed[] = {"k.gzip", "k.xz", "k.zstd"};
	unsigned char *data;
	size_t size;

	for (size_t i = 0; i < LENGTH(packed); i++) {
		data = contents(packed[i], &size);
		write_file("part", data, size / 2, "", 0);
		wrap_zboot("part", "zboot");
		refuses("zboot", EBADMSG, "zboot cannot be unpacked");
		data[size / 2] ^= 0x55;
		data[size / 2 + 1] ^= 0x55;
		write_file("part", data, size, "", 0);
		wrap_zboot("part", "zboot");
		free(data);
		/* zstd has no checksum where it is not asked for. */
		if (strcmp(packed[i], "k.zstd"))
			refuses("zboot", EBADMSG, "it is damaged");
	}
}

/* 600 MB of zeros take 600 kB. */
static void what_unpacks_without_end_is_refused(void **state)
{
	assert_int_equal(system("head -c 600M /dev/zero | gzip -1 >bomb"), 0);
	refuses("bomb", EFBIG, "it is too large");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_of_the_table_is_read),
		cmocka_unit_test(damaged_tables_are_survived),
		cmocka_unit_test(each_wrapping_is_taken_off),
		cmocka_unit_test(what_is_no_kernel_is_refused),
		cmocka_unit_test(what_is_damaged_is_refused),
		cmocka_unit_test(what_unpacks_without_end_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_kernel, remove_files);
}
