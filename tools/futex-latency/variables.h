/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* variables: the variables of an ELF file, by address. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/symbols/maps.h>

struct variables;

/*
 * Those of the file that FD refers to and VMA has mapped, by the symbols of the file itself or of
 * its debug file.  They are read once for each file; there are none if it is not an ELF file.
 * NULL: it cannot be looked at.
 */
const struct variables *variables_of(int fd, const struct plumb_vma *vma);

/* The address in the file of OFFSET; false: no segment has it. */
bool variables_address(const struct variables *v, uint64_t offset, uint64_t *address);
/* Whether ADDRESS is in a segment that can be written to, including what has no place in the file.
 */
bool variables_have(const struct variables *v, uint64_t address);

/* The variable that ADDRESS is in, and how far; NULL: none is known. */
const char *variables_find(const struct variables *v, uint64_t address, uint64_t *offset);
