/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* folder: the directory of a file that is to be written, and who else may write it. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Opens the directory of the file PATH with O_PATH, and sets *NAME to the file's name, in PATH; a
 * relative path begins at DIR.  Symbolic links on the way that belong to neither the caller nor
 * root are not followed, wherever they are; fs.protected_symlinks refuses those in sticky
 * directories only.  Returns a descriptor or -errno; -ELOOP: such a link; -EMLINK: too many links.
 */
int plumb_folder_of(int dir, const char *path, const char **name);

/* Files for which IS, that of the audit records, says so are not written to by any other name. */
void plumb_files_spare(bool (*is)(const struct stat *st));
bool plumb_file_is_spared(const struct stat *st);

bool plumb_is_same_file(const struct stat *a, const struct stat *b);
/* Whether it is a file of procfs, or a directory there. */
bool plumb_is_in_proc(int fd);

/*
 * Claims NAME in the folder, which is the PATH of OPTION, for as long as this process lives.  0; or
 * an error, if a tool of root or this user in this network namespace has claimed it, which is said.
 * A claim that fails otherwise is none.
 */
int sole_claim(const char *option, const char *path, int folder, const char *name);
