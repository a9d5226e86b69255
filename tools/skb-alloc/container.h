/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* container: the container of a cgroup, by the cgroup's path. */
#pragma once

#include <stddef.h>

/*
 * The innermost container of a cgroup's PATH: the first twelve digits of its id,
 * as container runtimes print it, or its name; "-" if the path names none.
 * Supports the paths of Docker, containerd and CRI-O (also under Kubernetes),
 * Podman, LXC and systemd-nspawn, whose names systemd escapes ("deb\x2d1" is deb-1).
 * Returns TEXT.
 */
const char *container_name(const char *path, char *text, size_t size);
