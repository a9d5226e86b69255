/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sums: what the programs have summed up, largest first. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/sched/meanwhile.h>

struct bpf_object;

struct meanwhile_one {
	struct plumb_meanwhile key;
	struct plumb_meanwhile_sum sum;
};

struct meanwhile_sums {
	struct meanwhile_one *all;
	size_t n;
};

/* What there is now; what there was more at NOW than BEFORE.  Both are freed by the third. */
struct meanwhile_sums meanwhile_read(const struct bpf_object *object);
struct meanwhile_sums meanwhile_since(const struct meanwhile_sums *now,
				      const struct meanwhile_sums *before);
void meanwhile_free(struct meanwhile_sums *sums);

/* Makes room for what there will be no room for. */
void meanwhile_prepare(const struct bpf_object *object);
