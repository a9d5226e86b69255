/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe: attaches programs to kernel functions, tracepoints and user functions
 * that are chosen at run time.
 *
 * If the kernel attaches one program to many functions at once, the cookie of each probe
 * identifies the function.  Otherwise each function gets a copy of the program with its
 * target as a constant, which needs no cookie (5.10 has none) and costs nothing per fire.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/core/attaching.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/tracepoints.h>

struct bpf_object;
struct bpf_program;

extern const struct plumb_attaching plumb_attaching;

/*
 * Before an object is opened whose programs are large and are copied: their copies get the types of
 * their functions, so that the verifier looks at a global function once, and not for each of its
 * callers.  Programs are copied whose section names a kind, and nothing to attach them to.
 */
void plumb_probe_note_functions(void);
/* Whether programs of probes can read a cookie (5.15). */
bool plumb_probes_have_cookies(void);
/* True if fentry programs call this function themselves: they must not be attached to it. */
bool plumb_function_serves_bpf(const char *name);

/* "tcp_sendmsg", "nf_tables:nft_do_chain", "m_start,2" (the second of that name); returns TEXT. */
const char *plumb_probe_name(const struct plumb_functions *f, size_t i, char *text, size_t size);

/* The value by which programs identify function number I (function.h). */
uint64_t plumb_probe_target(const struct plumb_functions *f, size_t i);

/* Prepares P, which is not loaded yet, for these functions; 0 or -errno. */
int plumb_probe_prepare(struct bpf_program *p, enum plumb_hook hook,
			const struct plumb_functions *f);

/*
 * Attaches the loaded programs of TARGETS (ended by PLUMB_HOOK_NONE; programs for the end of
 * a call first) to all functions where the kernel allows it.  Returns 0 if one is attached, or
 * -errno with the name of the last refused function in WHAT.
 */
int plumb_probe_attach(struct plumb_probes *probes, const struct bpf_object *object,
		       const struct plumb_attach_target *targets, const struct plumb_functions *f,
		       char *what, size_t size);

/*
 * The same for tracepoints, whose numbers begin at FIRST.
 * The program RAW is for raw tracepoints, PERF for all others; with RAW NULL, PERF is for all.
 */
int plumb_probe_tracepoints(struct plumb_probes *probes, const struct bpf_object *object,
			    const char *raw, const char *perf, const struct plumb_tracepoints *t,
			    size_t first, char *what, size_t size);
/* Runs PROGRAM of OBJECT HZ times a second on each CPU, by the event cpu-clock; 0 or -errno. */
int plumb_probe_samples(struct plumb_probes *probes, const struct bpf_object *object,
			const char *program, uint64_t hz, char *what, size_t size);
/*
 * Runs it at each EVENT (PERF_COUNT_SW_...) on the CPUs that are online, or a copy of it with
 * TARGET as its constant, unless that is NULL; 0 or -errno.  The kernel disables preemption
 * meanwhile, so such programs cannot interrupt each other on a CPU.
 */
int plumb_probe_software_event(struct plumb_probes *probes, const struct bpf_object *object,
			       const char *program, uint64_t event, const uint64_t *target);
/* Keeps what that takes (confine.h). */
void plumb_probe_retain_cpus(const struct plumb_probes *probes);
struct perf_event_attr;
/* Opens a perf counter of all threads on CPU; its descriptor or -errno (-ENODEV: it is offline). */
int plumb_counter_open(const struct perf_event_attr *attr, int cpu);

/* "t:sched:sched_switch"; returns TEXT. */
const char *plumb_tracepoint_name(const struct plumb_tracepoint *t, char *text, size_t size);

/* The error (negative) by which all those refused were refused; 0: they differ, or there is none.
 */
int plumb_probe_common_refusal(const struct plumb_probes *probes);

/* As the members of struct plumb_probe_by. */
void plumb_probe_detach(struct plumb_probes *probes);
/* Detaches N of them, from the one at index FIRST. */
void plumb_probe_detach_some(struct plumb_probes *probes, size_t first, size_t n);
void plumb_probe_close(struct plumb_probes *probes);

/* Returns whether a signal that ends a run is pending: attaching to many targets takes long. */
bool plumb_signals_pending(void);
