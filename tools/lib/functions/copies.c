/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/functions/copies.h>

#include <bpf/libbpf.h>

struct bpf_program *plumb_copy_of(const struct bpf_object *object, const char *program, int n)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%d", program, n);
	return bpf_object__find_program_by_name(object, name);
}

void plumb_copies_limit(struct bpf_object *object, const char *program, int n)
{
	struct bpf_program *p;

	for (int i = n; i < PLUMB_COPIES; i++) {
		p = plumb_copy_of(object, program, i);
		if (p)
			bpf_program__set_autoload(p, false);
	}
}
