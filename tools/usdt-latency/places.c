/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "places.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/core/tool.h>
#include <plumb/cost/calibrate.h>
#include <plumb/user/probe-userfuncs.h>
#include <plumb/user/usdt-arguments.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

struct usdt_pair usdt_pair = {
	.by = {USDT_NO_ARGUMENT, USDT_NO_ARGUMENT},
	.key = {USDT_NO_ARGUMENT, USDT_NO_ARGUMENT},
};

/* Whether the probe, "PROVIDER:NAME", is one of START or of DONE. */
static bool is_of(const char *probe, int end)
{
	return !fnmatch(usdt_pair.patterns[end].name, probe, 0);
}

/* Finds argument N of a place of the probe; 0, or -errno after a message. */
static int find_argument(const char *probe, const struct plumb_usdt_place *place, int n,
			 struct plumb_usdt_arg *arg)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];
	int count;

	*arg = (struct plumb_usdt_arg){};
	if (n == USDT_NO_ARGUMENT)
		return 0;
	count = plumb_usdt_arguments(place->arguments ?: "", place->machine, list);
	if (count < 0)
		return plumb_error(-count, "%s has too many arguments", probe);
	if (n >= count)
		return plumb_error(EINVAL, "%s has no argument %d: it has %d", probe, n, count);
	if (list[n].refused)
		return plumb_error(EINVAL, "argument %d of %s cannot be read: %.*s, %s", n, probe,
				   (int)list[n].length, list[n].text, list[n].refused);
	*arg = list[n].arg;
	return 0;
}

static int find_arguments(const struct plumb_userfunc *u, size_t i, int end,
			  struct usdt_place *place)
{
	return find_argument(u->name, &u->places[i], usdt_pair.by[end], &place->by)
		       ?: find_argument(u->name, &u->places[i], usdt_pair.key[end], &place->pair);
}

int usdt_places_check(struct plumb_userfuncs *found)
{
	struct usdt_place place;
	int err = 0;

	for (size_t i = 0; i < found->n && !err; i++) {
		const struct plumb_userfunc *u = &found->list[i];

		if (is_of(u->name, USDT_START) && is_of(u->name, USDT_DONE) &&
		    !strcmp(usdt_pair.patterns[USDT_START].file,
			    usdt_pair.patterns[USDT_DONE].file))
			return plumb_error(EINVAL, "%s: START and DONE must be different probes",
					   u->name);
		for (int end = 0; end < USDT_ENDS; end++)
			for (size_t j = 0; j < u->n_places && is_of(u->name, end) && !err; j++) {
				err = find_arguments(u, j, end, &place);
				usdt_pair.is_signed[end] |= place.by.size < 0;
			}
	}
	return err;
}

/* --- attaching to a probe --- */

static uint32_t n_places; /* of the attached instance */

/* Attaches to one place of the probe, under a number of its own. */
static int attach_place(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			const struct plumb_userfuncs *functions, size_t i, size_t j, int end,
			const struct plumb_build *build, char *what, size_t size)
{
	struct plumb_userfunc one = functions->list[i];
	struct plumb_userfuncs alone = *functions;
	struct usdt_place place = {};
	int map = bpf_object__find_map_fd_by_name(bpf->object, "usdt_places"), err;

	if (n_places == USDT_PLACES)
		return plumb_error(E2BIG, "the probes have more than %d places", USDT_PLACES);
	err = find_arguments(&one, j, end, &place);
	if (!err && bpf_map_update_elem(map, &n_places, &place, 0))
		err = -errno;
	if (err)
		return err;
	one.places += j;
	one.n_places = 1;
	alone.list = &one;
	alone.n = 1;
	return plumb_probe_userfuncs(probes, bpf->object, &usdt_hooks[bpf->mode][end], &alone,
				     n_places++, build->number, what, size);
}

/* --- a START and a DONE in this program, for measuring what the probes cost --- */

/* START and DONE, nops of one byte as those of sys/sdt.h (of four on arm64). */
asm(".pushsection .text\n"
    ".balign 4\n"
    ".globl usdt_self_test_start, usdt_self_test_done\n"
    ".hidden usdt_self_test_start, usdt_self_test_done\n"
    "usdt_self_test_start:\n"
    "	nop\n"
    "usdt_self_test_done:\n"
    "	nop\n"
    "	ret\n"
    ".popsection\n");

void usdt_self_test_start(void);
void usdt_self_test_done(void);

/* FUNCTIONS: the START, after which is the DONE. */
static int attach_self_test(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			    const struct plumb_userfuncs *functions, char *what, size_t size)
{
	/* Arguments are constants, which read a few ns faster than registers. */
	const struct plumb_usdt_arg constant = {.kind = PLUMB_USDT_CONSTANT, .size = 8};
	const struct usdt_place place = {.by = constant, .pair = constant};
	const int map = bpf_object__find_map_fd_by_name(bpf->object, "usdt_places");
	struct plumb_userfunc one = functions->list[0];
	struct plumb_userfuncs alone = *functions;
	int err = 0;

	alone.list = &one;
	for (int end = USDT_ENDS - 1; end >= 0 && !err; end--) {
		one.offset = functions->list[0].offset;
		if (end == USDT_DONE)
			one.offset +=
				(uintptr_t)usdt_self_test_done - (uintptr_t)usdt_self_test_start;
		if (bpf_map_update_elem(map, &end, &place, 0))
			return -errno;
		err = plumb_probe_userfuncs(probes, bpf->object, &usdt_hooks[bpf->mode][end],
					    &alone, end, 0, what, size);
	}
	return err;
}

void usdt_calibrate(struct plumb_run *run)
{
	plumb_calibrate(run, usdt_self_test_start);
}

/* --- attaching to either --- */

int usdt_places_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		       const struct plumb_userfuncs *functions, size_t first,
		       const struct plumb_build *build, char *what, size_t size)
{
	const uint64_t patterns = plumb_user_files.list[build->file].patterns;
	int err = 0;

	if (bpf->trigger)
		return attach_self_test(bpf, probes, functions, what, size);
	for (int end = USDT_ENDS - 1; end >= 0; end--)
		for (size_t i = 0; i < functions->n && patterns >> end & 1; i++)
			for (size_t j = 0; j < functions->list[i].n_places && !err; j++)
				if (is_of(functions->list[i].name, end))
					err = attach_place(bpf, probes, functions, i, j, end, build,
							   what, size);
	return err;
}
