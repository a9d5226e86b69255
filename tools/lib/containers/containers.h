/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* containers: what a cgroup's container and pod are called. */
#pragma once

#include <plumb/containers/place.h>

#define CONTAINERS_TEXT 1024

struct containers_names {
	char container[CONTAINERS_TEXT]; /* "NAMESPACE/POD/NAME", NAME or an id; "-": none */
	char pod[CONTAINERS_TEXT];       /* "NAMESPACE/POD", UID or an id; "-": none */
};

/* ROOT: as names.h takes it. */
void containers_name(const char *root, const struct plumb_place *place,
		     struct containers_names *names);

/* Whether TEXT, as -g has it behind "container:" or "pod:", means that place, with those names. */
bool containers_is_container(const char *text, const struct plumb_place *place,
			     const struct containers_names *names);
bool containers_is_pod(const char *text, const struct plumb_place *place,
		       const struct containers_names *names);

struct plumb_options;

/*
 * Puts paths of cgroups into the place of containers and pods of -g.  Returns 0, or -errno after a
 * message.
 */
int containers_find(struct plumb_options *o);
