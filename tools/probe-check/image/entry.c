/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "image/image.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

const unsigned char *entry_code(const struct plumb_image *image, uint64_t address, size_t size)
{
	for (size_t i = 0; i < image->n_spans; i++) {
		const struct plumb_span *s = &image->spans[i];

		if (!s->is_init && address >= s->address && address - s->address < s->size &&
		    s->size - (address - s->address) >= size)
			return s->bytes + (address - s->address);
	}
	return NULL;
}

/*
 * The call site is a call of __fentry__, or the 5-byte nop that the build replaced it with; perhaps
 * after an endbr64.
 */
static bool is_traceable_x86(const struct plumb_image *image, uint64_t address)
{
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa},
				   nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	const unsigned char *code = entry_code(image, address, sizeof(endbr) + sizeof(nop));
	int32_t distance;

	if (!code)
		return false;
	if (!memcmp(code, endbr, sizeof(endbr))) {
		code += sizeof(endbr);
		address += sizeof(endbr);
	}
	if (!memcmp(code, nop, sizeof(nop)))
		return true;
	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == 0xe8 && address + 5 + (int64_t)(int32_t)le32toh(distance) ==
					  plumb_image_address(image, "__fentry__");
}

/* The call site is two nops, perhaps after a bti c. */
static bool is_traceable_arm64(const struct plumb_image *image, uint64_t address)
{
	enum { NOP = 0xd503201f, BTI_C = 0xd503245f };
	const unsigned char *code = entry_code(image, address, 12);
	uint32_t words[3];

	if (!code)
		return false;
	memcpy(words, code, sizeof(words));
	for (int i = 0; i < 3; i++)
		words[i] = le32toh(words[i]);
	return words[0] == BTI_C ? words[1] == NOP && words[2] == NOP
				 : words[0] == NOP && words[1] == NOP;
}

bool entry_is_traceable(const struct plumb_image *image, uint64_t address)
{
	return image->machine == EM_X86_64 ? is_traceable_x86(image, address)
					   : is_traceable_arm64(image, address);
}
