/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of page-fault-latency. */
#pragma once

#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define FAULT_BY_TYPE (PLUMB_BY_TOOL << 0)
#define FAULT_BY_KIND (PLUMB_BY_TOOL << 1)
#define FAULT_BY_AREA (PLUMB_BY_TOOL << 2)

#define FAULT_BY_MAPPING (FAULT_BY_KIND | FAULT_BY_AREA)

/* How it ended; the last two only with mechanisms on handle_mm_fault(), whose calls are attempts.
 */
enum fault_type { FAULT_MINOR, FAULT_MAJOR, FAULT_RETRY, FAULT_FAILED, FAULT_TYPES };

/* What the page is. */
enum fault_kind {
	FAULT_UNKNOWN, /* the mapping was not found */
	FAULT_ANONYMOUS,
	FAULT_FILE,
	FAULT_COW,
	FAULT_SWAP,
	FAULT_USERFAULTFD,
	FAULT_SPECIAL,
	FAULT_KINDS
};

#define FAULT_AREA_LEN 32

struct fault_key {
	struct plumb_who who;
	__u32 type; /* enum fault_type */
	__u32 kind; /* enum fault_kind */
	char area[FAULT_AREA_LEN];
};
_Static_assert(sizeof(struct fault_key) == 96, "no hidden padding in a hash key");
