/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe: attaches programs to kernel functions, tracepoints and user functions
 * that are chosen at run time.
 *
 * Where the kernel attaches one program to many functions at once, each probe's
 * cookie says which it is.  Elsewhere each function gets a copy of the program
 * with its target written into it: that takes no cookie, so it also works on 5.10,
 * and costs nothing when the probe fires.
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
	/* many functions at once */
	PLUMB_FENTRY_MULTI,   /* 7.2 */
	PLUMB_FSESSION_MULTI, /* 7.2 */
	PLUMB_KPROBE_MULTI,   /* 5.18 */
	PLUMB_KRETPROBE_MULTI,
	PLUMB_KPROBE_SESSION, /* both ends: 6.10 */
	PLUMB_UPROBE_MULTI,   /* 6.6 */
};

/* A program of the object, and the hook by which it gets to the functions. */
struct plumb_attach_target {
	const char *program;
	enum plumb_hook hook;
};

/* Up to so many probes are rather cheap when they fire than quickly attached. */
#define PLUMB_FEW 4

/* One program on one hook, or on many. */
struct plumb_probe {
	int program; /* this function's copy, -1: the object's own */
	int event;   /* perf event, -1: none */
	int link;
	uint32_t in_tracefs; /* number of its kretprobe there, 0: none (probe-return.c) */
};

/* A target that could not be attached to. */
struct plumb_refused {
	size_t target; /* its number */
	int err;       /* -errno */
};

struct plumb_probes {
	struct plumb_probe *list;
	size_t n;
	struct plumb_refused *refusals;
	size_t refused;
	uint64_t missed; /* by links that are detached */
	bool missed_unknown;
};

bool plumb_hook_is_multi(enum plumb_hook hook);
/* Is it of fentry's kind, which needs BTF and takes the function's arguments from it? */
bool plumb_hook_is_fentry(enum plumb_hook hook);

/* Do BPF programs of fentry's kind call it themselves?  Then they are not for it. */
bool plumb_function_serves_bpf(const char *name);

/* "tcp_sendmsg", "nf_tables:nft_do_chain", "m_start,2": of that name the second; returns TEXT. */
const char *plumb_probe_name(const struct plumb_functions *f, size_t i, char *text, size_t size);

/* The word by which programs know function number I, see function.h. */
uint64_t plumb_probe_target(const struct plumb_functions *f, size_t i);

/* Before P is loaded: makes it a program for these functions; 0 or -errno. */
int plumb_probe_prepare(struct bpf_program *p, enum plumb_hook hook,
			const struct plumb_functions *f);

/*
 * Attaches the loaded programs of TARGETS (ended by a hook 0; those that see the end
 * of a call first) to all functions that will take them.  0 if there are any, or
 * -errno with WHAT the name of the function that refused last.
 */
int plumb_probe_attach(struct plumb_probes *probes, const struct bpf_object *object,
		       const struct plumb_attach_target *targets, const struct plumb_functions *f,
		       char *what, size_t size);

/*
 * The same for tracepoints and user functions, whose numbers begin at FIRST.
 * RAW is for those that are raw tracepoints; NULL: PERF is for all.
 */
int plumb_probe_tracepoints(struct plumb_probes *probes, const struct bpf_object *object,
			    const char *raw, const char *perf, const struct plumb_tracepoints *t,
			    size_t first, char *what, size_t size);
int plumb_probe_userfuncs(struct plumb_probes *probes, const struct bpf_object *object,
			  const struct plumb_attach_target *target, const struct plumb_userfuncs *u,
			  size_t first, char *what, size_t size);

/* A program (the object's own) HZ times a second on each CPU, by the CPU's clock; 0 or -errno. */
int plumb_probe_samples(struct plumb_probes *probes, const struct bpf_object *object,
			const char *program, uint64_t hz, char *what, size_t size);

/* "t:sched:sched_switch", "u:/bin/bash:readline"; returns TEXT. */
const char *plumb_tracepoint_name(const struct plumb_tracepoint *t, char *text, size_t size);
const char *plumb_userfunc_name(const struct plumb_userfuncs *u, size_t i, char *text, size_t size);

/* Why target number I could not be attached to, -errno; 0: it could. */
int plumb_probe_refusal(const struct plumb_probes *probes, size_t i);

/* Executions that the kernel skipped, added to MISSED; false where it cannot tell. */
bool plumb_program_missed(int program, uint64_t *missed);
bool plumb_probe_missed(const struct plumb_probes *probes, uint64_t *missed);

/* The programs' own counts can still be read afterwards, until it is closed. */
void plumb_probe_detach(struct plumb_probes *probes);
void plumb_probe_close(struct plumb_probes *probes);

#endif
