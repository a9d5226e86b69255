/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/syscalls/untimed.h>

#include <bpf/libbpf.h>

void plumb_syscalls_are(uint8_t kinds[2 * PLUMB_SYSCALLS], const char *const *names, uint8_t kind)
{
	int nr;

	for (; *names; names++)
		for (uint32_t abi = 0; abi < 2; abi++) {
			nr = plumb_syscall_number(*names, abi);
			if (nr >= 0 && nr < PLUMB_SYSCALLS)
				kinds[abi * PLUMB_SYSCALLS + nr] = 1 + kind;
		}
}

static const struct bpf_object *object;
static const char *const *names;

void plumb_untimed_use(const struct bpf_object *o, const char *const *of)
{
	object = o;
	names = of;
}

static uint64_t count_of(uint32_t kind)
{
	uint64_t n = 0;

	plumb_map_lookup(bpf_object__find_map_fd_by_name(object, "plumb_untimed"), &kind, &n);
	return n;
}

void plumb_untimed_print(FILE *out)
{
	char text[256] = "not seen: calls of";
	const size_t empty = strlen(text);
	size_t n = empty;
	uint64_t count;

	for (uint32_t i = 0; names[i] && n < sizeof(text); i++)
		if ((count = count_of(i)))
			n += snprintf(text + n, sizeof(text) - n, "%s %s: %" PRIu64,
				      n > empty ? "," : "", names[i], count);
	if (n > empty)
		plumb_print_wrapped(text, out);
}

/* What follows a name in brackets is for tables. */
static void add(json_t *all, const char *name, json_t *count)
{
	json_array_append_new(
		all, json_pack("{s:s%, s:o}", "kind", name, strcspn(name, " "), "count", count));
}

void plumb_untimed_json(json_t *report)
{
	json_t *before = json_object_get(report, "not_seen"), *all = json_array();
	uint64_t count;

	if (json_is_array(before))
		json_array_extend(all, before);
	else if (before) /* nobody looked for these */
		add(all, "io_uring", json_null());
	for (uint32_t i = 0; names[i]; i++)
		if ((count = count_of(i)))
			add(all, names[i], plumb_json_u64(count));
	json_object_set_new(report, "not_seen", all);
}
