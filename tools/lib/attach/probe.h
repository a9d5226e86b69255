/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe: what its parts share.  probe.c attaches to kernel functions, probe-targets.c to all
 * else; by probe-event.c to one, by probe-many.c to many at once.  probe-program.c makes
 * the programs, probe-attached.c keeps what is attached.
 */
#ifndef PROBE_H
#define PROBE_H

#include <linux/types.h>
#include <plumb/attach/probe.h>

struct perf_event_attr;

/* As BPF_LINK_CREATE and BPF_PROG_LOAD take it; 0: the hook needs none. */
int plumb_hook_attach_type(enum plumb_hook hook);

/* A copy of the loaded program P that knows its target; FUNCTION is for hooks of fentry's kind. */
int plumb_probe_copy(const struct bpf_program *p, enum plumb_hook hook,
		     const struct plumb_function *function, uint64_t target);

/* A perf event of the kind that PMU ("kprobe", "uprobe") has; its descriptor or -errno. */
int plumb_probe_open_pmu(const char *pmu, bool at_return, uint64_t config1, uint64_t config2);
int plumb_probe_open_event(const struct perf_event_attr *attr, int cpu);

/*
 * A kretprobe on the function, one of N, with room for as many calls as there can be: the
 * descriptor of its perf event, and its NUMBER for plumb_return_remove(), when that is closed; or
 * -errno.
 */
int plumb_return_open(const struct plumb_function *function, size_t n, uint32_t *number);
void plumb_return_remove(uint32_t *number);
/* Returns that it had no room for, added to MISSED. */
void plumb_return_missed(uint32_t number, uint64_t *missed);

/* The probe's program to its event. */
int plumb_probe_attach_event(struct plumb_probe *probe);

int plumb_probe_add(struct plumb_probes *probes, const struct plumb_probe *probe);
void plumb_probe_drop(struct plumb_probe *probe);

/* Notes that target number I, NAME, refused, and why. */
void plumb_probe_refuse(struct plumb_probes *probes, size_t i, const char *name, int err);

/* Descriptors by the thousand are taken: as many as are allowed. */
void plumb_probe_allow_files(void);

/* Many places for one program at once. */
struct plumb_many {
	int program;
	enum plumb_hook hook;
	uint64_t *addresses; /* for uprobes: offsets in the file at path */
	uint64_t *cookies;
	uint32_t *ids;
	const char *path;
	const void *what; /* name()'s */
	/* Of the place whose target has this number. */
	const char *(*name)(const void *what, size_t i, char *text, size_t size);
};

/* Room for N places; 0 or -ENOMEM. */
int plumb_many_make(struct plumb_many *m, size_t n);
void plumb_many_free(struct plumb_many *m);

/*
 * Attaches to places [from, to).  One that cannot be probed fails all: then halves
 * are tried, down to the one that it is.
 */
int plumb_probe_attach_many(struct plumb_probes *probes, const struct plumb_many *m, size_t from,
			    size_t to, char *what, size_t size);

#endif
