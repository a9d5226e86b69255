/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* copies: how many of a program's copies (bpf/core/copies.h) are loaded. */
#pragma once

struct bpf_object;
struct bpf_program;

/* Copy number N of PROGRAM; NULL: there is none. */
struct bpf_program *plumb_copy_of(const struct bpf_object *object, const char *program, int n);

/* Loads only the first N copies of PROGRAM, of the opened OBJECT. */
void plumb_copies_limit(struct bpf_object *object, const char *program, int n);
