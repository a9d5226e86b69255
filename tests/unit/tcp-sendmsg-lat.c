// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tcp-sendmsg-lat: what it reads of addresses, ports and labels, and that a refusal writes nothing.
 */
#include "said.h"
#include "unit.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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

static void prefixes(void **state)
{
	static const struct sample samples[] = {
		{"127.0.0.1", "127.0.0.1/128"},
		{"0.0.0.0", "0.0.0.0/128"},
		{"255.255.255.255/32", "255.255.255.255/128"},
		{"10.1.2.3/8", "10.0.0.0/104"},
		{"10.255.255.255/24", "10.255.255.0/120"},
		{"10.255.255.255/31", "10.255.255.254/127"},
		{"10.255.255.255/9", "10.128.0.0/105"},
		{"1.2.3.4/0", "0.0.0.0/96"},
		{"::", "::/128"},
		{"::1", "::1/128"},
		{"2001:db8:ffff::1/33", "2001:db8:8000::/33"},
		{"fe80::1/64", "fe80::/64"},
		{"fe80::1/128", "fe80::1/128"},
		{"fe80::1/127", "fe80::/127"},
		{"ffff::/1", "8000::/1"},
		{"ffff::/0", "::/0"},
		/* The same in the two ways to write it. */
		{"::ffff:10.1.2.3", "10.1.2.3/128"},
		{"::ffff:10.1.2.3/104", "10.0.0.0/104"},
		{"::ffff:a01:203/104", "10.0.0.0/104"},
		{"FE80::A", "fe80::a/128"},
		/* Refused. */
		{"", ""},
		{" ", ""},
		{"/", ""},
		{"/8", ""},
		{"localhost", ""},
		{"10", ""},
		{"10.0.0", ""},
		{"10.0.0.0.0", ""},
		{"10.0.0.256", ""},
		{"10.0.0.-1", ""},
		{"10.0.0.01", ""},
		{" 10.0.0.1", ""},
		{"10.0.0.1 ", ""},
		{"10.0.0.1/", ""},
		{"10.0.0.1/33", ""},
		{"10.0.0.1/-1", ""},
		{"10.0.0.1/8/8", ""},
		{"10.0.0.1/8 ", ""},
		{"10.0.0.1/0x8", ""},
		{"10.0.0.1/255.0.0.0", ""},
		{"10.0.0.1:80", ""},
		{"::1/129", ""},
		{"::1/", ""},
		{"1::2::3", ""},
		{":1", ""},
		{"[::1]", ""},
		{"fe80::1%eth0", ""},
		{"12345::", ""},
		{"2001:db8:1111:2222:3333:4444:5555:6666:7777", ""},
		{"1111111111111111111111111111111111111111111111111111111111111111", ""},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++)
		check(!strcmp(prefix(samples[i].text), samples[i].said), "'%s' is %s, not %s",
		      samples[i].text, prefix(samples[i].text), samples[i].said);
}

/* Both ways: a prefix has the addresses that agree in so many bits, and no other. */
static void masks_have_so_many_ones(void **state)
{
	struct tcp_prefix p;
	char text[32];

	(void)state;
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
		{"1", 1, 1},
		{"443", 443, 443},
		{"65535", 65535, 65535},
		{"1-65535", 1, 65535},
		{"8000-8999", 8000, 8999},
		{"80-80", 80, 80},
		{"", 0, 0},
		{"0", 0, 0},
		{"65536", 0, 0},
		{"-", 0, 0},
		{"80-", 0, 0},
		{"-80", 0, 0},
		{"0-80", 0, 0},
		{"80-79", 0, 0},
		{"80-65536", 0, 0},
		{"1-2-3", 0, 0},
		{"80 ", 0, 0},
		{" 80", 0, 0},
		{"80 -90", 0, 0},
		{"http", 0, 0},
		{"8e1", 0, 0},
		{"4294967297", 0, 0},
		{"18446744073709551617", 0, 0},
	};

	(void)state;
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
		{"0.0.0.0/0:443", "0.0.0.0/96:443"},
		{"::1", "::1/128:0"},
		{"[::1]", "::1/128:0"},
		{"[::1]:80", "::1/128:80"},
		{"[2001:db8::1]/32:80", "2001:db8::/32:80"},
		{"[2001:db8::1]/32", "2001:db8::/32:0"},
		{"[2001:db8::1/32]:80", "2001:db8::/32:80"},
		{"2001:db8::1/32", "2001:db8::/32:0"},
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
		{"10.0.0.1 :80", ""},
		{"[10.0.0.1]:80", ""},
		{"[::1", ""},
		{"::1]", ""},
		{"[]", ""},
		{"[::]1", ""},
		{"[::1]80", ""},
		{"[::1]:", ""},
		{"[::1]:0", ""},
		{"[::1]:80:90", ""},
		{"[::1]:80/64", ""},
		{"[[::1]]", ""},
		{"[::1]]", ""},
		{"[::1/64]/64:80", ""},
		{"localhost:80", ""},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]/128:655350", ""},
		{"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]/128:6553500000000000000000000000", ""},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++)
		check(!strcmp(endpoint(samples[i].text), samples[i].said), "'%s' is %s, not %s",
		      samples[i].text, endpoint(samples[i].text), samples[i].said);
}

static void lines_of_labels(void **state)
{
	static const struct {
		const char *line;
		int found;
		const char *name;
	} samples[] = {
		{"10.0.0.1 orders", 1, "orders"},
		{"\t10.0.0.1:80 \t orders\t", 1, "orders"},
		{"10.0.0.1 orders # of Europe", 1, "orders"},
		{"10.0.0.1 orders #", 1, "orders"},
		{"10.0.0.1 orders#1", 1, "orders#1"},
		{"10.0.0.1 orders\r", 1, "orders"},
		{"::1 1234567890123456789012345678901", 1, "1234567890123456789012345678901"},
		{"", 0, NULL},
		{" \t ", 0, NULL},
		{"\r", 0, NULL},
		{"# 10.0.0.1 orders", 0, NULL},
		{"  #", 0, NULL},
		{"#10.0.0.1 orders", 0, NULL},
		{"10.0.0.1", -EINVAL, NULL},
		{"10.0.0.1 # orders", -EINVAL, NULL},
		{"10.0.0.1 #orders", -EINVAL, NULL},
		{"orders 10.0.0.1", -EINVAL, NULL},
		{"10.0.0.1 orders book", -EINVAL, NULL},
		{"10.0.0.1 -", -EINVAL, NULL},
		{"10.0.0.1 or\001ders", -EINVAL, NULL},
		{"10.0.0.1 b\303\274cher", -EINVAL, NULL},
		{"10.0.0.1 or\vders", -EINVAL, NULL},
		{"::1 12345678901234567890123456789012", -EINVAL, NULL},
		{"10.0.0.1/33 orders", -EINVAL, NULL},
	};
	struct tcp_label label;
	const char *why;
	char line[128];
	int found;

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		strcpy(line, samples[i].line);
		why = NULL;
		found = tcp_parse_label(line, &label, &why);
		check(found == samples[i].found, "'%s': %d", samples[i].line, found);
		if (found > 0)
			check(!strcmp(label.name, samples[i].name), "'%s' is the name %s",
			      samples[i].line, label.name);
		check((found < 0) == (why != NULL), "'%s': why", samples[i].line);
	}
}

/* Reads BYTES as a file, with what is said on stderr in SAID. */
static int read_labels(struct tcp_labels *labels, const char *bytes, size_t n, char *said,
		       size_t size)
{
	char file[] = "/tmp/labels-XXXXXX", words[] = "/tmp/words-XXXXXX";
	int fd = mkstemp(file), to = mkstemp(words), saved = dup(STDERR_FILENO), result;
	ssize_t length;

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
	dup2(to, STDERR_FILENO);
	result = tcp_labels_read(labels, file);
	dup2(saved, STDERR_FILENO);
	length = pread(to, said, size - 1, 0);
	said[length > 0 ? length : 0] = 0;
	close(saved);
	close(to);
	unlink(file);
	unlink(words);
	return result;
}

#define READ(labels, text, said) read_labels(labels, text, sizeof(text) - 1, said, sizeof(said))

static void entries_of_one_name_are_one_label(void **state)
{
	struct tcp_labels labels = {};
	char said[256];

	(void)state;
	assert_int_equal(READ(&labels,
			      "# all\n\n10.0.0.1 a\n10.0.0.2 b\n10.0.0.1:80 a\n"
			      "10.0.0.2:80 c\n[::1]:80 b",
			      said),
			 0);
	assert_string_equal(said, "");
	assert_int_equal(labels.n, 5);
	assert_int_equal(labels.list[0].first, 0);
	assert_int_equal(labels.list[1].first, 1);
	assert_int_equal(labels.list[2].first, 0);
	assert_int_equal(labels.list[3].first, 3);
	assert_int_equal(labels.list[4].first, 1);
	assert_int_equal(labels.list[4].line, 7);
	free(labels.list);
}

static void bad_lines_are_named(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *said[2];
	} samples[] = {
#define SAMPLE(text, ...)                                                                          \
	{                                                                                          \
		text, sizeof(text) - 1,                                                            \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
		SAMPLE("10.0.0.1 a\n\n10.0.0.x b\n", ":3: not an address"),
		SAMPLE("10.0.0.1\n10.0.0.2 b\n10.0.0.3 c d\n", ":1: no name", ":3: a name is one"),
		SAMPLE("10.0.0.1 a\n# a\n10.0.0.1/32 b\n", ":3: the same", ":1\n"),
		SAMPLE("10.1.0.0/16:80 a\n10.1.2.3/16:80 a\n", ":2: the same", ":1\n"),
		SAMPLE("::ffff:10.0.0.1 a\n10.0.0.1 b\n", ":2: the same", ":1\n"),
		SAMPLE("10.0.0.1 a\0\n", ":1: not a text"),
		SAMPLE("10.0.0.1 a\n\xff\n", ":2: not an address"),
	};
	char said[1024];

	(void)state;
	for (size_t i = 0; i < LENGTH(samples); i++) {
		struct tcp_labels labels = {};
		int err = read_labels(&labels, samples[i].text, samples[i].n, said, sizeof(said));

		check(err == -EINVAL, "'%s': %d", samples[i].text, err);
		for (size_t j = 0; j < 2 && samples[i].said[j]; j++)
			check(strstr(said, samples[i].said[j]) != NULL, "'%s': %s", samples[i].text,
			      said);
		free(labels.list);
	}
}

/* What differs in one bit, in length or in port is not the same. */
static void near_entries_are_two(void **state)
{
	struct tcp_labels labels = {};
	char said[256];

	(void)state;
	assert_int_equal(READ(&labels,
			      "10.0.0.0/16 a\n10.0.0.0/17 a\n10.0.128.0/17 a\n10.0.0.0/16:1 a\n"
			      "10.0.0.0/16:2 a\n::/0 a\n0.0.0.0/0 a\n",
			      said),
			 0);
	assert_int_equal(labels.n, 7);
	free(labels.list);
}

static void there_is_a_limit(void **state)
{
	static char text[(TCP_MAX_LABELS + 1) * 24], said[256];
	struct tcp_labels labels = {};
	size_t n = 0;

	(void)state;
	for (unsigned int i = 0; i < TCP_MAX_LABELS; i++)
		n += snprintf(text + n, sizeof(text) - n, "10.0.%u.%u n%u\n", i / 256, i % 256, i);
	assert_int_equal(read_labels(&labels, text, n, said, sizeof(said)), 0);
	assert_int_equal(labels.n, TCP_MAX_LABELS);
	/* A second file adds to the first. */
	assert_int_equal(READ(&labels, "10.1.0.0 more\n", said), -EINVAL);
	assert_non_null(strstr(said, ":1: more than 4096 labels"));
	free(labels.list);
}

static void a_file_that_is_not_there_is_named(void **state)
{
	struct tcp_labels labels = {};

	(void)state;
	listen_to_stderr();
	assert_int_equal(tcp_labels_read(&labels, "/nonexistent/labels"), -EINVAL);
	assert_int_equal(tcp_labels_read(&labels, "/dev/zero"), -EINVAL);
	assert_non_null(strstr(
		said(), "--labels: cannot open /nonexistent/labels: No such file or directory\n"
			"tcp-sendmsg-lat: --labels: /dev/zero is not a regular file\n"));
	free(labels.list);
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

	(void)state;
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
		size->format(&key, text, sizeof(text));
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
	json_t *j = f->json(key);
	char *json = json_dumps(j, JSON_ENCODE_ANY);

	f->format(key, text, sizeof(text));
	strcat(strcat(text, "/"), json);
	free(json);
	json_decref(j);
	return text;
}

static void a_port_of_a_server_is_in_one_column(void **state)
{
	const struct send_key out = {.rport = 80}, in = {.lport = 6379}, none = {};
	struct plumb_options o = {};

	(void)state;
	assert_string_equal(shown("rport", &out), "80/80");
	assert_string_equal(shown("lport", &out), "0/0");
	assert_true(tcp_take_key("port", &o));
	assert_true(tcp_take_key("port", &o));
	assert_int_equal(o.by, TCP_BY_SERVER_PORT);
	tcp_one_port = true;
	assert_non_null(field("port"));
	assert_int_equal(field("port")->bit, 0);
	assert_string_equal(shown("rport", &out), "80/80");
	assert_string_equal(shown("lport", &out), "-/null");
	assert_string_equal(shown("rport", &in), "-/null");
	assert_string_equal(shown("lport", &in), "6379/6379");
	/* A socket that never was connected. */
	assert_string_equal(shown("rport", &none), "0/0");
	tcp_one_port = false;
	assert_false(tcp_take_key("rport", &o));
	assert_int_equal(o.by, TCP_BY_RPORT | TCP_BY_LPORT);
	o.by = TCP_BY_RPORT;
	assert_true(tcp_take_key("port", &o));
	assert_int_equal(o.by, TCP_BY_RPORT | TCP_BY_LPORT);
	assert_string_equal(shown("rport", &in), "0/0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefixes),
		cmocka_unit_test(masks_have_so_many_ones),
		cmocka_unit_test(ports),
		cmocka_unit_test(endpoints),
		cmocka_unit_test(lines_of_labels),
		cmocka_unit_test(entries_of_one_name_are_one_label),
		cmocka_unit_test(bad_lines_are_named),
		cmocka_unit_test(near_entries_are_two),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
		cmocka_unit_test(sizes_are_classes),
		cmocka_unit_test(a_port_of_a_server_is_in_one_column),
	};

	return run_all(tests);
}
