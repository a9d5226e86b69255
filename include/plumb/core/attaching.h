/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attaching: what the core knows of functions that are chosen at run time, and of the probes on
 * them; it attaches and detaches through pointers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/core/hook.h>

struct bpf_object;
struct bpf_program;
struct btf;

/* --- functions of the kernel (functions/functions.h finds them) --- */

/* How a result encodes an error. */
enum plumb_result {
	PLUMB_RESULT_NONE,    /* no errors (void, bool, unsigned), or not known */
	PLUMB_RESULT_INT,     /* 32 bits, signed: -errno */
	PLUMB_RESULT_LONG,    /* 64 bits, signed: -errno */
	PLUMB_RESULT_POINTER, /* ERR_PTR: -errno */
};

struct plumb_function {
	char *name;       /* in the kernel: "foo.isra.0" */
	char *module;     /* NULL: the kernel itself */
	uint64_t address; /* 0: hidden by the kernel (kernel.kptr_restrict) */
	/*
	 * Its prototype: type btf_id, a BTF_KIND_FUNC, of BTF.  NULL and 0 if it has none, or if
	 * the function is changed, cold or ambiguous.  fentry can use btf_id with btf_fd only if
	 * the BTF is the kernel's own and not from a file.  As a declaration in C: declare.h.
	 */
	const struct btf *btf;
	uint32_t btf_id;
	int btf_fd; /* of the module's BTF in the kernel; 0: vmlinux; -1: not available */
	enum plumb_result result;
	bool changed;   /* the compiler changed its signature: arguments may be elsewhere */
	bool cold;      /* a part that is jumped to: it has no arguments and no return address, so
			   a kretprobe on it would overwrite the stack of its function */
	bool named;     /* found by its name and not by a glob */
	bool ambiguous; /* other functions have its name: only the address identifies it */
	uint32_t place; /* its number among them in /proc/kallsyms, from 1; 0: not known or none */
	bool untraced;  /* ftrace cannot trace it: at most a plain kprobe can be attached */
	bool unchecked; /* ftrace's list was not read: untraced is not known */
	bool blacklisted; /* the kernel refuses kprobes on it */
};

struct plumb_module_btf;

struct plumb_functions {
	struct plumb_function *all; /* in the order of the patterns; those of a glob by name */
	size_t n;
	struct btf *btf; /* of the kernel or file, valid until they are freed; NULL: none */
	struct plumb_module_btf *modules;
	size_t n_modules;
};

/* --- probes --- */

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
	const struct plumb_probe_by *by; /* NULL: none was attached, nor refused */
	const struct bpf_object *object; /* whose programs are attached, or copies of them */
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

/* What the core does with probes that are attached, whoever attached them. */
struct plumb_probe_by {
	/* After detaching, the programs' counters can still be read until the probes are closed. */
	void (*detach)(struct plumb_probes *probes);
	void (*close)(struct plumb_probes *probes);
	/* Adds the executions that the kernel skipped to MISSED; false: it does not count them. */
	bool (*missed)(const struct plumb_probes *probes, uint64_t *missed);
	/* Keeps what look_at_cpus() takes (privileges.h). */
	void (*keep)(const struct plumb_probes *probes);
	/* Opens events of each CPU on CPUs that have come online, also again, since the last call.
	 */
	void (*look_at_cpus)(struct plumb_probes *probes);
};

/* Up to this number of functions, attaching one by one is preferred to possibly missed returns. */
#define PLUMB_ONE_BY_ONE 64

/* How a mechanism's programs get to the functions of plumb_tool.mechanisms: plumb_attaching. */
struct plumb_attaching {
	/*
	 * Why a mechanism with these attach targets may miss calls of N functions on this kernel,
	 * and is skipped; NULL: it is not.  Above PLUMB_ONE_BY_ONE functions missed returns are
	 * accepted.
	 */
	const char *(*skipped)(const struct plumb_attach_target *targets, size_t n);
	/* As plumb_hook_missing(), plumb_probe_prepare(), plumb_probe_target(),
	 * plumb_allowed_functions(), plumb_probe_attach(), plumb_probe_name(). */
	int (*missing)(enum plumb_hook hook, char *why, size_t size);
	int (*prepare)(struct bpf_program *p, enum plumb_hook hook,
		       const struct plumb_functions *f);
	uint64_t (*target)(const struct plumb_functions *f, size_t i);
	int (*allowed)(const struct plumb_functions *f, char *what, size_t size);
	int (*attach)(struct plumb_probes *probes, const struct bpf_object *object,
		      const struct plumb_attach_target *targets, const struct plumb_functions *f,
		      char *what, size_t size);
	const char *(*name)(const struct plumb_functions *f, size_t i, char *text, size_t size);
	/* The known reason why a function cannot be traced; NULL: none. */
	const char *(*obstacle)(const struct plumb_function *f);
	/* The N-th module that was unloaded since its functions were found; NULL: none. */
	const char *(*gone)(size_t n);
};

/* The error of attaching to target number I, -errno; 0: none. */
static inline int plumb_probe_refusal(const struct plumb_probes *probes, size_t i)
{
	for (size_t r = 0; r < probes->refused; r++)
		if (probes->refusals[r].target == i)
			return probes->refusals[r].err;
	return 0;
}
