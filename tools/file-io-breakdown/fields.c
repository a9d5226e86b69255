/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fields.h"

#include <stdio.h>
#include <string.h>
#include <plumb/functions/disk.h>
#include <plumb/syscalls/syscall-options.h>

const struct plumb_part_name io_parts[IO_ALL_PARTS] = {
	{"on-cpu", "CPU", "on_cpu", IO_ON_CPU},
	{"preempted", "PREE", "preempted", IO_PREEMPTED},
	{"runq", "RUNQ", "runq", IO_RUNQ},
	{"idle wakeup", "WAKE", "wake", IO_WAKE},
	{"device", "DEV", "device", IO_DEVICE},
	{"queue", "QUEUE", "queue", IO_QUEUE},
	{"other device", "ODEV", "other_device", IO_OTHER_DEVICE},
	{"other queue", "OQUE", "other_queue", IO_OTHER_QUEUE},
	{"page cache", "CACHE", "page_cache", IO_CACHE},
	{"file system", "FS", "file_system", IO_FS},
	{"unexplained", "UNEX", "unexplained", IO_UNEXPLAINED},
	{"return", "RET", "return", IO_RETURN},
};

static void format_fs(const void *key, char *text, size_t size)
{
	const struct io_key *k = key;

	snprintf(text, size, "%.*s", IO_NAME_LEN, *k->fs ? k->fs : "-");
}

static void format_disk(const void *key, char *text, size_t size)
{
	plumb_disk_name(((const struct io_key *)key)->dev, text, size);
}

const struct plumb_field *io_fields(void)
{
	static struct plumb_field all[IO_N_FIELDS] = {
		{"fs", IO_BY_FS, .format = format_fs},
		{"disk", IO_BY_DISK, .format = format_disk},
	};

	/* The key begins with that of a system call. */
	all[2] = plumb_syscall_fields[0];
	all[3] = plumb_syscall_fields[1];
	return all;
}
