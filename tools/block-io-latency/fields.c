/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/reasons.h>
#include <plumb/core/text.h>
#include <plumb/functions/disk.h>

static const char *const ops[BLOCK_OPS] = {
	[BLOCK_READ] = "read",
	[BLOCK_WRITE] = "write",
	[BLOCK_FLUSH] = "flush",
	[BLOCK_DISCARD] = "discard",
	[BLOCK_SECURE_ERASE] = "secure-erase",
	[BLOCK_WRITE_ZEROES] = "write-zeroes",
	[BLOCK_DRIVER] = "driver",
	[BLOCK_OTHER] = "other",
};

const char *block_op_name(uint32_t op)
{
	return ops[op < BLOCK_OPS ? op : BLOCK_OTHER];
}

static void format_disk(const void *key, char *text, size_t size)
{
	const struct block_key *k = key;

	snprintf(text, size, "%.*s", BLOCK_DISK_LEN, *k->disk ? k->disk : "-");
}

static void format_part(const void *key, char *text, size_t size)
{
	plumb_disk_name(((const struct block_key *)key)->dev, text, size);
}

static const char *const stages[BLOCK_STAGES] = {
	[BLOCK_WHOLE] = "whole",
	[BLOCK_BEFORE] = "before",
	[BLOCK_QUEUED] = "queued",
	[BLOCK_DEVICE] = "device",
};

const char *block_stage_name(uint32_t stage)
{
	return stages[stage];
}

static const char *const flags[BLOCK_FLAGS] = {
	[BLOCK_SYNC] = "sync", [BLOCK_META] = "meta",     [BLOCK_READAHEAD] = "readahead",
	[BLOCK_FUA] = "fua",   [BLOCK_POLLED] = "polled",
};

/*
 * The errno that the kernel makes of a blk_status_t (block/blk-core.c); 0: of numbers that are not
 * the same on all kernels, or unknown.
 */
static int errno_of_status(uint32_t status)
{
	static const int errors[] = {
		[1] = EOPNOTSUPP, [2] = ETIMEDOUT, [3] = ENOSPC,  [4] = ENOLINK,
		[5] = EREMOTEIO,  [6] = EBADE,     [7] = ENODATA, [8] = EILSEQ,
		[9] = ENOMEM,     [10] = EIO,      [11] = EAGAIN, [12] = EAGAIN,
	};

	return status < sizeof(errors) / sizeof(errors[0]) ? errors[status] : 0;
}

static void format_errno(const void *key, char *text, size_t size)
{
	uint32_t error = ((const struct block_key *)key)->error;
	bool is_status = error >= BLOCK_STATUS;
	uint32_t number = is_status ? (uint32_t)errno_of_status(error - BLOCK_STATUS) : error;

	if (error && !number)
		snprintf(text, size, "status-%u", error - BLOCK_STATUS);
	else
		snprintf(text, size, "%s", error ? plumb_errno_name(number) : "0");
}

const struct plumb_field block_fields[BLOCK_N_FIELDS] = {
	{"disk", BLOCK_BY_DISK, .format = format_disk},
	{"part", BLOCK_BY_PART, .format = format_part},
	{PLUMB_NAMED_FIELD("op", BLOCK_BY_OP, PLUMB_NAME, block_key, op, ops)},
	{PLUMB_NAMED_FIELD("flags", BLOCK_BY_FLAGS, PLUMB_FLAGS, block_key, flags, flags)},
	{PLUMB_FIELD("size", BLOCK_BY_SIZE, PLUMB_BYTES_2, block_key, size)},
	{"errno", BLOCK_BY_ERRNO, .format = format_errno},
	{PLUMB_NAMED_FIELD("stage", BLOCK_BY_STAGE, PLUMB_NAME, block_key, stage, stages)},
};
