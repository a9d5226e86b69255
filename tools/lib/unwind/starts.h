/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* starts: where the functions begin that an unwind table has. */
#pragma once

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_starts {
	uint64_t *all; /* sorted, if the file is as it should be; the caller's */
	size_t n;
};

struct unwind_starts unwind_starts_of(Elf *elf);
