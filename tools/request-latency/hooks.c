/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "hooks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/functions/probe.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

struct request_hooks request_hooks;

static const char *const ready = "sock_def_readable";
/* Of each protocol; inet_sendpage() is there before 6.5. */
static const char *const reads[] = {"inet_recvmsg", "inet6_recvmsg", "unix_stream_recvmsg",
				    "unix_seqpacket_recvmsg"};
static const char *const sends[] = {"inet_sendmsg", "inet6_sendmsg", "inet_sendpage",
				    "unix_stream_sendmsg", "unix_seqpacket_sendmsg"};
#define N_READS (sizeof(reads) / sizeof(*reads))
#define N_SENDS (sizeof(sends) / sizeof(*sends))

/* READY is the first one; of the others the first N_FOUND_READS receive. */
static struct plumb_functions functions;
static size_t n_found_reads;
static const char *types; /* a file; NULL: the running kernel's */

void request_hooks_find(const char *file)
{
	static const char *const needed[] = {"sk_data_ready", "sock_recv_length",
					     "sock_send_length"};
	struct btf *btf = plumb_types_get(file);

	types = file;
	if (!btf)
		return;
	request_hooks.early = plumb_tracepoint_prototype(btf, "tcp_sendmsg_locked");
	request_hooks.says_locks = plumb_tracepoint_prototype(btf, "contention_begin");
	request_hooks.allocates = btf__find_by_name_kind(btf, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!plumb_tracepoint_prototype(btf, needed[i]))
			request_hooks.missing = needed[i];
	plumb_kernel_btf_put(btf);
}

const char *request_has_no_tracepoints(void)
{
	static char why[128];

	if (!request_hooks.missing)
		return NULL;
	snprintf(why, sizeof(why),
		 "no tracepoint %s here: sk_data_ready came in 6.2, sock_recv_length and "
		 "sock_send_length in 6.3",
		 request_hooks.missing);
	return why;
}

const char *request_needs_no_plain_tracepoints(void)
{
	return request_has_no_tracepoints() || !plumb_raw_tracepoints_can_be_preempted() ? ""
											 : NULL;
}

/* --- functions --- */

/* Those of IPv6 can be in a module. */
static bool is_there(const struct btf *btf, const char *name)
{
	return plumb_btf_function(btf, name) ||
	       (!strncmp(name, "inet6_", 6) && !access("/proc/net/if_inet6", F_OK));
}

static int find(void)
{
	const char *names[1 + N_READS + N_SENDS];
	struct btf *btf = plumb_types_get(types);
	size_t n = 0;
	int err;

	if (!btf)
		return -EOPNOTSUPP;
	names[n++] = ready;
	for (size_t i = 0; i < N_READS; i++)
		if (is_there(btf, reads[i]))
			names[n++] = reads[i];
	n_found_reads = n - 1;
	for (size_t i = 0; i < N_SENDS; i++)
		if (is_there(btf, sends[i]))
			names[n++] = sends[i];
	plumb_kernel_btf_put(btf);
	err = plumb_functions_find(names, n, types, &functions);
	if (!err && functions.n != n) /* there are several of a name */
		err = -EEXIST;
	return err;
}

/* Of those functions, N from FIRST on. */
static struct plumb_functions some(size_t first, size_t n)
{
	struct plumb_functions f = functions;

	f.all += first;
	f.n = n;
	return f;
}

static int attach_to(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		     const struct plumb_attach_target *targets, struct plumb_functions f,
		     char *what, size_t size)
{
	const int err = plumb_probe_attach(probes, bpf->object, targets, &f, what, size);

	return err || !probes->refused ? err : probes->refusals[0].err;
}

static int attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what, size_t size)
{
	static const struct plumb_attach_target calls[][3] = {
		[REQUEST_FENTRY] = {{"fexit_transfer_ends", PLUMB_FEXIT}},
		[REQUEST_KPROBE] = {{"kretprobe_transfer_ends", PLUMB_KRETPROBE},
				    {"kprobe_transfer_begins", PLUMB_KPROBE}},
	};
	static const struct plumb_attach_target data[][2] = {
		[REQUEST_FENTRY] = {{"fentry_data_ready", PLUMB_FENTRY}},
		[REQUEST_KPROBE] = {{"kprobe_data_ready", PLUMB_KPROBE}},
	};
	const int err =
		attach_to(bpf, probes, calls[bpf->mode], some(1, functions.n - 1), what, size);

	return err ?: attach_to(bpf, probes, data[bpf->mode], some(0, 1), what, size);
}

static int set_target(const struct bpf_object *object, const char *program, enum plumb_hook hook,
		      size_t function)
{
	const struct plumb_functions f = some(function, 1);

	return plumb_probe_prepare(bpf_object__find_program_by_name(object, program), hook, &f);
}

int request_functions_prepare(struct plumb_bpf *bpf, size_t n, __u32 *receive)
{
	static const char *const copied[][4] = {
		[REQUEST_FENTRY] = {"fexit_transfer_ends", "fentry_data_ready"},
		[REQUEST_KPROBE] = {"kretprobe_transfer_ends", "kprobe_transfer_begins",
				    "kprobe_data_ready"},
	};
	int err = functions.n ? 0 : find();

	for (size_t i = 0; i < functions.n; i++)
		snprintf(bpf->hooks[n++], PLUMB_HOOK_NAME, "%s", functions.all[i].name);
	*receive = n_found_reads;
	bpf->copied = copied[bpf->mode];
	bpf->attach = attach;
	if (err || bpf->mode != REQUEST_FENTRY)
		return err;
	return set_target(bpf->object, "fexit_transfer_ends", PLUMB_FEXIT, 1)
		       ?: set_target(bpf->object, "fentry_data_ready", PLUMB_FENTRY, 0);
}
