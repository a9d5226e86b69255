// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nested: a kernel function that calls itself, to a chosen depth.
 *
 * btf_struct_show() prints a value whose type is a struct, and calls itself for each member
 * that is a struct too.  So a map whose value is an int in a struct in a struct ... makes it
 * recurse once per struct, each time the map's file in a BPF file system is read.  Its third
 * argument, type_id, shows the depth: INNERMOST for the struct that holds the int, and one more for
 * each struct around it.  No other kernel function was found that recurses so deep, to a depth that
 * the caller chooses, and is in the BTF of all kernels from 5.10 on.
 */
#include "workload.h"
#include <linux/bpf.h>
#include <linux/btf.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

const char usage[] =
	"Usage: nested DEPTH N\n"
	"Make btf_struct_show() run DEPTH times inside each other, N times over; by it, one call\n"
	"each, map_seq_show(), array_map_seq_show_elem() and btf_type_seq_show() around it. Needs\n"
	"root; exits with status 77 where there is no BPF file system.\n"
	"\n"
	"Gates: ready, go.\n";

#define MAX_DEPTH 30 /* the kernel resolves at most 32 nested types */
#define INT       1  /* type ids: the int, and the struct that holds it */
#define INNERMOST 2
#define WHERE     "/sys/fs/bpf"
#define MAP       WHERE "/map"

static uint64_t depth;

static long bpf(int command, union bpf_attr *attr)
{
	long result = syscall(SYS_bpf, command, attr, sizeof(*attr));

	if (result < 0 && errno == EPERM) {
		fprintf(stderr, "nested: bpf: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	if (result < 0)
		die("bpf: %s", strerror(errno));
	return result;
}

/* int, struct { int }, struct { struct { int } }, ... */
static int load_types(void)
{
	static const char strings[8] = "\0int\0v";
	struct {
		struct btf_header header;
		struct {
			struct btf_type type;
			__u32 encoding;
		} number;
		struct {
			struct btf_type type;
			struct btf_member member;
		} structs[MAX_DEPTH + 1]; /* the strings follow the last one that is used */
	} types = {
		.header = {.magic = BTF_MAGIC,
			   .version = BTF_VERSION,
			   .hdr_len = sizeof(types.header),
			   .str_len = sizeof(strings)},
		.number = {{.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
			   BTF_INT_SIGNED << 24 | 32},
	};
	union bpf_attr attr = {.btf = (uintptr_t)&types};
	uint64_t i;

	for (i = 0; i < depth; i++) {
		types.structs[i].type.info = BTF_KIND_STRUCT << 24 | 1;
		types.structs[i].type.size = 4;
		types.structs[i].member.name_off = 5;
		types.structs[i].member.type = i ? INNERMOST + i - 1 : INT;
	}
	memcpy(&types.structs[depth], strings, sizeof(strings));
	types.header.type_len = sizeof(types.number) + depth * sizeof(types.structs[0]);
	types.header.str_off = types.header.type_len;
	attr.btf_size = sizeof(types.header) + types.header.type_len + sizeof(strings);
	return bpf(BPF_BTF_LOAD, &attr);
}

/* Before 5.11 maps count as locked memory, together with those of all the user's processes. */
static void lift_limit(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &all); /* if it is not permitted, it is not needed */
}

static int make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
		.btf_key_type_id = INT,
		.btf_value_type_id = INNERMOST + depth - 1,
		.btf_fd = load_types(),
	};

	return bpf(BPF_MAP_CREATE, &attr);
}

/* In a file system that no other process sees, and that is gone when this process is. */
static void pin_map(void)
{
	union bpf_attr attr = {.pathname = (uintptr_t)MAP, .bpf_fd = make_map()};

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("bpf", WHERE, "bpf", 0, NULL)) {
		fprintf(stderr, "nested: a BPF file system in %s: %s\n", WHERE, strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	bpf(BPF_OBJ_PIN, &attr);
}

/* An open file prints its map once; one read gets it all, so the value is not printed again. */
static void read_map(struct series *s)
{
	int fd = open_uncounted(MAP, O_RDONLY | O_CLOEXEC);
	char text[4096], *brace;
	uint64_t begin = now_ns(), braces = 0;
	long n = syscall(SYS_pread64, fd, text, sizeof(text) - 1, (off_t)0);

	series_add(s, now_ns() - begin, n < 0);
	if (n < 0)
		die("%s: %s", MAP, strerror(errno));
	text[n] = 0;
	for (brace = text; (brace = strchr(brace, '{')); brace++)
		braces++;
	if (braces != depth)
		die("%s: not %llu structs but: %s", MAP, (unsigned long long)depth, text);
	syscall(SYS_close, fd);
}

static void report(struct series *s)
{
	static const char *const around[] = {"map_seq_show", "array_map_seq_show_elem",
					     "btf_type_seq_show"};
	char comm[16];
	unsigned int i;

	own_comm(comm);
	report_begin();
	put_row_of("function", own_tid(), comm, "btf_struct_show", s->count * depth, 0);
	put(",\"argument\":\"type_id\",\"innermost\":%d,\"outermost\":%llu,\"read\":{", INNERMOST,
	    (unsigned long long)(INNERMOST + depth - 1));
	put_figures(s);
	put("}}");
	for (i = 0; i < sizeof(around) / sizeof(*around); i++) {
		/* The first of them is also called for the header of the file. */
		put_row_of("function", own_tid(), comm, around[i], s->count * (i ? 1 : 2), 0);
		put("}");
	}
	report_end();
}

int main(int argc, char **argv)
{
	struct series s;
	uint64_t n, i;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("DEPTH and N are needed");
	depth = parse_number(argv[1], "DEPTH", 1, MAX_DEPTH);
	n = parse_number(argv[2], "N", 0, 1000000);
	series_init(&s, n);
	lift_limit();
	pin_map();
	reached("ready");
	gate("go");
	for (i = 0; i < n; i++)
		read_map(&s);
	report(&s);
	return 0;
}
