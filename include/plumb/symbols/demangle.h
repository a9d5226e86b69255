/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* demangle: names of C++ and Rust as in their sources. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the demangled NAME, or NAME itself if it is not mangled, without its version, cut to SIZE.
 * Returns whether it was mangled.
 */
bool plumb_demangle(const char *name, char *text, size_t size);

/* The same for the name of a function, without its return type, and with PARAMETERS or without. */
bool plumb_demangle_function(const char *name, bool parameters, char *text, size_t size);
