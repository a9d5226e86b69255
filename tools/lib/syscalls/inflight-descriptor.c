/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/inflight/inflight.h>
#include <plumb/syscalls/arguments.h>
#include <plumb/syscalls/descriptors.h>

/* ---- sockets ---- */

static int has_inode(const struct plumb_net_socket *s, const void *context)
{
	return s->inode == *(const uint64_t *)context ? 2 : 0;
}

static bool find_inet(struct plumb_descriptor *d, uint32_t pid)
{
	static const struct {
		const char *name;
		uint16_t protocol, type;
	} lists[] = {{"tcp", IPPROTO_TCP, SOCK_STREAM}, {"udp", IPPROTO_UDP, SOCK_DGRAM}};
	const uint64_t inode = d->inode;
	struct plumb_net_socket s;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (!plumb_net_find(pid, lists[i].name, has_inode, &inode, &s))
			continue;
		d->family = s.six ? AF_INET6 : AF_INET;
		d->protocol = lists[i].protocol;
		d->type = lists[i].type;
		d->state = s.state;
		d->local_port = s.local_port;
		d->remote_port = s.remote_port;
		memcpy(d->local, s.six ? s.local : s.local + 3, s.six ? 16 : 4);
		memcpy(d->remote, s.six ? s.remote : s.remote + 3, s.six ? 16 : 4);
		return true;
	}
	return false;
}

static void find_unix(struct plumb_descriptor *d, uint32_t pid)
{
	char path[48], line[512], name[256];
	unsigned long long inode;
	unsigned int type;
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/proc/%u/net/unix", pid);
	f = fopen(path, "re");
	for (int i = 0; f && !d->family && i < PLUMB_NET_SOCKETS && fgets(line, sizeof(line), f);
	     i++) {
		*name = 0;
		n = sscanf(line, "%*s %*s %*s %*s %x %*s %llu %255[^\n]", &type, &inode, name);
		if (n < 2 || inode != d->inode)
			continue;
		d->family = AF_UNIX;
		d->type = type;
		d->length = strlen(name);
		memcpy(d->names, name, d->length);
	}
	if (f)
		fclose(f);
}

/* Without an address, it is a socket with a number. */
static void find_socket(struct plumb_descriptor *d, uint32_t pid)
{
	static uint64_t spent, first;
	const uint64_t began = plumb_cpu_time();

	if (!plumb_peers_may_look(spent, first))
		return;
	if (!find_inet(d, pid))
		find_unix(d, pid);
	first = first ?: plumb_now();
	spent += plumb_cpu_time() - began;
}

/* ---- what /proc/PID/task/TID/fd/N links to ---- */

#define DELETED " (deleted)"

static void take_path(struct plumb_descriptor *d, char *path)
{
	size_t length = strlen(path), name;
	char *slash;

	d->kind = PLUMB_DESCRIPTOR_PATH;
	if (length > strlen(DELETED) && !strcmp(path + length - strlen(DELETED), DELETED)) {
		d->flags |= PLUMB_DESCRIPTOR_DELETED;
		path[length - strlen(DELETED)] = 0;
	}
	/* The last name first. */
	while ((slash = strrchr(path, '/'))) {
		name = strlen(slash + 1);
		if (name && d->length + name + 1 > sizeof(d->names))
			return;
		if (name)
			memcpy(d->names + d->length, slash + 1, name + 1);
		d->length += name ? name + 1 : 0;
		*slash = 0;
	}
	d->flags |= PLUMB_DESCRIPTOR_WHOLE;
}

static void take_text(struct plumb_descriptor *d, const char *text)
{
	d->length = strlen(text) < PLUMB_DESCRIPTOR_NAME ? strlen(text) : PLUMB_DESCRIPTOR_NAME - 1;
	memcpy(d->names, text, d->length);
}

/* The inode of "pipe:[123]". */
static bool is_numbered(const char *link, const char *kind, struct plumb_descriptor *d)
{
	const size_t length = strlen(kind);
	unsigned long long inode;

	if (strncmp(link, kind, length) || sscanf(link + length, ":[%llu]", &inode) != 1)
		return false;
	d->inode = inode;
	return true;
}

static bool take_link(struct plumb_descriptor *d, const char *path, uint32_t pid)
{
	static const char anon[] = "anon_inode:";
	char link[4096], kind[32];
	struct stat st;
	ssize_t n = readlink(path, link, sizeof(link) - 1);

	if (n < 0)
		return false;
	link[n] = 0;
	/* Not what stat() says: of a file whose server does not answer, it would not return. */
	if (*link == '/') {
		take_path(d, link);
	} else if (!strncmp(link, anon, strlen(anon))) {
		d->kind = PLUMB_DESCRIPTOR_ANON;
		take_text(d, link + strlen(anon));
	} else if (is_numbered(link, "pipe", d) && !lstat(path, &st)) {
		d->kind = PLUMB_DESCRIPTOR_PIPE;
		d->flags = (st.st_mode & S_IRUSR ? PLUMB_DESCRIPTOR_READ : 0) |
			   (st.st_mode & S_IWUSR ? PLUMB_DESCRIPTOR_WRITE : 0);
	} else if (is_numbered(link, "socket", d)) {
		d->kind = PLUMB_DESCRIPTOR_SOCKET;
		find_socket(d, pid);
	} else if (sscanf(link, "%31[^:]", kind) == 1 && is_numbered(link, kind, d)) {
		d->kind = PLUMB_DESCRIPTOR_OTHER;
		take_text(d, kind);
	}
	return d->kind;
}

/* ---- */

/*
 * The call's first descriptor, and its NUMBER; false: it has none, the thread is not in that call
 * any more, or may not be inspected.
 */
static bool find(const struct plumb_flight *f, struct plumb_descriptor *d, int *number)
{
	static struct syscall_shape shapes[2 * PLUMB_SYSCALLS];
	static bool is_filled;
	const uint32_t call = f->what, abi = f->what >> 32;
	unsigned long long values[6];
	char text[256], path[64];
	uint32_t argument;
	int nr;

	*d = (struct plumb_descriptor){};
	if (!is_filled)
		plumb_call_shapes(shapes);
	is_filled = true;
	if (call >= PLUMB_SYSCALLS || abi > 1)
		return false;
	argument = shapes[abi * PLUMB_SYSCALLS + call].descriptors[0];
	if (!argument || argument > 6 ||
	    plumb_thread_read(f->pid, f->tid, "syscall", text, sizeof(text)) ||
	    sscanf(text, "%d %llx %llx %llx %llx %llx %llx", &nr, &values[0], &values[1],
		   &values[2], &values[3], &values[4], &values[5]) != 7 ||
	    nr != (int)call)
		return false;
	*number = values[argument - 1];
	d->argument = argument;
	if (*number < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/task/%u/fd/%d", f->pid, f->tid, *number);
	return take_link(d, path, f->pid);
}

/* "read" becomes "read(3</path>)". */
void plumb_descriptor_add_text(const struct plumb_flight *f, char *text, size_t size)
{
	char what[PLUMB_DESCRIPTOR_TEXT];
	const size_t n = strlen(text);
	struct plumb_descriptor d;
	struct plumb_peer peer;
	size_t length, room;
	int number;

	if (!find(f, &d, &number))
		return;
	plumb_peer_find(&d, f->pid, 0, &peer);
	plumb_descriptor_text(&d, peer.pid == f->pid ? NULL : &peer, what, sizeof(what));
	length = strlen(what);
	room = size - n - 16; /* "(2147483647" and ")" */
	if (length <= room)
		snprintf(text + n, size - n, "(%d%s)", number, what);
	else
		snprintf(text + n, size - n, "(%d<...%s)", number, what + length - (room - 4));
}

void plumb_descriptor_add_json(const struct plumb_flight *f, json_t *json)
{
	struct plumb_descriptor d;
	struct plumb_peer peer;
	int number;

	if (!find(f, &d, &number)) {
		json_object_set_new(json, "descriptor", json_null());
		return;
	}
	plumb_peer_find(&d, f->pid, 0, &peer);
	json_object_set_new(json, "descriptor", plumb_descriptor_json(&d, &peer, number));
}
