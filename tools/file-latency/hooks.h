/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooks: what the programs are attached to on this kernel. */
#pragma once

#include <stdint.h>
#include <plumb/functions/functions.h>

#include "file-latency.h"

struct file_hooks {
	struct plumb_functions functions;
	struct file_config config;
	char submits[32]; /* this kernel's name of io_uring_submit_req */
	bool has_aio;     /* the functions of AIO */
};

/*
 * Finds the hooks of the operations OPS (1 << enum file_op); BTF is --btf, a file with the types of
 * this kernel, or NULL. Returns 0, or -errno after a message.
 */
int file_hooks_find(const char *btf, uint32_t ops, struct file_hooks *hooks);
