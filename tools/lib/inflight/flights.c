/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <plumb/inflight/inflight.h>

void plumb_flights_add(struct plumb_flights *f, const struct plumb_flight *one)
{
	if (f->n == f->room) {
		f->room = f->room * 2 ?: 64;
		f->all = reallocarray(f->all, f->room, sizeof(*f->all));
		if (!f->all)
			abort();
	}
	f->all[f->n++] = *one;
}
