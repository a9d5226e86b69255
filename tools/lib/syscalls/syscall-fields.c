/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/syscalls/syscall-fields.h>
#include <plumb/syscalls/syscalls.h>

static void format_syscall(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;

	plumb_syscall_name(k->nr, k->abi, text, size);
}

const struct plumb_field plumb_syscall_fields[] = {
	{"syscall", PLUMB_BY_SYSCALL, .format = format_syscall},
	{PLUMB_FIELD("errno", PLUMB_BY_ERRNO, PLUMB_ERRNO, syscall_key, error)},
};
const size_t plumb_n_syscall_fields =
	sizeof(plumb_syscall_fields) / sizeof(plumb_syscall_fields[0]);
