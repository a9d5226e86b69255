// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* usdt arguments, fuzzed: the text comes from a program's note. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/user/usdt-arguments.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plumb_usdt_argument list[PLUMB_USDT_ARGS];
	char *text =
		malloc(size + 1); /* no longer than the text, so that reading beyond it faults */

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	plumb_usdt_arguments(text, EM_X86_64, list);
	plumb_usdt_arguments(text, EM_AARCH64, list);
	free(text);
	return 0;
}
