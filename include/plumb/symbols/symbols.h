/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbols: names for the addresses of a stack, in the kernel and in processes.
 *
 * Kernel: the symbols of /proc/kallsyms, including those of modules and BPF programs.
 *
 * Processes: an address in a mapped file is converted to an offset in the file, which is looked up
 * in the file's symbol tables: .symtab, else the .symtab of its debug file (by build id, else
 * .gnu_debuglink; searched below the root of the process and then below the tool's own), else
 * .dynsym, .gnu_debugdata and the table of functions of Go.  Addresses in anonymous mappings are
 * looked up in the perf map of the process, which a JIT compiler writes.  Deleted files and files
 * in other mount namespaces are read too.  The network is never used.
 *
 * C++ and Rust names are demangled.  What cannot be printed in a name is escaped (text.h).  The
 * symbolizer owns all strings.
 *
 * Mapped files may be malicious.  Files and perf maps are read only if they are regular and belong
 * to one of plumb_owners_of() the process, a debug file only if it belongs to root or to the owner
 * of the file; tables of implausible size are not read.
 */
#pragma once

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
				 for an unnamed kernel address, the address */
	bool is_kernel;
	bool is_inlined; /* into the next frame; offset is 0 */
};

/* INLINES: also name inlined functions in user frames, from debug information. */
struct plumb_symbolizer *plumb_symbolizer_new(bool inlines);
void plumb_symbolizer_free(struct plumb_symbolizer *s);

/*
 * From now on the kernel reports which code processes map (perf_event_open(2)), so that those that
 * end before they are noted have names, too.  Takes CAP_PERFMON; without it there are none.
 */
void plumb_symbolizer_watch(struct plumb_symbolizer *s);
/* Whether PID has mapped code since this was asked last, as plumb_symbolizer_note_due() has
 * learned. */
bool plumb_symbolizer_saw_change(struct plumb_symbolizer *s, pid_t pid);

/*
 * Records the current mappings of the process and opens the mapped files, so that its addresses can
 * be named after it has exited.  To be called when the process is first seen and repeatedly after
 * that, since it may execute and load other files.  If nothing has changed, the cost is that of
 * reading /proc/PID/maps.  Returns 0, or -errno; then, and if the process has exited, earlier
 * records are kept.
 */
int plumb_symbolizer_note(struct plumb_symbolizer *s, pid_t pid);

/* What the process executes (plumb_stack_image()); 0: that cannot be read. */
uint64_t plumb_process_image(pid_t pid);

/*
 * For callers that see a process many times: plumb_symbolizer_note_soon() queues it once, and the
 * next plumb_symbolizer_note_due() notes it.  Processes whose mappings take long to read are noted
 * less often, so that this takes at most a fifth of a CPU, and each call takes at most some 10 ms;
 * with ALL, all queued processes are noted now.  plumb_symbolizer_note_due() returns the ns until
 * some are due, 0 if none are queued.
 *
 * A process with code of no file stays queued until it ends: its perf map is read again as that
 * changes.  plumb_symbolizer_watches_only(): no others are queued.
 */
void plumb_symbolizer_note_soon(struct plumb_symbolizer *s, pid_t pid);
int plumb_symbolizer_note_due(struct plumb_symbolizer *s, bool all);
bool plumb_symbolizer_watches_only(const struct plumb_symbolizer *s);

/*
 * Reads the kernel's symbols again if modules have come or gone since.  A name that has another
 * function's address of before is followed by "[address reused]".
 */
void plumb_symbolizer_note_kernel(struct plumb_symbolizer *s);

/*
 * Names an address.  IS_RETURN: it is a return address, as are all addresses of a stack except the
 * innermost.  A return address follows the call and may be in the next function, so the byte before
 * it is looked up.
 */
void plumb_symbolize_kernel(struct plumb_symbolizer *s, uint64_t address, bool is_return,
			    struct plumb_frame_name *frame);
/*
 * The same of a return address in the kernel, by a symbolizer that all callers share, also if it is
 * of a module that came meanwhile.  Takes CAP_SYSLOG.
 */
void plumb_symbolize_caller(uint64_t address, struct plumb_frame_name *frame);

/*
 * The same for a process, which is noted if it has not been yet.  The address is looked up in the
 * current mappings, then in earlier ones, of IMAGE only (plumb_stack_image(); 0: any).  A name of a
 * perf map that had others for the address is followed by "[address reused]".  Writes 1 to MAX
 * frames, innermost first; more than one if functions are inlined.  Returns their number.
 */
size_t plumb_symbolize_user(struct plumb_symbolizer *s, pid_t pid, uint64_t image, uint64_t address,
			    bool is_return, struct plumb_frame_name *frames, size_t max);

/*
 * One frame of a folded stack, therefore without ';': "do_sys_open", "nft_do_chain [nf_tables]",
 * "libfoo.so+0x1234", "0x7f0012345678 [unknown]".  Returns TEXT.
 */
const char *plumb_frame_name_text(const struct plumb_frame_name *frame, char *text, size_t size);

/* One line with the reason why kernel functions cannot be named; NULL: they can. */
const char *plumb_symbolizer_obstacle(struct plumb_symbolizer *s);

struct plumb_symbolizer_counts {
	uint64_t addresses; /* that were looked up */
	uint64_t unknown;   /* of these, addresses without a function name */
	uint64_t files;     /* mapped files, each counted once */
	uint64_t unread;    /* files that are unreadable or not ELF; -v names the first */
	uint64_t foreign;   /* files that are not read since another user owns them */
	uint64_t bad_lines; /* malformed lines of perf maps */
	uint64_t lost;      /* reports of the kernel, of processes that map files */
};

const struct plumb_symbolizer_counts *plumb_symbolizer_counts(const struct plumb_symbolizer *s);
