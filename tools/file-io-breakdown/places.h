/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* places: the functions of the kernel in which threads wait for the page cache or a file system. */
#pragma once

#include <stddef.h>

#include "file-io-breakdown.h"

/*
 * Writes those that this kernel has to PLACES, by address, and fills the rest with places that
 * contain no address.  Returns their number; 0: none, or addresses are hidden.
 */
size_t places_find(struct io_place places[IO_PLACES]);
