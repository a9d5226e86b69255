/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <asm/unistd.h>
#include <plumb/kernel/syscalls.h>
#include <stdio.h>
#include <string.h>

/* Made by the build from <asm/unistd.h> and, where there is one, <asm/unistd_32.h>. */
static const char *const native_names[PLUMB_SYSCALLS] = {
#include "syscalls-native.inc"
};
static const char *const compat_names[PLUMB_SYSCALLS] = {
#include "syscalls-compat.inc"
};

/*
 * Since 5.1 a new call has one number on all architectures.  These may be newer
 * than the build's headers.
 */
static const struct {
	uint32_t nr;
	const char *name;
} newer[] = {
	{451, "cachestat"},         {452, "fchmodat2"},        {453, "map_shadow_stack"},
	{454, "futex_wake"},        {455, "futex_wait"},       {456, "futex_requeue"},
	{457, "statmount"},         {458, "listmount"},        {459, "lsm_get_self_attr"},
	{460, "lsm_set_self_attr"}, {461, "lsm_list_modules"}, {462, "mseal"},
	{463, "setxattrat"},        {464, "getxattrat"},       {465, "listxattrat"},
	{466, "removexattrat"},     {467, "open_tree_attr"},   {468, "file_getattr"},
	{469, "file_setattr"},      {470, "listns"},           {471, "rseq_slice_yield"},
#if defined(__x86_64__)
	{335, "uretprobe"},         {336, "uprobe"}, /* which no other has */
#endif
};

const struct plumb_syscall_table plumb_syscall_tables[2] = {
	[PLUMB_ABI_NATIVE] = {"", native_names, PLUMB_SYSCALLS},
	[PLUMB_ABI_COMPAT] = {PLUMB_COMPAT_PREFIX, compat_names, PLUMB_SYSCALLS},
};

const char *plumb_syscall_known(uint32_t nr, uint32_t abi)
{
	if (nr < PLUMB_SYSCALLS && plumb_syscall_tables[abi].names[nr])
		return plumb_syscall_tables[abi].names[nr];
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		if (newer[i].nr == nr)
			return newer[i].name;
	return NULL;
}

const char *plumb_syscall_name(uint32_t nr, uint32_t abi, char *text, size_t size)
{
	const char *prefix = plumb_syscall_tables[abi & 1].prefix, *name;

#if defined(__x86_64__)
	/* x32 calls have numbers of their own from 512, else those of x86_64. */
	if (!abi && (nr & 3 * PLUMB_X32_BIT) == PLUMB_X32_BIT) {
		prefix = "x32:";
		nr &= ~PLUMB_X32_BIT;
	}
#endif
	name = plumb_syscall_known(nr, abi & 1);
	if (name)
		snprintf(text, size, "%s%s", prefix, name);
	else
		snprintf(text, size, "%ssyscall_%d", prefix, (int)nr);
	return text;
}

int plumb_syscall_number(const char *name, uint32_t abi)
{
	const char *known;

	for (uint32_t i = 0; i < PLUMB_SYSCALLS; i++) {
		known = plumb_syscall_known(i, abi);
		if (known && !strcmp(name, known))
			return i;
	}
	return -1;
}

void plumb_syscall_function(uint32_t nr, char *text, size_t size)
{
#if defined(__x86_64__)
	static const char prefix[] = "__x64_sys_";
#else
	static const char prefix[] = "__arm64_sys_";
#endif
	/* Calls that are implemented under another name (the tables in arch/.../syscall). */
	static const struct {
		const char *call, *function;
	} renamed[] = {
		{"stat", "newstat"},
		{"lstat", "newlstat"},
		{"fstat", "newfstat"},
		{"uname", "newuname"},
		{"umount2", "umount"},
		{"sendfile", "sendfile64"},
#if defined(__aarch64__)
		{"fadvise64", "fadvise64_64"},
		{"personality", "arm64_personality"},
#endif
	};
	const char *name = plumb_syscall_known(nr, PLUMB_ABI_NATIVE) ?: "?";

	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (!strcmp(name, renamed[i].call))
			name = renamed[i].function;
	snprintf(text, size, "%s%s", prefix, name);
}
