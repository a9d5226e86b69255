/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbols: what its parts share.  symbols-table.c finds the symbol of an address;
 * tables are filled by symbols-kernel.c, symbols-elf.c (from one ELF file) and
 * symbols-perfmap.c.  symbols-process.c has mappings, symbols-file.c their files,
 * symbols-debug.c the debug files of these, symbols-inline.c their DWARF.
 * symbols-strings.c keeps names for all of them.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include <gelf.h>
#include <plumb/symbols/symbols.h>
#include <sys/stat.h>

/* As much of a name as is kept. */
#define PLUMB_SYMBOL_NAME 4096

/* --- table --- */

/* Of several symbols at one address the one with the lowest rank names it. */
enum {
	PLUMB_SYMTAB_LOCAL = 1,
	PLUMB_SYMTAB_LABEL = 2,   /* of no type */
	PLUMB_SYMTAB_UNSIZED = 4, /* reaches as far as the next, SIZE at most */
};

struct plumb_symtab_entry {
	uint64_t address;
	uint32_t size : 29, rank : 3;
	uint32_t name;     /* where it begins in the table's text */
	const char *shown; /* as it is printed; NULL: not yet asked for */
};

struct plumb_symtab {
	struct plumb_symtab_entry *all;
	size_t n, room;
	char *text; /* ends with a NUL */
	size_t text_size, text_room;
	bool is_log;   /* of what has the same address, the last that was added is right */
	bool is_ready; /* sorted, each address once */
};

/* Adds names; where they begin, or -errno. */
int64_t plumb_symtab_text(struct plumb_symtab *t, const void *text, size_t size);
int plumb_symtab_add(struct plumb_symtab *t, uint64_t address, uint64_t size, uint32_t name,
		     unsigned int rank);
/* The symbol that ADDRESS is in, or NULL. */
struct plumb_symtab_entry *plumb_symtab_find(struct plumb_symtab *t, uint64_t address);
void plumb_symtab_free(struct plumb_symtab *t);

/* --- kernel --- */

/* Fills the table; each name is followed by its module's, "" for the kernel itself.  0 or -errno.
 */
int plumb_symtab_read_kernel(struct plumb_symtab *t);

/* --- ELF --- */

/* Adds the functions of all symbol tables that ELF has; *WHOLE: also of a .symtab. */
int plumb_symtab_read_elf(struct plumb_symtab *t, Elf *elf, bool *whole);
/* Those of the compressed file in .gnu_debugdata. */
int plumb_symtab_read_minidebug(struct plumb_symtab *t, Elf *elf);
/* A section by its name, or NULL. */
Elf_Scn *plumb_elf_section(Elf *elf, const char *name, GElf_Shdr *header);

#define PLUMB_BUILD_ID_MAX 64

/* Its length; 0: there is none. */
size_t plumb_elf_build_id(Elf *elf, unsigned char id[PLUMB_BUILD_ID_MAX]);

/* --- opening --- */

/*
 * Opens a regular file, for which nothing else is ever opened; the descriptor or
 * -errno.  PATH is what the process whose root DIR is (O_PATH) means by it.
 */
int plumb_open_in_root(int dir, const char *path, bool follow);
/* As this process sees it. */
int plumb_open_here(const char *path);

/*
 * The debug file of ELF, a file of that owner which lies at PATH: descriptor, or
 * -errno.  Only root and that owner are believed.
 */
int plumb_debug_open(Elf *elf, const char *path, int root, uid_t owner);

/* --- inline functions --- */

struct plumb_inlines;

/* Of the file with debug information; NULL: it has none of use.  FD stays the caller's. */
struct plumb_inlines *plumb_inlines_open(int fd);
void plumb_inlines_close(struct plumb_inlines *i);
/* Names of what is inlined at ADDRESS, innermost first, mangled; how many. */
size_t plumb_inlines_find(struct plumb_inlines *i, uint64_t address, const char **names,
			  size_t max);

/* --- a file that is mapped --- */

struct plumb_segment {
	uint64_t offset, size, address;
};

struct plumb_symfile {
	struct plumb_symfile *next;
	struct stat st;
	unsigned char build_id[PLUMB_BUILD_ID_MAX];
	size_t build_id_size;
	char *path;
	int fd, debug_fd; /* -1 once they have been read */
	char *image;      /* of what is in memory only */
	size_t image_size;
	struct plumb_segment *segments; /* of code */
	size_t n_segments;
	struct plumb_symtab table;
	struct plumb_inlines *inlines;
	bool is_read;
};

/* The file that FD is, which it takes: one that is known, or a new one.  NULL: no ELF file. */
struct plumb_symfile *plumb_symfile_get(struct plumb_symbolizer *s, int fd, const char *path,
					int root);
/* Likewise of an ELF file in memory, malloc'd. */
struct plumb_symfile *plumb_symfile_of_image(struct plumb_symbolizer *s, char *image, size_t size);
/* Reads its symbols, once. */
void plumb_symfile_read(struct plumb_symbolizer *s, struct plumb_symfile *file);
/* The address that the file's symbols have for what lies at OFFSET in it. */
bool plumb_symfile_address(const struct plumb_symfile *file, uint64_t offset, uint64_t *address);
void plumb_symfile_free(struct plumb_symfile *file);

/* --- a process --- */

struct plumb_perfmap {
	struct plumb_symtab table;
	dev_t dev;
	ino_t ino;
	off_t size;
	uint64_t parsed; /* bytes, up to the last line that is whole */
};

/* Reads what the map has grown by; returns how many lines of it were none. */
uint64_t plumb_perfmap_update(struct plumb_perfmap *map, pid_t pid, int root);

struct plumb_mapping {
	uint64_t start, end, offset;
	uint64_t dev, ino;
	const char *module;
	struct plumb_symfile *file; /* NULL: none, or not readable */
	bool may_be_jit;            /* no ELF file, so perhaps in the perf map */
};

struct plumb_mappings {
	struct plumb_mapping *all; /* of code, by address */
	size_t n, room;
};

struct plumb_process {
	pid_t pid;
	uint64_t rest; /* until when it is not noted again; 0: it never was */
	bool is_asked;
	struct plumb_process *next; /* that is asked for */
	struct plumb_mappings now, gone;
	struct plumb_perfmap perf;
};

/* NULL: never noted. */
struct plumb_process *plumb_process_find(const struct plumb_symbolizer *s, pid_t pid);
/* Where ADDRESS is, or was; or NULL. */
const struct plumb_mapping *plumb_process_mapping(const struct plumb_process *p, uint64_t address);
void plumb_process_free(struct plumb_process *p);

/* --- the whole --- */

struct plumb_symbolizer {
	bool inlines;
	void *processes, *strings, *unread; /* tsearch() */
	struct plumb_process *asked, **asked_end;
	struct plumb_symfile *files;
	unsigned int open_files; /* not yet read */
	struct plumb_symfile *vdso;
	bool kernel_is_read;
	struct plumb_symtab kernel;
	char obstacle[128];
	struct plumb_symbolizer_counts counts;
};

/* One copy of each string, with control characters as '?'; NULL: no memory. */
const char *plumb_symbolizer_string(struct plumb_symbolizer *s, const char *text);
/* Counts a file whose symbols cannot be had. */
void plumb_symbolizer_unread(struct plumb_symbolizer *s, const char *path, const char *why);
void plumb_symbolizer_free_strings(struct plumb_symbolizer *s);

/* A name as the source has it, cut to SIZE; as it is, where it is not mangled. */
void plumb_demangle(const char *name, char *text, size_t size);

#endif
