/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* meanwhile: what happened while a thread waited for a CPU, as text and in JSON. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/sched/meanwhile.h>

struct bpf_object;

#define PLUMB_MEANWHILE_TEXT 1024

/*
 * "nginx/123 (nice 5 on CPU 3 only)", "[CPU quota used up] 20.0ms of each 100ms: cgroup /web", of
 * a thread that waited "php/9 (nice 0), only on CPU 3"; returns TEXT.
 */
const char *plumb_meanwhile_text(const struct bpf_object *object, const struct plumb_meanwhile *k,
				 char *text, size_t size);
/*
 * " on CPU 3 only", " on 2 CPUs only", of a thread that may use N_ALLOWED CPUs, if that is one,
 * CPU;
 * "" if it may use all that are online.  Returns TEXT.
 */
const char *plumb_meanwhile_cpus(uint32_t n_allowed, uint32_t cpu, char *text, size_t size);
/* The path of the cgroup of a quota, escaped; "[unknown]". */
void plumb_meanwhile_path(const struct bpf_object *object, uint64_t id, char *text, size_t size);
/* An object, with the sum. */
json_t *plumb_meanwhile_json(const struct bpf_object *object, const struct plumb_meanwhile *k,
			     uint64_t ns);
