/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/syscalls/arguments.h>
#include <plumb/syscalls/descriptors.h>

#define RAW_LEN (2 * (PLUMB_DESCRIPTOR_LEN + PLUMB_DESCRIPTOR_NAME))

/* include/net/tcp_states.h */
static const char *const states[] = {
	NULL,    "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",    "TIME_WAIT",
	"CLOSE", "CLOSE_WAIT",  "LAST_ACK", "LISTEN",   "CLOSING",   "NEW_SYN_RECV",
};
#define LISTEN 10

/* Its names, the last first, as a path. */
static void join(const struct plumb_descriptor *d, char *path, size_t size)
{
	const uint32_t length = d->length < sizeof(d->names) ? d->length : sizeof(d->names);
	uint32_t end = length;
	size_t n = snprintf(path, size, "%s", d->flags & PLUMB_DESCRIPTOR_WHOLE ? "" : "...");

	while (end && n < size) {
		uint32_t begin = end - 1;

		while (begin && d->names[begin - 1])
			begin--;
		n += snprintf(path + n, size - n, "/%.*s", (int)(end - begin), d->names + begin);
		end = begin;
	}
	if (!length && n < size)
		snprintf(path + n, size - n, "/");
}

static void inet_address(const struct plumb_descriptor *d, const uint32_t *address, uint16_t port,
			 char *text, size_t size)
{
	char plain[INET6_ADDRSTRLEN] = "?";

	inet_ntop(d->family, address, plain, sizeof(plain));
	snprintf(text, size, d->family == AF_INET6 ? "[%s]:%u" : "%s:%u", plain, port);
}

static bool is_inet(const struct plumb_descriptor *d)
{
	return d->family == AF_INET || d->family == AF_INET6;
}

/* "tcp", "udp", "unix", "netlink"; of others, "socket". */
static const char *protocol_of(const struct plumb_descriptor *d)
{
	static const struct {
		uint16_t family, protocol;
		const char *name;
	} names[] = {
		{AF_INET, IPPROTO_TCP, "tcp"},   {AF_INET, IPPROTO_UDP, "udp"},
		{AF_INET, IPPROTO_ICMP, "icmp"}, {AF_INET, IPPROTO_ICMPV6, "icmpv6"},
		{AF_INET, IPPROTO_SCTP, "sctp"}, {AF_INET, IPPROTO_UDPLITE, "udplite"},
		{AF_INET, 262, "mptcp"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && is_inet(d); i++)
		if (d->protocol == names[i].protocol)
			return names[i].name;
	switch (d->family) {
	case AF_UNIX:
		return "unix";
	case AF_INET:
	case AF_INET6:
		return "ip";
	case AF_NETLINK:
		return "netlink";
	case AF_PACKET:
		return "packet";
	case AF_VSOCK:
		return "vsock";
	default:
		return "socket";
	}
}

static void socket_text(const struct plumb_descriptor *d, char *text, size_t size)
{
	const char *protocol = protocol_of(d);
	char address[INET6_ADDRSTRLEN + 16];

	if (is_inet(d) && d->remote_port) {
		inet_address(d, d->remote, d->remote_port, address, sizeof(address));
		snprintf(text, size, "%s %s", protocol, address);
	} else if (is_inet(d) && d->local_port) {
		inet_address(d, d->local, d->local_port, address, sizeof(address));
		snprintf(text, size, "%s %s %s", protocol,
			 d->state == LISTEN ? "listening on" : "not connected, local", address);
	} else if (d->family == AF_UNIX && d->length) {
		char name[PLUMB_UNIX_ADDRESS + 1];

		plumb_unix_address(name, d->names, d->length);
		snprintf(text, size, "unix %s%s", d->flags & PLUMB_DESCRIPTOR_PEER ? "to " : "",
			 name);
	} else {
		snprintf(text, size, "%s:[%" PRIu64 "]", protocol, (uint64_t)d->inode);
	}
}

static const char *pipe_end(const struct plumb_descriptor *d)
{
	switch (d->flags & (PLUMB_DESCRIPTOR_READ | PLUMB_DESCRIPTOR_WRITE)) {
	case PLUMB_DESCRIPTOR_READ:
		return "read";
	case PLUMB_DESCRIPTOR_WRITE:
		return "write";
	default:
		return NULL;
	}
}

static void raw_text(const struct plumb_descriptor *d, char *text, size_t size)
{
	const bool deleted = d->flags & PLUMB_DESCRIPTOR_DELETED;
	char path[RAW_LEN];

	*text = 0;
	switch (d->kind) {
	case PLUMB_DESCRIPTOR_PATH:
		join(d, path, sizeof(path));
		snprintf(text, size, "%s%s", path, deleted ? " (deleted)" : "");
		break;
	case PLUMB_DESCRIPTOR_ANON:
		snprintf(text, size, "anon_inode:%.*s", PLUMB_DESCRIPTOR_NAME, d->names);
		break;
	case PLUMB_DESCRIPTOR_PIPE:
		snprintf(text, size, "pipe:[%" PRIu64 "]%s%s%s", (uint64_t)d->inode,
			 pipe_end(d) ? " " : "", pipe_end(d) ?: "", pipe_end(d) ? " end" : "");
		break;
	case PLUMB_DESCRIPTOR_SOCKET:
		socket_text(d, text, size);
		break;
	case PLUMB_DESCRIPTOR_OTHER:
		snprintf(text, size, "%.*s:[%" PRIu64 "]", PLUMB_DESCRIPTOR_NAME, d->names,
			 (uint64_t)d->inode);
		break;
	case PLUMB_DESCRIPTOR_CLOSED:
		snprintf(text, size, "closed");
		break;
	}
}

/* Adds the process at the other end; it says more of a pipe than the number of its inode. */
static void add_peer(const struct plumb_descriptor *d, const struct plumb_peer *peer, char *text,
		     size_t size)
{
	size_t n = strlen(text);

	if (!peer || !peer->source)
		return;
	if (d->kind == PLUMB_DESCRIPTOR_PIPE && pipe_end(d))
		n = snprintf(text, size, "pipe %s ",
			     d->flags & PLUMB_DESCRIPTOR_READ ? "from" : "to");
	else
		n += snprintf(text + n, size - n, ", ");
	n += snprintf(text + n, size - n, "%s/%u", peer->comm, peer->pid);
	if (peer->others)
		snprintf(text + n, size - n, " and %u more", peer->others);
}

const char *plumb_descriptor_text(const struct plumb_descriptor *d, const struct plumb_peer *peer,
				  char *text, size_t size)
{
	char raw[RAW_LEN + 80];
	size_t n;

	raw_text(d, raw, sizeof(raw));
	add_peer(d, peer, raw, sizeof(raw));
	*text = 0;
	if (!*raw)
		return text;
	*text = '<';
	plumb_escape(text + 1, raw, size - 2);
	n = strlen(text);
	text[n] = '>';
	text[n + 1] = 0;
	return text;
}

static void add_socket(const struct plumb_descriptor *d, json_t *json)
{
	char text[sizeof(d->names) + 64];

	json_object_set_new(json, "protocol", json_string(protocol_of(d)));
	plumb_values_text(plumb_value_names("families"), d->family, text, sizeof(text));
	json_object_set_new(json, "family", json_string(text));
	plumb_values_text(plumb_value_names("socket_types"), d->type, text, sizeof(text));
	json_object_set_new(json, "type", json_string(text));
	if (d->family == AF_UNIX && d->length) {
		plumb_unix_address(text, d->names, d->length);
		json_object_set_new(json, d->flags & PLUMB_DESCRIPTOR_PEER ? "remote" : "local",
				    plumb_json_text(text));
	}
	if (d->family == AF_UNIX && d->peer_pid)
		json_object_set_new(json, "peer_pid", json_integer(d->peer_pid));
	if (!is_inet(d))
		return;
	inet_address(d, d->local, d->local_port, text, sizeof(text));
	json_object_set_new(json, "local", json_string(text));
	if (d->remote_port) {
		inet_address(d, d->remote, d->remote_port, text, sizeof(text));
		json_object_set_new(json, "remote", json_string(text));
	}
	if (d->protocol == IPPROTO_TCP && d->state && d->state < sizeof(states) / sizeof(*states))
		json_object_set_new(json, "state", json_string(states[d->state]));
}

static json_t *peer_json(const struct plumb_peer *peer)
{
	static const char *const sources[] = {
		[PLUMB_PEER_HAS_OPEN] = "descriptor",
		[PLUMB_PEER_CREDENTIALS] = "credentials",
		[PLUMB_PEER_WAKEUP] = "wakeup",
	};

	if (!peer->source)
		return json_null();
	return json_pack("{s:i, s:o, s:i, s:s}", "pid", peer->pid, "comm",
			 plumb_json_text(peer->comm), "others", peer->others, "known_by",
			 sources[peer->source]);
}

json_t *plumb_descriptor_json(const struct plumb_descriptor *d, const struct plumb_peer *peer,
			      int number)
{
	static const char *const kinds[PLUMB_DESCRIPTOR_KINDS] = {
		"none", "file", "anon_inode", "pipe", "socket", "other", "closed"};
	json_t *json = json_object();
	char raw[RAW_LEN + 16];

	json_object_set_new(json, "fd", json_integer(number));
	json_object_set_new(json, "argument",
			    d->argument == SYSCALL_RESULT   ? json_null()
			    : d->argument == SYSCALL_POLLED ? json_integer(0)
							    : json_integer(d->argument - 1));
	json_object_set_new(json, "kind",
			    json_string(kinds[d->kind < PLUMB_DESCRIPTOR_KINDS ? d->kind : 0]));
	raw_text(d, raw, sizeof(raw));
	json_object_set_new(json, "text", plumb_json_text(raw));
	if (d->kind == PLUMB_DESCRIPTOR_CLOSED)
		return json;
	if (d->inode)
		json_object_set_new(json, "inode", plumb_json_u64(d->inode));
	if (d->kind == PLUMB_DESCRIPTOR_PIPE || d->kind == PLUMB_DESCRIPTOR_SOCKET)
		json_object_set_new(json, "peer", peer_json(peer));
	if (d->kind == PLUMB_DESCRIPTOR_PATH) {
		join(d, raw, sizeof(raw));
		json_object_set_new(json, "path", plumb_json_text(raw));
		json_object_set_new(json, "deleted",
				    json_boolean(d->flags & PLUMB_DESCRIPTOR_DELETED));
	} else if (d->kind == PLUMB_DESCRIPTOR_PIPE) {
		json_object_set_new(json, "end",
				    pipe_end(d) ? json_string(pipe_end(d)) : json_null());
	} else if (d->kind == PLUMB_DESCRIPTOR_SOCKET) {
		add_socket(d, json);
	}
	return json;
}
