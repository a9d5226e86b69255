/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/kernel/token.h>

#include <bpf/libbpf.h>

#define VARIABLE "LIBBPF_BPF_TOKEN_PATH"

#if LIBBPF_MAJOR_VERSION == 1 && LIBBPF_MINOR_VERSION < 5

bool plumb_token_take(void)
{
	const char *path = getenv(VARIABLE);

	if (path && *path)
		plumb_warn(VARIABLE " is ignored: this is libbpf %s, tokens take 1.5",
			   libbpf_version_string());
	return false;
}

int plumb_prog_load(enum bpf_prog_type type, const char *name, const struct bpf_insn *insns,
		    size_t n, const struct bpf_prog_load_opts *opts)
{
	return bpf_prog_load(type, name, "Dual BSD/GPL", insns, n, opts);
}

#else

static int token; /* 0: none */

static int take(const char *path)
{
	int fs = open(path, O_DIRECTORY | O_CLOEXEC), fd;

	if (fs < 0)
		return -errno;
	fd = bpf_token_create(fs, NULL);
	close(fs);
	return fd;
}

bool plumb_token_take(void)
{
	const char *path = getenv(VARIABLE);
	int fd;

	if (token || !path || !*path)
		return token;
	fd = take(path);
	if (fd < 0)
		plumb_warn(VARIABLE ": no BPF token from %s: %s", path, strerror(-fd));
	else
		token = fd;
	return token;
}

int plumb_prog_load(enum bpf_prog_type type, const char *name, const struct bpf_insn *insns,
		    size_t n, const struct bpf_prog_load_opts *opts)
{
	struct bpf_prog_load_opts with = {.sz = sizeof(with)};

	if (opts)
		with = *opts;
	if (token) {
		with.token_fd = token;
		with.prog_flags |= BPF_F_TOKEN_FD;
	}
	return bpf_prog_load(type, name, "Dual BSD/GPL", insns, n, &with);
}

#endif

void plumb_token_none(void)
{
	if (getenv(VARIABLE))
		setenv(VARIABLE, "", true);
}
