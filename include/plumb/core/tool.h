/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tool: the description of a tool.
 *
 * A tool's .c file fills one struct plumb_tool and calls plumb_main(), which does
 * everything that is the same for all tools: options, filters, attaching, the loop,
 * the report.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/bpf/core/config.h>
#include <plumb/bpf/core/ledger.h>
#include <plumb/core/fields.h>
#include <plumb/core/option.h>
#include <plumb/core/options.h>
#include <plumb/core/ring.h>

struct bpf_object;
struct bpf_object_open_opts;
struct bpf_object_skeleton;
struct function_config;
struct plumb_attach_target;
struct plumb_attaching;
struct plumb_functions;
struct plumb_inflight;
struct plumb_part_name;
struct plumb_probes;
struct plumb_report;
struct plumb_row;
struct plumb_run;
struct plumb_switches;
struct plumb_tool;
struct plumb_witness;
struct plumb_snapshot;
struct plumb_stacking;
struct syscall_config;

#define PLUMB_MAX_HOOKS 24
#define PLUMB_HOOK_NAME 256

/* The options with which a mechanism opens its skeleton: the types of --btf. */
const struct bpf_object_open_opts *plumb_open_opts(void);

/* A BPF object that a mechanism has opened and not yet loaded. */
struct plumb_bpf {
	void *owner; /* the generated struct, malloc'd; the core destroys and frees it */
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *object;
	struct plumb_config *config;        /* in .rodata, writable until it is loaded */
	uint32_t *live;                     /* plumb_live of ledger.bpf.h */
	__u64 *deadline;                    /* plumb_deadline of ledger.bpf.h */
	__u64 *read_until;                  /* plumb_read_until of ledger.bpf.h */
	const struct plumb_ledger *ledgers; /* PLUMB_LEDGERS of them, of ledger.bpf.h */
	struct function_config *function;   /* of function.bpf.h; NULL: no functions are timed */
	/* Of syscall.bpf.h, which the core fills as plumb_tool_options.syscalls says; or NULL. */
	struct syscall_config *syscalls;
	/* The hash of its states, which are not those of threads; NULL: they are (inflight.bpf.h).
	 */
	const char *states;
	/*
	 * States of threads are in a hash: programs run in functions that allocate, which making
	 * storage would, or read the states of other threads.
	 */
	bool no_storage;
	bool own_slots; /* each copy of a program writes slots that no other copy writes */
	/* Attaches copies of programs COPIED to targets other than kernel functions; or NULL. */
	const char *const *copied;
	int (*attach)(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
		      size_t size);
	void (*trigger)(void); /* of a calibration instance: what is called under it */
	uint8_t *cpus_left; /* plumb_cpus_left of cpus.bpf.h; NULL: it has no events of each CPU */
	int mode;           /* of the mechanism; evaluated by open() and attach() */
	/* Their names in the report; "" after the last. */
	char hooks[PLUMB_MAX_HOOKS][PLUMB_HOOK_NAME];
};

/* A struct plumb_bpf of a generated skeleton, with its hooks; its programs use ledger.bpf.h. */
#define PLUMB_BPF_OF(skel, ...)                                                                    \
	((struct plumb_bpf){                                                                       \
		.owner = (skel),                                                                   \
		.skeleton = (skel)->skeleton,                                                      \
		.object = (skel)->obj,                                                             \
		.config = (struct plumb_config *)&(skel)->rodata->plumb_config,                    \
		.live = &(skel)->bss->plumb_live,                                                  \
		.deadline = &(skel)->bss->plumb_deadline,                                          \
		.read_until = &(skel)->bss->plumb_read_until,                                      \
		.ledgers = (skel)->bss->plumb_ledgers,                                             \
		.hooks = {__VA_ARGS__},                                                            \
	})

/*
 * Whether programs for both ends of a call can be preempted; the kernel skips them for others
 * meanwhile.
 */
enum plumb_preemptible {
	PLUMB_AS_TARGETS,     /* as those on attach_targets */
	PLUMB_AS_TRACEPOINTS, /* no: skipped where raw tracepoints cannot either and cost less */
	PLUMB_AS_RAW,         /* as raw tracepoints: from 7.0 on, on preemptible kernels */
	PLUMB_AS_FENTRY,      /* on preemptible kernels, on which the mechanism is skipped */
};

/* A mechanism by which a tool gets its events.  Mechanisms are listed cheapest first. */
struct plumb_mechanism {
	const char *name;      /* as --mechanism takes it */
	const char *stability; /* "stable", "unstable", … */
	/* NULL: may be tried.  Else the reason why it does not support OPTIONS on any kernel. */
	const char *(*unsupported)(const struct plumb_options *options);
	enum plumb_preemptible preemptible;
	/* NULL: should be tried.  Else the reason why a later mechanism is better on this kernel.
	 */
	const char *(*skipped)(void);
	/*
	 * Opens the skeleton and sets the tool's own rodata; 0 or -errno.  The
	 * calibration instance takes PLUMB_CALIBRATION_NR, whatever is selected.
	 */
	int (*open)(struct plumb_bpf *bpf, bool calibration);
	int mode;              /* of OPEN's: in plumb_bpf.mode when it is called */
	bool interleaved;      /* as in plumb_config */
	bool misses_are_calls; /* a missed execution can lose a whole call, not one end of it */
	/*
	 * Programs whose missed executions can lose a call, ended by NULL; NULL: all.  What copies
	 * of them did instead (plumb_ledger.rescued) is not missed.
	 */
	const char *const *vital;
	/* Programs of which a missed execution can lose a whole call, ended by NULL; NULL: none. */
	const char *const *whole;
	bool tracepoints; /* its programs are attached to tracepoints that the user names */
	bool selective;   /* its programs run at the selected system calls only */
	/* It recognizes the exit of a rejected call by its registers (filter_was_rejected()). */
	bool remembers_rejected;
	/*
	 * Names of programs in the order in which they are attached, after those that follow
	 * threads.  Programs for the end of a call precede those for its beginning, so that an end
	 * without a beginning belongs to a call from before the trace.  Ended by NULL; NULL: none.
	 */
	const char *const *programs;
	/* Programs that the tool runs itself and that are not attached; NULL: none. */
	const char *const *test_runs;
	/* Programs on the tool's functions, ended by PLUMB_HOOK_NONE; NULL: it has none. */
	const struct plumb_attach_target *attach_targets;
};

/* What the figures of a column are: so the table prints them, and JSON has them. */
enum plumb_column_kind {
	PLUMB_COLUMN_COUNT,
	PLUMB_COLUMN_BYTES,
	PLUMB_COLUMN_TIME,    /* ns */
	PLUMB_COLUMN_RATE,    /* by the second */
	PLUMB_COLUMN_PERCENT, /* from 0 to 100 */
	PLUMB_COLUMN_RATIO,
	PLUMB_COLUMN_TEXT,
};

/*
 * A column of a tool, in its table, --sort, --columns, JSON, the schema and, of counters, metrics.
 * scripts/lib/join-schema.py finds it in the source, as {"name", PLUMB_COLUMN_KIND, "About.", ...
 */
struct plumb_column {
	const char *name; /* the member of JSON; in capitals the heading */
	enum plumb_column_kind kind;
	const char *about; /* a sentence, for the schema; NULL: view.row_json has it, in its way */
	/* Which of plumb_totals.counters it is; with VALUE or TEXT, what these are called with. */
	int id;
	/* R has the time and the other rows; NAN: the row has none. */
	double (*value)(int id, const struct plumb_report *r, const struct plumb_row *row);
	/* Of PLUMB_COLUMN_TEXT; VALUE is its order then.  NULL: the row has none. */
	const char *(*text)(int id, const struct plumb_report *r, const struct plumb_row *row);
	bool zero_is_unknown; /* of a counter: "-", and none in JSON */
};

static inline bool plumb_column_is_counter(const struct plumb_column *c)
{
	return !c->value && !c->text;
}

static inline bool plumb_column_is_unknown(const struct plumb_column *c, const uint64_t *counters)
{
	return c->zero_is_unknown && !counters[c->id];
}

/* For --help, --version and --about, and in every report. */
struct plumb_card {
	const char *name;
	const char *summary; /* one line */
	const char *about;   /* hooks, stability, kernels, usual rate, cost */
};

/* Shared options that a tool without a table, or without what they are of, does not have. */
enum {
	PLUMB_NO_COLUMN_OPTIONS = 1,    /* -q, --precision */
	PLUMB_NO_ROW_OPTIONS = 2,       /* -n, --max-keys */
	PLUMB_NO_TABLE_OPTIONS = 4,     /* -b, -m, -n, -u, -H, --sort */
	PLUMB_NO_HISTOGRAM_OPTIONS = 8, /* -q, -H, --precision */
	PLUMB_NO_TIME_OPTIONS = 16,     /* -u */
};

/* What tools of system calls share: plumb_syscalls (syscalls/syscall-options.h). */
struct plumb_tool_syscalls {
	struct syscall_config *selection; /* by the command line, as by -s */
	/* After complete() of the tool: leaves only calls that have what else is asked for. */
	void (*complete)(struct syscall_config *selection);
	/* After open() of a mechanism: fills plumb_bpf.syscalls. */
	void (*configure)(struct syscall_config *config, const struct syscall_config *selection,
			  bool calibration);
	/*
	 * The most rings that the processes of -p, -t and of the command have had at one time,
	 * whose requests are not system calls; -1: nobody looked, as there were no such processes
	 * (any more).  Looks at most once in a second.
	 */
	int64_t (*rings)(const struct plumb_run *run);
};

/* The tool's own options and arguments. */
struct plumb_tool_options {
	const struct plumb_option *list;                 /* NULL: none */
	const struct plumb_option *more;                 /* those of the library; NULL: none */
	void (*complete)(struct plumb_options *options); /* after the last option; or NULL */
	/* Words before [INTERVAL [COUNT]] ("FUNC... "); NULL: none. */
	const char *arguments;
	/* Returns whether the word TEXT was taken.  NUMBER: it looks like one. */
	bool (*argument)(const char *text, bool number);
	const struct plumb_tool_syscalls *syscalls; /* NULL: it traces no system calls */
	const char *duration; /* the default of -d, for its help; NULL: until a signal */
	unsigned int lacks;   /* PLUMB_NO_... */
};

/* The keys by which rows are grouped. */
struct plumb_keys {
	const struct plumb_field *fields; /* besides the common ones */
	size_t n_fields;
	size_t size;
	uint32_t default_by;
	uint32_t paths; /* bits of fields, besides cgroup, of which a table that is too wide shows
			   the end only */
	bool records_cgroup; /* what is printed one by one names it, too */
	uint64_t max;        /* default of --max-keys; 0: 256 */
	const char *fewer;   /* advice on having fewer rows; NULL: "lower --max-keys" */
	/* Makes keys equal that are printed as the same: their rows are one; NULL: all differ. */
	void (*unify)(void *key);
	/* Parses another item of --by than a name ("size:512"): sets its bit, returns success. */
	bool (*parse)(const char *item, struct plumb_options *options);
};

/* The parts of the time of a row's calls. */
struct plumb_splitting {
	/* The name of part I, as one of a column; false after the last one. */
	bool (*name)(const struct plumb_tool *tool, size_t i, char *name, size_t size);
	/* What part I is of the row's time, in per cent; NAN: nobody looks for it. */
	double (*share)(const struct plumb_run *run, const struct plumb_row *row, size_t i);
	/* The bands of the row's percentiles that differ from all of it, a line each; their number.
	 */
	int (*print)(const struct plumb_report *r, const struct plumb_row *row, FILE *out);
	json_t *(*json)(const struct plumb_report *r, const struct plumb_row *row);
	void (*explain)(const struct plumb_tool *tool, FILE *out); /* in the footer */
};

/* What a row measures besides its count. */
enum plumb_measure_kind {
	PLUMB_TIMES,  /* a histogram of times, ns */
	PLUMB_SIZES,  /* a histogram of sizes, bytes */
	PLUMB_COUNTS, /* the count only */
	PLUMB_SUMS,   /* a sum of times, ns */
};

static inline bool plumb_has_histogram(enum plumb_measure_kind kind)
{
	return kind == PLUMB_TIMES || kind == PLUMB_SIZES;
}

struct plumb_measure {
	enum plumb_measure_kind kind;
	bool errors;                    /* a row also counts errors */
	bool (*fails)(const void *key); /* whether that row's calls can; NULL: those of all can */
	bool pairs;                     /* a call is a pair of USDT probes, START and DONE */
	bool sampled;                   /* the programs run on the event cpu-clock */
	bool ends_inside; /* its times end in the kernel, before a caller that is in user mode goes
			   * on; waits behind that are not sought (sched/return.h) */
	const char *counted; /* what a row counts, "events"; NULL: "calls" */
	bool rate;           /* the rate is shown, too, where a row has times */
	bool unlike;         /* rows count different things: none has a share of them all */
	/* Parts of the time of calls, if o->split, in the order of their numbers; NULL: the four of
	 * split.h. */
	const struct plumb_part_name *parts;
	size_t n_parts;
	const uint32_t *unseen_parts; /* by number: nobody looks for them; NULL: all are seen */
	const struct plumb_splitting *split_by; /* with o->split: plumb_splitting, of split.h */
	bool always_split;                      /* without an option */
	const char *second; /* name of a second histogram ("cpu", "latency"); NULL: none */
	/*
	 * Grouped by the key STAGE_BY, each call is recorded in STAGES rows: one for the whole
	 * call, whose 32-bit stage at STAGE_AT in the key is 0, and one for each other stage.
	 */
	uint32_t stage_by, stages;
	size_t stage_at;
	const struct plumb_column *columns; /* the tool's own, ended by {}; NULL: none */
};

/* Replaces or extends parts of the usual table and its JSON; NULL: as usual. */
struct plumb_view {
	/* Prints a report in place of the table; 0 or -errno. */
	int (*print)(struct plumb_report *r);
	/* Prints the rows only, after the time and before calls in flight. */
	void (*rows)(const struct plumb_report *r, FILE *out);
	/* Calls are printed when they end: without ROWS a report has none, and without calls in
	 * flight no time. */
	bool one_by_one;
	void (*footer)(FILE *out); /* lines at the end of a table */
	/* Adds to a row's JSON, and to a report's. */
	void (*row_json)(json_t *json, const struct plumb_report *r, const struct plumb_row *row);
	void (*report_json)(json_t *json, const struct plumb_report *r);
	bool json_of_rows; /* report_json() reads nothing but the report: it may be called later */
	/* Prints the array of rows in JSON, instead of the usual rows. */
	int (*rows_json)(const struct plumb_report *r, FILE *out);
	/* Writes other files about the whole run, of which R is: 0, or -errno after a message. */
	int (*save)(struct plumb_report *r);
};

/* How the cost of tracing is measured; by default on a function of the library's choice. */
struct plumb_tool_overhead {
	bool syscalls;                            /* by making system calls */
	const struct plumb_switches *switches;    /* by switching context; NULL: not */
	void (*calibrate)(struct plumb_run *run); /* by itself, before anything is attached */
	const char *traced;                       /* in the footer; NULL: "a traced call" */
};

/* The mechanisms among which the core chooses, the cheapest first. */
struct plumb_mechanisms {
	const struct plumb_mechanism *list;
	size_t n;
	/* For mechanisms with attach targets: the functions, and how programs get there. */
	struct plumb_functions *functions;
	const struct plumb_attaching *attaching;
};

/* Functions that are called during a run, in this order. */
struct plumb_lifecycle {
	/*
	 * Before any BPF object is opened: checks that need the running system.  0, or -errno
	 * after a message; -EOPNOTSUPP if this kernel lacks something.
	 */
	int (*prepare)(struct plumb_options *options);
	/* Fills the tool's own maps after loading; 0 or -errno. */
	int (*fill)(struct bpf_object *object);
	/*
	 * Called at the beginning of the trace, and again at the time that it returns.  ELAPSED
	 * and the result are ns since the beginning; 0: do not call again.
	 */
	uint64_t (*tick)(uint64_t elapsed);
	/*
	 * Called before the trace begins, and each time before the maps are read: brings them up to
	 * date.
	 */
	void (*settle)(const struct plumb_run *run);
	/*
	 * Programs count while plumb_live is set: from the start on, and until the last report,
	 * after which they are detached.
	 */
	bool reports_first;
	/* After the last report: prints messages about the whole run. */
	void (*finish)(const struct plumb_run *run, const struct plumb_snapshot *total,
		       uint64_t elapsed);
};

/* Files whose functions are traced, which may be replaced meanwhile: plumb_builds (user/builds.h).
 */
struct plumb_traced_files {
	/* As that of struct plumb_lifecycle, which is not called then. */
	uint64_t (*tick)(uint64_t elapsed);
	/* A descriptor for which, when it is readable, tick() is called earlier; -1: none. */
	int (*fd)(void);
	/* Before those of struct plumb_view. */
	void (*footer)(FILE *out);
	void (*report_json)(json_t *json, const struct plumb_report *r);
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
	const struct plumb_traced_files *files; /* NULL: it traces no functions of files */
	/* Ring buffers: PLUMB_MAX_RINGS, or ended by one with map NULL. */
	const struct plumb_ring *rings;
	const struct plumb_inflight *inflight; /* calls that have not ended; NULL: not reported */
	bool meanwhile; /* its programs include sched/meanwhile.bpf.h: --who */
	const struct plumb_stacking *stacking; /* of stacks.h; NULL: it takes no stacks */
	const struct plumb_witness
		*witness; /* of witness.h; NULL: nothing else counts its events */
};

/* Runs the tool; the result is main()'s. */
int plumb_main(int argc, char **argv, struct plumb_tool *tool);
