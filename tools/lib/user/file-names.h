/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file names: the other names of a file, since a user may mount it elsewhere, in a mount namespace
 * of his own: "/proc/PID/root/innocent".
 */
#pragma once

/*
 * Calls EACH with the name of the file PATH in its file system, in its mount namespace (that of
 * process PID if SHOWN, by which the user knows the file, begins with /proc/PID), and by each
 * mount of this file system in the namespace of the tool, though another mount may hide that.
 * Hard links, and the layers of an overlay, are not found.  Returns 0, what EACH returned other
 * than that, which ends it, or -errno if the file's mount cannot be found.
 */
int plumb_file_names(const char *path, const char *shown,
		     int (*each)(const char *name, void *context), void *context);
