/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/functions/block-hooks.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

/*
 * The position of the argument "struct TYPE *" of tracepoint NAME; -1: none.  The first parameter
 * is the tracer's.
 */
static int argument_of(const struct btf *btf, const char *name, const char *type)
{
	const struct btf_type *f = plumb_tracepoint_prototype(btf, name), *t;

	for (int i = 1; f && i < btf_vlen(f); i++) {
		t = btf__type_by_id(btf, btf_params(f)[i].type);
		t = btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
		if (t && !strcmp(btf__name_by_offset(btf, t->name_off), type))
			return i - 1;
	}
	return -1;
}

/* Whether the error of block_rq_complete is a blk_status_t. */
static bool has_status(const struct btf *btf)
{
	const struct btf_type *f = plumb_tracepoint_prototype(btf, "block_rq_complete"), *t;

	if (!f || btf_vlen(f) < 3)
		return false;
	t = btf__type_by_id(btf, btf_params(f)[2].type);
	return !strcmp(btf__name_by_offset(btf, t->name_off), "blk_status_t");
}

/* The name of __blk_throtl_bio, which must take the bio. */
static const char *throttles(const struct btf *btf)
{
	const char *name = plumb_btf_function(btf, "__blk_throtl_bio");
	__s32 id = name ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : -1;
	const struct btf_type *f, *t;

	f = id > 0 ? btf__type_by_id(btf, btf__type_by_id(btf, id)->type) : NULL;
	t = f && btf_vlen(f) == 1 ? btf__type_by_id(btf, btf_params(f)[0].type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && !strcmp(btf__name_by_offset(btf, t->name_off), "bio") ? name : NULL;
}

/* RQF_FLUSH_SEQ: a macro before 6.12, then a bit in an enum that has no name on some kernels. */
static __u32 flush_seq(const struct btf *btf)
{
	const struct btf_type *t;

	for (__u32 id = 1; id < (__u32)btf__type_cnt(btf); id++) {
		t = btf__type_by_id(btf, id);
		if (!btf_is_enum(t))
			continue;
		for (int i = 0; i < btf_vlen(t); i++)
			if (!strcmp(btf__name_by_offset(btf, btf_enum(t)[i].name_off),
				    "__RQF_FLUSH_SEQ"))
				return 1U << btf_enum(t)[i].val;
	}
	return 1U << 4;
}

/* The same of a tracepoint that every kernel has; counts it in MISSING if it is not so. */
static __u32 required(const struct btf *btf, const char *name, const char *wanted, int *missing)
{
	int at = argument_of(btf, name, wanted);

	*missing += at < 0 || at > 2;
	return at < 0 ? 0 : at;
}

static int find(const struct btf *btf, struct block_hooks *h)
{
	const int made = argument_of(btf, "block_io_start", "request"),
		  merge = argument_of(btf, "block_rq_merge", "request");
	int missing = 0;

	h->has_merge = merge >= 0;
	h->throttles = throttles(btf);
	h->preemptible = plumb_raw_tracepoints_can_be_preempted();
	h->config = (struct block_config){
		.made_by_bio = made < 0,
		.flush_seq = flush_seq(btf),
		.has_status = has_status(btf),
		.arg_queue = required(btf, "block_bio_queue", "bio", &missing),
		.arg_split = required(btf, "block_split", "bio", &missing),
		.arg_made = made < 0 ? required(btf, "block_getrq", "bio", &missing) : (__u32)made,
		.arg_merge = merge < 0 ? 0 : merge,
		.arg_insert = required(btf, "block_rq_insert", "request", &missing),
		.arg_issue = required(btf, "block_rq_issue", "request", &missing),
		.arg_requeue = required(btf, "block_rq_requeue", "request", &missing),
		.arg_backmerge = required(btf, "block_bio_backmerge", "bio", &missing),
		.arg_frontmerge = required(btf, "block_bio_frontmerge", "bio", &missing),
		.arg_bio_complete = required(btf, "block_bio_complete", "bio", &missing),
		.arg_remap = required(btf, "block_bio_remap", "bio", &missing),
	};
	if (missing || required(btf, "block_rq_complete", "request", &missing))
		return plumb_error(EOPNOTSUPP,
				   "this kernel has no block layer, or its tracepoints have other "
				   "arguments than this tool knows");
	return 0;
}

int block_hooks_find(const char *file, struct block_hooks *hooks)
{
	struct btf *btf = plumb_types_get(file);
	int err = btf ? find(btf, hooks) : -EOPNOTSUPP;

	plumb_kernel_btf_put(btf);
	return err;
}
