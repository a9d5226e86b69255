// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * image: what a kernel's file says, as lines of "NAME VALUE", for tests/trust/image.t.
 *
 *	image FILE FUNCTION...            what became of their calls
 *	image --running FILE FUNCTION...  the same of the kernel that runs, which FILE should be,
 *	                                  and whether it says of itself what FILE does
 *	image --types FILE                its types and nothing else, as they are in the kernel
 *(BTF)
 */
#include "image/image.h"
#include "inlining/inlining.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

static void say_calls(const struct plumb_image *image, char **names, const char *before)
{
	struct plumb_callee callees[32] = {};
	struct plumb_calls calls;
	size_t n = 0;

	for (; names[n] && n < 32; n++)
		callees[n] = (struct plumb_callee){.name = names[n],
						   .address = plumb_image_address(image, names[n])};
	if (plumb_calls_in_kernel(image, callees, n, &calls))
		exit(1);
	printf("%s_code %d\n%s_data %d\n", before, calls.has_code, before, calls.has_data);
	for (size_t i = 0; i < n; i++)
		printf("%s_%s %s%zu direct, %zu taken, %s\n", before, callees[i].name,
		       callees[i].address ? "" : "no address, ", callees[i].direct,
		       callees[i].taken, callees[i].exported ? "exported" : "not exported");
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

/* Symbol by symbol.  What runs may be elsewhere, but what is per CPU or absolute is not. */
static void compare(const char *in_file, const char *running, uint64_t slide)
{
	size_t same = 0, different = 0;
	uint64_t a, b;
	char *p, *q;

	while (*in_file && *running) {
		a = strtoull(in_file, &p, 16);
		b = strtoull(running, &q, 16);
		if (strcspn(p, "\n") == strcspn(q, "\n") && !strncmp(p, q, strcspn(p, "\n")) &&
		    (a + slide == b || a == b))
			same++;
		else if (!different++)
			printf("first_difference %.60s, not %.60s\n", running, in_file);
		in_file = p + strcspn(p, "\n") + 1;
		running = q + strcspn(q, "\n") + 1;
	}
	printf("same_symbols %zu\ndifferent_symbols %zu\nmissing_symbols %zu\n", same, different,
	       count_lines(in_file));
}

static int write_types(const char *path)
{
	struct plumb_image file;
	const void *types = NULL;
	__u32 size = 0;
	int err = 1;

	if (!path || plumb_image_open(path, &file))
		return 1;
	if (file.btf)
		types = btf__raw_data(file.btf, &size);
	if (types)
		err = fwrite(types, size, 1, stdout) != 1;
	plumb_image_close(&file);
	return err;
}

int main(int argc, char **argv)
{
	bool is_running = argc > 1 && !strcmp(argv[1], "--running");
	struct plumb_image file, running;
	char why[256] = "";

	if (argc > 1 && !strcmp(argv[1], "--types"))
		return write_types(argv[2]);
	argv += 1 + is_running;
	if (!*argv || plumb_image_open(*argv, &file))
		return 1;
	printf("release %s\nmachine %d\ntypes %u\nsymbols %zu\nbuild_id %zu\n", file.release,
	       file.machine, file.btf ? btf__type_cnt(file.btf) : 0,
	       file.symbols ? count_lines(file.symbols) : 0, file.build_id_size);
	say_calls(&file, argv + 1, "file");
	if (is_running) {
		if (plumb_image_open_running(&running, why, sizeof(why)))
			return 1;
		printf("why %s\nfrom %s\n", why, running.path);
		printf("same_release %d\n", !strcmp(file.release, running.release));
		printf("same_build_id %d\n",
		       file.build_id_size == running.build_id_size &&
			       !memcmp(file.build_id, running.build_id, file.build_id_size));
		printf("same_types %d\n",
		       file.btf && running.btf &&
			       btf__type_cnt(file.btf) == btf__type_cnt(running.btf));
		compare(file.symbols, running.symbols,
			plumb_image_address(&running, "_stext") -
				plumb_image_address(&file, "_stext"));
		say_calls(&running, argv + 1, "running");
		plumb_image_close(&running);
	}
	plumb_image_close(&file);
	return 0;
}
