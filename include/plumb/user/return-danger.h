/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* return-danger: how return probes may end the programs whose functions have them. */
#pragma once

#include <stdbool.h>
#include <plumb/core/options.h>
#include <plumb/user/user-files.h>
#include <plumb/user/userfuncs.h>

/* Of the functions of a file: they are left, or gone on from, in ways that return probes do not
 * survive. */
struct plumb_return_danger {
	bool is_go; /* of a Go program, whose stacks move; the others are not looked for */
	const char *certain, *possible; /* the reasons; NULL: none */
};

/*
 * Looks also at what the processes that are traced have loaded beside the file.  Returns 0, or
 * -errno after a message.
 */
int plumb_return_danger(const struct plumb_user_file *f, const struct plumb_options *o,
			struct plumb_return_danger *danger);

/*
 * Whether it is a function of the C library in which threads are cancelled while they wait
 * (pthreads(7)).  The unwinding of a cancellation ends at a return probe.
 */
bool plumb_is_cancellation_point(const struct plumb_userfuncs *u, const struct plumb_userfunc *one);
