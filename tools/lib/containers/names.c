/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/containers/names.h>

#define MOST (16 << 20) /* bytes of a file that is read; containers.json has all containers */

/* --- the kubelet --- */

/* Copies N bytes at FROM; false: TEXT does not hold them, or there are none. */
static bool copy(char *text, size_t size, const char *from, size_t n)
{
	if (!n || n >= size)
		return false;
	memcpy(text, from, n);
	text[n] = 0;
	return true;
}

/* What precedes TAIL in the name of the entry of DIRECTORY that ends with it. */
static bool find_entry(const char *root, const char *directory, const char *tail, char *text,
		       size_t size)
{
	const size_t n_tail = strlen(tail);
	struct dirent *entry;
	bool found = false;
	char path[4096];
	size_t n;
	DIR *d;

	snprintf(path, sizeof(path), "%s%s", root, directory);
	d = opendir(path);
	while (d && !found && (entry = readdir(d))) {
		n = strlen(entry->d_name);
		found = n > n_tail && !strcmp(entry->d_name + n - n_tail, tail) &&
			copy(text, size, entry->d_name, n - n_tail);
	}
	if (d)
		closedir(d);
	return found;
}

/* Names of Kubernetes have no "_". */
bool plumb_pod_name(const char *root, const char *uid, char *text, size_t size)
{
	char tail[128], *underscore;

	snprintf(tail, sizeof(tail), "_%s", uid);
	if (!find_entry(root, "/var/log/pods", tail, text, size))
		return false;
	underscore = strchr(text, '_');
	if (!underscore || underscore == text || !underscore[1] || strchr(underscore + 1, '_'))
		return false;
	*underscore = '/';
	return true;
}

/* POD_NAMESPACE_CONTAINER-ID.log */
static bool name_by_log(const char *root, const char *id, char *text, size_t size)
{
	char tail[128], before[512], *underscore;

	snprintf(tail, sizeof(tail), "-%s.log", id);
	if (!find_entry(root, "/var/log/containers", tail, before, sizeof(before)))
		return false;
	underscore = strrchr(before, '_');
	return underscore && copy(text, size, underscore + 1, strlen(underscore + 1));
}

/* --- files of the runtimes: JSON --- */

/* NULL: there is none, or it is not what a daemon would write. */
static json_t *read_json(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	json_t *j = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= MOST)
		j = json_loadfd(fd, 0, NULL);
	close(fd);
	return j;
}

/*
 * Of Docker's and Podman's names; those of containers of the kubelet are
 * k8s_CONTAINER_POD_NAMESPACE_UID_N.
 */
static bool take_name(const char *name, char *text, size_t size)
{
	if (!name)
		return false;
	name += *name == '/';
	if (strncmp(name, "k8s_", 4) != 0)
		return copy(text, size, name, strlen(name));
	name += 4;
	return copy(text, size, name, strcspn(name, "_"));
}

static bool name_by_docker(const char *root, const char *id, char *text, size_t size)
{
	char path[4096];
	json_t *j;
	bool found;

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers/%s/config.v2.json", root, id);
	j = read_json(path);
	found = take_name(json_string_value(json_object_get(j, "Name")), text, size);
	json_decref(j);
	return found;
}

/* In the annotations of a container that containerd runs. */
static bool name_in_bundle(const char *path, const char *id, char *text, size_t size)
{
	static const char *const annotations[] = {"io.kubernetes.cri.container-name",
						  "io.kubernetes.container.name", "nerdctl/name"};
	json_t *j = read_json(path), *all = json_object_get(j, "annotations");
	bool found = false;

	(void)id;
	for (size_t i = 0; !found && i < sizeof(annotations) / sizeof(annotations[0]); i++)
		found = take_name(json_string_value(json_object_get(all, annotations[i])), text,
				  size);
	json_decref(j);
	return found;
}

/* In the list of all containers of containers/storage, which Podman and CRI-O use. */
static bool name_in_storage(const char *path, const char *id, char *text, size_t size)
{
	json_t *j = read_json(path), *one;
	bool found = false;
	const char *is;
	size_t i;

	json_array_foreach(j, i, one)
	{
		is = json_string_value(json_object_get(one, "id"));
		if (is && !strcmp(is, id)) {
			one = json_array_get(json_object_get(one, "names"), 0);
			found = take_name(json_string_value(one), text, size);
			break;
		}
	}
	json_decref(j);
	return found;
}

/* In FILE of each directory in DIRECTORY. */
static bool name_in_each(const char *root, const char *directory, const char *file, const char *id,
			 bool (*name_in)(const char *path, const char *id, char *text, size_t size),
			 char *text, size_t size)
{
	char path[4096];
	struct dirent *entry;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "%s%s", root, directory);
	d = opendir(path);
	while (d && !found && (entry = readdir(d))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s%s/%s/%s", root, directory, entry->d_name, file);
		found = name_in(path, id, text, size);
	}
	if (d)
		closedir(d);
	return found;
}

static bool name_by_containerd(const char *root, const char *id, char *text, size_t size)
{
	char file[128];

	snprintf(file, sizeof(file), "%s/config.json", id);
	return name_in_each(root, "/run/containerd/io.containerd.runtime.v2.task", file, id,
			    name_in_bundle, text, size);
}

/* Those of containers that are removed when they end are in another file. */
static bool name_by_storage(const char *root, const char *id, char *text, size_t size)
{
	static const char *const directories[] = {"/var/lib/containers/storage",
						  "/run/containers/storage"};
	bool found = false;

	for (size_t i = 0; i < 2 && !found; i++)
		found = name_in_each(root, directories[i], "containers.json", id, name_in_storage,
				     text, size) ||
			name_in_each(root, directories[i], "volatile-containers.json", id,
				     name_in_storage, text, size);
	return found;
}

bool plumb_container_name(const char *root, const char *id, char *text, size_t size)
{
	return name_by_log(root, id, text, size) || name_by_docker(root, id, text, size) ||
	       name_by_containerd(root, id, text, size) || name_by_storage(root, id, text, size);
}
