// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* syscalls: names of all numbers, and the kernel's functions of calls. */
#include "syscalls.h"
#include <asm/unistd.h>
#include <errno.h>
#include <plumb/core/tool.h>

#define X32 0x40000000U

static void known_numbers_have_their_names(void **state)
{
	static const struct {
		uint32_t nr;
		const char *name;
	} known[] = {
		{__NR_read, "read"},
		{__NR_write, "write"},
		{__NR_close, "close"},
		{__NR_openat, "openat"},
		{__NR_sendto, "sendto"},
		{__NR_recvmsg, "recvmsg"},
		{__NR_getppid, "getppid"},
		{__NR_nanosleep, "nanosleep"},
		{__NR_execve, "execve"},
		{__NR_exit_group, "exit_group"},
		{__NR_rt_sigreturn, "rt_sigreturn"},
		{__NR_futex, "futex"},
		{__NR_clone3, "clone3"},
		{__NR_io_uring_enter, "io_uring_enter"},
	};

	for (size_t i = 0; i < LENGTH(known); i++)
		assert_string_equal(name(known[i].nr, PLUMB_ABI_NATIVE), known[i].name);
}

/* Every __NR_ macro of HEADER, its value worked out by the compiler, against the table. */
static void compare_with_header(const char *compiler, const char *header, uint32_t abi,
				const char *prefix)
{
	char command[1024], line[256], call[128], wanted[160];
	unsigned int nr, n = 0;
	FILE *f;

	snprintf(
		command, sizeof(command),
		"CC=\"%s\"; { echo '#include <%s>'; echo '#include <%s>' | $CC -E -dM - |"
		" sed -nE 's/^#define __NR_([a-z0-9_]+) .*/\"\\1\" __NR_\\1/p' |"
		" grep -vE '\"(syscalls|arch_specific_syscall|.*_syscalls|arm_sync_file_range)\"'; "
		"} | $CC -E "
		"-P - | sed -nE 's/^(\".*\") [(]*(0 *[+])?[( ]*/\\1 /p'",
		compiler, header, header);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "\"%127[a-z0-9_]\" %u", call, &nr) != 2)
			continue;
		snprintf(wanted, sizeof(wanted), "%s%s", prefix, call);
		check(!strcmp(name(nr, abi), wanted), "%u is %s, not %s", nr, wanted,
		      name(nr, abi));
		n++;
	}
	pclose(f);
	check(n > 250, "%s has only %u system calls?", header, n);
}

static void every_call_of_the_headers_has_its_name(void **state)
{
	compare_with_header("${CC:-cc}", "asm/unistd.h", PLUMB_ABI_NATIVE, "");
}

/* Since 5.1 a new call has one number everywhere; the oldest of them are in all headers. */
static void newer_calls_have_their_names_whatever_the_headers(void **state)
{
	for (uint32_t abi = 0; abi < 2; abi++) {
		const char *prefix = plumb_syscall_tables[abi].prefix;

		assert_string_equal(name(451, abi) + strlen(prefix), "cachestat");
		assert_string_equal(name(452, abi) + strlen(prefix), "fchmodat2");
		assert_string_equal(name(462, abi) + strlen(prefix), "mseal");
		assert_string_equal(name(467, abi) + strlen(prefix), "open_tree_attr");
		assert_memory_equal(name(467, abi), prefix, strlen(prefix));
	}
#if defined(__x86_64__)
	assert_string_equal(name(335, PLUMB_ABI_NATIVE), "uretprobe");
	assert_string_equal(name(336, PLUMB_ABI_NATIVE), "uprobe");
#endif
}

static void calls_of_32_bits_are_kept_apart(void **state)
{
	assert_string_equal(plumb_syscall_tables[PLUMB_ABI_NATIVE].prefix, "");
	assert_string_equal(plumb_syscall_tables[PLUMB_ABI_COMPAT].prefix, COMPAT);
#if defined(__x86_64__)
	compare_with_header("${CC:-cc}", "asm/unistd_32.h", PLUMB_ABI_COMPAT, COMPAT);
	/* 3 is close on one, read on the other. */
	assert_string_equal(name(3, PLUMB_ABI_NATIVE), "close");
	assert_string_equal(name(3, PLUMB_ABI_COMPAT), "ia32:read");
	assert_string_equal(name(4, PLUMB_ABI_COMPAT), "ia32:write");
	assert_string_equal(name(102, PLUMB_ABI_COMPAT), "ia32:socketcall");
#else
	if (!system("command -v arm-linux-gnueabihf-gcc >/dev/null"))
		compare_with_header("arm-linux-gnueabihf-gcc", "asm/unistd.h", PLUMB_ABI_COMPAT,
				    COMPAT);
	/* 64 is write on one, getppid on the other. */
	assert_string_equal(name(64, PLUMB_ABI_NATIVE), "write");
	assert_string_equal(name(64, PLUMB_ABI_COMPAT), "arm:getppid");
	assert_string_equal(name(3, PLUMB_ABI_COMPAT), "arm:read");
	assert_string_equal(name(4, PLUMB_ABI_COMPAT), "arm:write");
	assert_string_equal(name(281, PLUMB_ABI_COMPAT), "arm:socket");
#endif
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++) {
		assert_memory_equal(name(nr, PLUMB_ABI_COMPAT), COMPAT, strlen(COMPAT));
		assert_null(strchr(name(nr, PLUMB_ABI_NATIVE), ':'));
	}
}

static void numbers_without_a_name_are_printed(void **state)
{
	assert_string_equal(name(511, PLUMB_ABI_NATIVE), "syscall_511");
	assert_string_equal(name(512, PLUMB_ABI_NATIVE), "syscall_512");
	assert_string_equal(name(999, PLUMB_ABI_NATIVE), "syscall_999");
	assert_string_equal(name(999, PLUMB_ABI_COMPAT), COMPAT "syscall_999");
	assert_string_equal(name(0x3fffffff, PLUMB_ABI_NATIVE), "syscall_1073741823");
	/* A tracer or a filter that denies a call makes its number -1. */
	assert_string_equal(name(UINT32_MAX, PLUMB_ABI_NATIVE), "syscall_-1");
	assert_string_equal(name(UINT32_MAX, PLUMB_ABI_COMPAT), COMPAT "syscall_-1");
	assert_string_equal(name(-38, PLUMB_ABI_NATIVE), "syscall_-38");
	assert_string_equal(name(0x80000000, PLUMB_ABI_NATIVE), "syscall_-2147483648");
}

static void x32_calls_are_marked(void **state)
{
#if defined(__x86_64__)
	assert_string_equal(name(X32 | __NR_read, PLUMB_ABI_NATIVE), "x32:read");
	assert_string_equal(name(X32 | __NR_sendto, PLUMB_ABI_NATIVE), "x32:sendto");
	assert_string_equal(name(X32 | 999, PLUMB_ABI_NATIVE), "x32:syscall_999");
	/* There is no such bit in a number of ia32. */
	assert_string_equal(name(X32, PLUMB_ABI_COMPAT), "ia32:syscall_1073741824");
#else
	skip();
#endif
}

static void names_are_cut_to_their_room(void **state)
{
	char text[5] = "????";

	assert_string_equal(
		plumb_syscall_name(__NR_exit_group, PLUMB_ABI_NATIVE, text, sizeof(text)), "exit");
	assert_string_equal(plumb_syscall_name(UINT32_MAX, PLUMB_ABI_NATIVE, text, sizeof(text)),
			    "sysc");
}

static void fields_print_a_key(void **state)
{
	struct syscall_key key = {.nr = __NR_sendto};
	char text[64];

	assert_int_equal(plumb_n_syscall_fields, 3);
	plumb_field_format(&plumb_syscall_fields[0], &key, text, sizeof(text));
	assert_string_equal(text, "sendto");
	plumb_field_format(&plumb_syscall_fields[1], &key, text, sizeof(text));
	assert_string_equal(text, "0");
	key.error = EAGAIN;
	plumb_field_format(&plumb_syscall_fields[1], &key, text, sizeof(text));
	assert_string_equal(text, "EAGAIN");
	key.error = 516;
	plumb_field_format(&plumb_syscall_fields[1], &key, text, sizeof(text));
	assert_string_equal(text, "ERESTART_RESTARTBLOCK");
}

/*
 * The names of the functions in the kernel's own tables
 * (arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h).
 * A function by a call's own name may exist and be another call's.
 */
static void calls_have_their_functions(void **state)
{
#if defined(__x86_64__)
#define FUNCTION "__x64_sys_"
#else
#define FUNCTION "__arm64_sys_"
#endif
	static const struct {
		uint32_t nr;
		const char *function;
	} known[] = {
		{__NR_read, FUNCTION "read"},
		{__NR_sendto, FUNCTION "sendto"},
		{__NR_getppid, FUNCTION "getppid"},
		{__NR_openat, FUNCTION "openat"},
		{__NR_pread64, FUNCTION "pread64"},
		{__NR_newfstatat, FUNCTION "newfstatat"},
		{__NR_fstat, FUNCTION "newfstat"},
		{__NR_uname, FUNCTION "newuname"},
		{__NR_umount2, FUNCTION "umount"},
		{__NR_sendfile, FUNCTION "sendfile64"},
#if defined(__x86_64__)
		{__NR_stat, FUNCTION "newstat"},
		{__NR_lstat, FUNCTION "newlstat"},
		{__NR_fadvise64, FUNCTION "fadvise64"},
#else
		{__NR_fadvise64, FUNCTION "fadvise64_64"},
		{__NR_personality, FUNCTION "arm64_personality"},
#endif
	};
	char text[64];

	for (size_t i = 0; i < LENGTH(known); i++) {
		plumb_syscall_function(known[i].nr, text, sizeof(text));
		check(!strcmp(text, known[i].function), "%s, not %s", text, known[i].function);
	}
}

static const char *instead(const char *name)
{
	static char text[128];

	return plumb_syscall_instead(name, text, sizeof(text));
}

/* Calls that include/uapi/asm-generic/unistd.h of the kernel does not have; arm64 has those there.
 */
static void calls_that_are_not_here_have_others_instead(void **state)
{
	const char *call, *text;

#if defined(__x86_64__)
	assert_string_equal(instead("open"), "");
	assert_string_equal(instead("fork"), "");
	assert_string_equal(instead("stat64"), "ia32:stat64 of 32-bit programs");
	assert_string_equal(instead("waitpid"), "ia32:waitpid of 32-bit programs");
#else
	assert_string_equal(instead("open"), "openat, or arm:open of 32-bit programs");
	assert_string_equal(instead("stat"), "newfstatat, or arm:stat of 32-bit programs");
	assert_string_equal(instead("poll"), "ppoll, or arm:poll of 32-bit programs");
	assert_string_equal(instead("fork"), "clone, or arm:fork of 32-bit programs");
	assert_string_equal(instead("select"), "pselect6");
	assert_string_equal(instead("stat64"), "arm:stat64 of 32-bit programs");
#endif
	assert_string_equal(instead("openat"), "");
	assert_string_equal(instead("nonsense"), "");
	assert_string_equal(instead(""), "");
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++) {
		call = plumb_syscall_known(nr, PLUMB_ABI_COMPAT);
		if (!call)
			continue;
		text = instead(call);
		check(!*text == (plumb_syscall_number(call, PLUMB_ABI_NATIVE) >= 0), "%s: %s", call,
		      text);
		if (strstr(text, ", or "))
			check(plumb_syscall_number(strtok((char *)text, ","), PLUMB_ABI_NATIVE) >=
				      0,
			      "%s: %s", call, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_numbers_have_their_names),
		cmocka_unit_test(every_call_of_the_headers_has_its_name),
		cmocka_unit_test(newer_calls_have_their_names_whatever_the_headers),
		cmocka_unit_test(calls_of_32_bits_are_kept_apart),
		cmocka_unit_test(numbers_without_a_name_are_printed),
		cmocka_unit_test(x32_calls_are_marked),
		cmocka_unit_test(names_are_cut_to_their_room),
		cmocka_unit_test(fields_print_a_key),
		cmocka_unit_test(calls_have_their_functions),
		cmocka_unit_test(calls_that_are_not_here_have_others_instead),
	};

	return run_all(tests);
}
