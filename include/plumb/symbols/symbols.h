/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbols: names for the addresses of a stack, in the kernel and in processes.
 *
 * Kernel: what /proc/kallsyms has, modules and BPF programs too.
 *
 * Processes: an address is in a file that is mapped there, and so has an offset
 * in that file, which its symbol tables name: .symtab, else that of its debug
 * file (by build id, else .gnu_debuglink; looked for below the process's root and
 * then below ours), else .dynsym and .gnu_debugdata.  What is mapped from no file
 * is looked up in the perf map of the process, which a JIT writes.  Files that
 * have been deleted, or lie in another mount namespace, are read as well.  Nothing
 * is asked of a network.
 *
 * Names of C++ and Rust are demangled.  Control characters in a name are '?'.
 * Strings live as long as the symbolizer.
 *
 * What processes map may be hostile: nothing in it is believed about the files
 * of other users, and what is too large to be true is not read.
 */
#ifndef PLUMB_SYMBOLS_H
#define PLUMB_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct plumb_symbolizer;

struct plumb_frame_name {
	const char *function; /* NULL: not known */
	const char *module;   /* "libc.so.6", "[vdso]", "[perf map]", "[anon]", or the kernel's
				 "nf_tables"; NULL: the kernel itself, or nothing is known */
	uint64_t offset;      /* in the function; else in the module's file; without either, or
				 where the kernel has no name for it, the address */
	bool is_kernel;
	bool is_inlined; /* into the frame that follows; its offset is 0 */
};

/* NULL: no memory.  INLINES: user frames also have what was inlined, by debug information. */
struct plumb_symbolizer *plumb_symbolizer_new(bool inlines);
void plumb_symbolizer_free(struct plumb_symbolizer *s);

/*
 * Remembers what the process maps now, and opens its files, so that its addresses
 * have names after it has ended; to be called when it shows up and again from time
 * to time, as it may execute and load other files.  Where nothing has changed that
 * costs no more than reading /proc/PID/maps.  0, or -errno: then, and when the
 * process has ended, all stays as it was.
 */
int plumb_symbolizer_note(struct plumb_symbolizer *s, pid_t pid);

/*
 * For who is told of a process again and again: it is noted by the next call of
 * plumb_symbolizer_note_due(), once, however often it was asked for.  One that takes
 * long to read is left alone in between, so that this is a fifth of a CPU's time at most,
 * unless ALL are to be noted now.  Each call takes some 10 ms at most, but for ALL.
 * 0 or -ENOMEM; in how many ns some are due, 0: none are asked for.
 */
int plumb_symbolizer_note_soon(struct plumb_symbolizer *s, pid_t pid);
int plumb_symbolizer_note_due(struct plumb_symbolizer *s, bool all);

/*
 * A name for an address.  In a stack each but the innermost is where a call will
 * return to, IS_RETURN: behind the call, and so perhaps in the next function; the
 * byte before it is looked up then.
 */
void plumb_symbolize_kernel(struct plumb_symbolizer *s, uint64_t address, bool is_return,
			    struct plumb_frame_name *frame);

/*
 * Likewise for a process, which is noted if it never was.  Looked up in what it
 * maps, then in what it mapped before.  Writes 1 to MAX frames, innermost first;
 * more than one where functions are inlined.  Returns how many.
 */
size_t plumb_symbolize_user(struct plumb_symbolizer *s, pid_t pid, uint64_t address, bool is_return,
			    struct plumb_frame_name *frames, size_t max);

/*
 * One frame of a folded stack, so without ';': "do_sys_open", "nft_do_chain
 * [nf_tables]", "libfoo.so+0x1234", "0x7f0012345678 [unknown]".  Returns TEXT.
 */
const char *plumb_frame_name_text(const struct plumb_frame_name *frame, char *text, size_t size);

/* Why the kernel's functions have no names: a line; NULL: they have. */
const char *plumb_symbolizer_obstacle(struct plumb_symbolizer *s);

struct plumb_symbolizer_counts {
	uint64_t addresses; /* that were looked up */
	uint64_t unknown;   /* of these without the name of a function */
	uint64_t files;     /* that are mapped, each once */
	uint64_t unread;    /* that could not be opened, or are no ELF files; -v names the first */
	uint64_t bad_lines; /* of perf maps */
};

const struct plumb_symbolizer_counts *plumb_symbolizer_counts(const struct plumb_symbolizer *s);

#endif
