/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

#define LARGEST (2UL << 30) /* a vmlinux with its debugging information */

const char *plumb_functions_root = "";

static struct btf *shared;
static unsigned int users;

/* Mapped, where the kernel offers that (6.16): libbpf reads it a page at a time, and copies it. */
static struct btf *parse(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *data = MAP_FAILED;
	struct stat st = {};
	struct btf *btf;

	if (fd >= 0 && !fstat(fd, &st))
		data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (data == MAP_FAILED)
		return btf__parse(path, NULL);
	btf = btf__new(data, st.st_size);
	munmap(data, st.st_size);
	return btf;
}

struct btf *plumb_kernel_btf_get(void)
{
	char path[4096];

	if (!users) {
		snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", plumb_functions_root);
		shared = parse(path);
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
