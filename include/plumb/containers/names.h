/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * names: of containers and pods, from the files that the kubelet and the runtimes leave: no daemon
 * is asked.  They are below ROOT, "" for those of the system.
 *
 *	/var/log/pods/NAMESPACE_POD_UID, /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
 *	/var/lib/docker/containers/ID/config.v2.json
 *	/run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json
 *	/var/lib/containers/storage, /run/containers/storage: *-containers/containers.json
 *
 * Each returns whether it is known.  TEXT is as it is in the file: it is to be escaped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* "NAMESPACE/POD" of Kubernetes. */
bool plumb_pod_name(const char *root, const char *uid, char *text, size_t size);
/* The container's own name, without that of its pod. */
bool plumb_container_name(const char *root, const char *id, char *text, size_t size);
