/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool: what a tool tells the library about itself.
 *
 * A tool's .c file fills one struct plumb_tool and calls plumb_main().  All
 * that is the same for every tool (options, filters, attaching, the loop, the
 * report) happens there.
 */
#ifndef PLUMB_TOOL_H
#define PLUMB_TOOL_H

#include <argp.h>
#include <plumb/bpf/core/config.h>
#include <plumb/tool/fields.h>
#include <plumb/bpf/core/ledger.h>
#include <plumb/tool/options.h>
#include <plumb/attach/probe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bpf_object;
struct bpf_object_open_opts;
struct bpf_object_skeleton;
struct function_config;
struct plumb_inflight;
struct plumb_report;
struct plumb_row;
struct plumb_run;
struct plumb_session;
struct plumb_switches;
struct plumb_snapshot;
struct syscall_config;

#define PLUMB_MAX_HOOKS 9

/* How a mechanism opens a skeleton: with the types that --btf names. */
const struct bpf_object_open_opts *plumb_open_opts(void);

/* A BPF object that a mechanism has opened and not yet loaded. */
struct plumb_bpf {
	void *owner; /* the generated struct, malloc'd; the session destroys and frees it */
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *object;
	struct plumb_config *config;        /* in .rodata, writable until it is loaded */
	uint32_t *live;                     /* plumb_live of ledger.bpf.h */
	const struct plumb_ledger *ledgers; /* PLUMB_LEDGERS of them, as above */
	struct function_config *function;   /* of function.bpf.h, NULL: it times no functions */
	bool own_slots; /* each copy of a program writes slots that no other writes */
	/* Attaches what is no kernel function to copies of the programs COPIED; NULL: none. */
	const char *const *copied;
	int (*attach)(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
		      size_t size);
	int mode;                        /* in which the mechanism does that */
	char hooks[PLUMB_MAX_HOOKS][64]; /* what the report calls them; "" behind the last */
};

/* A struct plumb_bpf of a generated skeleton, with its hooks; its program includes ledger.bpf.h. */
#define PLUMB_BPF_OF(skel, ...)                                                                    \
	((struct plumb_bpf){                                                                       \
		.owner = (skel),                                                                   \
		.skeleton = (skel)->skeleton,                                                      \
		.object = (skel)->obj,                                                             \
		.config = (struct plumb_config *)&(skel)->rodata->plumb_config,                    \
		.live = &(skel)->bss->plumb_live,                                                  \
		.ledgers = (skel)->bss->plumb_ledgers,                                             \
		.hooks = {__VA_ARGS__},                                                            \
	})

/* One mechanism to get the question's events.  Mechanisms are listed cheapest first. */
struct plumb_mechanism {
	const char *name;      /* as --mechanism takes it */
	const char *stability; /* "stable", "unstable", … */
	/* NULL: may be tried.  Else why it does not support what is asked, whatever the kernel. */
	const char *(*unsupported)(const struct plumb_options *options);
	/* NULL: should be tried.  Else why a later mechanism is better here; "" is not worth a
	 * line. */
	const char *(*skipped)(void);
	/*
	 * Opens the skeleton and sets the tool's own rodata; 0 or -errno.  The
	 * calibration instance takes PLUMB_CALIBRATION_NR, whatever is selected.
	 */
	int (*open)(struct plumb_bpf *bpf, bool calibration);
	bool interleaved; /* as in plumb_config */
	/*
	 * Programs by name, in the order in which they are attached: what ends
	 * a call before what begins it, so that each end has an entry or is
	 * older than the trace.  NULL ends the list.
	 */
	const char *const *programs;
	/* Programs that get to the tool's functions, ended by a hook 0; NULL: it has none. */
	const struct plumb_attach_target *attach_targets;
};

/* A column that a tool works out from a row; R has the time, and the other rows. */
struct plumb_column {
	const char *name;
	int id; /* the tool's */
	double (*value)(int id, const struct plumb_report *r, const struct plumb_row *row);
	void (*format)(int id, const struct plumb_report *r, const struct plumb_row *row,
		       char *text, size_t size);
};

/* A ring buffer of the programs, by name, and what is to be done with its records. */
struct plumb_ring {
	const char *map;
	/* When all is attached; NULL: nothing. */
	void (*begin)(struct plumb_session *s);
	/* With each record; 0, or -errno to end the run (-EPIPE: the reader is gone). */
	int (*record)(const void *record, size_t size);
	/*
	 * When no record is left (ALL), or so many have come that it is time for something else.
	 * *AGAIN is 0: set to in how many ns it is to be called even if nothing comes.  0, or
	 * -errno to end the run.
	 */
	int (*idle)(bool all, uint64_t *again);
};

#define PLUMB_MAX_RINGS 2

/* For --help, --version and --about, and in every report. */
struct plumb_card {
	const char *name;
	const char *summary; /* one line */
	const char *about;   /* hooks, stability, kernels, usual rate, cost */
};

/* Of the options that all tools share, some are of no use where there is no table. */
enum {
	PLUMB_NO_COLUMN_OPTIONS = 1, /* -q, --precision */
	PLUMB_NO_ROW_OPTIONS = 2,    /* -n, --max-keys */
	PLUMB_NO_TABLE_OPTIONS = 4,  /* -b, -m, -n, -u, -H, --sort */
};

/* What the tool takes on the command line besides what all tools take. */
struct plumb_tool_options {
	const struct argp_option *list; /* ended by {0} */
	/* An option of LIST, or at the end ARGP_KEY_END; 0, or argp_error() and any. */
	int (*parse)(int key, char *text, struct argp_state *state, struct plumb_options *options);
	/* Words before [INTERVAL [COUNT]] ("FUNC... "); NULL: none. */
	const char *arguments;
	/* Returns whether the word TEXT was taken.  NUMBER: it looks like one. */
	bool (*argument)(const char *text, bool number);
	/* System calls, selected by -s; NULL: it has no such option. */
	const struct syscall_config *selection;
	unsigned int lacks; /* PLUMB_NO_... */
};

/* By what rows are told apart. */
struct plumb_keys {
	const struct plumb_field *fields; /* besides the common ones */
	size_t n_fields;
	size_t size;
	uint32_t default_by;
	uint64_t max;      /* rows unless --max-keys says; 0: 256 */
	const char *fewer; /* what the user can do to have fewer; NULL: "lower --max-keys" */
	/* An item of --by that is more than a field's name, as "size:512": taken, its bit set? */
	bool (*parse)(const char *item, struct plumb_options *options);
};

/* What a row has besides its count. */
enum plumb_measure_kind {
	PLUMB_TIMES,  /* a histogram of times, ns */
	PLUMB_SIZES,  /* a histogram of sizes, bytes */
	PLUMB_COUNTS, /* nothing */
	PLUMB_SUMS,   /* a sum of times, ns */
};

static inline bool plumb_has_histogram(enum plumb_measure_kind kind)
{
	return kind == PLUMB_TIMES || kind == PLUMB_SIZES;
}

struct plumb_measure {
	enum plumb_measure_kind kind;
	bool errors;          /* a row also counts what failed */
	bool sampled;         /* a CPU's clock runs the programs */
	const char *extra[2]; /* what rows sum up besides, in bytes ("asked"); NULL: nothing */
	const char *second; /* what there is a second histogram of ("cpu", "latency"); NULL: none */
	const struct plumb_column *columns; /* behind all others */
	size_t n_columns;
};

/* Where a report is not the usual table and its JSON; NULL: as usual. */
struct plumb_view {
	/* Prints a report in place of the table; 0 or -errno. */
	int (*print)(struct plumb_report *r);
	void (*footer)(FILE *out); /* lines at the end of a table */
	/* Adds to a row's JSON, and to a report's. */
	void (*row_json)(json_t *json, const struct plumb_report *r, const struct plumb_row *row);
	void (*report_json)(json_t *json, struct plumb_report *r);
	/* Prints the array of rows of a report's JSON, in place of those that there are. */
	int (*rows_json)(const struct plumb_report *r, FILE *out);
	/*
	 * Before the last report: writes what is to be kept of the whole run besides;
	 * 0, or -errno after saying why.
	 */
	int (*save)(const struct plumb_run *run, const struct plumb_snapshot *total,
		    uint64_t elapsed);
};

/* How the tool's own cost is measured: on a function of the library's choice, unless it says. */
struct plumb_tool_overhead {
	bool syscalls;                              /* by making system calls */
	const struct plumb_switches *switches;      /* by switching context; NULL: not */
	void (*calibrate)(struct plumb_session *s); /* by itself, before anything is attached */
	const char *traced;                         /* what has that cost; NULL: "a traced call" */
};

/* The mechanisms among which the session chooses, the cheapest first. */
struct plumb_mechanisms {
	const struct plumb_mechanism *list;
	size_t n;
	struct plumb_functions *functions; /* that those with attach targets attach to */
};

/* What is called in the course of a run, in this order. */
struct plumb_lifecycle {
	/*
	 * Before anything is opened: what takes the running system.  0, or -errno
	 * after saying why; -EOPNOTSUPP if it is the kernel's fault.
	 */
	int (*prepare)(struct plumb_options *options);
	/* Fills the tool's own maps, once they are there; 0 or -errno. */
	int (*fill)(struct bpf_object *object);
	/*
	 * Called when the trace has begun, and again when it says: ELAPSED and the
	 * result are ns since then; 0: never again.
	 */
	uint64_t (*tick)(uint64_t elapsed);
	/* Programs do nothing unless plumb_live: the last report is made before they are detached.
	 */
	bool reports_first;
	/* After the last report: prints what there is to say of the whole run. */
	void (*finish)(const struct plumb_session *s, const struct plumb_snapshot *total,
		       uint64_t elapsed);
};

struct plumb_tool {
	struct plumb_card card;
	struct plumb_tool_options options;
	struct plumb_keys keys;
	struct plumb_measure measure;
	struct plumb_view view;
	struct plumb_tool_overhead overhead;
	struct plumb_mechanisms mechanisms;
	struct plumb_lifecycle lifecycle;
	/* What comes one by one, beside the rows: PLUMB_MAX_RINGS, or ended by a map NULL. */
	const struct plumb_ring *rings;
	const struct plumb_inflight *inflight; /* what has not ended; NULL: that is not told */
};

/* Runs the tool; the result is main()'s. */
int plumb_main(int argc, char **argv, struct plumb_tool *tool);

#endif
