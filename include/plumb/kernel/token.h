/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * token: a token of BPF, which stands for capabilities that this process has only in its user
 * namespace (Linux 6.9).  It comes from the bpffs that LIBBPF_BPF_TOKEN_PATH names; libbpf (from
 * 1.5 on) takes one for each object, and this one is for programs that are loaded without it.
 */
#pragma once

#include <bpf/bpf.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns whether there is a token; if one is wanted and cannot be had, after a message. */
bool plumb_token_take(void);

/* Does without: outside of user namespaces there are no tokens, and libbpf would ask for one. */
void plumb_token_none(void);

/* bpf_prog_load() by the token, if there is one.  The licence is that of the tools. */
int plumb_prog_load(enum bpf_prog_type type, const char *name, const struct bpf_insn *insns,
		    size_t n, const struct bpf_prog_load_opts *opts);
