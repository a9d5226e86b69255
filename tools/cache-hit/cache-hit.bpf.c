/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page that a call reads or writes was in the page cache, unless its thread adds it to the cache
 * during the call.  Pages that the thread adds besides are read ahead.  Calls that fail read no
 * pages: all that they add are read ahead.
 */
#include "cache-hit.h"
#include <plumb/bpf/core/types.h>

#define CACHE_RUNS 8 /* a power of two */

struct cache_thread {
	__u64 fd;       /* as syscall_key.fd */
	__u64 file;     /* struct file */
	__u64 mapping;  /* struct address_space, whose pages are counted; 0: O_DIRECT */
	__u64 position; /* at which the call begins, bytes */
	__u64 first,
		last; /* pages that are asked for; of buffers of unknown length the last is ~0 */
	/* The last runs of pages that were added, high not included, and those before them. */
	struct {
		__u64 low, high;
	} runs[CACHE_RUNS];
	__u64 n_runs, missed, ahead;
	__u64 offset; /* where in memory the position is that the call updates; 0: none */
	__u64 pages;  /* of the mapping, when the call begins */
	__u32 tmpfs;
	__u32 unseen; /* it is not known whose pages they are */
};
#define PLUMB_THREAD_OWN cache_thread
#define PLUMB_KEY        struct syscall_key
#include <plumb/bpf/key/key.bpf.h>
#include <plumb/bpf/syscall/fd-key.bpf.h>
#include <plumb/bpf/syscall/syscall-programs.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>
#include "ahead.bpf.h"
#include "call.bpf.h"

static __always_inline __u64 smaller(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

static __always_inline __u64 larger(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static __always_inline __u64 behind(__u64 last)
{
	return last == ~0ULL ? last : last + 1;
}

/* The slot of a call's key; 0 is [other]. */
static __always_inline __u32 call_slot(struct call_thread *t, struct task_struct *task, __u32 error,
				       __u32 cpu)
{
	struct syscall_key key = {};
	struct plumb_cached_slot *cached;
	__u64 var = plumb_config.by & PLUMB_BY_SYSCALL ? t->call : 0;

	if (plumb_config.by & PLUMB_BY_CPU)
		var |= (__u64)cpu << 45;
	if (plumb_config.by & PLUMB_BY_ERRNO)
		var |= (__u64)error << 33;
	if (plumb_config.by & PLUMB_BY_FD)
		var ^= t->own.fd;
	cached = key_cached(t, var);
	if (cached->valid && cached->var == var)
		return cached->slot;
	key_who(&key.who, t, task, cpu);
	if (plumb_config.by & PLUMB_BY_SYSCALL) {
		key.nr = t->call;
		key.abi = t->call >> 32;
	}
	if (plumb_config.by & PLUMB_BY_ERRNO)
		key.error = error;
	if (plumb_config.by & PLUMB_BY_FD)
		key.fd = t->own.fd;
	return key_slot(cached, var, &key);
}

/* How many pages [A_LOW, A_HIGH) and [B_LOW, B_HIGH) have in common. */
static __always_inline __u64 common(__u64 a_low, __u64 a_high, __u64 b_low, __u64 b_high)
{
	__u64 low = larger(a_low, b_low), high = smaller(a_high, b_high);

	return high > low ? high - low : 0;
}

static __always_inline void syscall_enters(struct task_struct *task, __u32 nr,
					   const struct syscall_arguments *a)
{
	__u64 call = syscall_word(nr, syscall_abi(task));
	__u32 cpu = bpf_get_smp_processor_id(), kind = call_kind(call);
	struct call_thread *t;

	if (!kind)
		return;
	if (!filter_entry(task)) {
		if (a->regs)
			filter_remember_rejected((struct pt_regs *)a->regs);
		return;
	}
	t = inflight_make(task);
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (t->start)
		ledger_count(cpu, exit_lost);
	t->start = 0;
	t->call = call;
	if (!call_describe(t, call, kind - 1))
		return;
	key_refresh(t, task);
	ledger_count(cpu, began);
	t->start = bpf_ktime_get_ns();
}

/* As up to 6.5. */
struct folio___old {
	unsigned char _folio_order;
} __attribute__((preserve_access_index));

/* As before 5.16; the members have other names later. */
struct page___old {
	struct address_space *mapping;
	unsigned long index;
} __attribute__((preserve_access_index));

/* The page, or from 5.16 on the folio, that was added. */
static __always_inline void folio_read(const void *address, __u64 *mapping, __u64 *index,
				       __u64 *pages)
{
	const struct folio *folio = address;
	__u64 flags = 0;

	*pages = 1;
	if (!bpf_core_type_exists(struct folio)) {
		*mapping = (__u64)BPF_CORE_READ((struct page___old *)address, mapping);
		*index = BPF_CORE_READ((struct page___old *)address, index);
		return;
	}
	*mapping = (__u64)BPF_CORE_READ(folio, mapping);
	*index = BPF_CORE_READ(folio, index);
	/* The first member, which from 6.18 on is a struct. */
	bpf_probe_read_kernel(&flags, sizeof(flags), address);
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return;
	if (bpf_core_field_exists(struct folio___old, _folio_order))
		*pages = 1ULL << (BPF_CORE_READ((struct folio___old *)folio, _folio_order) & 63);
	else if (bpf_core_field_exists(struct folio, _flags_1))
		*pages = 1ULL << (BPF_CORE_READ(folio, _flags_1) & 63);
}

/* Behind the pages that are asked for.  Of buffers of unknown length all may be ahead. */
static __always_inline __u64 asked_end(const struct cache_thread *own)
{
	return own->last == ~0ULL ? own->first : own->last + 1;
}

/* Not inlined: a key is on its stack. */
static __noinline int mark_ahead(struct call_thread *t, __u64 low, __u64 high)
{
	struct cache_thread *own;
	__u64 end;
	__u32 row;

	if (!t)
		return 0;
	own = &t->own;
	end = asked_end(own);
	if (low >= own->first && high <= end)
		return 0;
	row = 1 + call_slot(t, current_task(), 0, bpf_get_smp_processor_id());
	ahead_mark(own->mapping, low, smaller(high, own->first), row);
	ahead_mark(own->mapping, larger(low, end), high, row);
	return 0;
}

/* Pages that traced threads added to the page cache in no traced call; by CPU. */
__u64 cache_elsewhere[PLUMB_LEDGERS] = {};

static __always_inline void added_elsewhere(struct task_struct *task, __u64 pages)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (plumb_live && filter_entry(task))
		plumb_add(cache_elsewhere[cpu & (PLUMB_LEDGERS - 1)], pages);
}

SEC("raw_tp/mm_filemap_add_to_page_cache")
int page_added(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u64 mapping, index, pages, in, i;
	struct cache_thread *own;
	struct call_thread *t;

	if (!filter_thread(task))
		return 0;
	t = inflight_get(task);
	folio_read((void *)ctx->args[0], &mapping, &index, &pages);
	if (!t || !t->start || mapping != t->own.mapping) {
		added_elsewhere(task, pages);
		return 0;
	}
	own = &t->own;
	if (!((call_kind(t->call) - 1) & CACHE_WRITE))
		mark_ahead(t, index, index + pages);
	i = own->n_runs - 1;
	if (own->n_runs && own->runs[i & (CACHE_RUNS - 1)].high == index) {
		own->runs[i & (CACHE_RUNS - 1)].high += pages;
		return 0;
	}
	i = own->n_runs & (CACHE_RUNS - 1);
	if (own->n_runs >= CACHE_RUNS) {
		in = common(own->runs[i].low, own->runs[i].high, own->first, behind(own->last));
		own->missed += in;
		own->ahead += own->runs[i].high - own->runs[i].low - in;
	}
	own->runs[i].low = index;
	own->runs[i].high = index + pages;
	own->n_runs++;
	return 0;
}

SEC("raw_tp/mm_filemap_delete_from_page_cache")
int page_removed(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 mapping, index, pages;
	struct call_thread *t;

	if (!ahead_any || !plumb_live)
		return 0;
	folio_read((void *)ctx->args[0], &mapping, &index, &pages);
	t = inflight_get(current_task());
	/* RWF_DONTCACHE: the call that has read them removes them before it ends. */
	if (t && t->start && mapping == t->own.mapping)
		ahead_set(mapping, larger(index, t->own.first),
			  smaller(index + pages, behind(t->own.last)), AHEAD_USED);
	ahead_set(mapping, index, index + pages, AHEAD_LOST);
	return 0;
}

/* --- page faults: pages that are mapped count as used (6.12) --- */

SEC("raw_tp/mm_filemap_map_pages")
int pages_mapped(struct bpf_raw_tracepoint_args *ctx)
{
	if (ahead_any && filter_thread(current_task()))
		ahead_set(ctx->args[0], ctx->args[1], ctx->args[2] + 1, AHEAD_USED);
	return 0;
}

SEC("raw_tp/mm_filemap_fault")
int page_faults(struct bpf_raw_tracepoint_args *ctx)
{
	if (ahead_any && filter_thread(current_task()))
		ahead_set(ctx->args[0], ctx->args[1], ctx->args[1] + 1, AHEAD_USED);
	return 0;
}

/* --- ends of calls --- */

/* Calls on files of overlayfs whose pages are not known; by CPU. */
__u64 cache_unseen[PLUMB_LEDGERS] = {};

/* Of the pages [FIRST, END) of a call on tmpfs. */
static __always_inline void count_tmpfs(const struct cache_thread *own, __u32 kind, __u64 first,
					__u64 end, struct plumb_totals *totals)
{
	const struct address_space *mapping = (void *)own->mapping;
	__u64 now = BPF_CORE_READ(mapping, nrpages), pages = end - first, missed;

	if (!(kind & CACHE_WRITE))
		pages -= tmpfs_holes(mapping, first, end);
	missed = smaller(now > own->pages ? now - own->pages : 0, pages);
	plumb_add(totals->counters[CACHE_HITS], pages - missed);
	plumb_add(totals->counters[CACHE_MISSES], missed);
}

/* Where the call began, of which RET > 0 bytes were read or written. */
static __always_inline void find_position(struct cache_thread *own, __u32 kind, long ret)
{
	const struct file *file = (void *)own->file;

	if (own->offset) {
		bpf_probe_read_user(&own->position, sizeof(own->position), (void *)own->offset);
		own->position -= ret;
	} else if (!(kind & CACHE_POSITION)) {
		own->position = BPF_CORE_READ(file, f_pos) - ret;
	}
}

/* Of a call on a file with pages; ROW: 1 + its slot. */
static __always_inline void count_pages(struct cache_thread *own, __u32 kind, long ret, __u32 row,
					struct plumb_totals *totals)
{
	const struct address_space *mapping = (void *)own->mapping;
	__u64 first = own->first, end = own->first, missed, in;
	__u32 i;

	if (ret > 0) {
		find_position(own, kind, ret);
		first = own->position >> page_bits;
		end = ((own->position + ret - 1) >> page_bits) + 1;
	}
	if (own->tmpfs) {
		count_tmpfs(own, kind, first, end, totals);
		return;
	}
	for (i = 0; i < CACHE_RUNS && i < own->n_runs; i++) {
		in = common(own->runs[i].low, own->runs[i].high, first, end);
		own->missed += in;
		own->ahead += own->runs[i].high - own->runs[i].low - in;
		/* It was asked for and is not read. */
		if (!(kind & CACHE_WRITE))
			ahead_mark(own->mapping, larger(own->runs[i].low, end),
				   smaller(own->runs[i].high, asked_end(own)), row);
	}
	missed = smaller(own->missed, end - first);
	plumb_add(totals->counters[CACHE_AHEAD], own->ahead + own->missed - missed);
	/* Such data are not from the page cache: of FUSE without it, of proc, of DAX. */
	if (!missed && !own->pages && !BPF_CORE_READ(mapping, nrpages))
		return;
	plumb_add(totals->counters[CACHE_HITS], end - first - missed);
	plumb_add(totals->counters[CACHE_MISSES], missed);
	ahead_use(own->mapping, first, end);
}

/* The exit of a call of a thread that has begun none in this trace. */
static __always_inline void call_unmatched(struct task_struct *task, const struct syscall_end *e)
{
	__u64 call = syscall_word(syscall_end_nr(e), syscall_abi(task));
	struct cache_call c = {.kind = call_kind(call)};

	if (!plumb_live || !c.kind-- || !filter_entry(task))
		return;
	call_read(&c, call);
	if (c.file)
		ledger_count(bpf_get_smp_processor_id(), unmatched);
}

static __always_inline void syscall_leaves(struct task_struct *task, const struct syscall_end *e)
{
	__u32 cpu = bpf_get_smp_processor_id(), error;
	struct call_thread *t = inflight_get(task);
	struct plumb_totals *totals;
	__u32 slot;

	if (!t || !t->start) {
		if (!t || !t->call)
			call_unmatched(task, e);
		return;
	}
	t->start = 0;
	error = e->ret < 0 ? -e->ret : 0;
	slot = call_slot(t, task, error, cpu);
	totals = totals_of(slot, cpu);
	if (!totals)
		return;
	totals_add_call(totals, error);
	if (t->own.mapping)
		count_pages(&t->own, call_kind(t->call) - 1, e->ret, 1 + slot, totals);
	else if (e->ret > 0 && t->own.unseen)
		plumb_add(cache_unseen[cpu & (PLUMB_LEDGERS - 1)], 1);
}

static __always_inline bool syscall_is_done(const struct syscall_end *e __attribute__((unused)))
{
	return false;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
