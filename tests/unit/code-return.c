/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* code: functions that use their return address, by their bytes. */
#include "unit.h"
#include <plumb/user/code.h>

struct sample {
	const char *what;
	bool is_32bit, uses;
	size_t size;
	const char *code;
};

#define SAMPLE(what, is_32bit, uses, code)                                                         \
	{                                                                                          \
		what, is_32bit, uses, sizeof(code) - 1, code                                       \
	}

static const struct sample samples[] = {
#if defined(__x86_64__)
	SAMPLE("push %rbx; mov %rsp,%rbx; and; mov 16(%rbx),%rsi; mov 8(%rbx),%rdi; jmp *%r11",
	       false, true,
	       "\x53\x48\x89\xe3\x48\x83\xe4\xc0\x48\x8b\x73\x10\x48\x8b\x7b\x08\x41\xff\xe3"),
	SAMPLE("pop %rdi; syscall; push %rdi; ret", false, true, "\x5f\x0f\x05\x57\xc3"),
	SAMPLE("sub $56,%rsp; mov 56(%rsp),%rsi; add; ret", false, true,
	       "\x48\x83\xec\x38\x48\x8b\x74\x24\x38\x48\x83\xc4\x38\xc3"),
	SAMPLE("jmp *(%rsp)", false, true, "\xff\x24\x24"),
	SAMPLE("mov %rax,(%rsp); ret", false, true, "\x48\x89\x04\x24\xc3"),
	SAMPLE("push %rbp; mov %rsp,%rbp; mov 8(%rbp),%rax; pop %rbp; ret", false, true,
	       "\x55\x48\x89\xe5\x48\x8b\x45\x08\x5d\xc3"),
	SAMPLE("sub $24,%rsp; je 1f; add; ret; 1: mov 24(%rsp),%rax; add; ret", false, true,
	       "\x48\x83\xec\x18\x74\x05\x48\x83\xc4\x18\xc3"
	       "\x48\x8b\x44\x24\x18\x48\x83\xc4\x18\xc3"),
	SAMPLE("mov 8(%rsp),%rax; ret: an argument", false, false, "\x48\x8b\x44\x24\x08\xc3"),
	SAMPLE("push %rbx; mov (%rsp),%rax; pop %rbx; ret", false, false,
	       "\x53\x48\x8b\x04\x24\x5b\xc3"),
	SAMPLE("lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; ret: aligns its stack",
	       false, false, "\x4c\x8d\x54\x24\x08\x48\x83\xe4\xe0\x41\xff\x72\xf8\x55\xc3"),
	SAMPLE("call 2f; 1: pause; lfence; jmp 1b; 2: mov %rax,(%rsp); ret: a retpoline's thunk",
	       false, true, "\xe8\x07\x00\x00\x00\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x89\x04\x24\xc3"),
	SAMPLE("push %rbx; call 2f; 1: pause; lfence; jmp 1b; 2: mov %rax,(%rsp); ret: inside",
	       false, false,
	       "\x53\xe8\x07\x00\x00\x00\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x89\x04\x24\xc3"),
	SAMPLE("call 2f; 1: pause; jmp 1b; 2: lea 8(%rsp),%rsp; ret: another's return", false,
	       false, "\xe8\x04\x00\x00\x00\xf3\x90\xeb\xfc\x48\x8d\x64\x24\x08\xc3"),
	SAMPLE("call 2f; 1: pause; jmp 1b; 2: mov %eax,(%esp); ret", true, true,
	       "\xe8\x04\x00\x00\x00\xf3\x90\xeb\xfc\x89\x04\x24\xc3"),
	SAMPLE("lea (%rsp),%rax; ret", false, false, "\x48\x8d\x04\x24\xc3"),
	SAMPLE("ret; pop %rax; ret: not reached", false, false, "\xc3\x58\xc3"),
	SAMPLE("1: push %rax; jne 1b; pop %rax; ret: a loop that moves the stack pointer", false,
	       false, "\x50\x75\xfd\x58\x48\x8b\x04\x24\xc3"),
	SAMPLE("nothing", false, false, ""),
	SAMPLE("no instruction", false, false, "\x06\x48\x8b\x04\x24\xc3"),
	SAMPLE("mov (%esp),%ebx; ret", true, true, "\x8b\x1c\x24\xc3"),
	SAMPLE("push %eax,%ecx,%edx; mov 16(%esp),%edx; mov 12(%esp),%eax", true, true,
	       "\x50\x51\x52\x8b\x54\x24\x10\x8b\x44\x24\x0c"),
	SAMPLE("call 1f; 1: pop %ebx; ret", true, false, "\xe8\x00\x00\x00\x00\x5b\xc3"),
	SAMPLE("lea 4(%esp),%ecx; and $-16,%esp; push -4(%ecx); push %ebp; ret: aligns its stack",
	       true, false, "\x8d\x4c\x24\x04\x83\xe4\xf0\xff\x71\xfc\x55\xc3"),
	SAMPLE("sub $12,%esp; call; mov 12(%esp),%eax: what is called is a thunk, mostly", true,
	       true, "\x83\xec\x0c\xe8\x00\x01\x00\x00\x8b\x44\x24\x0c\xc3"),
#else
	SAMPLE("mov x0, x30; ret", false, true, "\xe0\x03\x1e\xaa\xc0\x03\x5f\xd6"),
	SAMPLE("stp x29, x30, [x0]; ret", false, true, "\x1d\x78\x00\xa9\xc0\x03\x5f\xd6"),
	SAMPLE("br x30", false, true, "\xc0\x03\x1f\xd6"),
	SAMPLE("xpaclri", false, true, "\xff\x20\x03\xd5"),
	SAMPLE("stp x29, x30, [sp, #-16]!; mov x29, sp; ldr x0, [x29, #8]", false, true,
	       "\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\xa0\x07\x40\xf9"),
	SAMPLE("stp x29, x30, [sp, #-16]!; mov x29, sp; bl; ldp x29, x30, [sp], #16; ret", false,
	       false,
	       "\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\x01\x00\x00\x94\xfd\x7b\xc1\xa8\xc0\x03\x5f\xd6"),
	SAMPLE("str x30, [sp, #-16]!; ret", false, false, "\xfe\x0f\x1f\xf8\xc0\x03\x5f\xd6"),
	SAMPLE("bl; mov x0, x30", false, false, "\x01\x00\x00\x94\xe0\x03\x1e\xaa"),
	SAMPLE("mov x30, x9; ret", false, false, "\xfe\x03\x09\xaa\xc0\x03\x5f\xd6"),
#endif
};

static void what_uses_its_return_address_is_known(void **state)
{
	for (size_t i = 0; i < LENGTH(samples); i++) {
		const struct sample *s = &samples[i];
		const char *obstacle = plumb_code_return_obstacle(s->code, s->size, s->is_32bit);

		check(!obstacle == !s->uses, "%s: %s", s->what, obstacle ?: "nothing");
	}
}

/* Cut anywhere, and with any byte changed, it is decoded to its end. */
static void damaged_code_does_no_harm(void **state)
{
	unsigned char code[64];

	for (size_t i = 0; i < LENGTH(samples); i++)
		for (size_t at = 0; at < samples[i].size; at++)
			for (int value = 0; value < 256; value += 5) {
				memcpy(code, samples[i].code, samples[i].size);
				code[at] = value;
				plumb_code_return_obstacle(code, samples[i].size,
							   samples[i].is_32bit);
				plumb_code_return_obstacle(code, at, samples[i].is_32bit);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_uses_its_return_address_is_known),
		cmocka_unit_test(damaged_code_does_no_harm),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
