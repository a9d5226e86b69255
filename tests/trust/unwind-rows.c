// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * unwind-rows: the unwind table that is made of a file, its path absolute, a line for each row; or
 * with FILE N SEED of N damaged files, for tests/trust/unwind-rows.t.
 */
#include "../../tools/lib/unwind/rows.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/elffile.h>

/* --- damaged files --- */

/* A generator of Marsaglia (xorshift64): the same SEED gives the same files. */
static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Where the section begins in the file, and its size in *N. */
static size_t section(Elf *elf, const char *name, size_t *n)
{
	Elf_Scn *s = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return 0;
	while ((s = elf_nextscn(elf, s)))
		if (gelf_getshdr(s, &header) &&
		    !strcmp(elf_strptr(elf, names, header.sh_name), name)) {
			*n = header.sh_size;
			return header.sh_offset;
		}
	return 0;
}

/* Whether the rows can be searched. */
static bool are_sorted(const struct unwind_rows *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (r->all[i].pc <= r->all[i - 1].pc)
			return false;
	return true;
}

/* Reads N files that are the one of IMAGE but for some words of their tables; returns how many were
 * bad. */
static int fuzz(const char *image, size_t size, unsigned long n, uint64_t seed)
{
	static const char *const names[] = {".eh_frame", ".eh_frame_hdr", ".gopclntab"};
	static const uint64_t extremes[] = {0,
					    1,
					    0x7f,
					    0x80,
					    0xff,
					    0xffff,
					    0x7fffffff,
					    0x80000000,
					    0xffffffff,
					    0x7fffffffffffffff,
					    0x8000000000000000,
					    -1ULL};
	static const struct itimerval longest = {.it_value.tv_sec = 2}, never;
	char *copy = malloc(size);
	size_t at[3], sizes[3] = {0}, rows_of_all = 0;
	Elf *elf = elf_memory((char *)image, size);
	struct unwind_rows rows;
	int bad = 0;

	for (int i = 0; i < 3; i++)
		at[i] = section(elf, names[i], &sizes[i]);
	elf_end(elf);
	if (!copy || (!sizes[0] && !sizes[2]))
		return 1;
	for (unsigned long i = 0; i < n; i++) {
		memcpy(copy, image, size);
		for (uint64_t more = next(&seed) % 4; more < 4; more++) {
			/* One in eight: the header. */
			const int which = !sizes[0] ? 2 : next(&seed) % 8 || !sizes[1] ? 0 : 1;
			const size_t where = next(&seed) % 16
						     ? at[which] + next(&seed) % sizes[which]
						     : next(&seed) % (size - 8);
			const size_t width = 1ULL << next(&seed) % 4;
			const uint64_t value =
				next(&seed) % 2 ? next(&seed) : extremes[next(&seed) % 12];

			if (where + width <= size)
				memcpy(copy + where, &value, width);
		}
		/* Of CPU time; it kills: whoever ran this sees that not all were read. */
		setitimer(ITIMER_PROF, &longest, NULL);
		elf = elf_memory(copy, size);
		rows = unwind_rows_of(elf, NULL);
		if (!are_sorted(&rows) || rows.n > size)
			bad++;
		rows_of_all += rows.n;
		free(rows.all);
		elf_end(elf);
	}
	setitimer(ITIMER_PROF, &never, NULL);
	free(copy);
	printf("%lu files, %zu rows\n", n, rows_of_all);
	return bad;
}

static int fuzz_file(const char *path, unsigned long n, uint64_t seed)
{
	FILE *f = fopen(path, "re");
	static char image[4 << 20];
	size_t size = f ? fread(image, 1, sizeof(image), f) : 0;

	if (f)
		fclose(f);
	return !size || size == sizeof(image) || fuzz(image, size, n, seed | 1);
}

static Elf *debug_of(Elf *elf, const char *path)
{
	const int fd = plumb_debug_open(elf, path, -1, geteuid());

	return fd < 0 ? NULL : plumb_elf_begin(fd, ELF_C_READ);
}

int main(int argc, char **argv)
{
	static const char *const how[] = {
		[PLUMB_UNWIND_NONE] = "none",
		[PLUMB_UNWIND_SP] = "rsp",
		[PLUMB_UNWIND_BP] = "rbp",
		[PLUMB_UNWIND_ALIGNED] = "aligned",
		[PLUMB_UNWIND_PLT] = "plt",
		[PLUMB_UNWIND_SIGNAL] = "signal",
		[PLUMB_UNWIND_RDI] = "rdi",
		[PLUMB_UNWIND_END] = "end",
		[PLUMB_UNWIND_OTHER] = "other",
		[PLUMB_UNWIND_FP] = "fp",
		[PLUMB_UNWIND_SP_ALONE] = "sp",
#define REGISTER(number, name) [PLUMB_UNWIND_REGISTER + (number)] = (name)
		REGISTER(0, "rax"),
		REGISTER(1, "rdx"),
		REGISTER(2, "rcx"),
		REGISTER(3, "rbx"),
		REGISTER(4, "rsi"),
		REGISTER(5, "rdi"),
		REGISTER(8, "r8"),
		REGISTER(9, "r9"),
		REGISTER(10, "r10"),
		REGISTER(11, "r11"),
		REGISTER(12, "r12"),
		REGISTER(13, "r13"),
		REGISTER(14, "r14"),
		REGISTER(15, "r15"),
	};
	struct unwind_rows rows;
	Elf *elf, *debug;
	int fd;

	elf_version(EV_CURRENT);
	if (argc == 4) /* FILE N SEED */
		return fuzz_file(argv[1], strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	elf = fd < 0 ? NULL : plumb_elf_begin(fd, ELF_C_READ);
	if (!elf)
		return 1;
	debug = debug_of(elf, argv[1]);
	rows = unwind_rows_of(elf, debug);
	elf_end(debug);
	for (size_t i = 0; i < rows.n; i++)
		printf("%llx %s%+d %d\n", (unsigned long long)rows.base + rows.all[i].pc,
		       how[rows.all[i].how], 8 * rows.all[i].cfa, 8 * rows.all[i].bp);
	free(rows.all);
	elf_end(elf);
	close(fd);
	return 0;
}
