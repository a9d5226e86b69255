// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* syscalls-selection: which calls a name selects, and what programs get of the selection. */
#include "syscalls.h"
#include <asm/unistd.h>
#include <errno.h>
#include <plumb/core/tool.h>
#include <plumb/user/self-test.h>

static bool selects(const struct syscall_config *c, uint32_t nr, uint32_t abi)
{
	uint32_t i = nr + abi * PLUMB_SYSCALLS;

	return c->bitmap[i / 64] >> i % 64 & 1;
}

static size_t count_selected(const struct syscall_config *c)
{
	size_t n = 0;

	for (size_t i = 0; i < LENGTH(c->bitmap); i++)
		n += __builtin_popcountll(c->bitmap[i]);
	return n;
}

static struct syscall_config selection_of(const char *const *names)
{
	struct syscall_config c = {};

	for (; *names; names++)
		assert_int_equal(plumb_syscall_select(&c, *names), 0);
	return c;
}

static void every_name_selects_its_number_and_no_other(void **state)
{
	char text[64];

	for (uint32_t abi = 0; abi < 2; abi++)
		for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++) {
			struct syscall_config c = {};

			plumb_syscall_name(nr, abi, text, sizeof(text));
			check(!plumb_syscall_select(&c, text), "%s", text);
			check(selects(&c, nr, abi), "%s is not %u", text, nr);
			assert_int_equal(count_selected(&c), 1);
			assert_int_equal(c.selected, 1);
		}
}

static void selections_add_up(void **state)
{
	struct syscall_config c = {};

	assert_int_equal(plumb_syscall_select(&c, "read"), 0);
	assert_int_equal(plumb_syscall_select(&c, "write"), 0);
	assert_int_equal(plumb_syscall_select(&c, "read"), 0);
	assert_int_equal(plumb_syscall_select(&c, "syscall_500"), 0);
	assert_true(selects(&c, __NR_read, PLUMB_ABI_NATIVE));
	assert_true(selects(&c, __NR_write, PLUMB_ABI_NATIVE));
	assert_true(selects(&c, 500, PLUMB_ABI_NATIVE));
	assert_int_equal(count_selected(&c), 3);
}

/* What a row prints, -s takes, and it means that call and no other. */
static void rows_and_selection_agree(void **state)
{
	static const uint32_t numbers[] = {
		0,
		1,
		334,
		511,
		512,
		513,
		600,
		1000,
		4095,
		0x3fffffff,
		0x80000000,
		UINT32_MAX,
#if defined(__x86_64__)
		0x40000000,
		0x40000200,
		0x7fffffff
#endif
	};
	char name[64];

	for (uint32_t abi = 0; abi < 2; abi++)
		for (size_t i = 0; i < LENGTH(numbers); i++) {
			struct syscall_config c = {};
			uint64_t bits = 0;

			plumb_syscall_name(numbers[i], abi, name, sizeof(name));
			check(!plumb_syscall_select(&c, name), "%s", name);
			for (size_t b = 0; b < LENGTH(c.bitmap); b++)
				bits += __builtin_popcountll(c.bitmap[b]);
			check(bits + c.n_others == 1, "%s", name);
			if (c.n_others)
				check(c.others[0] == ((uint64_t)abi << 32 | numbers[i]), "%s: %llx",
				      name, (unsigned long long)c.others[0]);
			else
				check(numbers[i] < PLUMB_SYSCALLS &&
					      c.bitmap[abi * PLUMB_SYSCALLS / 64 +
						       numbers[i] / 64] == 1ULL << numbers[i] % 64,
				      "%s", name);
		}
}

#define takes plumb_syscall_is_selected

static void all_but_some_are_all_others(void **state)
{
	static const char *const names[] = {"read", COMPAT "syscall_3", "syscall_600", "read"};
	struct syscall_config c = {};
	uint32_t nrs[4];

	for (size_t i = 0; i < LENGTH(names); i++)
		assert_int_equal(plumb_syscall_except(&c, names[i]), 0);
	assert_int_equal(plumb_syscall_except(&c, "nonsense"), -ENOENT);
	assert_int_equal(count_selected(&c), 2 * PLUMB_SYSCALLS - 2);
	for (uint32_t nr = 0; nr < 700; nr++) {
		check(takes(&c, nr, PLUMB_ABI_NATIVE) == (nr != __NR_read && nr != 600), "%u", nr);
		check(takes(&c, nr, PLUMB_ABI_COMPAT) == (nr != 3), "compat %u", nr);
	}
	assert_true(takes(&c, UINT32_MAX, PLUMB_ABI_NATIVE));
	assert_true(takes(&c, 0x40000200, PLUMB_ABI_NATIVE));
	assert_int_equal(plumb_syscall_selected(&c, nrs, LENGTH(nrs)), -1);
	assert_false(plumb_syscall_none(&c));
	plumb_syscall_narrow_fd(&c);
	assert_false(takes(&c, __NR_read, PLUMB_ABI_NATIVE));
	assert_true(takes(&c, __NR_write, PLUMB_ABI_NATIVE));
	assert_false(takes(&c, 601, PLUMB_ABI_NATIVE));
}

static void of_all_but_some_no_32_bit_call_is_missed(void **state)
{
	struct syscall_config c, selection = {};

	assert_int_equal(plumb_syscall_except(&selection, COMPAT "read"), 0);
	plumb_syscall_configure(&c, &selection, false);
	assert_int_equal(c.n_compat, 0);
	assert_int_equal(c.others_but, 1);
}

static void numbers_without_a_name_are_few(void **state)
{
	struct syscall_config c = {};
	char name[32];

	for (int i = 0; i < PLUMB_OTHER_SYSCALLS; i++) {
		snprintf(name, sizeof(name), "syscall_%d", 1000 + i);
		assert_int_equal(plumb_syscall_select(&c, name), 0);
	}
	assert_int_equal(plumb_syscall_select(&c, "syscall_2000"), -E2BIG);
	assert_int_equal(plumb_syscall_select(&c, "read"), 0);
}

static void unknown_names_select_nothing(void **state)
{
	static const char *const unknown[] = {
		"",
		"nonsense",
		"sendot",
		"READ",
		"read ",
		" read",
		"__NR_read",
		"sys_read",
		"re",
		"reads",
		"0",
		"1",
		"syscall_",
		"syscall_-0",
		"syscall_--1",
		"syscall_2147483648",
		"x32:",
		"x32:syscall_-1",
		"x32:syscall_1073741824",
		"syscall_x",
		"syscall_1x",
		"syscall_ 1",
		"syscall",
		"syscall_0x1",
		"syscall_1.0",
		"syscall_99999999999999999999",
		"help",
		COMPAT,
		COMPAT "nonsense",
		COMPAT COMPAT "read",
		":read",
		"read:",
		"IA32:read",
	};
	const struct syscall_config empty = {};

	for (size_t i = 0; i < LENGTH(unknown); i++) {
		struct syscall_config c = {};

		check(plumb_syscall_select(&c, unknown[i]) == -ENOENT, "'%s'", unknown[i]);
		check(!memcmp(&c, &empty, sizeof(c)), "'%s' left something", unknown[i]);
	}
}

static void keeping_fd_keeps_calls_on_descriptors(void **state)
{
	static const char *const with[] = {"read",  "write",       "close",  "sendto", "recvmsg",
					   "fstat", "ioctl",       "fcntl",  "openat", "fsync",
					   "lseek", "epoll_pwait", "accept4"};
	static const char *const without[] = {"getpid",  "nanosleep",  "futex",  "mmap",
					      "execve",  "exit_group", "brk",    "clone",
					      "getppid", "madvise",    "socket", "pipe2"};
	struct syscall_config c = {};

	plumb_syscall_narrow_fd(&c);
	assert_int_equal(c.selected, 1);
	for (size_t i = 0; i < LENGTH(with); i++) {
		const char *const one[] = {with[i], NULL};
		struct syscall_config s = selection_of(one);

		plumb_syscall_narrow_fd(&s);
		check(count_selected(&s) == 1, "%s has a descriptor", with[i]);
		check(!plumb_syscall_none(&s), "%s has a descriptor", with[i]);
	}
	for (size_t i = 0; i < LENGTH(without); i++) {
		const char *const one[] = {without[i], NULL};
		struct syscall_config s = selection_of(one);

		plumb_syscall_narrow_fd(&s);
		check(plumb_syscall_none(&s), "%s has no descriptor", without[i]);
	}
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++)
		check(!selects(&c, nr, PLUMB_ABI_COMPAT), "%s", name(nr, PLUMB_ABI_COMPAT));
}

static void keeping_sized_keeps_calls_with_a_size(void **state)
{
	/* All that have it, to the last: its third argument is a number of bytes. */
	static const char *const with[] = {
		"read",       "write",     "pread64",      "pwrite64",        "recvfrom", "sendto",
		"getdents64", "readahead", "mq_timedsend", "mq_timedreceive", "msgsnd",   "msgrcv"};
	/* Their third argument is something else. */
	static const char *const without[] = {"openat", "readv", "writev", "sendmsg", "recvmsg",
					      "lseek",  "fcntl", "ioctl",  "mmap",    "getpid",
					      "close",  "ppoll", "bind"};
	struct syscall_config c = {};

	plumb_syscall_narrow_sized(&c);
	for (size_t i = 0; i < LENGTH(with); i++) {
		const char *const one[] = {with[i], NULL};
		struct syscall_config s = selection_of(one);

		plumb_syscall_narrow_sized(&s);
		check(count_selected(&s) == 1, "%s has a size", with[i]);
	}
	for (size_t i = 0; i < LENGTH(without); i++) {
		const char *const one[] = {without[i], NULL};
		struct syscall_config s = selection_of(one);

		plumb_syscall_narrow_sized(&s);
		check(plumb_syscall_none(&s), "%s has no size", without[i]);
	}
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++)
		check(!selects(&c, nr, PLUMB_ABI_COMPAT), "%s", name(nr, PLUMB_ABI_COMPAT));
}

static void keeping_never_adds(void **state)
{
	static const char *const some[] = {"read", "openat", "getpid", COMPAT "syscall_3", NULL};
	struct syscall_config c = selection_of(some);

	plumb_syscall_narrow_fd(&c);
	assert_true(selects(&c, __NR_read, PLUMB_ABI_NATIVE));
	assert_true(selects(&c, __NR_openat, PLUMB_ABI_NATIVE));
	assert_int_equal(count_selected(&c), 2);
	plumb_syscall_narrow_sized(&c);
	assert_true(selects(&c, __NR_read, PLUMB_ABI_NATIVE));
	assert_int_equal(count_selected(&c), 1);
}

static void nothing_selected_is_everything_not_none(void **state)
{
	struct syscall_config c = {};

	assert_false(plumb_syscall_none(&c));
	c.selected = 1;
	assert_true(plumb_syscall_none(&c));
	c.bitmap[LENGTH(c.bitmap) - 1] = 1ULL << 63;
	assert_false(plumb_syscall_none(&c));
}

static void only_a_few_native_calls_are_listed(void **state)
{
	static const char *const three[] = {"sendto", "read", "getppid", NULL};
	static const char *const compat[] = {"read", COMPAT "syscall_3", NULL};
	struct syscall_config c = selection_of(three), all = {};
	uint32_t nrs[3] = {};

	assert_int_equal(plumb_syscall_selected(&c, nrs, 3), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(selects(&c, nrs[i], PLUMB_ABI_NATIVE));
	assert_true(nrs[0] < nrs[1] && nrs[1] < nrs[2]);
	assert_int_equal(plumb_syscall_selected(&c, nrs, 2), -1);
	c = selection_of(compat);
	assert_int_equal(plumb_syscall_selected(&c, nrs, 3), -1);
	assert_int_equal(plumb_syscall_selected(&all, nrs, 3), -1);
	all.selected = 1;
	assert_int_equal(plumb_syscall_selected(&all, nrs, 3), -1);
}

static void configuring_copies_the_selection(void **state)
{
	static const char *const two[] = {"sendto", COMPAT "syscall_3", NULL};
	struct syscall_config c, selection = selection_of(two);

	selection.has_size = 1;
	selection.max_size = 7;
	selection.min_ns = 9;
	memset(&c, 0xff, sizeof(c));
	plumb_syscall_configure(&c, &selection, false);
	assert_memory_equal(c.bitmap, selection.bitmap, sizeof(c.bitmap));
	assert_int_equal(c.selected, 1);
	assert_int_equal(c.has_size, 1);
	assert_int_equal(c.max_size, 7);
	assert_int_equal(c.min_ns, 9);
	assert_int_equal(c.has_fd, 0);
}

static void calibration_filters_as_the_tool_does_but_takes_its_own_call(void **state)
{
	static const char *const one[] = {"sendto", NULL};
	struct syscall_config c, selection = selection_of(one);

	selection.has_fd = selection.has_size = selection.only_errors = 1;
	selection.fd = 3;
	selection.min_size = selection.max_size = 100;
	selection.min_ns = 1000000;
	plumb_syscall_configure(&c, &selection, true);
	assert_true(c.selected && c.has_fd && c.has_size && c.only_errors);
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++)
		assert_int_equal(plumb_syscall_is_selected(&c, nr, PLUMB_ABI_NATIVE),
				 nr == PLUMB_CALIBRATION_NR);
	/* plumb_self_test_syscall()'s argument, whatever a third one it has, however long it takes
	 */
	assert_int_equal(c.fd, UINT32_MAX);
	assert_int_equal(c.min_size, 0);
	assert_int_equal(c.max_size, UINT64_MAX);
	assert_int_equal(c.min_ns, 1);
	plumb_syscall_configure(&c, &(struct syscall_config){}, true);
	assert_true(!c.selected && !c.has_fd && !c.has_size && !c.only_errors && !c.min_ns);
}

static void forks_and_sigreturns_are_known(void **state)
{
	struct syscall_config c, selection = {};

	for (int calibration = 0; calibration < 2; calibration++) {
		plumb_syscall_configure(&c, &selection, calibration);
		assert_int_equal(c.forks[0][0], __NR_clone);
		assert_int_equal(c.forks[0][1], __NR_clone3);
		assert_int_equal(c.sigreturns[0][0], __NR_rt_sigreturn);
		assert_int_equal(c.sigreturns[0][1], PLUMB_NO_SYSCALL);
#if defined(__x86_64__)
		assert_int_equal(c.forks[0][2], __NR_fork);
		assert_int_equal(c.forks[0][3], __NR_vfork);
		assert_int_equal(c.forks[1][0], 120);
		assert_int_equal(c.forks[1][1], 435);
		assert_int_equal(c.forks[1][2], 2);
		assert_int_equal(c.forks[1][3], 190);
		assert_int_equal(c.sigreturns[1][0], 173);
		assert_int_equal(c.sigreturns[1][1], 119);
#else
		assert_int_equal(c.forks[0][2], PLUMB_NO_SYSCALL);
		assert_int_equal(c.forks[0][3], PLUMB_NO_SYSCALL);
#endif
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_selects_its_number_and_no_other),
		cmocka_unit_test(selections_add_up),
		cmocka_unit_test(rows_and_selection_agree),
		cmocka_unit_test(all_but_some_are_all_others),
		cmocka_unit_test(of_all_but_some_no_32_bit_call_is_missed),
		cmocka_unit_test(numbers_without_a_name_are_few),
		cmocka_unit_test(unknown_names_select_nothing),
		cmocka_unit_test(keeping_fd_keeps_calls_on_descriptors),
		cmocka_unit_test(keeping_sized_keeps_calls_with_a_size),
		cmocka_unit_test(keeping_never_adds),
		cmocka_unit_test(nothing_selected_is_everything_not_none),
		cmocka_unit_test(only_a_few_native_calls_are_listed),
		cmocka_unit_test(configuring_copies_the_selection),
		cmocka_unit_test(calibration_filters_as_the_tool_does_but_takes_its_own_call),
		cmocka_unit_test(forks_and_sigreturns_are_known),
	};

	return run_all(tests);
}
