/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <plumb/core/text.h>
#include <plumb/meanwhile/waits.h>

/* People are told of this many, if each has a twentieth of the time or more. */
#define MOST 4
#define MUCH 20

static int by_time(const void *a, const void *b)
{
	const struct plumb_wait *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* What happened meanwhile, largest first; returns how many there are. */
static size_t sorted(const struct plumb_waits *w, struct plumb_wait to[PLUMB_WAITS - 1])
{
	size_t n = 0;

	if (!w->all[0].ns)
		return 0;
	memcpy(to, w->all + 1, (PLUMB_WAITS - 1) * sizeof(*to));
	qsort(to, PLUMB_WAITS - 1, sizeof(*to), by_time);
	while (n < PLUMB_WAITS - 1 && to[n].ns)
		n++;
	return n;
}

void plumb_waits_print(const struct bpf_object *object, const struct plumb_waits *w, uint64_t ns,
		       const char *before, FILE *out)
{
	char text[PLUMB_MEANWHILE_TEXT], time[32];
	struct plumb_wait all[PLUMB_WAITS - 1];
	const size_t n = sorted(w, all);

	for (size_t i = 0; i < n && i < MOST && all[i].ns >= ns / MUCH; i++) {
		/* The thread's name is there already. */
		if (!i) {
			plumb_meanwhile_text(object, &w->all[0].who, text, sizeof(text));
			fprintf(out, "%s%s: ", before, strrchr(text, '('));
		}
		plumb_meanwhile_text(object, &all[i].who, text, sizeof(text));
		fprintf(out, "%s%s %s", i ? ", " : "",
			plumb_format_time(all[i].ns, PLUMB_AUTO, time, sizeof(time)), text);
	}
}

void plumb_waits_json(const struct bpf_object *object, const struct plumb_waits *w, json_t *j)
{
	const struct plumb_wait *self = w->all;
	struct plumb_wait all[PLUMB_WAITS - 1];
	const size_t n = sorted(w, all);
	json_t *meanwhile = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(meanwhile,
				      plumb_meanwhile_json(object, &all[i].who, all[i].ns));
	json_object_set_new(j, "waited",
			    self->ns ? plumb_meanwhile_json(object, &self->who, self->ns)
				     : json_null());
	json_object_set_new(j, "meanwhile", meanwhile);
}
