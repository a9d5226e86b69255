// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* userfuncs: instructions, as objdump and the kernel know them. */
#include "said.h"
#include "specimen.h"
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <plumb/user/code.h>
#include <plumb/user/userfuncs.h>

/* The same on both architectures; each function but the last two begins with its mark. */
static const char source[] =
	"#define GLOBAL(name) .globl name; .type name,%function; name:\n"
	"#define END(name) .size name,.-name\n"
	"#if defined(__x86_64__)\n"
	"#define LONG movq $0x7fffffffffff,%rax\n"
	"#define AWAY jmp other\n"
	"#define BACK jz 1b\n"
	"#define AHEAD jmp unsized\n"
	"#define COLD(part) jz part\n"
	"#define INDIRECT jmp *%rax\n"
	"#define REFUSED vpxor %xmm0,%xmm0,%xmm0\n"
	"#else\n"
	"#define LONG mov x0,#1\n"
	"#define AWAY b other\n"
	"#define BACK cbz x0,1b\n"
	"#define AHEAD b unsized\n"
	"#define COLD(part) cbz x0,part\n"
	"#define INDIRECT br x0\n"
	"#define REFUSED ldxr x0,[x1]\n"
	"#endif\n"
	".text\n"
	"GLOBAL(other) 1: LONG; ret; BACK; ret; END(other)\n"
	"GLOBAL(tail) 1: BACK; LONG; AWAY; END(tail)\n"
	"GLOBAL(both) 1: BACK; ret; AWAY; END(both)\n"
	"GLOBAL(ahead) ret; AHEAD; END(ahead)\n"
	"GLOBAL(indirect) INDIRECT; ret; END(indirect)\n"
	"GLOBAL(parted) 1: COLD(parted.cold); ret; END(parted)\n"
	"GLOBAL(strayed) COLD(tail.cold); ret; END(strayed)\n"
	"GLOBAL(tail.cold) ret; END(tail.cold)\n"
	"GLOBAL(parted.cold) LONG; ret; BACK; ret; END(parted.cold)\n"
	"GLOBAL(endless) 1: LONG; BACK; END(endless)\n"
	"GLOBAL(unsized) ret\n"
	"GLOBAL(refused) REFUSED; ret; END(refused)\n"
	"#if defined(__x86_64__)\n"
	"GLOBAL(landing) endbr64\n"
	"GLOBAL(landed) push %rbx; ret; END(landed)\n"
	"GLOBAL(landing_refused) endbr64; REFUSED; ret; END(landing_refused)\n"
	"#endif\n"
	"#ifdef GO\n"
	".section .go.buildinfo,\"aw\",%progbits\n.balign 16\n.ascii \"\\xff Go buildinf:\"\n"
	"#endif\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	run("${CC:-cc} -nostdlib -static -Wl,-e,other s.S -o c && ${CC:-cc} -nostdlib -static "
	    "-Wl,-e,other -DGO s.S -o go");
	return 0;
}

static struct plumb_userfuncs find(const char *target)
{
	struct plumb_userfuncs found;

	check(!plumb_userfuncs_find(target, &found), "%s", target);
	check(found.n == 1, "%s: %zu", target, found.n);
	return found;
}

static void refuses(const char *target, const char *words)
{
	struct plumb_userfuncs found;
	const char *text;

	listen_to_stderr();
	check(plumb_userfuncs_find(target, &found) == -EINVAL, "%s", target);
	text = said();
	check(strstr(text, words), "'%s' says: %s", target, text);
	assert_int_equal(found.n, 0);
}

#if defined(__x86_64__)
#define FIRST 10
#define NEXT  "0xa"
#define ODD   "2"
#define TOLD  "the nearest are other+0x0 and other+0xa\n"
#define WHOLE "14"
#else
#define FIRST 4
#define NEXT  "0x4"
#define ODD   "2"
#define TOLD  "the nearest are other+0x0 and other+0x4\n"
#define WHOLE "16"
#endif

static void an_offset_is_where_an_instruction_begins(void **state)
{
	struct plumb_userfuncs whole = find("./c:tail"), found;

	plumb_userfuncs_free(&whole);
	whole = find("./c:other");
	found = find("./c:other+" NEXT);
	assert_int_equal(found.list[0].offset, whole.list[0].offset + FIRST);
	assert_int_equal(found.list[0].size, whole.list[0].size - FIRST);
	assert_string_equal(found.list[0].name, "other+" NEXT);
	assert_null(found.list[0].obstacle);
	assert_non_null(strstr(found.list[0].return_obstacle, "inside a function"));
	plumb_userfuncs_free(&found);
	plumb_userfuncs_free(&whole);
	found = find("./c:other+0");
	assert_string_equal(found.list[0].name, "other");
	assert_null(found.list[0].return_obstacle);
	plumb_userfuncs_free(&found);
	refuses("./c:other+" ODD, "other+0x" ODD " in ./c is inside an instruction; " TOLD);
	refuses("./c:other+1000", "other+0x3e8 in ./c: the function has " WHOLE " bytes\n");
}

static void an_instruction_that_the_kernel_refuses_is_an_obstacle(void **state)
{
	struct plumb_userfuncs found = find("./c:refused");

	assert_non_null(strstr(found.list[0].obstacle, "the kernel refuses"));
	plumb_userfuncs_free(&found);
	found = find("./c:other");
	assert_null(found.list[0].obstacle);
	assert_false(found.is_go);
	assert_int_equal(found.list[0].n_returns, 0);
	plumb_userfuncs_free(&found);
}

static void go_returns_are_found(void **state)
{
	struct plumb_userfuncs found = find("./go:other");
	struct plumb_userfunc *u = &found.list[0];

	assert_true(found.is_go);
	assert_int_equal(u->n_returns, 2);
	assert_int_equal(u->returns[0], u->offset + FIRST);
	assert_int_equal(u->returns[1], u->offset + u->size - (FIRST == 10 ? 1 : 4));
	assert_null(u->return_obstacle);
	assert_null(u->obstacle);
	plumb_userfuncs_free(&found);
}

static void go_functions_that_return_elsewhere_are_refused(void **state)
{
	static const struct {
		const char *name, *words;
	} functions[] = {
		{"tail", "ends in a jump"},     {"both", "ends in a jump"},
		{"indirect", "ends in a jump"}, {"ahead", "ends in a jump"},
		{"endless", "has no return"},   {"strayed", "ends in a jump"},
	};
	struct plumb_userfuncs found;
	char target[64];

	for (size_t i = 0; i < LENGTH(functions); i++) {
		snprintf(target, sizeof(target), "./go:%s", functions[i].name);
		found = find(target);
		check(found.list[0].return_obstacle &&
			      strstr(found.list[0].return_obstacle, functions[i].words),
		      "%s: %s", target, found.list[0].return_obstacle ?: "none");
		assert_null(found.list[0].obstacle);
		plumb_userfuncs_free(&found);
	}
}

/* Optimized code has a part elsewhere for what rarely happens. */
static void returns_of_a_cold_part_are_the_functions(void **state)
{
	struct plumb_userfuncs cold = find("./go:parted.cold"), found = find("./go:parted");
	struct plumb_userfunc *u = &found.list[0];

	assert_null(u->return_obstacle);
	assert_int_equal(u->n_returns, 3);
	assert_int_equal(u->returns[0], u->offset + u->size - (FIRST == 10 ? 1 : 4));
	assert_int_equal(u->returns[1], cold.list[0].offset + FIRST);
	assert_int_equal(u->returns[2],
			 cold.list[0].offset + cold.list[0].size - (FIRST == 10 ? 1 : 4));
	plumb_userfuncs_free(&cold);
	plumb_userfuncs_free(&found);
}

#if defined(__x86_64__)
static void a_probe_is_placed_after_endbr64(void **state)
{
	struct plumb_userfuncs landing, landed;

	assert_int_equal(plumb_userfuncs_find("./c:landing", &landing), 0);
	assert_int_equal(plumb_userfuncs_find("./c:landed", &landed), 0);
	assert_int_equal(landing.list[0].offset, landed.list[0].offset);
	assert_string_equal(landing.list[0].name, "landing");
	assert_null(landing.list[0].return_obstacle);
	plumb_userfuncs_free(&landing);
	/* Where the kernel refuses the instruction after it, on endbr64 itself. */
	assert_int_equal(plumb_userfuncs_find("./c:landing_refused", &landing), 0);
	assert_null(landing.list[0].obstacle);
	plumb_userfuncs_free(&landing);
	plumb_userfuncs_free(&landed);
}
#endif

/* Without sections the magic is found in the data. */
static void go_is_known_without_sections(void **state)
{
	struct plumb_userfuncs found;
	const char *text;

	run("strip -o bare go && objcopy --rename-section .go.buildinfo=.other bare bare");
	listen_to_stderr();
	assert_int_equal(plumb_userfuncs_find("./bare:tail", &found), -ENOENT);
	text = said();
	check(strstr(text, "./bare is a Go program without symbols"), "%s", text);
}

struct walk {
	uint64_t start;
	const uint64_t *expected;
	size_t n, at;
};

static bool compare(const struct plumb_instruction *in, void *context)
{
	struct walk *w = context;

	check(w->at < w->n && w->start + in->at == w->expected[w->at],
	      "instruction %zu of %zu: %#lx, not %#lx", w->at, w->n, w->start + in->at,
	      w->at < w->n ? w->expected[w->at] : 0);
	w->at++;
	return true;
}

/* Reads the addresses of the instructions of a function, as objdump prints them. */
static size_t disassemble(const char *path, const struct plumb_userfunc *u, uint64_t *addresses,
			  size_t max)
{
	char command[512], line[512];
	size_t n = 0;
	FILE *f;

	/* In libc's code, addresses are offsets. */
	snprintf(command, sizeof(command),
		 "objdump -dw --no-show-raw-insn --start-address=%#lx --stop-address=%#lx %s | "
		 "grep -P '^ +[0-9a-f]+:\\t'",
		 u->offset, u->offset + u->size, path);
	f = popen(command, "r");
	assert_non_null(f);
	while (n < max && fgets(line, sizeof(line), f))
		addresses[n++] = strtoull(line, NULL, 16);
	pclose(f);
	return n;
}

static void instructions_are_those_of_objdump(void **state)
{
	static const char *const functions[] = {"qsort_r", "getaddrinfo", "regcomp", "fork",
						"getdelim"};
	static uint64_t expected[20000];

	for (size_t i = 0; i < LENGTH(functions); i++) {
		struct plumb_userfuncs found;
		struct walk w = {.expected = expected};
		char target[64], *data;
		size_t size, decoded;

		snprintf(target, sizeof(target), "libc:%s", functions[i]);
		found = find(target);
		w.n = disassemble(found.path, &found.list[0], expected, LENGTH(expected));
		check(w.n > 1, "%s: %zu", target, w.n);
		data = contents(found.path, &size);
		w.start = expected[0];
		decoded = plumb_code_visit(data + found.list[0].offset, found.list[0].size, false,
					   compare, &w);
		assert_int_equal(decoded, found.list[0].size);
		check(w.at == w.n, "%s: %zu of %zu", target, w.at, w.n);
		free(data);
		plumb_userfuncs_free(&found);
	}
}

/* --- the kernel --- */

#if defined(__x86_64__)
#define SLOT 64

static int probe(int type, const char *path, uint64_t offset)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = type,
		.config1 = (uintptr_t)path,
		.config2 = offset,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* A probe takes up to 80 ms, all of them 4 minutes: one in so many. */
#define ONE_IN 45

/* Each first byte, and each opcode of vector instructions, each with prefixes. */
static size_t make_codes(unsigned char *codes)
{
	static const char *const prefixes[] = {"",     "\x66", "\xf2",     "\xf3",
					       "\xf0", "\x2e", "\x3e\x66", "\x64"};
	static const char *const vectors[] = {"\xc5\xf9", "\xc4\xe2\x79", "\xc4\xe1\xfa"};
	size_t n = 0;

	for (size_t i = 0; i < 256; i++) {
		for (size_t j = 0; j < LENGTH(prefixes); j++)
			stpcpy((char *)codes + SLOT * n++, prefixes[j])[0] = i;
		for (size_t j = 0; j < LENGTH(vectors); j++)
			stpcpy((char *)codes + SLOT * n++, vectors[j])[0] = i;
	}
	return n;
}

static void the_kernel_refuses_the_same(void **state)
{
	static unsigned char codes[SLOT * 256 * 16];
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	size_t n, refused = 0, accepted = 0;
	int type, fd;
	void *at;

	memset(codes, 0x90, sizeof(codes));
	n = make_codes(codes);
	for (size_t i = 0; i < n; i++) /* registers, so that no operand is memory */
		((unsigned char *)memchr(codes + SLOT * i, 0x90, SLOT))[0] = 0xc0;
	write_file("codes", codes, SLOT * n);
	fd = open("codes", O_RDONLY);
	at = mmap(NULL, SLOT * n, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	if (!f || fscanf(f, "%d", &type) != 1 || probe(type, "codes", SLOT * 8 * 0x55))
		skip();
	fclose(f);
	for (size_t i = 0; i < n; i += ONE_IN) {
		const unsigned char *code = codes + SLOT * i;
		const char *obstacle = plumb_code_obstacle(code, SLOT, false);
		int err = probe(type, "codes", SLOT * i);

		/* ENOEXEC: no instruction, for this kernel's decoder. */
		if (err == ENOEXEC)
			continue;
		if (obstacle && !strstr(obstacle, "refuses"))
			obstacle = NULL;
		check(!err == !obstacle, "%02x %02x %02x %02x: %s, kernel: %d", code[0], code[1],
		      code[2], code[3], obstacle ?: "none", err);
		refused += err != 0;
		accepted += !err;
	}
	check(refused > 5 && accepted > 20, "%zu, %zu", refused, accepted);
	munmap(at, SLOT * n);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_is_where_an_instruction_begins),
		cmocka_unit_test(an_instruction_that_the_kernel_refuses_is_an_obstacle),
		cmocka_unit_test(go_returns_are_found),
		cmocka_unit_test(go_functions_that_return_elsewhere_are_refused),
		cmocka_unit_test(returns_of_a_cold_part_are_the_functions),
		cmocka_unit_test(go_is_known_without_sections),
#if defined(__x86_64__)
		cmocka_unit_test(a_probe_is_placed_after_endbr64),
#endif
		cmocka_unit_test(instructions_are_those_of_objdump),
#if defined(__x86_64__)
		cmocka_unit_test(the_kernel_refuses_the_same),
#endif
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
