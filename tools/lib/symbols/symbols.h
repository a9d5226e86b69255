/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbols: declarations that its parts share.  symbols-table.c finds the symbol of an address; its
 * tables are filled by symbols-kernel.c, symbols-file.c (from one ELF file) and symbols-perfmap.c.
 * symbols-process.c reads mappings when symbols-queue.c asks, or has them from mapped.c,
 * symbols-file.c the mapped files, and symbols-inline.c the DWARF of their debug files.
 */
#pragma once

#include <gelf.h>
#include <stdio.h>
#include <sys/stat.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/demangle.h>
#include <plumb/symbols/elffile.h>
#include <plumb/symbols/maps.h>
#include <plumb/symbols/owners.h>
#include <plumb/symbols/symbols.h>

#include "mapped.h"

/* Size of the reason why a file is not read. */
#define PLUMB_WHY 128

/* Longer names are cut to this size. */
#define PLUMB_SYMBOL_NAME 4096

/* --- table --- */

/* Of several symbols at one address the one with the lowest rank names it. */
enum {
	PLUMB_SYMTAB_LOCAL = 1,
	PLUMB_SYMTAB_LABEL = 2,   /* of type STT_NOTYPE */
	PLUMB_SYMTAB_UNSIZED = 4, /* reaches to the next symbol, at most SIZE */
};

struct plumb_symtab_entry {
	uint64_t address;
	uint32_t size : 28, is_reused : 1, rank : 3;
	uint32_t name;     /* offset in the table's text */
	const char *shown; /* name to print; NULL: not needed yet */
};

struct plumb_symtab {
	struct plumb_symtab_entry *all;
	size_t n;
	char *text; /* ends with a NUL */
	size_t text_size, text_room;
	bool is_log;   /* of entries that contain an address, the last added is valid; is_reused:
			  others had other names */
	bool is_ready; /* sorted, each address once */
};

/* Appends TEXT; returns its offset in the table's text, or -errno. */
int64_t plumb_symtab_text(struct plumb_symtab *t, const void *text, size_t size);
int plumb_symtab_add(struct plumb_symtab *t, uint64_t address, uint64_t size, uint32_t name,
		     unsigned int rank);
/* The symbol that contains ADDRESS, or NULL. */
struct plumb_symtab_entry *plumb_symtab_find(struct plumb_symtab *t, uint64_t address);
void plumb_symtab_free(struct plumb_symtab *t);

/* --- kernel --- */

/* Opens /proc/NAME; NULL: errno says why. */
FILE *plumb_kernel_list(const char *name);
/*
 * Fills the table from kallsyms.  Each name is followed by that of its module, "" for the kernel.
 * 0 or -errno.
 */
int plumb_symtab_read_kernel(struct plumb_symtab *t, FILE *f);
/* A number that changes when a module comes or goes. */
uint64_t plumb_kernel_modules(FILE *f);

/* --- inline functions --- */

struct plumb_inlines;

/* Reads the debug information of FD, which stays the caller's; NULL: none that can be used. */
struct plumb_inlines *plumb_inlines_open(int fd);
void plumb_inlines_close(struct plumb_inlines *i);
/*
 * Writes the mangled names of the functions inlined at ADDRESS, innermost first, to NAMES; returns
 * their number.
 */
size_t plumb_inlines_find(struct plumb_inlines *i, uint64_t address, const char **names,
			  size_t max);

/* --- a file that is mapped --- */

struct plumb_segment {
	uint64_t offset, size, address;
	bool is_code;
};

struct plumb_symfile {
	struct plumb_symfile *next;
	struct stat st;
	unsigned char build_id[PLUMB_BUILD_ID_MAX];
	size_t build_id_size;
	char *path;
	int fd, debug_fd; /* -1 once they have been read */
	char *image;      /* of a file that is in memory only */
	size_t image_size;
	struct plumb_segment *segments; /* at least one is_code */
	size_t n_segments;
	struct plumb_symtab table;
	struct plumb_inlines *inlines;
	bool is_read;
};

/*
 * The file of FD, a known one or a new one; takes FD.  A file that is not ELF has no segments.
 * NULL: fstat() failed.
 */
struct plumb_symfile *plumb_symfile_get(struct plumb_symbolizer *s, int fd, const char *path,
					int root);
/*
 * The file of VMA by its build id, wherever that or its debug file is kept; NULL: it is nowhere.
 * Those of root, and of the tool's user, only.
 */
struct plumb_symfile *plumb_symfile_of_build(struct plumb_symbolizer *s,
					     const struct plumb_vma *vma, int root);
/* The same for an ELF file in memory; takes IMAGE, which is malloc'd. */
struct plumb_symfile *plumb_symfile_of_image(struct plumb_symbolizer *s, char *image, size_t size);
/* Reads the symbols of the file, once. */
void plumb_symfile_read(struct plumb_symbolizer *s, struct plumb_symfile *file);
/* Converts OFFSET in the file to the ADDRESS that its symbols use; false: it is in no segment. */
bool plumb_symfile_address(const struct plumb_symfile *file, uint64_t offset, uint64_t *address);
/*
 * Whether BELOW and ABOVE are parts of the file as one image in memory, and from START to END is
 * code of that image, at *OFFSET in the file.
 */
bool plumb_symfile_lies_around(const struct plumb_symfile *file, const struct plumb_vma *below,
			       const struct plumb_vma *above, uint64_t start, uint64_t end,
			       uint64_t *offset);
void plumb_symfile_free(struct plumb_symfile *file);

/* --- a process --- */

struct plumb_perfmap {
	struct plumb_symtab table, before; /* before: of all that it has replaced */
	struct stat st;                    /* when it was read */
	uint64_t parsed;                   /* bytes, up to the end of the last complete line */
	char last[128];                    /* the beginning of that line */
	size_t last_size, last_whole;
};

/* An area of code in the memory of a process. */
struct plumb_code_map {
	uint64_t start, end, offset;
	uint64_t dev, ino;
	uint64_t image;     /* the process's when it was seen; 0: any, but NOT_IMAGE */
	uint64_t not_image; /* 0: none */
	const char *module;
	struct plumb_symfile *file; /* NULL: none, or not readable */
	bool may_be_jit;            /* not in an ELF file, so perhaps in the perf map */
};

struct plumb_code_maps {
	struct plumb_code_map *all; /* current ones by address, former ones oldest first */
	size_t n;
};

struct plumb_process {
	pid_t pid;
	uint64_t rest; /* ns, CLOCK_MONOTONIC: not noted again before; 0: never noted */
	bool is_queued, is_watched; /* is_watched: only for its perf map */
	uint64_t due;
	struct plumb_process *next; /* in the queue */
	struct plumb_code_maps now, gone;
	struct plumb_perfmap perf;
};

/*
 * Reads the lines added to the perf map of the process since the last call; returns the number of
 * malformed ones.
 */
uint64_t plumb_perfmap_update(struct plumb_symbolizer *s, struct plumb_process *p, int root,
			      const struct plumb_owners *owners);

struct plumb_process *plumb_process_find_or_add(struct plumb_symbolizer *s, pid_t pid);
/* As plumb_symbolizer_note(). */
int plumb_process_note(struct plumb_symbolizer *s, struct plumb_process *p);
/* Whether it has code that a perf map may name. */
bool plumb_process_has_jit(const struct plumb_process *p);
/* Reads what its perf map has become; false: the process has ended. */
bool plumb_process_look_again(struct plumb_symbolizer *s, struct plumb_process *p);
/* NULL: never noted. */
struct plumb_process *plumb_process_find(const struct plumb_symbolizer *s, pid_t pid);
/* The current mapping of IMAGE that contains ADDRESS, else a former one; or NULL. */
const struct plumb_code_map *plumb_process_mapping(const struct plumb_process *p, uint64_t image,
						   uint64_t address);
/* Whether that was not always M. */
bool plumb_process_reuses(const struct plumb_process *p, uint64_t image, uint64_t address,
			  const struct plumb_code_map *m);
void plumb_process_free(struct plumb_process *p);

/* --- the whole --- */

struct plumb_symbolizer {
	bool inlines;
	void *processes, *strings, *unread;       /* tsearch() */
	struct plumb_process *queue, **queue_end; /* to be noted, or watched */
	struct plumb_symfile *files;
	unsigned int open_files; /* not yet read */
	struct plumb_symfile *vdso;
	struct plumb_mapped *mapped; /* NULL: not watched */
	bool kernel_is_read;
	FILE *kallsyms, *module_list;
	uint64_t modules;                   /* plumb_kernel_modules() of KERNEL */
	struct plumb_symtab kernel, before; /* before modules came or went */
	char obstacle[128];
	struct plumb_symbolizer_counts counts;
};

/* The only copy of TEXT, escaped (text.h). */
const char *plumb_symbolizer_string(struct plumb_symbolizer *s, const char *text);
/* Counts a file whose symbols cannot be read, each file once. */
void plumb_symbolizer_unread(struct plumb_symbolizer *s, const char *path, const char *why);
/* The same for a file of another user; warns of the first. */
void plumb_symbolizer_foreign(struct plumb_symbolizer *s, const char *path, const char *why);
