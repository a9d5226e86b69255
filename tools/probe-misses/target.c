/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "census.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/functions/lists.h>
#include <plumb/kernel/types.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

/* From include/uapi/linux/bpf.h; older headers lack much of it. */
enum { /* bpf_link_type */
       RAW_TRACEPOINT = 1,
       TRACING = 2,
       CGROUP,
       ITER,
       NETNS,
       XDP,
       PERF_EVENT,
       KPROBE_MULTI,
       STRUCT_OPS,
       NETFILTER,
       TCX,
       UPROBE_MULTI,
       NETKIT,
       SOCKMAP,
       TRACING_MULTI
};
enum { UPROBE = 1, URETPROBE, KPROBE, KRETPROBE, TRACEPOINT, EVENT }; /* bpf_perf_event_type */

struct link_info {
	__u32 type, id, program, pad;
	union {
		__u64 all[16]; /* the first, so that {} clears the others too */
		struct {
			__u64 name;
			__u32 name_length;
		} raw_tracepoint;
		struct {
			__u32 attach_type;
		} tracing;
		struct {
			__u32 ifindex;
		} device;
		struct {
			__u32 kind, pad;
			union {
				struct {
					__u64 name; /* of a file, function or tracepoint */
					__u32 name_length, offset;
					__u64 address, missed; /* of a kprobe */
				};
				struct {
					__u64 config;
					__u32 type;
				} event;
			};
		} perf_event;
		struct {
			__u64 addresses;
			__u32 n, flags;
			__u64 missed;
		} kprobe_multi;
		struct {
			__u64 path, offsets, counters, cookies;
			__u32 path_size, n, flags, pid;
		} uprobe_multi;
	};
};

enum { MULTI_RETURN = 1 }; /* flag of kprobe.multi and uprobe.multi: BPF_F_KPROBE_MULTI_RETURN */

static bool read_info(int fd, struct link_info *info)
{
	__u32 size = sizeof(*info);

	return !bpf_obj_get_info_by_fd(fd, info, &size);
}

static enum kind kind_of(const struct link_info *info)
{
	switch (info->type) {
	case KPROBE_MULTI:
		return KIND_KPROBE;
	case UPROBE_MULTI:
		return KIND_USER_MULTI;
	case PERF_EVENT:
		break;
	default:
		return KIND_OTHER;
	}
	switch (info->perf_event.kind) {
	case 0:
		return KIND_PERF;
	case KPROBE:
	case KRETPROBE:
		return KIND_KPROBE;
	case UPROBE:
	case URETPROBE:
		return KIND_USER;
	default:
		return KIND_OTHER;
	}
}

bool target_read(int fd, struct attachment *a)
{
	struct link_info info = {};

	if (!read_info(fd, &info))
		return false;
	*a = (struct attachment){.id = info.id, .program = info.program, .kind = kind_of(&info)};
	if (info.type == KPROBE_MULTI)
		a->missed = info.kprobe_multi.missed;
	else if (a->kind == KIND_KPROBE)
		a->missed = info.perf_event.missed;
	return true;
}

/*
 * Read INFO anew, with the text that the kernel writes to where *AT, a member of it, points. Return
 * it; NULL: there is none.
 */
static char *read_text(int fd, struct link_info *info, __u64 *at, __u32 *room)
{
	char text[4096] = "";

	*info = (struct link_info){};
	*at = (uintptr_t)text;
	*room = sizeof(text);
	return read_info(fd, info) && *text ? strdup(text) : NULL;
}

/* Return whether a BTF object is the kernel's or a module's; set NAME to its name. */
static bool is_of_kernel(uint32_t object, char *name, size_t size)
{
	struct bpf_btf_info info = {.name = (uintptr_t)name, .name_len = size};
	__u32 length = sizeof(info);
	int fd = bpf_btf_get_fd_by_id(object), err;

	if (fd < 0)
		return false;
	err = bpf_obj_get_info_by_fd(fd, &info, &length);
	close(fd);
	return !err && info.kernel_btf;
}

static char *name_in(const struct btf *types, uint32_t id)
{
	static const char tracepoint[] = "btf_trace_";
	const struct btf_type *t = types ? btf__type_by_id(types, id) : NULL;
	const char *name = t ? btf__name_by_offset(types, t->name_off) : NULL;

	if (!name || !*name)
		return NULL;
	if (!strncmp(name, tracepoint, strlen(tracepoint)))
		name += strlen(tracepoint);
	return strdup(name);
}

/* The name of a program's attach target: a type of the kernel, a module or another program. */
static char *type_name(const struct program *p)
{
	static struct btf *kernel;
	struct btf *types;
	char module[64] = "", *name;

	if (!p || !p->btf_id)
		return NULL;
	if (!is_of_kernel(p->btf_object, module, sizeof(module))) {
		types = btf__load_from_kernel_by_id(p->btf_object);
	} else {
		if (!kernel)
			kernel = plumb_kernel_btf_get();
		if (!kernel || !strcmp(module, "vmlinux"))
			return name_in(kernel, p->btf_id);
		types = btf__load_from_kernel_by_id_split(p->btf_object, kernel);
	}
	name = name_in(types, p->btf_id);
	btf__free(types);
	return name;
}

static const char *attach_name(uint32_t attach_type)
{
	switch (attach_type) {
	case BPF_TRACE_RAW_TP:
		return "tp_btf";
	case BPF_TRACE_FENTRY:
		return "fentry";
	case BPF_TRACE_FEXIT:
		return "fexit";
	case BPF_MODIFY_RETURN:
		return "fmod_ret";
	case BPF_LSM_MAC:
		return "lsm";
	case 58: /* BPF_TRACE_FSESSION */
		return "fsession";
	default:
		return "tracing";
	}
}

static void describe_kprobe_multi(int fd, struct link_info *info, struct attachment *a)
{
	a->by = info->kprobe_multi.flags & MULTI_RETURN ? "kretprobe.multi" : "kprobe.multi";
	if (!info->kprobe_multi.n)
		return;
	a->more = info->kprobe_multi.n - 1;
	*info = (struct link_info){};
	info->kprobe_multi.addresses = (uintptr_t)&a->address;
	info->kprobe_multi.n = 1;
	/* If there are more, the call fails, but only after it has written the first. */
	read_info(fd, info);
}

static void describe_uprobe_multi(int fd, struct link_info *info, struct attachment *a)
{
	a->by = info->uprobe_multi.flags & MULTI_RETURN ? "uretprobe.multi" : "uprobe.multi";
	if (!info->uprobe_multi.n)
		return;
	a->more = info->uprobe_multi.n - 1;
	a->target = read_text(fd, info, &info->uprobe_multi.path, &info->uprobe_multi.path_size);
}

static void describe_perf_event(int fd, struct link_info *info, struct attachment *a)
{
	static const char *const names[] = {"perf event", "uprobe",     "uretprobe", "kprobe",
					    "kretprobe",  "tracepoint", "perf_event"};
	__u32 kind = info->perf_event.kind;
	char *name;

	a->by = kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
	if (kind == EVENT) {
		if (asprintf(&a->target, "type %u config %llu", info->perf_event.event.type,
			     (unsigned long long)info->perf_event.event.config) < 0)
			a->target = NULL;
		return;
	}
	if (!kind)
		return;
	a->target = name =
		read_text(fd, info, &info->perf_event.name, &info->perf_event.name_length);
	if (!name) {
		/* A kprobe that was created by address. */
		a->address = a->kind == KIND_KPROBE ? info->perf_event.address : 0;
	} else if (kind != TRACEPOINT && info->perf_event.offset) {
		if (asprintf(&a->target, "%s+0x%x", name, info->perf_event.offset) < 0)
			a->target = NULL;
		free(name);
	}
}

void target_describe(int fd, const struct program *program, struct attachment *a)
{
	static const char *const others[] = {
		[CGROUP] = "cgroup",
		[ITER] = "iter",
		[NETNS] = "netns",
		[XDP] = "xdp",
		[TCX] = "tcx",
		[STRUCT_OPS] = "struct_ops",
		[NETFILTER] = "netfilter",
		[NETKIT] = "netkit",
		[SOCKMAP] = "sockmap",
		[TRACING_MULTI] = "tracing.multi",
	};
	struct link_info info = {};

	a->by = "link";
	if (!read_info(fd, &info))
		return;
	switch (info.type) {
	case RAW_TRACEPOINT:
		a->by = "raw_tracepoint";
		a->target = read_text(fd, &info, &info.raw_tracepoint.name,
				      &info.raw_tracepoint.name_length);
		break;
	case TRACING:
		a->by = attach_name(info.tracing.attach_type);
		a->target = type_name(program);
		break;
	case PERF_EVENT:
		describe_perf_event(fd, &info, a);
		break;
	case KPROBE_MULTI:
		describe_kprobe_multi(fd, &info, a);
		break;
	case UPROBE_MULTI:
		describe_uprobe_multi(fd, &info, a);
		break;
	case XDP:
	case TCX:
	case NETKIT:
		/* The index, since the device may be in another network namespace. */
		if (asprintf(&a->target, "ifindex %u", info.device.ifindex) < 0)
			a->target = NULL;
		/* fallthrough */
	default:
		if (info.type < sizeof(others) / sizeof(others[0]) && others[info.type])
			a->by = others[info.type];
	}
}

/* The last function that begins at ADDRESS or before it; NULL: there is none. */
static const struct plumb_symbol *find(const struct plumb_symbols *symbols, uint64_t address)
{
	const struct plumb_symbol *s, *best = NULL;

	for (s = symbols->all; s < symbols->all + symbols->n; s++)
		if (s->address && s->address <= address && (!best || s->address > best->address))
			best = s;
	return best;
}

void target_name(struct attachment *links, size_t n)
{
	struct plumb_symbols symbols = {};
	const struct plumb_symbol *s;
	bool is_read = false;

	for (struct attachment *a = links; a < links + n; a++) {
		if (!a->address || a->target)
			continue;
		if (!is_read && plumb_symbols_read(&symbols))
			return;
		is_read = true;
		s = find(&symbols, a->address);
		a->target = s ? strdup(s->name) : NULL;
	}
	plumb_symbols_free(&symbols);
}
