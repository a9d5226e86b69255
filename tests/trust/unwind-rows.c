// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* unwind-rows: the unwind table that is made of a file, a line for each row, for
 * tests/trust/unwind-rows.t. */
#include "../../tools/lib/unwind/rows.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <plumb/symbols/elffile.h>

int main(int argc, char **argv)
{
	static const char *const how[] = {
		[PLUMB_UNWIND_NONE] = "none",   [PLUMB_UNWIND_SP] = "rsp",
		[PLUMB_UNWIND_BP] = "rbp",      [PLUMB_UNWIND_ALIGNED] = "aligned",
		[PLUMB_UNWIND_PLT] = "plt",     [PLUMB_UNWIND_SIGNAL] = "signal",
		[PLUMB_UNWIND_RDI] = "rdi",     [PLUMB_UNWIND_END] = "end",
		[PLUMB_UNWIND_OTHER] = "other",
	};
	struct unwind_rows rows;
	Elf *elf;
	int fd;

	elf_version(EV_CURRENT);
	fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	elf = fd < 0 ? NULL : plumb_elf_begin(fd, ELF_C_READ);
	if (!elf)
		return 1;
	rows = unwind_rows_of(elf);
	for (size_t i = 0; i < rows.n; i++)
		printf("%llx %s%+d %d\n", (unsigned long long)rows.base + rows.all[i].pc,
		       how[rows.all[i].how], 8 * rows.all[i].cfa, 8 * rows.all[i].bp);
	free(rows.all);
	elf_end(elf);
	close(fd);
	return 0;
}
