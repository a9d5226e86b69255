/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probing: what those share that attach probes.  probe.c attaches to kernel functions,
 * probe-targets.c to tracepoints, user/probe-userfuncs.c to user functions, samples.c to clocks.
 * probe-event.c makes perf events, each for one target; probe-many.c makes links to many targets;
 * probe-return.c makes kretprobes in tracefs.  probe-program.c makes the programs, and
 * probe-attached.c keeps the list of probes.
 */
#pragma once

#include <plumb/core/tracepoint.h>
#include <plumb/functions/probe.h>

struct perf_event_attr;

/* The attach type for BPF_LINK_CREATE and BPF_PROG_LOAD; 0: the hook needs none. */
int plumb_hook_attach_type(enum plumb_hook hook);

/*
 * Loads a copy of the loaded program P, of probes->object, with TARGET as a constant; its
 * descriptor or -errno. FUNCTION is for fentry and the like (plumb_hook_is_fentry()).
 */
int plumb_probe_copy(const struct plumb_probes *probes, const struct bpf_program *p,
		     enum plumb_hook hook, const struct plumb_function *function, uint64_t target);

/* Whether the kernel has PMU ("kprobe" or "uprobe"). */
bool plumb_probe_has_pmu(const char *pmu);
/* Opens a perf event of PMU ("kprobe" or "uprobe"); its descriptor or -errno. */
int plumb_probe_open_pmu(const char *pmu, bool at_return, uint64_t config1, uint64_t config2);
/* A uprobe; SEMAPHORE is the file offset of a counter that the kernel raises; 0: none. */
int plumb_probe_open_uprobe(const char *path, bool at_return, uint64_t offset, uint64_t semaphore);

/*
 * Opens a kretprobe on FUNCTION, one of N functions, with as high a maxactive as N allows.  Returns
 * the descriptor of its perf event, or -errno.  Sets NUMBER, which plumb_return_remove() takes
 * after that descriptor is closed.
 */
int plumb_return_open(const struct plumb_function *function, size_t n, uint32_t *number);
void plumb_return_remove(uint32_t *number);
/* Adds the returns that the kretprobe missed to MISSED. */
void plumb_return_missed(uint32_t number, uint64_t *missed);

/* Attaches the probe's program to its perf event.  Before 5.15 the cookie is lost. */
int plumb_probe_attach_event(struct plumb_probe *probe, uint64_t cookie);

/* Says that the functions of these files are those for the probes; before any other is called. */
void plumb_probe_own(struct plumb_probes *probes);
/*
 * Attaches P, or a copy of it if probes have no cookies, to the perf event EVENT, which it takes.
 */
int plumb_probe_on_event(struct plumb_probes *probes, const struct bpf_program *p,
			 enum plumb_hook hook, int event, uint64_t target);
void plumb_probe_add(struct plumb_probes *probes, const struct plumb_probe *probe);
void plumb_probe_drop(struct plumb_probe *probe);

/* Keeps the name of a target that is attached to, for the audit record: "KIND:NAME". */
void plumb_probe_note(struct plumb_probes *probes, const char *kind, const char *name);
/* Records that attaching to target number I, NAME, failed with ERR. */
void plumb_probe_refuse(struct plumb_probes *probes, size_t i, const char *name, int err);

/* Of struct plumb_probe_by; and frees what it needs. */
void plumb_probe_look_at_cpus(struct plumb_probes *probes);
void plumb_probe_forget_cpus(struct plumb_probes *probes);

/* Raises RLIMIT_NOFILE as far as allowed: thousands of probes need thousands of descriptors. */
void plumb_probe_allow_files(void);

/* Many functions to which one program is attached by one link. */
struct plumb_many {
	int program;
	enum plumb_hook hook;
	uint64_t *addresses;  /* for uprobes: offsets in the file PATH */
	uint64_t *semaphores; /* of uprobes: offsets in PATH of counters that are raised; 0: none */
	uint64_t *cookies;
	uint32_t *ids;
	const char *path;
	uint32_t process; /* of uprobes: the only one; 0: all */
	const void *what; /* argument of name() */
	/* The name of target number I. */
	const char *(*name)(const void *what, size_t i, char *text, size_t size);
};

/* Allocates the arrays for N functions. */
void plumb_many_make(struct plumb_many *m, size_t n);
void plumb_many_free(struct plumb_many *m);

/*
 * Attaches to functions [from, to).  If one of them cannot be probed, the kernel refuses the whole
 * link; each half is then tried, and so on, until only that function is left out.
 */
int plumb_probe_attach_many(struct plumb_probes *probes, const struct plumb_many *m, size_t from,
			    size_t to, char *what, size_t size);

/* A function that the kernel has to test fentry; nothing else calls it. */
#define PLUMB_HOOK_FUNCTION "bpf_fentry_test1"

/* Loads a program for HOOK that does nothing; its descriptor or -errno. */
int plumb_hook_load(enum plumb_hook hook);
/* Attaches it to FUNCTION by a link to many; its descriptor or -errno. */
int plumb_hook_link_many(int program, enum plumb_hook hook, const char *function);
/* Writes the name of ERR and its probable cause. */
void plumb_hook_explain(enum plumb_hook hook, int err, char *why, size_t size);
