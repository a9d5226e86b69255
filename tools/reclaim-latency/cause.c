/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cause.h"

#include <stdio.h>

const char *const reclaim_kinds[RECLAIM_KINDS] = {"unknown", "direct", "memcg", "compaction"};

/* include/linux/gfp_types.h: these bits are the same from 5.10 to 7.3. */
enum {
	DMA = 1 << 0,
	HIGHMEM = 1 << 1,
	DMA32 = 1 << 2,
	MOVABLE = 1 << 3,
	RECLAIMABLE = 1 << 4,
	HIGH = 1 << 5,
	IO = 1 << 6,
	FS = 1 << 7,
	ZERO = 1 << 8,
	DIRECT_RECLAIM = 1 << 10,
	KSWAPD_RECLAIM = 1 << 11,
	WRITE = 1 << 12,
	NOWARN = 1 << 13,
	RETRY_MAYFAIL = 1 << 14,
	NOFAIL = 1 << 15,
	NORETRY = 1 << 16,
	MEMALLOC = 1 << 17,
	COMP = 1 << 18,
	NOMEMALLOC = 1 << 19,
	HARDWALL = 1 << 20,
	THISNODE = 1 << 21,
	ACCOUNT = 1 << 22,
	RECLAIM = DIRECT_RECLAIM | KSWAPD_RECLAIM,
	KERNEL = RECLAIM | IO | FS,
	USER = KERNEL | HARDWALL,
	HIGHUSER_MOVABLE = USER | HIGHMEM | MOVABLE,
	TRANSHUGE_LIGHT = (HIGHUSER_MOVABLE | COMP | NOMEMALLOC | NOWARN) & ~RECLAIM,
};

/* What is made of many bits is tried first. */
static const struct {
	__u32 bits;
	const char *name;
} names[] = {
	{TRANSHUGE_LIGHT | DIRECT_RECLAIM, "GFP_TRANSHUGE"},
	{TRANSHUGE_LIGHT, "GFP_TRANSHUGE_LIGHT"},
	{HIGHUSER_MOVABLE, "GFP_HIGHUSER_MOVABLE"},
	{USER | HIGHMEM, "GFP_HIGHUSER"},
	{USER, "GFP_USER"},
	{KERNEL | ACCOUNT, "GFP_KERNEL_ACCOUNT"},
	{KERNEL, "GFP_KERNEL"},
	{RECLAIM | IO, "GFP_NOFS"},
	{RECLAIM, "GFP_NOIO"},
	{DMA, "__GFP_DMA"},
	{HIGHMEM, "__GFP_HIGHMEM"},
	{DMA32, "__GFP_DMA32"},
	{MOVABLE, "__GFP_MOVABLE"},
	{RECLAIMABLE, "__GFP_RECLAIMABLE"},
	{HIGH, "__GFP_HIGH"},
	{IO, "__GFP_IO"},
	{FS, "__GFP_FS"},
	{ZERO, "__GFP_ZERO"},
	{DIRECT_RECLAIM, "__GFP_DIRECT_RECLAIM"},
	{KSWAPD_RECLAIM, "__GFP_KSWAPD_RECLAIM"},
	{WRITE, "__GFP_WRITE"},
	{NOWARN, "__GFP_NOWARN"},
	{RETRY_MAYFAIL, "__GFP_RETRY_MAYFAIL"},
	{NOFAIL, "__GFP_NOFAIL"},
	{NORETRY, "__GFP_NORETRY"},
	{MEMALLOC, "__GFP_MEMALLOC"},
	{COMP, "__GFP_COMP"},
	{NOMEMALLOC, "__GFP_NOMEMALLOC"},
	{HARDWALL, "__GFP_HARDWALL"},
	{THISNODE, "__GFP_THISNODE"},
	{ACCOUNT, "__GFP_ACCOUNT"},
};

void reclaim_gfp_text(__u32 gfp, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");
	const char *between = "";

	if (!out)
		return;
	if (!gfp)
		fputs("-", out);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((gfp & names[i].bits) != names[i].bits)
			continue;
		fprintf(out, "%s%s", between, names[i].name);
		between = "|";
		gfp &= ~names[i].bits;
	}
	if (gfp)
		fprintf(out, "%s%#x", between, gfp);
	fclose(out);
	text[size - 1] = 0;
}

json_t *reclaim_gfp_json(__u32 gfp)
{
	char text[RECLAIM_CAUSE];

	if (!gfp)
		return json_null();
	reclaim_gfp_text(gfp, text, sizeof(text));
	return json_string(text);
}

const char *reclaim_cause_text(const struct reclaim_cause *cause, char *text, size_t size)
{
	static const char *const what[RECLAIM_KINDS] = {"no stall that was seen", "direct reclaim",
							"memcg reclaim", "compaction"};
	char gfp[RECLAIM_CAUSE];

	if (cause->kind == RECLAIM_NONE || cause->kind >= RECLAIM_KINDS || !cause->order) {
		snprintf(text, size, "%s", what[cause->kind < RECLAIM_KINDS ? cause->kind : 0]);
		return text;
	}
	reclaim_gfp_text(cause->gfp, gfp, sizeof(gfp));
	snprintf(text, size, "%s, order %u, %s", what[cause->kind], cause->order - 1, gfp);
	return text;
}
