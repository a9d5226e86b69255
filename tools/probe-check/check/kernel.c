/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "check/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/kernel/renamed.h>
#include <plumb/kernel/types.h>
#include <plumb/terminal/suggest.h>

#include <bpf/btf.h>

static int open_running(struct kernel *k)
{
	k->lists = plumb_lists_read();
	if (!k->lists)
		return -EIO;
	/* Without types and code fewer checks are made: functions.c warns of the others. */
	if (plumb_image_open_running(&k->image, k->why_no_code, sizeof(k->why_no_code)))
		snprintf(k->why_no_code, sizeof(k->why_no_code), "it cannot be read");
	k->btf = k->image.btf;
	if (k->image.symbols && !plumb_lists_know_blacklist(k->lists))
		plumb_lists_derive(k->lists, k->image.symbols);
	return 0;
}

static int open_image(struct kernel *k, const char *path)
{
	int err = plumb_image_open(path, &k->image);

	if (err)
		return err;
	plumb_escape_text(k->release, k->image.release ?: "", sizeof(k->release));
	k->btf = k->image.btf;
	if (!k->image.symbols)
		return 0;
	k->lists = plumb_lists_of(k->image.symbols);
	return 0;
}

static int open_btf(struct kernel *k, const char *path)
{
	k->btf = k->own_btf = plumb_types_read(path);
	return k->btf ? 0 : -ENODATA;
}

int kernel_open(struct kernel *k, const char *image, const char *btf, struct kernel_wants wants)
{
	struct utsname uts;
	int err = 0;

	*k = (struct kernel){
		.running = !image && !btf,
		.name = image ? "this image"
			: btf ? "this BTF"
			      : "this kernel",
		.tracefs = -ENODEV,
	};
	if (image)
		err = open_image(k, image);
	if (!err && btf)
		err = open_btf(k, btf);
	if (k->running) {
		uname(&uts);
		snprintf(k->release, sizeof(k->release), "%s", uts.release);
	}
	if (k->running && wants.functions)
		err = open_running(k);
	if (k->running && wants.types && !k->btf)
		k->btf = k->own_btf = plumb_kernel_btf_get();
	if (!err && k->running && wants.tracefs)
		k->tracefs = plumb_tracefs_open();
	if (!err && !k->running && !k->lists && !k->btf)
		err = plumb_error(ENODATA, "%s has neither symbols nor types", image ?: btf);
	if (err)
		kernel_close(k);
	return err;
}

void kernel_close(struct kernel *k)
{
	if (k->tracefs >= 0)
		close(k->tracefs);
	plumb_lists_free(k->lists);
	plumb_kernel_btf_put(k->own_btf);
	plumb_image_close(&k->image);
	*k = (struct kernel){.tracefs = -1};
}

bool kernel_knows_notrace(const struct kernel *k)
{
	return k->lists &&
	       (k->running ? plumb_lists_know_traceable(k->lists) : k->image.n_spans > 0);
}

const char *kernel_limits(const struct kernel *k, char *text, size_t size)
{
	bool notrace = kernel_knows_notrace(k),
	     blacklist = k->lists && plumb_lists_know_blacklist(k->lists),
	     boot_only = k->lists && plumb_lists_know_boot_only(k->lists),
	     inlining = k->image.n_spans;

	snprintf(text, size, "%s%s%s%s", notrace ? "" : ", notrace", blacklist ? "" : ", blacklist",
		 boot_only ? "" : ", boot only", inlining ? "" : ", inlining");
	if (*text)
		memmove(text, text + 2, strlen(text + 2) + 1);
	return text;
}

size_t kernel_types_of(const struct kernel *k, const char *name)
{
	size_t n = 0;

	for (uint32_t id = 1; k->btf && id < btf__type_cnt(k->btf); id++) {
		const struct btf_type *t = btf__type_by_id(k->btf, id);

		if (btf_is_func(t))
			n += !strcmp(btf__name_by_offset(k->btf, t->name_off) ?: "", name);
	}
	return n;
}

bool kernel_has_function(const struct kernel *k, const char *name)
{
	struct plumb_traceability *all;
	ssize_t n;
	bool has;

	if (!k->lists)
		return kernel_types_of(k, name);
	n = plumb_lists_find(k->lists, name, &all);
	has = n > 0 && !all[0].boot_only && !strcmp(all[0].name, name);
	free(all);
	return has;
}

const char *kernel_name(const struct kernel *k, const char *name)
{
	const char *here = name;

	for (size_t i = 0; here; here = plumb_other_name(name, i++))
		if (kernel_has_function(k, here))
			return here;
	return name;
}

const char *kernel_other_name(const struct kernel *k, const char *name, char *text, size_t size)
{
	static const char *const around[][2] = {{"__", ""}, {"_", ""}, {"", "_noprof"}};

	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		snprintf(text, size, "%s%s%s", around[i][0], name, around[i][1]);
		if (kernel_has_function(k, text))
			return text;
	}
	while (*name == '_') {
		snprintf(text, size, "%s", ++name);
		if (kernel_has_function(k, text))
			return text;
	}
	return NULL;
}

const char *kernel_suggest(const struct kernel *k, const char *name, char *text, size_t size)
{
	uint32_t n = k->btf ? btf__type_cnt(k->btf) : 0;
	const char **names;

	if (k->lists)
		return plumb_lists_suggest(k->lists, name, text, size);
	names = calloc(n + 1, sizeof(*names));
	*text = 0;
	for (uint32_t id = 1; names && id < n; id++) {
		const struct btf_type *t = btf__type_by_id(k->btf, id);

		if (btf_is_func(t))
			names[id] = btf__name_by_offset(k->btf, t->name_off);
	}
	if (names)
		plumb_suggest(name, names, n, text, size);
	free(names);
	return text;
}

/* Append the functions with that name that are not init code to the N in *ALL. */
static int add_traceability(const struct kernel *k, const char *name,
			    struct plumb_traceability **all, size_t *n)
{
	struct plumb_traceability *some = NULL, *more, by_type = {.name = name};
	ssize_t found = 0;

	if (k->lists)
		found = plumb_lists_find(k->lists, name, &some);
	else if (kernel_types_of(k, name))
		found = 1;
	if (found < 0)
		return found;
	more = realloc(*all, (*n + found + 1) * sizeof(*more));
	if (!more) {
		free(some);
		return -ENOMEM;
	}
	*all = more;
	for (ssize_t i = 0; i < found; i++) {
		struct plumb_traceability *one = some ? &some[i] : &by_type;
		const char *colon = strchr(name, ':');

		if (!one->boot_only && !strcmp(one->name, colon ? colon + 1 : name))
			more[(*n)++] = *one;
	}
	free(some);
	return 0;
}

int kernel_functions(const struct kernel *k, const char *const *names, size_t n,
		     struct plumb_functions *found)
{
	struct plumb_traceability *all = NULL;
	size_t n_all = 0;
	int err = 0;

	*found = (struct plumb_functions){};
	for (size_t i = 0; !err && i < n; i++)
		err = add_traceability(k, names[i], &all, &n_all);
	if (err)
		err = plumb_error(err, "no memory for functions");
	else if (k->running || k->btf)
		err = plumb_functions_of(all, n_all, k->running ? NULL : k->btf, found);
	free(all);
	return err;
}
