/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* functions: the mechanisms of tools that time kernel functions with function.bpf.h. */
#pragma once

#include <errno.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/tool.h>
#include <plumb/functions/probe.h>
#include <plumb/kernel/kernel.h>

/*
 * Defines OPEN(bpf, calibration), which opens SKELETON.  SET(bpf, &rodata->OWN, calibration) fills
 * the tool's own struct OWN in rodata.  A tool without such a struct defines OPEN itself, without
 * the last call.
 */
#define PLUMB_FUNCTION_OPEN(open_, skeleton, own, set)                                             \
	static int open_(struct plumb_bpf *bpf, bool calibration)                                  \
	{                                                                                          \
		struct skeleton *skel = skeleton##__open_opts(plumb_open_opts());                  \
                                                                                                   \
		if (!skel)                                                                         \
			return -errno;                                                             \
		*bpf = PLUMB_BPF_OF(skel, "");                                                     \
		bpf->function = (struct function_config *)&skel->rodata->function_config;          \
		bpf->function->calibration = calibration;                                          \
		set(bpf, (void *)&skel->rodata->own, calibration);                                 \
		return 0;                                                                          \
	}

/*
 * Defines open_plain() for the skeleton NAME_bpf; open_700() and open_session() for those of the
 * same programs in which session kfuncs have the form of 7.0, and that of this kernel
 * (plumb_session_form()).
 */
#define PLUMB_FUNCTION_OPENS(name, own, set)                                                       \
	PLUMB_FUNCTION_OPEN(open_plain, name##_bpf, own, set)                                      \
	PLUMB_FUNCTION_OPEN(open_610, name##_session_610_bpf, own, set)                            \
	PLUMB_FUNCTION_OPEN(open_700, name##_session_700_bpf, own, set)                            \
	static int open_session(struct plumb_bpf *bpf, bool calibration)                           \
	{                                                                                          \
		const int form = plumb_session_form();                                             \
                                                                                                   \
		return form == 610   ? open_610(bpf, calibration)                                  \
		       : form == 700 ? open_700(bpf, calibration)                                  \
				     : -EOPNOTSUPP;                                                \
	}

/*
 * Called by a tool's prepare(): finds the functions that match PATTERNS.  Returns 0, or -errno
 * after a message; -EINVAL if one of them is a .cold part, which does not return.
 */
int plumb_timed_functions_find(const char *const *patterns, size_t n, const char *btf,
			       struct plumb_functions *functions);

/* Called by its finish(): warns if some of N could not be attached to. */
void plumb_timed_functions_warn_refused(const struct plumb_probes *probes, size_t n);

/* The same, also of those that were attached to, but of which no call ended. */
struct plumb_timed_functions {
	size_t n;
	uint32_t by; /* the bit of their field, and where their number is in a key */
	size_t at;
	const char *guess; /* why none may have ended, after the warning */
	const char *(*name)(size_t i, char *text, size_t size);
};
void plumb_timed_functions_warn_silent(const struct plumb_run *run,
				       const struct plumb_snapshot *total, uint64_t elapsed,
				       const struct plumb_timed_functions *f);

extern const struct plumb_attach_target plumb_fsession[], plumb_fsession_multi[], plumb_fentry[],
	plumb_kprobe_session[], plumb_kprobe_multi[], plumb_kprobe[];

#define PLUMB_FUNCTION_MECHANISM(name_, open_, attach_targets_)                                    \
	{                                                                                          \
		.name = (name_), .stability = "unstable: kernel functions", .open = (open_),       \
		.attach_targets = (attach_targets_),                                               \
	}

/* The mechanisms for a few functions, cheapest first, with what PLUMB_FUNCTION_OPENS() defines. */
#define PLUMB_FUNCTION_MECHANISMS                                                                  \
	PLUMB_FUNCTION_MECHANISM("fsession", open_700, plumb_fsession),                            \
		PLUMB_FUNCTION_MECHANISM("fentry", open_plain, plumb_fentry),                      \
		PLUMB_FUNCTION_MECHANISM("kprobe.session", open_session, plumb_kprobe_session),    \
		PLUMB_FUNCTION_MECHANISM("kprobe.multi", open_plain, plumb_kprobe_multi),          \
		PLUMB_FUNCTION_MECHANISM("kprobe", open_plain, plumb_kprobe)

/* For many functions: fast to attach and detach, but each call has to look up its function. */
#define PLUMB_FUNCTION_MECHANISMS_MANY                                                             \
	PLUMB_FUNCTION_MECHANISM("fsession.multi", open_700, plumb_fsession_multi),                \
		PLUMB_FUNCTION_MECHANISM("kprobe.session", open_session, plumb_kprobe_session),    \
		PLUMB_FUNCTION_MECHANISM("kprobe.multi", open_plain, plumb_kprobe_multi),          \
		PLUMB_FUNCTION_MECHANISM("fsession", open_700, plumb_fsession),                    \
		PLUMB_FUNCTION_MECHANISM("fentry", open_plain, plumb_fentry),                      \
		PLUMB_FUNCTION_MECHANISM("kprobe", open_plain, plumb_kprobe)
