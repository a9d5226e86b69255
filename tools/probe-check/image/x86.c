/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "image/x86.h"

bool x86_visit(const unsigned char *code, size_t size, uint64_t address, bool is_32bit,
	       x86_visitor *visit, void *context)
{
	bool goes_on = true;
	cs_insn *in;
	csh engine;

	if (cs_open(CS_ARCH_X86, is_32bit ? CS_MODE_32 : CS_MODE_64, &engine))
		return false;
	cs_option(engine, CS_OPT_DETAIL, CS_OPT_ON);
	in = cs_malloc(engine);
	while (in && goes_on && size && cs_disasm_iter(engine, &code, &size, &address, in))
		goes_on = visit(in, context);
	if (in)
		cs_free(in, 1);
	cs_close(&engine);
	return in && (!goes_on || !size);
}

bool x86_is_direct(const cs_insn *in)
{
	for (int i = 0; i < in->detail->groups_count; i++)
		if (in->detail->groups[i] == CS_GRP_BRANCH_RELATIVE)
			return true;
	return false;
}
