/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * privileges: the capabilities of this process, and which of them, and of the system calls, it
 * needs until its end; the guard gives up all others (confine.h).
 */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PLUMB_CAP(name) (1ULL << CAP_##name)

/* Groups of system calls that may stay allowed. */
enum plumb_calls {
	PLUMB_CALLS_READ_MAPS = 1,    /* bpf(2): elements of maps, information on own objects */
	PLUMB_CALLS_WRITE_MAPS = 2,   /* ... to change elements */
	PLUMB_CALLS_RUN_PROGRAMS = 4, /* ... to run loaded programs (BPF_PROG_TEST_RUN) */
	PLUMB_CALLS_ITERATE = 8,      /* ... iterators of loaded programs */
	PLUMB_CALLS_LIST = 16,        /* ... the programs and links of the whole system */
	PLUMB_CALLS_ATTACH = 32,      /* ... to attach loaded programs */
	PLUMB_CALLS_REPLACE = 64,     /* giving a file that was opened before its name */
	PLUMB_CALLS_WRITE = 128,      /* opening what exists for writing */
	PLUMB_CALLS_CREATE = 256,     /* ... and creating files */
	PLUMB_CALLS_EVENTS = 512,     /* perf_event_open(2) */
	PLUMB_CALLS_LOAD = 1024,      /* bpf(2): loading programs */
	PLUMB_CALLS_TRUNCATE = 2048,  /* ftruncate(2) */
	PLUMB_CALLS_SIGNAL = 4096,    /* signals to processes whose pidfds are open, or to one */
	PLUMB_CALLS_CONNECT = 8192,   /* connect(2) of sockets that are open */
};

/*
 * Keeps CAPABILITIES (PLUMB_CAP()s), those of them that are held, and CALLS; WHY is for -v: "names
 * of stacks".  To be called before plumb_confine(), by what needs them afterwards.
 */
void plumb_retain(uint64_t capabilities, unsigned int calls, const char *why);

/* For a child, which needs what it says itself. */
void plumb_retain_nothing(void);

/* Keeps signals to the process TO only. */
void plumb_retain_signals(uint64_t capabilities, pid_t to, const char *why);

/* The same at the last moment: ASK calls plumb_retain() when plumb_retain_all() is called. */
void plumb_retain_later(void (*ask)(void));
void plumb_retain_all(void);

/* What is kept, N of them, and the process to which signals are (0: none). */
struct plumb_kept {
	uint64_t capabilities;
	unsigned int calls;
	const char *why;
};
const struct plumb_kept *plumb_kept(size_t *n, pid_t *to);

/* To read /proc/PID/map_files, maps and mem of all processes, and files that only they may read. */
uint64_t plumb_caps_for_processes(void);

/* The effective capabilities of this process; all, if the kernel does not tell. */
uint64_t plumb_capabilities(void);

/* Appends "CAP_SYSLOG, CAP_SYS_PTRACE" to TEXT, or as setcap(8) takes them; returns TEXT. */
char *plumb_capability_names(uint64_t capabilities, bool for_setcap, char *text, size_t size);

/*
 * Warns, once for each capability, that WHAT could not be read without those of NEEDED that this
 * process does not have; if it has all, that was not why.
 */
void plumb_tell_lack(uint64_t needed, const char *what);

/*
 * Until plumb_as_tool(): files are opened with the permissions of the user who runs the tool, if it
 * is not he who has its capabilities.
 */
void *plumb_as_user(void);
void plumb_as_tool(void *own);

/* Whether ATTEMPT(CONTEXT) succeeds with none of CAPABILITIES, which are effective again
 * afterwards. */
bool plumb_can_without(uint64_t capabilities, bool (*attempt)(void *context), void *context);

/* CHILD is the tool's own: its threads, as those of the tool, are none of the traced ones. */
void plumb_own_child(pid_t child);
bool plumb_is_own(uint32_t pid);
