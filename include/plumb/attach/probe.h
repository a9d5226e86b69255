/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe: attaches programs to kernel functions, tracepoints and user functions
 * that are chosen at run time.
 *
 * If the kernel attaches one program to many functions at once, the cookie of each probe
 * identifies the function.  Otherwise each function gets a copy of the program with its
 * target as a constant, which needs no cookie (5.10 has none) and costs nothing per fire.
 */
#ifndef PLUMB_PROBE_H
#define PLUMB_PROBE_H

#include <plumb/kernel/functions.h>
#include <plumb/kernel/tracepoints.h>
#include <plumb/elf/userfuncs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;

enum plumb_hook {
	PLUMB_HOOK_NONE,
	PLUMB_FENTRY,
	PLUMB_FEXIT,
	PLUMB_FSESSION, /* both ends, one program: 7.0 */
	PLUMB_KPROBE,
	PLUMB_KRETPROBE,
	PLUMB_RAW_TRACEPOINT,
	PLUMB_TRACEPOINT,
	PLUMB_UPROBE,
	PLUMB_URETPROBE,
	PLUMB_UPROBE_RETURNS, /* uprobes on each return instruction */
	/* many functions at once */
	PLUMB_FENTRY_MULTI,   /* 7.2 */
	PLUMB_FSESSION_MULTI, /* 7.2 */
	PLUMB_KPROBE_MULTI,   /* 5.18 */
	PLUMB_KRETPROBE_MULTI,
	PLUMB_KPROBE_SESSION, /* both ends: 6.10 */
	PLUMB_UPROBE_MULTI,   /* 6.6 */
	PLUMB_URETPROBE_MULTI,
	PLUMB_UPROBE_SESSION, /* both ends: 6.13 */
	PLUMB_UPROBE_MULTI_RETURNS,
};

/* A program of the object, and the hook by which it is attached to the functions. */
struct plumb_attach_target {
	const char *program;
	enum plumb_hook hook;
};

/* Up to this number of probes, a low cost per fire is preferred to attaching quickly. */
#define PLUMB_FEW 4

/* One program on one hook, or on many. */
struct plumb_probe {
	int program; /* descriptor of this function's copy; -1: the object's program */
	int event;   /* descriptor of the perf event; -1: none */
	int link;
	uint32_t in_tracefs; /* number of its kretprobe in tracefs; 0: none (probe-return.c) */
};

/* A target to which no probe could be attached. */
struct plumb_refused {
	size_t target; /* its number */
	int err;       /* -errno */
};

/* Names of targets that are attached to, as probe-list prints them. */
#define PLUMB_MAX_NAMES 64

struct plumb_target_names {
	char **list; /* the first of them */
	size_t n;    /* all */
};

struct plumb_probes {
	struct plumb_probe *list;
	size_t n;
	struct plumb_target_names names; /* for the audit record: empty if there is none */
	struct plumb_refused *refusals;
	size_t refused;
	struct plumb_each_cpu *each_cpu; /* events of each CPU (samples.c) */
	size_t n_each_cpu;
	uint64_t missed; /* executions that detached links missed */
	bool missed_unknown;
	/* Of user functions, by one link to many: only in this process; 0: in all. */
	uint32_t process;
	/* Programs of single uprobes take their target from the cookie: they are not copied. */
	bool with_cookies;
	/* A signal ends the last detaching of many: the rest is LEFT for the kernel, which
	 * detaches at exit. */
	bool may_leave, left;
	bool by_events; /* some user functions are attached to by perf events */
};

bool plumb_hook_is_multi(enum plumb_hook hook);

/* Whether programs of probes can read a cookie (5.15). */
bool plumb_probes_have_cookies(void);
/* True for fentry, fexit, fsession and their multi forms, which need the function's BTF. */
bool plumb_hook_is_fentry(enum plumb_hook hook);

/* True if fentry programs call this function themselves: they must not be attached to it. */
bool plumb_function_serves_bpf(const char *name);

/* "tcp_sendmsg", "nf_tables:nft_do_chain", "m_start,2" (the second of that name); returns TEXT. */
const char *plumb_probe_name(const struct plumb_functions *f, size_t i, char *text, size_t size);

/* The value by which programs identify function number I (function.h). */
uint64_t plumb_probe_target(const struct plumb_functions *f, size_t i);

/*
 * Returns a copy of P's instructions that loads VALUE where P loads the 64-bit constant UNSET. KIND
 * is that of VALUE, like BPF_PSEUDO_BTF_ID (0: a number).  Owned by the caller; NULL: no memory.
 */
struct bpf_insn *plumb_insns_copy(const struct bpf_program *p, uint64_t unset, uint8_t kind,
				  uint64_t value);

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
 * The same for tracepoints and user functions, whose numbers begin at FIRST.
 * The program RAW is for raw tracepoints, PERF for all others; with RAW NULL, PERF is for all.
 */
int plumb_probe_tracepoints(struct plumb_probes *probes, const struct bpf_object *object,
			    const char *raw, const char *perf, const struct plumb_tracepoints *t,
			    size_t first, char *what, size_t size);
/*
 * The same for one program, by its section "tp/CATEGORY/NAME".  libbpf cannot do this where tracefs
 * is not mounted.  NULL and errno on failure.
 */
struct bpf_link *plumb_probe_attach_tracepoint(const struct bpf_program *p);
/* FILE: the file's index, with which programs get the number (PLUMB_TARGET_IN_FILE()). */
int plumb_probe_userfuncs(struct plumb_probes *probes, const struct bpf_object *object,
			  const struct plumb_attach_target *target, const struct plumb_userfuncs *u,
			  size_t first, size_t file, char *what, size_t size);

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
/* Opens these events on CPUs that have come online, also again, since the last call. */
void plumb_probe_look_at_cpus(struct plumb_probes *probes);
/* Keeps what that takes (confine.h). */
void plumb_probe_keep_cpus(const struct plumb_probes *probes);
struct perf_event_attr;
/* Opens a perf counter of all threads on CPU; its descriptor or -errno (-ENODEV: it is offline). */
int plumb_counter_open(const struct perf_event_attr *attr, int cpu);

/* "t:sched:sched_switch", "u:/bin/bash:readline"; returns TEXT. */
const char *plumb_tracepoint_name(const struct plumb_tracepoint *t, char *text, size_t size);
const char *plumb_userfunc_name(const struct plumb_userfuncs *u, size_t i, char *text, size_t size);

/* The error of attaching to target number I, -errno; 0: none. */
int plumb_probe_refusal(const struct plumb_probes *probes, size_t i);
/* The error (negative) by which all those refused were refused; 0: they differ, or there is none.
 */
int plumb_probe_common_refusal(const struct plumb_probes *probes);

/* Adds the executions that the kernel skipped to MISSED; false: it does not count them. */
bool plumb_program_missed(int program, uint64_t *missed);
bool plumb_probe_missed(const struct plumb_probes *probes, uint64_t *missed);

/* After detaching, the programs' counters can still be read until the probes are closed. */
void plumb_probe_detach(struct plumb_probes *probes);
/* Detaches N of them, from the one at index FIRST. */
void plumb_probe_detach_some(struct plumb_probes *probes, size_t first, size_t n);
void plumb_probe_close(struct plumb_probes *probes);

#endif
