/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/recorder/slots.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int plumb_slot_fill(struct bpf_object *object, uint32_t i, const void *key)
{
	struct bpf_map *keys = bpf_object__find_map_by_name(object, "plumb_keys");
	int by_slot = bpf_object__find_map_fd_by_name(object, "plumb_keys_by_slot");
	uint32_t slot = i + 1;

	if (i >= bpf_map__max_entries(keys))
		return 0;
	if (bpf_map_update_elem(by_slot, &slot, key, BPF_ANY))
		return -errno;
	return bpf_map_update_elem(bpf_map__fd(keys), key, &slot, BPF_ANY) ? -errno : 0;
}
