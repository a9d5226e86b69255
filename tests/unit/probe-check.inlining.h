/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inlining: sources of known numbers of calls that are inlined, and of calls that are not. */
#pragma once

/* "never" is called 3 times, of which 2 are in b(); "always", "small" and "part" once in each. */
static const char source[] =
	"#include <stdio.h>\n"
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) int always(int x) { return x * 3 + sink; }\n"
	"static __attribute__((noinline)) int never(int x) { sink -= x; return x + 7; }\n"
	"static int small(int x) { sink ^= x; return x + sink; }\n"
	"int shared(int x) { sink *= x; return sink; }\n"
	"__attribute__((noinline)) int asked(int x) { sink /= x; return sink; }\n"
	"__attribute__((noinline)) int held(int x) { return x - sink; }\n"
	"extern int other(int) __attribute__((alias(\"asked\")));\n"
	"int (*pointers[])(int) = {held, held};\n"
	"static int part(int x)\n"
	"{\n"
	"	if (x < 1000)\n"
	"		return x;\n"
	"	for (int i = 0; i < x; i++) {\n"
	"		sink += i * x;\n"
	"		sink ^= 77;\n"
	"		printf(\"%d\\n\", sink);\n"
	"		if (sink > 5)\n"
	"			puts(\"x\");\n"
	"	}\n"
	"	return sink;\n"
	"}\n"
	"static int rest(int x)\n"
	"{\n"
	"	if (x < 1000)\n"
	"		return x;\n"
	"	for (int i = 0; i < x; i++)\n"
	"		sink += i * x;\n"
	"	return sink;\n"
	"}\n"
	"static inline __attribute__((always_inline)) int local(int x) { return x * 5 - sink; }\n"
	"int a(int x) { return always(x) + never(x) + small(x) + part(x) + rest(x) + local(x); }\n"
	"int b(int x) { return always(x) + never(x) + never(x + 1) + small(x) + part(x) + rest(x); "
	"}\n"
	"int c(int x) { return always(x) + small(x) + part(x) + rest(x) + shared(x) + asked(x); }\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	asked(argc), asked(2);\n"
	"	return a(argc) + b(argc) + c(argc) + pointers[argc & 1](argc) + (argv == 0);\n"
	"}\n";

static const char more[] = /* another small(), and one from elsewhere */
	"extern volatile int sink;\n"
	"static int small(int x) { sink += x; return sink; }\n"
	"int shared(int x);\n"
	"static __attribute__((noinline)) int local(int x) { return x - sink; }\n"
	"int d(int x) { return small(x) + small(x + 1) + shared(x) + local(x); }\n";

/* A function whose address is asked for as well may be called by an entry of half the size. */
static const char taken[] =
	"int sink;\n"
	"__attribute__((noinline)) int f1(int x) { sink += x; return x; }\n"
	"__attribute__((noinline)) int f2(int x) { sink -= x; return x + 1; }\n"
	"void *give1(void) { return f1; }\n"
	"void *give2(void) { return f2; }\n"
	"int a(int x) { return f1(x) + f1(x + 1) + f2(x) + f2(x + 1) + f2(x + 2) "
	"+ f2(x + 3) + f2(x + 4); }\n";
