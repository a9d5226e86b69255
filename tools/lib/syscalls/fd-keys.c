/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <plumb/core/run.h>
#include <plumb/kernel/map.h>
#include <plumb/syscalls/arguments.h>
#include <plumb/syscalls/descriptors.h>
#include <plumb/syscalls/syscall-options.h>

#include <bpf/libbpf.h>

static uint32_t by, max_keys;
static const struct bpf_object *used;

int plumb_fds_prepare(struct plumb_options *o)
{
	by = o->by;
	max_keys = o->max_keys;
	return 0;
}

/* At its entry the file of close() is still open, too. */
static void set_arguments(uint8_t arguments[2 * PLUMB_SYSCALLS])
{
	static struct syscall_shape shapes[2 * PLUMB_SYSCALLS];

	plumb_call_shapes(shapes);
	for (uint32_t i = 0; i < 2 * PLUMB_SYSCALLS; i++)
		if (shapes[i].descriptors[0] != SYSCALL_RESULT)
			arguments[i] = shapes[i].descriptors[0];
	for (uint32_t abi = 0; abi < 2; abi++) {
		int nr = plumb_syscall_number("close", abi);

		if (nr >= 0 && nr < PLUMB_SYSCALLS)
			arguments[abi * PLUMB_SYSCALLS + nr] = 1;
	}
}

void plumb_fds_configure(const struct plumb_bpf *bpf, uint8_t *arguments, int32_t *connects,
			 bool calibration)
{
	if (!(by & PLUMB_BY_FD))
		return;
	set_arguments(arguments);
	for (uint32_t abi = 0; abi < 2; abi++) {
		connects[abi] = plumb_syscall_number("connect", abi);
		if (connects[abi] < 0)
			connects[abi] = PLUMB_NO_SYSCALL;
	}
	/* More than rows, since a file may be seen only in calls that are filtered at exit. */
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_fds"),
				 2 * max_keys);
	if (!calibration)
		used = bpf->object;
}

/* "</path>" as "/path"; of what does not fit, the end, after "...". */
static void take(const char *from, char *text, size_t size)
{
	const size_t length = strlen(from);

	if (length < 2)
		snprintf(text, size, "?");
	else if (length - 2 < size)
		snprintf(text, size, "%.*s", (int)length - 2, from + 1);
	else
		snprintf(text, size, "...%.*s", (int)size - 4, from + length - 1 - (size - 4));
}

void plumb_fd_format(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;
	const int map = used ? bpf_object__find_map_fd_by_name(used, "plumb_fds") : -1;
	char full[PLUMB_DESCRIPTOR_TEXT];
	struct plumb_descriptor d;

	if (k->fd == PLUMB_FD_NONE)
		snprintf(text, size, "-");
	else if (k->fd == PLUMB_FD_CWD)
		snprintf(text, size, "AT_FDCWD");
	else if (k->fd == PLUMB_FD_CLOSED)
		snprintf(text, size, "not open");
	else if (map < 0 || plumb_map_lookup(map, &k->fd, &d))
		snprintf(text, size, "unknown:%llx", (unsigned long long)k->fd);
	else
		take(plumb_descriptor_text(&d, NULL, full, sizeof(full)), text, size);
}
