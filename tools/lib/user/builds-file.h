/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include <jansson.h>
#include <plumb/user/builds.h>

struct plumb_report;
struct stat;

struct plumb_traced {
	const struct plumb_builds_use *use;
	const struct plumb_options *options;
	struct plumb_targets *targets;
	const struct plumb_user_pattern *patterns;
	size_t n_patterns;
	struct plumb_build list[PLUMB_BUILDS];
	size_t n;
	bool full_said;
	uint64_t looked;     /* when the files were looked at last; ns, as plumb_now() */
	uint64_t unfinished; /* the same before a file came that is being written; 0: none is */
	const struct plumb_bpf *bpf; /* attached; NULL before */
	struct plumb_probes *probes;
};

extern struct plumb_traced plumb_traced;

static inline const char *plumb_build_path(const struct plumb_build *b)
{
	return plumb_traced.targets->files[b->file].path;
}

/* Sets the path by which the build is attached to. */
void plumb_build_set_path(struct plumb_build *b);
int plumb_build_attach(struct plumb_build *b, char *what, size_t size);

/* The members of plumb_builds; and keeps (confine.h) what attaching to later builds takes. */
int plumb_builds_fd(void);
void plumb_builds_print(FILE *out);
void plumb_builds_add_json(json_t *json, const struct plumb_report *r);
void plumb_builds_retain(void);

/* The function of that name in FOUND, if it can be probed; NULL: none. */
struct plumb_userfunc *plumb_build_function(const struct plumb_userfuncs *found, const char *name);

/* Whether it is of the file ST. */
bool plumb_build_is_of(const struct plumb_build *b, const struct stat *st);

/* Whether a compiler or a copy may be in the midst of the file FD, which is ST. */
bool plumb_build_is_unfinished(int fd, const struct stat *st);
/* Whether the build, whose functions were not found, was written to since; ST: its file now. */
bool plumb_build_has_grown(const struct plumb_build *b, const struct stat *st);
/* Then: FD, which it takes, is its file. */
void plumb_build_look_again(struct plumb_build *b, int fd, const struct stat *st);

/* Sets the build's id. */
void plumb_build_read_id(struct plumb_build *b);

/* A checksum of the instructions at the build's probes, as they are in its file now. */
uint64_t plumb_build_code(const struct plumb_build *b);

/* Whether the file's content was written to since it was read. */
bool plumb_build_is_changed(struct plumb_build *b);

/* When it was changed, at the earliest: as it says itself, or LOOKED, when it had not been yet. */
struct timespec plumb_build_changed_at(const struct plumb_build *b, uint64_t looked);
/* Warns that it has been detached from, since it was changed. */
void plumb_build_tell_change(const struct plumb_build *b, const struct timespec *since);

/* Has the kernel tell when the file FD is written to, or, -1, another one comes to PATH. */
void plumb_builds_watch(int fd, const char *path);
/* Takes what it has told.  Returns whether a file was written to, or one of its name has come. */
bool plumb_builds_take_events(void);

/* The local time of the day, with milliseconds; returns TEXT. */
char *plumb_clock_text(const struct timespec *t, char text[32]);
