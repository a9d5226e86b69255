// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* files, fuzzed: all that is read from programs, libraries, kernels and types. */
#include <plumb/functions/lists.h>
#include "inlining/code.h"
#include <fcntl.h>
#include <plumb/functions/declare.h>
#include "image/image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/user/usdt.h>
#include <plumb/user/userfuncs.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[256];

static int be_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char directory[200];

	libbpf_set_print(be_silent);
	snprintf(directory, sizeof(directory), "%s/fuzz.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	if (!mkdtemp(directory))
		exit(1);
	snprintf(path, sizeof(path), "%s/file", directory);
	return 0;
}

static void write_file(const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		exit(1);
	close(fd);
}

static void read_types(const struct btf *btf)
{
	struct plumb_declarer declarer = {};
	struct plumb_function all[2] = {{.name = "a"}, {.name = "vfs_read"}};
	struct plumb_functions functions = {.all = all, .n = 2};

	plumb_prototypes_from(&functions, btf);
	for (size_t i = 0; i < functions.n; i++)
		plumb_function_prototype(&declarer, &all[i]);
	for (uint32_t id = 1; id < btf__type_cnt(btf) && id < 200; id++)
		plumb_declare(&declarer, btf, id, "it");
	plumb_declarer_free(&declarer);
}

static void read_kernel(void)
{
	struct plumb_callee callees[] = {{.name = "a", .address = 0x401000}, {.name = "small"}};
	struct plumb_calls calls;
	struct plumb_image image;

	if (plumb_image_open(path, &image))
		return;
	if (image.n_spans)
		callees[0].address = image.spans[0].address;
	plumb_calls_in_kernel(&image, callees, 2, &calls);
	if (image.btf)
		read_types(image.btf);
	plumb_image_close(&image);
}

static void read_program(void)
{
	static const char *const selected[] = {"*", "*@*", "held+4", "ns::f*", "none"};
	struct plumb_callee callees[3] = {{.name = "small"}, {.name = "never"}, {.name = "held"}};
	struct plumb_userfuncs functions;
	struct plumb_inlined facts;
	int fd;
	struct plumb_function_parts parts;
	struct plumb_calls calls;
	char target[300];

	for (size_t i = 0; i < 3; i++) {
		if (plumb_parts_find(path, callees[i].name, &parts))
			return;
		if (parts.n)
			callees[i].address = parts.all[0].address;
		plumb_parts_free(&parts);
	}
	plumb_calls_in_file(path, callees, 3, &calls);
	for (size_t i = 0; i < sizeof(selected) / sizeof(selected[0]); i++) {
		snprintf(target, sizeof(target), "%s:%s", path, selected[i]);
		if (!plumb_userfuncs_find(target, &functions))
			plumb_userfuncs_free(&functions);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!plumb_userfuncs_inlined(fd, path, "*", &functions, &facts))
		plumb_userfuncs_free(&functions);
	close(fd);
	snprintf(target, sizeof(target), "%s:*:*", path);
	if (!plumb_usdts_find(target, &functions))
		plumb_userfuncs_free(&functions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct btf *btf = btf__new(data, size);

	if (btf)
		read_types(btf);
	btf__free(btf);
	write_file(data, size);
	read_kernel();
	read_program();
	return 0;
}
