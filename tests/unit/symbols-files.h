/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* symbols-files: specimens with symbols of all kinds and inline functions, and names in them. */
#pragma once

#include "specimen.h"
#include "../../tools/lib/symbols/symbols.h"

static const char source[] =
	"#define BEGIN(name) .type name,%function; name:\n"
	"#define GLOBAL(name) .globl name; BEGIN(name)\n"
	"#define END(name) .size name,.-name\n"
	".text\n"
	"GLOBAL(plain) .ascii \"<plain>\"; END(plain)\n"
	"BEGIN(inner) .ascii \"<inner>\"; END(inner)\n"
	"GLOBAL(__alias) GLOBAL(_alias) GLOBAL(alias) GLOBAL(another_alias)\n"
	"BEGIN(a) .ascii \"<alias>\"; END(__alias); END(_alias); END(alias); END(another_alias)\n"
	"END(a)\n"
	"GLOBAL(around) .ascii \"<before>\"; BEGIN(nested) .ascii \"<nested>\"; END(nested)\n"
	"label: .ascii \"<behind>\"; END(around)\n"
	".ascii \"<none>\"\n"
	"GLOBAL(unsized) .ascii \"<unsized>\"\n"
	"unsized_label: .ascii \"<label>\"\n"
	".section .text.other,\"ax\",%progbits; .ascii \"<nothing>\"\n"
	".section .text.mangled,\"ax\",%progbits\n"
	"GLOBAL(_ZN3foo3barEi) .ascii \"<mangled>\"; END(_ZN3foo3barEi)\n"
	".globl thing; .type thing,%object; thing: .ascii \"<thing>\"; .size thing,7\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static const char inlining[] =
	"#define ALWAYS static inline __attribute__((always_inline))\n"
	"ALWAYS void innermost(void) { asm volatile(\".ascii \\\"<innermost>\\\"\"); }\n"
	"ALWAYS void middle(void) { asm volatile(\".ascii \\\"<middle>\\\"\"); innermost(); }\n"
	"__attribute__((section(\".text.far\"))) void outer(void)\n"
	"{ asm volatile(\".ascii \\\"<outer>\\\"\"); { int x; asm volatile(\"\" : \"=r\"(x));"
	" middle(); asm volatile(\"\" :: \"r\"(x)); } asm volatile(\".ascii \\\"<end>\\\"\"); }\n"
	"void other(void) { asm volatile(\".ascii \\\"<other>\\\"\"); }\n";

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	write_file("inline.c", inlining, strlen(inlining));
	run("${CC:-cc} -nostdlib -fPIC -shared -Wl,--build-id s.S -o lib.so");
	return 0;
}

static char text[256];
