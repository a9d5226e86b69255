/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* limits: which cgroups have limits of I/O, and for which disks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;

struct disk_setting {
	char *cgroup; /* its path in its hierarchy */
	char *file;   /* "io.max" */
	char *value;  /* "wbps=1048576" */
	uint64_t id;  /* of the cgroup */
	uint32_t dev;
	uint64_t waits; /* of traced threads that obey it, so far */
};

/* Looks for them, as of now. */
void limits_find(void);
/* Lets the programs know of them. */
void limits_set(const struct bpf_object *object);
/* Reads the waits; the list stays valid until limits_free(). */
const struct disk_setting *limits_read(const struct bpf_object *object, size_t *n);
bool limits_any(void);
void limits_free(void);

/* The path of the cgroup ID in the hierarchy of the io controller; NULL: not known. */
const char *limits_cgroup(uint64_t id);
