/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* place: the container and the pod that a cgroup is of, by the cgroup's path. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#define PLUMB_CONTAINER_ID    64 /* hexadecimal digits, with every runtime */
#define PLUMB_CONTAINER_SHORT 12 /* so many are printed */

struct plumb_place {
	char id[PLUMB_CONTAINER_ID + 1];  /* of the innermost container; "": it has none */
	char name[NAME_MAX + 1];          /* the name that the path has in its place */
	char pod[PLUMB_CONTAINER_ID + 1]; /* Kubernetes' UID, or the id of Podman's; "": no pod */
	bool of_pod;                      /* the container is in that pod */
	bool has_uid;                     /* the pod is one of Kubernetes */
};

/*
 * What PATH says, from the root of the hierarchy on: "/docker/ID", "docker-ID.scope" and the like
 * of Docker, containerd, CRI-O and Podman, also below "kubepods"; "lxc.payload.NAME", "lxc/NAME";
 * "machine-NAME.scope" of systemd-nspawn and others, whose names systemd escapes ("deb\x2d1" is
 * deb-1).  The scope of conmon, which watches over a container, is not in it.
 */
struct plumb_place plumb_place_of(const char *path);

static inline bool plumb_place_has_container(const struct plumb_place *p)
{
	return *p->id || *p->name;
}
