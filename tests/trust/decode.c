// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* decode FILE: a digest of what capstone makes of its bytes, from each as 64-bit and 32-bit code.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

static uint64_t digest = 14695981039346656037ULL;

static void add(const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		digest = (digest ^ ((const unsigned char *)bytes)[i]) * 1099511628211ULL;
}

static size_t decode(cs_mode mode, const uint8_t *code, size_t size)
{
	const uint8_t *at;
	uint64_t address;
	size_t left, n = 0;
	cs_insn *in;
	csh engine;

	if (cs_open(CS_ARCH_X86, mode, &engine))
		exit(1);
	cs_option(engine, CS_OPT_DETAIL, CS_OPT_ON);
	in = cs_malloc(engine);
	for (size_t i = 0; i < size; i++) {
		at = code + i;
		left = size - i;
		address = i;
		if (!cs_disasm_iter(engine, &at, &left, &address, in))
			continue;
		n++;
		add(&in->id, sizeof(in->id));
		add(&in->size, sizeof(in->size));
		add(in->mnemonic, strlen(in->mnemonic));
		add(in->op_str, strlen(in->op_str));
		add(in->detail->regs_read,
		    sizeof(*in->detail->regs_read) * in->detail->regs_read_count);
		add(in->detail->regs_write,
		    sizeof(*in->detail->regs_write) * in->detail->regs_write_count);
		add(in->detail->groups, in->detail->groups_count);
		for (int o = 0; o < in->detail->x86.op_count; o++) {
			add(&in->detail->x86.operands[o].type, sizeof(x86_op_type));
			add(&in->detail->x86.operands[o].size, 1);
			add(&in->detail->x86.operands[o].access, 1);
		}
	}
	cs_free(in, 1);
	cs_close(&engine);
	return n;
}

int main(int argc, char **argv)
{
	static uint8_t code[1 << 20];
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	size_t size = f ? fread(code, 1, sizeof(code), f) : 0, n;

	n = decode(CS_MODE_64, code, size) + decode(CS_MODE_32, code, size);
	printf("%zu instructions, %016llx\n", n, (unsigned long long)digest);
	return n ? 0 : 1;
}
