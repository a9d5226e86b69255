/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/text.h>
#include <plumb/syscalls/syscall-options.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/terminal/suggest.h>

/* ---- the option --syscall ---- */

static void list_names(void)
{
	const char *name;

	for (uint32_t abi = 0; abi < 2; abi++)
		for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++) {
			name = plumb_syscall_known(nr, abi);
			/* A table that could not be generated has only the newest names. */
			if (name && plumb_syscall_tables[abi].names[1])
				printf("%s%s\n", plumb_syscall_tables[abi].prefix, name);
		}
	exit(plumb_close_stdout(0));
}

struct syscall_config plumb_syscall_selection = {.max_size = UINT64_MAX};

/* Why the call TYPED of OPTION cannot be selected. */
static void refuse(const char *option, const char *typed, int err)
{
	const char *nearest, *item = typed + (*typed == '!');
	char instead[128];

	if (err == -E2BIG)
		plumb_usage_error("%s: at most %d numbers without a name: %s", option,
				  PLUMB_OTHER_SYSCALLS, typed);
	if (*plumb_syscall_instead(item, instead, sizeof(instead)))
		plumb_usage_error("%s: no such system call on this architecture: %s; did "
				  "you mean %s?",
				  option, typed, instead);
	nearest = plumb_nearest(item, plumb_syscall_tables[PLUMB_ABI_NATIVE].names, PLUMB_SYSCALLS);
	plumb_usage_error("%s: no such system call: %s%s%s%s", option, typed,
			  nearest ? "; did you mean " : "", nearest ?: "",
			  nearest ? "?" : " (-s help lists them)");
}

/* In one -s or several, either all names are selected, or all are excepted. */
static void select_names(const char *option, const char *text, struct plumb_options *o)
{
	const bool but = *text == '!';
	char *list = strdup(text), *rest = list, *typed;
	const char *name;
	int err = 0;

	if (plumb_syscall_selection.selected && plumb_syscall_selection.others_but != but)
		plumb_usage_error("%s: either system calls, or all but some: -s '!read,write'",
				  option);
	while (list && (typed = strsep(&rest, ","))) {
		if (*typed == '!' && !but)
			plumb_usage_error("%s: '!' is for all of a list, before its first name: %s",
					  option, text);
		if (!strcmp(typed, "help"))
			list_names();
		name = typed + (*typed == '!'); /* '!read,!write' is clear, too */
		if (!*name)
			plumb_usage_error("%s: an empty item in '%s'", option, text);
		err = but ? plumb_syscall_except(&plumb_syscall_selection, name)
			  : plumb_syscall_select(&plumb_syscall_selection, name);
		if (err)
			refuse(option, typed, err);
	}
	free(list);
}

static void select_errors(void)
{
	plumb_syscall_selection.only_errors = 1;
}

static void select_fd(const char *option, const char *text, struct plumb_options *o)
{
	plumb_syscall_selection.has_fd = 1;
	plumb_syscall_selection.fd = plumb_option_number(option, text, 0, INT32_MAX);
}

/* clang-format off */
#define NAME_OPTION {.doc = "Only these calls:", .group = 30}, {"syscall", 's', "NAME[,...]", "these, '!NAME,...' all others; -s help lists them", 30, .parse = select_names}

const struct plumb_option plumb_syscall_options[] = {
	NAME_OPTION,
	{0},
};

const struct plumb_option plumb_syscall_filters[] = {
	NAME_OPTION,
	{"errors", 0, NULL, "calls that failed", 30, .act = select_errors},
	{"fd", 0, "N", "calls on this file descriptor", 30, .parse = select_fd},
	{0},
};
/* clang-format on */

/*
 * Keeps calls with a file descriptor if has_fd is set, and with a size if has_size is set.  Wrong
 * usage if none remains.
 */
static void narrow(struct syscall_config *config)
{
	if (config->has_fd)
		plumb_syscall_narrow_fd(config);
	if (config->has_size)
		plumb_syscall_narrow_sized(config);
	if (plumb_syscall_none(config))
		plumb_usage_error("none of the selected system calls has a %s",
				  config->has_size ? "size" : "file descriptor");
}

/* ---- configuration of the programs ---- */

static void find_numbers(int32_t *numbers, const char *const *names, int n, uint32_t abi)
{
	for (int i = 0; i < n; i++) {
		numbers[i] = plumb_syscall_number(names[i], abi);
		if (numbers[i] < 0)
			numbers[i] = PLUMB_NO_SYSCALL;
	}
}

static void find_compat(struct syscall_config *config)
{
	const __u64 *selected = config->bitmap + PLUMB_SYSCALLS / 64;
	const char *name;
	int other;

	/* Who selects all but some has named what is not traced. */
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS && config->selected && !config->others_but;
	     nr++) {
		name = plumb_syscall_is_selected(config, nr, PLUMB_ABI_NATIVE)
			       ? plumb_syscall_known(nr, PLUMB_ABI_NATIVE)
			       : NULL;
		other = name ? plumb_syscall_number(name, PLUMB_ABI_COMPAT) : -1;
		if (other < 0 || selected[other / 64] >> other % 64 & 1)
			continue;
		config->compat[other / 64] |= 1ULL << other % 64;
		config->n_compat++;
	}
}

/*
 * Sets the active filters so that the calibration's call passes each of them, and its cost includes
 * theirs.
 */
static void take_calibration(struct syscall_config *config)
{
	memset(config->bitmap, 0, sizeof(config->bitmap));
	config->bitmap[PLUMB_CALIBRATION_NR / 64] |= 1ULL << PLUMB_CALIBRATION_NR % 64;
	config->fd = -1; /* the argument of that call */
	config->min_size = 0;
	config->max_size = UINT64_MAX;
	config->min_ns = !!config->min_ns;
}

void plumb_syscall_configure(struct syscall_config *config, const struct syscall_config *selection,
			     bool calibration)
{
	static const char *const forks[] = {"clone", "clone3", "fork", "vfork"};
	static const char *const sigreturns[] = {"rt_sigreturn", "sigreturn"};
	static const char *const renames[] = {"execve", "execveat", "prctl"};

	*config = *selection;
	if (calibration)
		take_calibration(config);
	else
		find_compat(config);
	for (uint32_t abi = 0; abi < 2; abi++) {
		find_numbers(config->forks[abi], forks, 4, abi);
		find_numbers(config->sigreturns[abi], sigreturns, 2, abi);
		find_numbers(config->renames[abi], renames, 3, abi);
	}
}

const struct plumb_tool_syscalls plumb_syscalls = {
	.selection = &plumb_syscall_selection,
	.complete = narrow,
	.configure = plumb_syscall_configure,
	.rings = plumb_rings_count,
};

/* ---- mechanisms ---- */

/*
 * Exit programs are attached before entry programs, so that an exit without an entry is of a call
 * from before the trace.
 */
const char *const plumb_syscall_tp_programs[] = {"tp_exit", "tp_enter", NULL};
const char *const plumb_syscall_raw_programs[] = {"raw_exit", "raw_enter", NULL};

/* ---- keys ---- */

static void format_syscall(const void *key, char *text, size_t size)
{
	const struct syscall_key *k = key;

	plumb_syscall_name(k->nr, k->abi, text, size);
}

const struct plumb_field plumb_syscall_fields[] = {
	{"syscall", PLUMB_BY_SYSCALL, .format = format_syscall},
	{PLUMB_FIELD("errno", PLUMB_BY_ERRNO, PLUMB_ERRNO, syscall_key, error)},
	{"fd", PLUMB_BY_FD, .format = plumb_fd_format},
};
const size_t plumb_n_syscall_fields =
	sizeof(plumb_syscall_fields) / sizeof(plumb_syscall_fields[0]);
