/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe-userfuncs: programs on user functions and USDT probes. */
#include <stdio.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/cli.h>
#include <plumb/functions/probing.h>
#include <plumb/terminal/progress.h>
#include <plumb/user/allowed-files.h>
#include <plumb/user/probe-userfuncs.h>

#include <bpf/libbpf.h>

const char *plumb_userfunc_name(const struct plumb_userfuncs *u, size_t i, char *text, size_t size)
{
	snprintf(text, size, "%s:%s:%s", u->is_usdt ? "usdt" : "u", u->path, u->list[i].name);
	return text;
}

/* The functions of one file, whose numbers begin at FIRST. */
struct file {
	const struct plumb_userfuncs *functions;
	size_t first, index;
};

/* Function I of the file, as programs know it. */
static uint64_t target_in(const struct file *file, size_t i)
{
	return PLUMB_TARGET_IN_FILE(PLUMB_TARGET(file->first + i, PLUMB_RESULT_NONE, 0),
				    file->index);
}

static const char *name_in_file(const void *what, size_t i, char *text, size_t size)
{
	const struct file *file = what;

	return plumb_userfunc_name(file->functions, i - file->first, text, size);
}

static bool is_at_returns(enum plumb_hook hook)
{
	return hook == PLUMB_UPROBE_RETURNS || hook == PLUMB_UPROBE_MULTI_RETURNS;
}

/* The places of a function or USDT probe; one for a function's entry. */
static size_t count_places(const struct plumb_userfunc *u, enum plumb_hook hook)
{
	if (is_at_returns(hook))
		return u->n_returns;
	return u->n_places ?: 1;
}

static struct plumb_usdt_place place_of(const struct plumb_userfunc *u, enum plumb_hook hook,
					size_t i)
{
	if (is_at_returns(hook))
		return (struct plumb_usdt_place){.offset = u->returns[i]};
	return u->n_places ? u->places[i] : (struct plumb_usdt_place){.offset = u->offset};
}

/* One name for both ends of a function. */
static void note(struct plumb_probes *probes, enum plumb_hook hook, const struct file *file,
		 size_t i)
{
	const struct plumb_userfuncs *u = file->functions;
	char name[4096 + 1024];

	if (is_at_returns(hook) || hook == PLUMB_URETPROBE || hook == PLUMB_URETPROBE_MULTI ||
	    plumb_probe_refusal(probes, file->first + i))
		return;
	snprintf(name, sizeof(name), "%s:%s", u->shown ?: u->path, u->list[i].name);
	plumb_probe_note(probes, u->is_usdt ? "usdt" : "u", name);
}

static int attach_at_once(struct plumb_probes *probes, const struct bpf_program *p,
			  enum plumb_hook hook, const struct file *file, char *what, size_t size)
{
	const struct plumb_userfuncs *u = file->functions;
	struct plumb_many m = {
		.program = bpf_program__fd(p),
		.hook = hook,
		.path = u->path,
		.process = probes->process,
		.what = file,
		.name = name_in_file,
	};
	size_t n = 0, at = 0;
	int err;

	for (size_t i = 0; i < u->n; i++)
		n += count_places(&u->list[i], hook);
	plumb_many_make(&m, n);
	for (size_t i = 0; i < u->n; i++)
		for (size_t j = 0; j < count_places(&u->list[i], hook); j++, at++) {
			m.addresses[at] = place_of(&u->list[i], hook, j).offset;
			m.semaphores[at] = place_of(&u->list[i], hook, j).semaphore;
			m.cookies[at] = target_in(file, i);
		}
	plumb_progress_at_once("attaching", n);
	err = plumb_probe_attach_many(probes, &m, 0, n, what, size);
	plumb_progress_end();
	plumb_many_free(&m);
	for (size_t i = 0; !err && i < u->n; i++)
		note(probes, hook, file, i);
	return err;
}

/* A copy of P for each place.  All of them are attached, or none is. */
static int attach_places(struct plumb_probes *probes, const struct bpf_program *p,
			 enum plumb_hook hook, const struct file *file, size_t i)
{
	const struct plumb_userfunc *u = &file->functions->list[i];
	const size_t before = probes->n;
	struct plumb_usdt_place place;
	int err = 0;

	for (size_t j = 0; !err && j < count_places(u, hook); j++) {
		place = place_of(u, hook, j);
		err = plumb_probe_on_event(probes, p, hook,
					   plumb_probe_open_uprobe(file->functions->path,
								   hook == PLUMB_URETPROBE,
								   place.offset, place.semaphore),
					   target_in(file, i));
	}
	while (err && probes->n > before)
		plumb_probe_drop(&probes->list[--probes->n]);
	return err;
}

int plumb_probe_userfuncs(struct plumb_probes *probes, const struct bpf_object *object,
			  const struct plumb_attach_target *target, const struct plumb_userfuncs *u,
			  size_t first, size_t file_index, char *what, size_t size)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(object, target->program);
	const struct file file = {u, first, file_index};
	size_t before = probes->n;
	int err = plumb_allowed_userfuncs(u, what, size), last = 0;

	if (err)
		return err;
	/*
	 * Of uprobes, only 7.2 counts skipped executions, only for perf events, and that cannot be
	 * detected.
	 */
	probes->missed_unknown = true;
	if (plumb_hook_is_multi(target->hook))
		return attach_at_once(probes, p, target->hook, &file, what, size);
	plumb_probe_allow_files();
	probes->by_events = true;
	for (size_t i = 0; i < u->n && !(probes->n && plumb_signals_pending()); i++) {
		plumb_progress("attaching", i, u->n);
		err = attach_places(probes, p, target->hook, &file, i);
		if (err)
			plumb_probe_refuse(probes, first + i, plumb_userfunc_name(u, i, what, size),
					   err);
		else
			note(probes, target->hook, &file, i);
		last = err ?: last;
	}
	plumb_progress_end();
	return probes->n > before ? 0 : last;
}
