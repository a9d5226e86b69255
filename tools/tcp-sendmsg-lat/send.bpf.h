/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send: the filters, the key and the recording of a send, for all mechanisms. */
#pragma once

#include "tcp-sendmsg-lat.h"
#define PLUMB_KEY struct send_key
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/net/ends.bpf.h>

const volatile struct tcp_config tcp_config = {};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set by the loader: number of labels */
	__type(key, struct tcp_label_key);
	__type(value, __u32);
} tcp_labels SEC(".maps");

static __always_inline bool end_is_wanted(struct sock *sk, const volatile struct tcp_filter *f,
					  bool remote)
{
	struct tcp_address a;
	__u16 port;
	__u32 i;

	if (f->n_ports) {
		port = ends_port(sk, remote);
		for (i = 0; i < PLUMB_MAX_LIST && i < f->n_ports; i++)
			if (port >= f->ports[i].from && port <= f->ports[i].to)
				break;
		if (i == f->n_ports)
			return false;
	}
	if (f->n_prefixes) {
		ends_address(sk, &a, remote);
		for (i = 0; i < PLUMB_MAX_LIST && i < f->n_prefixes; i++)
			if ((a.halves[0] & f->prefixes[i].mask.halves[0]) ==
				    f->prefixes[i].address.halves[0] &&
			    (a.halves[1] & f->prefixes[i].mask.halves[1]) ==
				    f->prefixes[i].address.halves[1])
				break;
		if (i == f->n_prefixes)
			return false;
	}
	return true;
}

/* The filters that can be applied when a send begins. */
static __always_inline bool send_is_wanted(struct sock *sk, __u64 asked)
{
	if (asked < tcp_config.min_size || asked > tcp_config.max_size)
		return false;
	return end_is_wanted(sk, &tcp_config.remote, true) &&
	       end_is_wanted(sk, &tcp_config.local, false);
}

/* The lowest size of SIZE's class: a multiple of the step, or 0, 1K, 2K, 4K, ... */
static __always_inline __u64 size_class(__u64 size)
{
	if (tcp_config.size_step)
		return size / tcp_config.size_step * tcp_config.size_step;
	return size >> 10 ? 1ULL << plumb_log2(size) : 0;
}

static __always_inline __u32 find_label(const struct tcp_address *address, __u16 port)
{
	struct tcp_label_key key = {.bits = 32 + 128, .port = port, .address = *address};
	__u32 *label = bpf_map_lookup_elem(&tcp_labels, &key);

	if (!label) {
		key.port = 0;
		label = bpf_map_lookup_elem(&tcp_labels, &key);
	}
	return label ? *label : 0;
}

/* Fill in KEY, except for its thread (who). */
static __noinline int fill_key(struct send_key *key, struct sock *sk, __u64 asked, __u32 error)
{
	struct tcp_address remote;

	ends_fill(&key->ends, sk, false);
	if (plumb_config.by & TCP_BY_LABEL) {
		ends_address(sk, &remote, true);
		key->label = find_label(&remote, ends_port(sk, true));
	}
	if (plumb_config.by & TCP_BY_SIZE)
		key->size = size_class(asked);
	if (plumb_config.by & TCP_BY_ERRNO)
		key->error = error;
	return 0;
}

static __noinline int send_slot(struct send_key *key)
{
	return key_cpu_slot(current_task(), key, bpf_get_smp_processor_id());
}
