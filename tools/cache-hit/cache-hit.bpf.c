/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A page that a call reads or writes was in the page cache, unless its thread adds it to the cache
 * during the call.  Pages that the thread adds besides are read ahead.  Calls that fail read no
 * pages: all that they add are read ahead.
 */
#include "cache-hit.h"
#include <plumb/bpf/core/types.h>

#include "state.bpf.h"

#define PLUMB_THREAD_OWN cache_thread
#define PLUMB_KEY        struct syscall_key
#include <plumb/bpf/key/key.bpf.h>
#include <plumb/bpf/syscall/fd-key.bpf.h>
#include <plumb/bpf/syscall/syscall-programs.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>
#include "ahead.bpf.h"
#include "call.bpf.h"
#include "folio.bpf.h"

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
static __always_inline __u32 call_slot(struct call_thread *t, struct task_struct *task, __u64 call,
				       __u64 fd, __u32 error, __u32 cpu)
{
	struct syscall_key key = {};
	struct plumb_cached_slot *cached;
	__u64 var = plumb_config.by & PLUMB_BY_SYSCALL ? call : 0;

	if (plumb_config.by & PLUMB_BY_CPU)
		var |= (__u64)cpu << 45;
	if (plumb_config.by & PLUMB_BY_ERRNO)
		var |= (__u64)error << 33;
	if (plumb_config.by & PLUMB_BY_FD)
		var ^= fd;
	cached = key_cached(t, var);
	if (cached->valid && cached->var == var)
		return cached->slot;
	key_who(&key.who, t, task, cpu);
	if (plumb_config.by & PLUMB_BY_SYSCALL) {
		key.nr = call;
		key.abi = call >> 32;
	}
	if (plumb_config.by & PLUMB_BY_ERRNO)
		key.error = error;
	if (plumb_config.by & PLUMB_BY_FD)
		key.fd = fd;
	return key_slot(cached, var, &key);
}

#include "fault.bpf.h"

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

/* Behind the pages that are asked for.  Of buffers of unknown length all may be ahead. */
static __always_inline __u64 asked_end(const struct cache_file *f)
{
	return f->last == ~0ULL ? f->first : f->last + 1;
}

/* Not inlined: a key is on its stack. */
static __noinline int mark_ahead(struct call_thread *t, struct cache_file *f, __u64 low, __u64 high)
{
	__u64 end;
	__u32 row;

	if (!t || !f)
		return 0;
	end = asked_end(f);
	if (low >= f->first && high <= end)
		return 0;
	row = 1 + call_slot(t, current_task(), t->call, f->fd, 0, bpf_get_smp_processor_id());
	ahead_mark(f->mapping, low, smaller(high, f->first), row);
	ahead_mark(f->mapping, larger(low, end), high, row);
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

/* The file of the call that the thread is in to whose MAPPING the page INDEX belongs; NULL: none.
 */
static __always_inline struct cache_file *file_with(struct call_thread *t, __u64 mapping,
						    __u64 index)
{
	struct cache_file *to = &t->own.to;

	if (!t->start)
		return NULL;
	if (mapping == to->mapping &&
	    (mapping != t->own.mapping || (index >= to->first && index <= to->last)))
		return to;
	return mapping == t->own.mapping ? (struct cache_file *)&t->own : NULL;
}

static __always_inline void file_adds(struct cache_file *f, __u64 index, __u64 pages)
{
	__u64 i = f->n_runs - 1, in;

	if (f->n_runs && f->runs[i & (CACHE_RUNS - 1)].high == index) {
		f->runs[i & (CACHE_RUNS - 1)].high += pages;
		return;
	}
	i = f->n_runs & (CACHE_RUNS - 1);
	if (f->n_runs >= CACHE_RUNS) {
		in = common(f->runs[i].low, f->runs[i].high, f->first, behind(f->last));
		f->missed += in;
		f->ahead += f->runs[i].high - f->runs[i].low - in;
	}
	f->runs[i].low = index;
	f->runs[i].high = index + pages;
	f->n_runs++;
}

SEC("raw_tp/mm_filemap_add_to_page_cache")
int page_added(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u64 mapping, index, pages;
	struct call_thread *t;
	struct cache_file *f;

	if (!filter_thread(task))
		return 0;
	t = inflight_get(task);
	folio_read((void *)ctx->args[0], &mapping, &index, &pages);
	if (t && is_in_fault(&t->own.fault, mapping, task)) {
		fault_adds(&t->own.fault, index, index + pages);
		return 0;
	}
	f = t ? file_with(t, mapping, index) : NULL;
	if (!f) {
		added_elsewhere(task, pages);
		return 0;
	}
	if (f != &t->own.to && !((call_kind(t->call) - 1) & CACHE_WRITE))
		mark_ahead(t, f, index, index + pages);
	file_adds(f, index, pages);
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
	if (!filter_thread(current_task()))
		return 0;
	fault_seen(ctx->args[0], ANY_PAGE);
	if (ahead_any)
		ahead_set(ctx->args[0], ctx->args[1], ctx->args[2] + 1, AHEAD_USED);
	return 0;
}

SEC("raw_tp/mm_filemap_fault")
int page_faults(struct bpf_raw_tracepoint_args *ctx)
{
	if (!filter_thread(current_task()))
		return 0;
	fault_seen(ctx->args[0], ctx->args[1]);
	if (ahead_any)
		ahead_set(ctx->args[0], ctx->args[1], ctx->args[1] + 1, AHEAD_USED);
	return 0;
}

/* --- ends of calls --- */

/* Calls whose pages are not known: on files of overlayfs, and copies by file systems; by CPU. */
__u64 cache_unseen[PLUMB_LEDGERS] = {};
__u64 cache_copied[PLUMB_LEDGERS] = {};

/* Of the pages [FIRST, END) of a call on tmpfs. */
static __always_inline void count_tmpfs(const struct cache_file *f, __u32 kind, __u64 first,
					__u64 end, struct plumb_totals *totals)
{
	const struct address_space *mapping = (void *)f->mapping;
	__u64 now = BPF_CORE_READ(mapping, nrpages), pages = end - first, missed;

	if (!(kind & CACHE_WRITE))
		pages -= tmpfs_holes(mapping, first, end);
	missed = smaller(now > f->pages ? now - f->pages : 0, pages);
	plumb_add(totals->counters[CACHE_HITS], pages - missed);
	plumb_add(totals->counters[CACHE_MISSES], missed);
}

/* Where the call began, of which RET > 0 bytes were read or written. */
static __always_inline void find_position(struct cache_file *f, __u32 kind, long ret)
{
	const struct file *file = (void *)f->file;

	if (f->offset) {
		bpf_probe_read_user(&f->position, sizeof(f->position), (void *)f->offset);
		f->position -= ret;
	} else if (!(kind & CACHE_POSITION)) {
		f->position = BPF_CORE_READ(file, f_pos) - ret;
	}
}

/* Of a call on a file with pages; ROW: 1 + its slot. */
static __always_inline void count_pages(struct cache_file *f, __u32 kind, long ret, __u32 row,
					struct plumb_totals *totals)
{
	const struct address_space *mapping = (void *)f->mapping;
	__u64 first = f->first, end = f->first, missed, in;
	__u32 i;

	if (ret > 0) {
		find_position(f, kind, ret);
		first = f->position >> page_bits;
		end = ((f->position + ret - 1) >> page_bits) + 1;
	}
	if (f->tmpfs) {
		count_tmpfs(f, kind, first, end, totals);
		return;
	}
	for (i = 0; i < CACHE_RUNS && i < f->n_runs; i++) {
		in = common(f->runs[i].low, f->runs[i].high, first, end);
		f->missed += in;
		f->ahead += f->runs[i].high - f->runs[i].low - in;
		/* It was asked for and is not read. */
		if (!(kind & CACHE_WRITE))
			ahead_mark(f->mapping, larger(f->runs[i].low, end),
				   smaller(f->runs[i].high, asked_end(f)), row);
	}
	missed = smaller(f->missed, end - first);
	plumb_add(totals->counters[CACHE_AHEAD], f->ahead + f->missed - missed);
	/* Such data are not from the page cache: of FUSE without it, of proc, of DAX. */
	if (!missed && !f->pages && !BPF_CORE_READ(mapping, nrpages))
		return;
	plumb_add(totals->counters[CACHE_HITS], end - first - missed);
	plumb_add(totals->counters[CACHE_MISSES], missed);
	ahead_use(f->mapping, first, end);
}

/* The exit of a call of a thread that has begun none in this trace. */
static __always_inline void call_unmatched(struct task_struct *task, const struct syscall_end *e)
{
	__u64 call = syscall_word(syscall_end_nr(e), syscall_abi(task));
	struct cache_call c = {.kind = call_kind(call)};

	if (!plumb_live || !c.kind-- || !filter_entry(task))
		return;
	call_read(&c, call);
	if (has_pages(c.file))
		ledger_count(bpf_get_smp_processor_id(), unmatched);
}

/* Not inlined: of a copy it is called for both files. */
static __noinline int file_ends(struct call_thread *t, struct cache_file *f, long ret, __u32 kind)
{
	__u32 cpu = bpf_get_smp_processor_id(), error = ret < 0 ? -ret : 0, slot;
	struct plumb_totals *totals;

	if (!t || !f)
		return 0;
	slot = call_slot(t, current_task(), t->call, f->fd, error, cpu);
	totals = totals_of(slot, cpu);
	if (!totals)
		return 0;
	totals_add_call(totals, error);
	if (f->mapping)
		count_pages(f, kind, ret, 1 + slot, totals);
	else if (ret > 0 && f->unseen)
		plumb_add((f->unseen == UNSEEN_COPY ? cache_copied
						    : cache_unseen)[cpu & (PLUMB_LEDGERS - 1)],
			  1);
	return 0;
}

static __always_inline void syscall_leaves(struct task_struct *task, const struct syscall_end *e)
{
	struct call_thread *t = inflight_get(task);
	__u32 kind;

	if (!t || !t->start) {
		if (!t || !t->call)
			call_unmatched(task, e);
		return;
	}
	t->start = 0;
	kind = call_kind(t->call) - 1;
	file_ends(t, (struct cache_file *)&t->own, e->ret, kind);
	if (!t->own.to.file)
		return;
	ledger_count(bpf_get_smp_processor_id(), began);
	file_ends(t, &t->own.to, e->ret, kind | CACHE_WRITE);
}

static __always_inline bool syscall_is_done(const struct syscall_end *e __attribute__((unused)))
{
	return false;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
