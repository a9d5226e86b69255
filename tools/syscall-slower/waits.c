/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "slower.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/meanwhile/meanwhile.h>

/* People are told of this many, if each took a twentieth of the call or more. */
#define MOST 4
#define MUCH 20

static int by_time(const void *a, const void *b)
{
	const struct slow_wait *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static const struct slow_waits *waits_of(const struct slow_call *c)
{
	return &((const struct slow_record *)c)->waits;
}

/* What happened meanwhile, largest first; returns how many there are. */
static size_t sorted(const struct slow_call *c, struct slow_wait to[SLOW_WAITS - 1])
{
	size_t n = 0;

	if (!waits_of(c)->all[0].ns)
		return 0;
	memcpy(to, waits_of(c)->all + 1, (SLOW_WAITS - 1) * sizeof(*to));
	qsort(to, SLOW_WAITS - 1, sizeof(*to), by_time);
	while (n < SLOW_WAITS - 1 && to[n].ns)
		n++;
	return n;
}

static const char *text_of(const struct slow_wait *w, char *text, size_t size)
{
	return plumb_meanwhile_text(slow_calls.run->instance.bpf.object, &w->who, text, size);
}

void waits_print(const struct slow_call *c, FILE *out)
{
	char text[PLUMB_MEANWHILE_TEXT], time[32];
	struct slow_wait all[SLOW_WAITS - 1];
	const size_t n = sorted(c, all);

	for (size_t i = 0; i < n && i < MOST && all[i].ns >= c->ns / MUCH; i++) {
		/* The thread's name is there already. */
		if (!i)
			fprintf(out, "; waited for a CPU %s: ",
				strrchr(text_of(waits_of(c)->all, text, sizeof(text)), '('));
		fprintf(out, "%s%s %s", i ? ", " : "",
			plumb_format_time(all[i].ns, PLUMB_AUTO, time, sizeof(time)),
			text_of(&all[i], text, sizeof(text)));
	}
}

static json_t *json_of(const struct slow_wait *w)
{
	return plumb_meanwhile_json(slow_calls.run->instance.bpf.object, &w->who, w->ns);
}

void waits_add_json(const struct slow_call *c, json_t *j)
{
	const struct slow_wait *self = waits_of(c)->all;
	struct slow_wait all[SLOW_WAITS - 1];
	const size_t n = sorted(c, all);
	json_t *meanwhile = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(meanwhile, json_of(&all[i]));
	json_object_set_new(j, "waited", self->ns ? json_of(self) : json_null());
	json_object_set_new(j, "meanwhile", meanwhile);
}
