// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tcp-sendmsg-lat: addresses, ports and keys as they are typed; a refusal writes nothing. */
#include "unit.h"
#include <errno.h>

#include "addresses.h"
#include "keys.h"

/* The prefix in TEXT as "ADDRESS/BITS", of 128 bits; "" if it is refused. */
static const char *prefix(const char *text)
{
	static char said[TCP_ADDRESS_TEXT + 8];
	struct tcp_prefix p;
	char address[TCP_ADDRESS_TEXT];

	memset(&p, 0x5a, sizeof(p));
	if (tcp_parse_prefix(text, &p)) {
		for (size_t i = 0; i < sizeof(p); i++)
			check(((uint8_t *)&p)[i] == 0x5a, "'%s' is refused, but wrote", text);
		return "";
	}
	for (size_t i = 0; i < 2; i++)
		check(!(p.address.halves[i] & ~p.mask.halves[i]),
		      "'%s': ones of the address where the mask has none", text);
	snprintf(said, sizeof(said), "%s/%u",
		 tcp_format_address(&p.address, address, sizeof(address)), tcp_prefix_bits(&p));
	return said;
}

struct sample {
	const char *text, *said;
};

static const struct sample prefix_samples[] = {
	{"127.0.0.1", "127.0.0.1/128"},
	{"10.1.2.3/8", "10.0.0.0/104"},
	{"10.255.255.255/9", "10.128.0.0/105"},
	{"1.2.3.4/0", "0.0.0.0/96"},
	{"::1", "::1/128"},
	{"2001:db8:ffff::1/33", "2001:db8:8000::/33"},
	{"ffff::/0", "::/0"},
	/* The same in the two ways to write it. */
	{"::ffff:10.1.2.3", "10.1.2.3/128"},
	{"::ffff:10.1.2.3/104", "10.0.0.0/104"},
	{"::ffff:a01:203/104", "10.0.0.0/104"},
	/* Refused. */
	{"", ""},
	{"/8", ""},
	{"localhost", ""},
	{"10.0.0.1/", ""},
	{"10.0.0.1/33", ""},
	{"10.0.0.1/-1", ""},
	{"10.0.0.1/8/8", ""},
	{"10.0.0.1/0x8", ""},
	{"10.0.0.1/255.0.0.0", ""},
	{"10.0.0.1:80", ""},
	{"::1/129", ""},
	{"[::1]", ""},
	{"1111111111111111111111111111111111111111111111111111111111111111", ""},
};

static void prefixes(void **state)
{
	for (size_t i = 0; i < LENGTH(prefix_samples); i++)
		check(!strcmp(prefix(prefix_samples[i].text), prefix_samples[i].said),
		      "'%s' is %s, not %s", prefix_samples[i].text, prefix(prefix_samples[i].text),
		      prefix_samples[i].said);
}

/* Both ways: a prefix has the addresses that agree in so many bits, and no other. */
static void masks_have_so_many_ones(void **state)
{
	struct tcp_prefix p;
	char text[32];

	for (unsigned int bits = 0; bits <= 128; bits++) {
		snprintf(text, sizeof(text), "::/%u", bits);
		assert_int_equal(tcp_parse_prefix(text, &p), 0);
		for (unsigned int i = 0; i < 128; i++)
			check(!!(p.mask.bytes[i / 8] & 0x80 >> i % 8) == (i < bits),
			      "bit %u of the mask of %s", i, text);
		assert_int_equal(tcp_prefix_bits(&p), bits);
	}
}

static void ports(void **state)
{
	static const struct {
		const char *text;
		unsigned int from, to;
	} samples[] = {
		{"443", 443, 443},    {"1-65535", 1, 65535}, {"80-80", 80, 80}, {"", 0, 0},
		{"0", 0, 0},          {"65536", 0, 0},       {"80-", 0, 0},     {"-80", 0, 0},
		{"80-79", 0, 0},      {"1-2-3", 0, 0},       {" 80", 0, 0},     {"http", 0, 0},
		{"4294967297", 0, 0},
	};

	for (size_t i = 0; i < LENGTH(samples); i++) {
		struct tcp_ports p = {4711, 4712};
		int err = tcp_parse_ports(samples[i].text, &p);

		if (samples[i].from)
			check(!err && p.from == samples[i].from && p.to == samples[i].to,
			      "'%s' is %u to %u", samples[i].text, p.from, p.to);
		else
			check(err == -EINVAL && p.from == 4711 && p.to == 4712,
			      "'%s' is not refused, or wrote", samples[i].text);
	}
}

/* "ADDRESS/BITS:PORT", "" if TEXT is refused. */
static const char *endpoint(const char *text)
{
	static char said[TCP_ADDRESS_TEXT + 16];
	char address[TCP_ADDRESS_TEXT];
	struct tcp_prefix p;
	uint16_t port = 4711;

	if (tcp_parse_endpoint(text, &p, &port)) {
		check(port == 4711, "'%s' is refused, but wrote a port", text);
		return "";
	}
	snprintf(said, sizeof(said), "%s/%u:%u",
		 tcp_format_address(&p.address, address, sizeof(address)), tcp_prefix_bits(&p),
		 port);
	return said;
}

static void endpoints(void **state)
{
	static const struct sample samples[] = {
		{"10.0.0.1", "10.0.0.1/128:0"},
		{"10.0.0.1:80", "10.0.0.1/128:80"},
		{"10.0.0.1/8:65535", "10.0.0.0/104:65535"},
		{"::1", "::1/128:0"},
		{"[::1]", "::1/128:0"},
		{"[::1]:80", "::1/128:80"},
		{"[2001:db8::1]/32:80", "2001:db8::/32:80"},
		{"[2001:db8::1/32]:80", "2001:db8::/32:80"},
		{"[::ffff:10.0.0.1]:80", "10.0.0.1/128:80"},
		/* An address: its last group is no port. */
		{"2001:db8::1:80", "2001:db8::1:80/128:0"},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]/128:65535",
		 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128:65535"},
		{"", ""},
		{":80", ""},
		{"10.0.0.1:", ""},
		{"10.0.0.1:0", ""},
		{"10.0.0.1:65536", ""},
		{"10.0.0.1:80-90", ""},
		{"10.0.0.1:80/8", ""},
		{"[10.0.0.1]:80", ""},
		{"[::1", ""},
		{"[]", ""},
		{"[::1]80", ""},
		{"[::1]:", ""},
		{"[::1]:80:90", ""},
		{"[::1]]", ""},
		{"[::1/64]/64:80", ""},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]/128:6553500000000000000000000000", ""},
	};

	for (size_t i = 0; i < LENGTH(samples); i++)
		check(!strcmp(endpoint(samples[i].text), samples[i].said), "'%s' is %s, not %s",
		      samples[i].text, endpoint(samples[i].text), samples[i].said);
}

static void sizes_are_classes(void **state)
{
	static const struct {
		const char *item;
		uint64_t lowest;
		const char *text;
	} samples[] = {
		{"size", 0, "0-1K"},         {"size", 1024, "1K-2K"},
		{"size", 65536, "64K-128K"}, {"size", 1 << 20, "1M-2M"},
		{"size", 1 << 30, "1G-2G"},  {"size:1", 7, "7-8"},
		{"size:512", 512, "512-1K"}, {"size:1000", 4000, "4000-5000"},
		{"size:1K", 3072, "3K-4K"},  {"size:64K", 983040, "960K-1M"},
		{"size:4G", 0, "0-4G"},
	};
	const struct plumb_field *size = NULL;
	struct plumb_options o = {};
	struct send_key key = {};
	char text[64];

	for (size_t i = 0; i < TCP_N_FIELDS; i++)
		if (!strcmp(tcp_fields[i].name, "size"))
			size = &tcp_fields[i];
	assert_non_null(size);
	assert_false(tcp_take_key("sizes:1", &o));
	assert_int_equal(o.by, 0);
	for (size_t i = 0; i < LENGTH(samples); i++) {
		o.by = 0;
		assert_true(tcp_take_key(samples[i].item, &o));
		assert_true(tcp_take_key(samples[i].item, &o));
		assert_int_equal(o.by, TCP_BY_SIZE);
		key.size = samples[i].lowest;
		plumb_field_format(size, &key, text, sizeof(text));
		check(!strcmp(text, samples[i].text), "%lu is %s, not %s", samples[i].lowest, text,
		      samples[i].text);
	}
}

static const struct plumb_field *field(const char *name)
{
	for (size_t i = 0; i < TCP_N_FIELDS; i++)
		if (!strcmp(tcp_fields[i].name, name))
			return &tcp_fields[i];
	return NULL;
}

/* Text, "/", JSON. */
static const char *shown(const char *name, const struct send_key *key)
{
	static char text[64];
	const struct plumb_field *f = field(name);
	json_t *j = plumb_field_json(f, key);
	char *json = json_dumps(j, JSON_ENCODE_ANY);

	plumb_field_format(f, key, text, sizeof(text));
	strcat(strcat(text, "/"), json);
	free(json);
	json_decref(j);
	return text;
}

static void a_port_of_a_server_is_in_one_column(void **state)
{
	const struct send_key out = {.ends.rport = 80}, in = {.ends.lport = 6379}, none = {};
	struct plumb_options o = {};

	assert_string_equal(shown("rport", &out), "80/80");
	assert_true(tcp_take_key("port", &o));
	assert_true(tcp_take_key("port", &o));
	assert_int_equal(o.by, TCP_BY_SERVER_PORT);
	assert_non_null(field("port"));
	assert_int_equal(field("port")->bit, 0);
	assert_string_equal(shown("rport", &out), "80/80");
	assert_string_equal(shown("lport", &out), "-/null");
	assert_string_equal(shown("rport", &in), "-/null");
	assert_string_equal(shown("lport", &in), "6379/6379");
	/* A socket that never was connected. */
	assert_string_equal(shown("rport", &none), "-/null");
	assert_false(tcp_take_key("rport", &o));
	assert_int_equal(o.by, TCP_BY_RPORT | TCP_BY_LPORT);
	o.by = TCP_BY_RPORT;
	assert_true(tcp_take_key("port", &o));
	assert_int_equal(o.by, TCP_BY_RPORT | TCP_BY_LPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes),
		cmocka_unit_test(masks_have_so_many_ones),
		cmocka_unit_test(ports),
		cmocka_unit_test(endpoints),
		cmocka_unit_test(sizes_are_classes),
		cmocka_unit_test(a_port_of_a_server_is_in_one_column),
	};

	return run_all(tests);
}
