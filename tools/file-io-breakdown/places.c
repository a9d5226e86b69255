/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "places.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/functions/lists.h>

/*
 * By their names on 5.10 to 7.3. A function that a kernel lacks, or has inlined, is not found; the
 * function around it may be. The innermost one counts.
 */
static struct function {
	const char *name;
	enum io_wait wait;
} functions[] = {
	/* mm/filemap.c: a page is locked, read or written back */
	{"folio_wait_bit_common", IO_WAITS_CACHE},
	{"wait_on_page_bit_common", IO_WAITS_CACHE},
	{"wait_on_page_bit", IO_WAITS_CACHE},
	{"__lock_page", IO_WAITS_CACHE},
	{"__lock_page_killable", IO_WAITS_CACHE},
	{"wait_on_page_writeback", IO_WAITS_CACHE},
	{"folio_wait_writeback", IO_WAITS_CACHE},
	{"__filemap_fdatawait_range", IO_WAITS_CACHE},
	{"filemap_get_pages", IO_WAITS_CACHE},
	{"generic_file_buffered_read", IO_WAITS_CACHE},
	/* mm/page-writeback.c: too many pages are dirty */
	{"balance_dirty_pages", IO_WAITS_CACHE},
	{"balance_dirty_pages_ratelimited_flags", IO_WAITS_CACHE},
	/* fs/buffer.c */
	{"__wait_on_buffer", IO_WAITS_FS},
	{"__lock_buffer", IO_WAITS_FS},
	/* fs/jbd2 */
	{"jbd2_log_wait_commit", IO_WAITS_FS},
	{"__jbd2_log_wait_for_space", IO_WAITS_FS},
	{"jbd2_log_do_checkpoint", IO_WAITS_FS},
	{"add_transaction_credits", IO_WAITS_FS},
	{"wait_transaction_locked", IO_WAITS_FS},
	{"wait_transaction_switching", IO_WAITS_FS},
	{"start_this_handle", IO_WAITS_FS},
	{"do_get_write_access", IO_WAITS_FS},
	/* fs/xfs */
	{"xlog_wait_on_iclog", IO_WAITS_FS},
	{"xlog_force_lsn", IO_WAITS_FS},
	{"xlog_cil_force_seq", IO_WAITS_FS},
	{"xlog_grant_head_wait", IO_WAITS_FS},
	{"xfs_log_force_seq", IO_WAITS_FS},
	{"xfs_buf_lock", IO_WAITS_FS},
	/* fs/btrfs */
	{"btrfs_wait_for_commit", IO_WAITS_FS},
	{"wait_current_trans", IO_WAITS_FS},
	{"btrfs_sync_log", IO_WAITS_FS},
	{"wait_log_commit", IO_WAITS_FS},
	/* block: io.latency, io.cost */
	{"blkcg_iolatency_throttle", IO_WAITS_LIMIT},
	{"ioc_rqos_throttle", IO_WAITS_LIMIT},
	/* locks of inodes and file systems */
	{"rwsem_down_read_slowpath", IO_WAITS_FS_ONLY},
	{"rwsem_down_write_slowpath", IO_WAITS_FS_ONLY},
	{"percpu_rwsem_wait", IO_WAITS_FS_ONLY}, /* a frozen file system */
	{"inode_dio_wait", IO_WAITS_FS},
	{"wb_wait_for_completion", IO_WAITS_FS},
};
#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static int by_name(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Compilers append ".isra.0" and the like to names; ".cold" is code that does not wait. */
static int compare(const void *symbol, const void *function)
{
	const struct function *f = function;
	const char *dot = strchr(symbol, '.');
	const size_t n = dot ? (size_t)(dot - (const char *)symbol) : strlen(symbol);
	const int order = strncmp(symbol, f->name, n);

	return order ?: -!!f->name[n];
}

static enum io_wait wait_of(const struct plumb_symbol *s)
{
	const struct function *f =
		bsearch(s->name, functions, N_FUNCTIONS, sizeof(*functions), compare);

	return f && !strstr(s->name, ".cold") ? f->wait : IO_RUNS;
}

static int by_address(const void *a, const void *b)
{
	const struct io_place *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* The first address above that of symbol I, which others can share. */
static uint64_t end_of(const struct plumb_symbols *symbols, size_t i)
{
	const uint64_t address = symbols->all[i].address;

	while (++i < symbols->n)
		if (symbols->all[i].address > address)
			return symbols->all[i].address;
	return address + 4096;
}

size_t places_find(struct io_place places[IO_PLACES])
{
	struct plumb_symbols symbols;
	enum io_wait wait;
	size_t n = 0;

	for (size_t i = 0; i < IO_PLACES; i++)
		places[i] = (struct io_place){.from = UINT64_MAX};
	if (plumb_symbols_read(&symbols))
		return 0;
	qsort(functions, N_FUNCTIONS, sizeof(*functions), by_name);
	for (size_t i = 0; i < symbols.n && n < IO_PLACES; i++) {
		wait = symbols.all[i].address ? wait_of(&symbols.all[i]) : IO_RUNS;
		if (wait != IO_RUNS)
			places[n++] = (struct io_place){symbols.all[i].address, end_of(&symbols, i),
							wait};
	}
	plumb_symbols_free(&symbols);
	qsort(places, n, sizeof(*places), by_address);
	return n;
}
