// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kallsyms, fuzzed: a kernel's table of symbols with some bytes changed.  Chance would not find
 * one, so the input says what is to be changed in a good one: 5 bytes each, where and to what.
 */
#include "../unit/kallsyms.h"
#include "image/file.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char forms[N_FORMS][sizeof(made.bytes)];
	static size_t sizes[N_FORMS];
	enum form form = size ? data[0] % N_FORMS : 0;
	struct plumb_span span = {.address = BASE};
	unsigned char *copy;
	bool is_relative;
	uint32_t at;

	if (!sizes[form]) {
		make_table(form, BASE);
		memcpy(forms[form], made.bytes, made.n);
		sizes[form] = made.n;
	}
	span.size = sizes[form];
	if (size > 4 && data[1] == 0xff) {
		memcpy(&at, data + 1, sizeof(at));
		span.size = at >> 8 < span.size ? at >> 8 : span.size;
	}
	/* Of its own, so that what is read behind its end is seen. */
	copy = malloc(span.size);
	if (!copy)
		return 0;
	memcpy(copy, forms[form], span.size);
	for (size_t i = 1; span.size && i + 5 <= size; i += 5) {
		memcpy(&at, data + i, sizeof(at));
		copy[at % span.size] = data[i + 4];
	}
	span.bytes = copy;
	free(plumb_image_symbols(&span, &is_relative));
	free(copy);
	return 0;
}
