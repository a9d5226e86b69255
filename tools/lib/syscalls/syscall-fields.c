/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/core/reasons.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/syscalls/syscall-fields.h>
#include <stdio.h>

static void format_syscall(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;

	plumb_syscall_name(k->nr, k->abi, text, size);
}

static void format_errno(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;

	snprintf(text, size, "%s", k->error ? plumb_errno_name(k->error) : "0");
}

const struct plumb_field plumb_syscall_fields[] = {
	{"syscall", PLUMB_BY_SYSCALL, false, format_syscall, NULL},
	{"errno", PLUMB_BY_ERRNO, false, format_errno, NULL},
};
const size_t plumb_n_syscall_fields =
	sizeof(plumb_syscall_fields) / sizeof(plumb_syscall_fields[0]);
