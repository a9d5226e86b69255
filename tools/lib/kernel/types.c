/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

#define LARGEST (2UL << 30) /* a vmlinux with its debugging information */

const char *plumb_functions_root = "";

static struct btf *shared;
static unsigned int users;

struct btf *plumb_kernel_btf_get(void)
{
	char path[4096];

	if (!users) {
		snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", plumb_functions_root);
		shared = btf__parse(path, NULL);
	}
	users += shared != NULL;
	return shared;
}

void plumb_kernel_btf_put(struct btf *btf)
{
	if (!btf || btf != shared) {
		btf__free(btf);
	} else if (!--users) {
		btf__free(shared);
		shared = NULL;
	}
}

struct btf *plumb_types_read(const char *file)
{
	int fd = plumb_file_open("--btf", file, LARGEST);
	struct btf *btf;
	char opened[32];

	if (fd < 0)
		return NULL;
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	btf = btf__parse(opened, NULL);
	if (!btf)
		plumb_warn("--btf: no types in %s: it is neither BTF nor ELF with BTF", file);
	close(fd);
	return btf;
}

struct btf *plumb_types_get(const char *file)
{
	struct btf *btf = file ? btf__parse(file, NULL) : plumb_kernel_btf_get();

	if (!btf)
		plumb_error(EOPNOTSUPP, "the kernel's types cannot be read: %s",
			    file ?: "/sys/kernel/btf/vmlinux");
	return btf;
}
