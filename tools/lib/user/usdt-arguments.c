/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/usdt-arguments.h>

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char not_understood[] = "not understood";
static const char floating_point[] = "a floating-point number";
static const char of_a_symbol[] = "at a symbol's address";

/* A rest of the text, whose end is not a terminating zero. */
struct part {
	const char *at, *end;
};

/* A register of 8 bytes, or a part of one. */
struct reg {
	uint16_t offset; /* in struct pt_regs */
	uint8_t size, shift;
};

/* --- words --- */

static bool take_char(struct part *p, char wanted)
{
	if (p->at == p->end || *p->at != wanted)
		return false;
	p->at++;
	return true;
}

static void skip_blanks(struct part *p)
{
	while (take_char(p, ' '))
		;
}

/* Letters and digits. */
static struct part take_word(struct part *p)
{
	struct part word = *p;

	while (p->at < p->end && isalnum((unsigned char)*p->at))
		p->at++;
	word.end = p->at;
	return word;
}

static bool is_word(struct part p, const char *wanted)
{
	return (size_t)(p.end - p.at) == strlen(wanted) && !memcmp(p.at, wanted, p.end - p.at);
}

/* A number of 64 bits, decimal or hexadecimal, signed or not. */
static bool take_number(struct part *p, __s64 *number)
{
	struct part start = *p;
	bool negative = take_char(&start, '-');
	char digits[24] = "", *end;
	struct part word = take_word(&start);
	size_t n = word.end - word.at;
	unsigned long long value;

	if (!n || n >= sizeof(digits) || !isdigit((unsigned char)*word.at))
		return false;
	memcpy(digits, word.at, n);
	errno = 0;
	value = strtoull(digits, &end, n > 2 && digits[1] == 'x' ? 16 : 10);
	if (errno || *end)
		return false;
	*number = negative ? -value : value;
	*p = start;
	return true;
}

/* Whether a symbol begins here, also behind a number: "16+name". */
static bool has_symbol(struct part p)
{
	__s64 number;

	if (take_number(&p, &number) && !take_char(&p, '+') && !take_char(&p, '-'))
		return false;
	return p.at < p.end && (isalpha((unsigned char)*p.at) || strchr("_.:", *p.at));
}

/* --- x86-64 --- */

/* In the order of the kernel's struct pt_regs. */
static const struct {
	char *names[4]; /* of 8, 4, 2 and 1 bytes */
	char *high;     /* of the second byte */
} x86[] = {
	{{"r15", "r15d", "r15w", "r15b"}, NULL}, {{"r14", "r14d", "r14w", "r14b"}, NULL},
	{{"r13", "r13d", "r13w", "r13b"}, NULL}, {{"r12", "r12d", "r12w", "r12b"}, NULL},
	{{"rbp", "ebp", "bp", "bpl"}, NULL},     {{"rbx", "ebx", "bx", "bl"}, "bh"},
	{{"r11", "r11d", "r11w", "r11b"}, NULL}, {{"r10", "r10d", "r10w", "r10b"}, NULL},
	{{"r9", "r9d", "r9w", "r9b"}, NULL},     {{"r8", "r8d", "r8w", "r8b"}, NULL},
	{{"rax", "eax", "ax", "al"}, "ah"},      {{"rcx", "ecx", "cx", "cl"}, "ch"},
	{{"rdx", "edx", "dx", "dl"}, "dh"},      {{"rsi", "esi", "si", "sil"}, NULL},
	{{"rdi", "edi", "di", "dil"}, NULL},     {{NULL, NULL, NULL, NULL}, NULL}, /* orig_ax */
	{{"rip", NULL, NULL, NULL}, NULL},       {{NULL, NULL, NULL, NULL}, NULL}, /* cs */
	{{NULL, NULL, NULL, NULL}, NULL},                                          /* flags */
	{{"rsp", "esp", "sp", "spl"}, NULL},
};

#define X86_IP (16 * 8)

/* Returns why not, or NULL. */
static const char *take_x86_register(struct part *p, struct reg *r)
{
	struct part word;

	if (!take_char(p, '%'))
		return not_understood;
	word = take_word(p);
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++) {
		if (x86[i].high && is_word(word, x86[i].high)) {
			*r = (struct reg){8 * i, 1, 8};
			return NULL;
		}
		for (int j = 0; j < 4; j++) {
			if (!x86[i].names[j] || !is_word(word, x86[i].names[j]))
				continue;
			*r = (struct reg){8 * i, 8 >> j, 0};
			return NULL;
		}
	}
	if (word.end - word.at > 3 && !memcmp(word.at + 1, "mm", 2))
		return floating_point;
	return is_word(word, "st") ? floating_point : not_understood;
}

/* "(%base,%index,scale)", of which each can be missing. */
static const char *take_x86_memory(struct part *p, struct plumb_usdt_arg *arg)
{
	const char *refused;
	__s64 scale = 1;
	struct reg r;

	if (!take_char(p, '('))
		return not_understood;
	if (p->at < p->end && *p->at == '%') {
		refused = take_x86_register(p, &r);
		if (refused || r.size != 8)
			return refused ?: not_understood;
		if (r.offset == X86_IP)
			return of_a_symbol;
		arg->base = r.offset;
	}
	if (take_char(p, ',')) {
		refused = take_x86_register(p, &r);
		if (refused || r.size != 8 || r.offset == X86_IP)
			return refused ?: not_understood;
		arg->index = r.offset;
		if (take_char(p, ',') && !take_number(p, &scale))
			return not_understood;
		if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
			return not_understood;
		arg->shift = __builtin_ctzll(scale);
	}
	if (arg->base == PLUMB_USDT_NO_REGISTER && arg->index == PLUMB_USDT_NO_REGISTER)
		return not_understood;
	return take_char(p, ')') ? NULL : not_understood;
}

static const char *take_x86(struct part *p, struct plumb_usdt_arg *arg)
{
	const char *refused;
	struct reg r;

	if (p->at < p->end && *p->at == '%') {
		refused = take_x86_register(p, &r);
		if (refused)
			return refused;
		/* A part of a register that is smaller than the argument has not all of it. */
		if (r.size < abs(arg->size))
			return not_understood;
		arg->kind = PLUMB_USDT_REGISTER;
		arg->base = r.offset;
		arg->shift = r.shift;
		return NULL;
	}
	if (take_char(p, '$')) {
		arg->kind = PLUMB_USDT_CONSTANT;
		if (has_symbol(*p))
			return of_a_symbol;
		return take_number(p, &arg->value) ? NULL : not_understood;
	}
	arg->kind = PLUMB_USDT_MEMORY;
	if (has_symbol(*p))
		return of_a_symbol;
	if (p->at < p->end && *p->at != '(' && !take_number(p, &arg->value))
		return not_understood;
	return take_x86_memory(p, arg);
}

/* --- arm64 --- */

#define ARM_SP (31 * 8)

static const char *take_arm_register(struct part *p, struct reg *r)
{
	struct part word = take_word(p), digits = {word.at + 1, word.end};
	__s64 number;

	if (is_word(word, "sp")) {
		*r = (struct reg){ARM_SP, 8, 0};
		return NULL;
	}
	if (word.end - word.at < 2 || word.end - word.at > 3 || !take_number(&digits, &number) ||
	    digits.at != digits.end || number > 31)
		return not_understood;
	if (strchr("bhsdqv", *word.at))
		return floating_point;
	if ((*word.at != 'x' && *word.at != 'w') || number == 31)
		return not_understood;
	*r = (struct reg){8 * number, *word.at == 'x' ? 8 : 4, 0};
	return NULL;
}

/* "lsl 3", "uxtw", "sxtw #2" or nothing. */
static const char *take_arm_extension(struct part *p, uint8_t size, struct plumb_usdt_arg *arg)
{
	struct part word;
	__s64 shift = 0;

	skip_blanks(p);
	if (!take_char(p, ','))
		return size == 8 ? NULL : not_understood;
	skip_blanks(p);
	word = take_word(p);
	skip_blanks(p);
	take_char(p, '#');
	if (p->at < p->end && *p->at != ']' && !take_number(p, &shift))
		return not_understood;
	if (shift < 0 || shift > 4)
		return not_understood;
	arg->shift = shift;
	if (is_word(word, "lsl") && size == 8)
		return NULL;
	if (size != 4 || (!is_word(word, "uxtw") && !is_word(word, "sxtw")))
		return not_understood;
	arg->extend = is_word(word, "sxtw") ? PLUMB_USDT_SXTW : PLUMB_USDT_UXTW;
	return NULL;
}

/* "x0]", "sp, 12]", "x1,x2]", "x1, w2, sxtw 3]" */
static const char *take_arm_memory(struct part *p, struct plumb_usdt_arg *arg)
{
	const char *refused;
	struct reg r;

	skip_blanks(p);
	refused = take_arm_register(p, &r);
	if (refused || r.size != 8)
		return refused ?: not_understood;
	arg->base = r.offset;
	skip_blanks(p);
	if (take_char(p, ',')) {
		skip_blanks(p);
		if (p->at < p->end && *p->at == ':')
			return of_a_symbol;
		if (!take_char(p, '#') && p->at < p->end && isalpha((unsigned char)*p->at)) {
			refused = take_arm_register(p, &r) ?: take_arm_extension(p, r.size, arg);
			if (refused)
				return refused;
			arg->index = r.offset;
		} else if (!take_number(p, &arg->value)) {
			return not_understood;
		}
	}
	skip_blanks(p);
	return take_char(p, ']') ? NULL : not_understood;
}

static const char *take_arm(struct part *p, struct plumb_usdt_arg *arg)
{
	struct part start = *p;
	const char *refused;
	struct reg r;

	if (take_char(p, '[')) {
		arg->kind = PLUMB_USDT_MEMORY;
		return take_arm_memory(p, arg);
	}
	take_char(p, '#');
	if (take_number(p, &arg->value)) {
		arg->kind = PLUMB_USDT_CONSTANT;
		return NULL;
	}
	arg->kind = PLUMB_USDT_REGISTER;
	refused = take_arm_register(p, &r);
	if (!refused && r.size < abs(arg->size))
		return not_understood;
	if (!refused)
		arg->base = r.offset;
	else if (refused == not_understood && has_symbol(start) && start.end - start.at > 3)
		return of_a_symbol;
	return refused;
}

/* --- all --- */

static const char *type_of(int size, bool is_signed, bool is_float)
{
	switch (size) {
	case 1:
		return is_float ? NULL : is_signed ? "int8" : "uint8";
	case 2:
		return is_float ? NULL : is_signed ? "int16" : "uint16";
	case 4:
		return is_float ? "float32" : is_signed ? "int32" : "uint32";
	case 8:
		return is_float ? "float64" : is_signed ? "int64" : "uint64";
	default:
		return NULL;
	}
}

/* "-4@": returns why not, or NULL. */
static const char *take_size(struct part *p, struct plumb_usdt_argument *one)
{
	bool negative = take_char(p, '-');
	int size = 0;

	if (p->at == p->end || !isdigit((unsigned char)*p->at))
		return "of unknown size";
	while (p->at < p->end && isdigit((unsigned char)*p->at) && size < 100)
		size = 10 * size + (*p->at++ - '0');
	if (take_char(p, 'f')) {
		one->type = take_char(p, '@') ? type_of(size, negative, true) : NULL;
		return floating_point;
	}
	if (!take_char(p, '@'))
		return not_understood;
	one->type = type_of(size, negative, false);
	if (!one->type)
		return "not of 1, 2, 4 or 8 bytes";
	one->arg.size = negative ? -size : size;
	return NULL;
}

static const char *parse(struct part p, int machine, struct plumb_usdt_argument *one)
{
	struct plumb_usdt_arg *arg = &one->arg;
	const char *refused = take_size(&p, one);

	if (refused)
		return refused;
	if (machine == EM_X86_64)
		refused = take_x86(&p, arg);
	else if (machine == EM_AARCH64)
		refused = take_arm(&p, arg);
	else if (machine == EM_386 || machine == EM_ARM)
		refused = "of a 32-bit program";
	else
		refused = "of a program for another processor";
	return refused ?: p.at == p.end ? NULL : not_understood;
}

/* Where an argument ends: at a blank that is not between brackets. */
static const char *end_of(const char *text)
{
	bool inside = false;

	for (; *text && (inside || *text != ' '); text++)
		inside = *text == '[' || (inside && *text != ']');
	return text;
}

int plumb_usdt_arguments(const char *text, int machine,
			 struct plumb_usdt_argument list[PLUMB_USDT_ARGS])
{
	static const struct plumb_usdt_arg none = {
		.base = PLUMB_USDT_NO_REGISTER,
		.index = PLUMB_USDT_NO_REGISTER,
	};
	int n = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		const char *end = end_of(text);
		struct plumb_usdt_argument *one = &list[n];

		if (n++ == PLUMB_USDT_ARGS)
			return -E2BIG;
		*one = (struct plumb_usdt_argument){
			.arg = none, .text = text, .length = end - text};
		one->refused = parse((struct part){text, end}, machine, one);
		if (one->refused)
			one->arg = none;
		text = end;
	}
	return n;
}
