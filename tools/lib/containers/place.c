/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <plumb/containers/place.h>

/* Part of a path, between slashes. */
struct word {
	const char *text;
	size_t length;
};

static bool is(struct word w, const char *text)
{
	return w.length == strlen(text) && !memcmp(w.text, text, w.length);
}

/* Cut PREFIX and SUFFIX off W; false: it does not have them. */
static bool cut_prefix(struct word *w, const char *prefix)
{
	const size_t n = strlen(prefix);

	if (w->length < n || memcmp(w->text, prefix, n) != 0)
		return false;
	w->text += n;
	w->length -= n;
	return true;
}

static bool cut_suffix(struct word *w, const char *suffix)
{
	const size_t n = strlen(suffix);

	if (w->length < n || memcmp(w->text + w->length - n, suffix, n) != 0)
		return false;
	w->length -= n;
	return true;
}

static bool is_hex(char c)
{
	return isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
}

static bool is_id(struct word w)
{
	for (size_t i = 0; i < w.length; i++)
		if (!is_hex(w.text[i]))
			return false;
	return w.length == PLUMB_CONTAINER_ID;
}

/*
 * "ID", "docker-ID.scope", "crio-ID".  Other words than a runtime's before an id are those of any
 * systemd unit; "libpod-conmon-ID.scope" is one.
 */
static bool take_id(struct word w, struct plumb_place *p)
{
	static const char *const runtimes[] = {"docker-", "cri-containerd-", "containerd-", "crio-",
					       "libpod-", "nerdctl-",        "cri-dockerd-"};
	struct word id = w;
	size_t n = w.length;

	/* "kubepods-podUID.slice:cri-containerd:ID": one that is no name of systemd's. */
	while (n && w.text[n - 1] != ':')
		n--;
	id = (struct word){w.text + n, w.length - n};
	for (size_t i = 0; !n && i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		if (!cut_prefix(&id, runtimes[i]))
			continue;
		cut_suffix(&id, ".scope");
		break;
	}
	if (!is_id(id))
		return false;
	snprintf(p->id, sizeof(p->id), "%.*s", (int)id.length, id.text);
	*p->name = 0;
	return true;
}

static bool take_name(struct word w, struct plumb_place *p)
{
	if (!w.length)
		return false;
	snprintf(p->name, sizeof(p->name), "%.*s", (int)w.length, w.text);
	*p->id = 0;
	return true;
}

/*
 * The byte of an escape as systemd writes it, "\x2d"; 0: TEXT does not begin with one, or its byte
 * is not printable ASCII.  Such escapes stay: no machine's name has them, and a terminal could
 * interpret the byte.
 */
static unsigned char escaped_byte(const char *text)
{
	unsigned int byte;

	if (strncmp(text, "\\x", 2) || !is_hex(text[2]) || !is_hex(text[3]) ||
	    sscanf(text + 2, "%2x", &byte) < 1)
		return 0;
	return byte >= ' ' && byte < 0x7f ? byte : 0;
}

static void unescape(char *text)
{
	char *to = text;
	unsigned char c;

	for (; *text; to++) {
		c = escaped_byte(text);
		*to = c ? c : *text;
		text += c ? 4 : 1;
	}
	*to = 0;
}

/* systemd's "machine-NAME.scope", of nspawn, libvirt and others. */
static bool take_machine(struct word w, struct plumb_place *p)
{
	if (!cut_prefix(&w, "machine-") || is(w, ".scope"))
		return false;
	/* A slice of Podman's. */
	if (cut_suffix(&w, ".slice"))
		return false;
	cut_suffix(&w, ".scope");
	if (!take_name(w, p))
		return false;
	unescape(p->name);
	return true;
}

/* A UID, or the hash of a pod that the kubelet read from a file; systemd's driver has "_" in it. */
static bool take_uid(struct word w, struct plumb_place *p)
{
	if (w.length < 32 || w.length > 36)
		return false;
	for (size_t i = 0; i < w.length; i++)
		if (!is_hex(w.text[i]) && w.text[i] != '-' && w.text[i] != '_')
			return false;
	snprintf(p->pod, sizeof(p->pod), "%.*s", (int)w.length, w.text);
	for (char *c = p->pod; *c; c++)
		*c = *c == '_' ? '-' : *c;
	p->has_uid = true;
	return true;
}

/* What of W comes after MARK, which begins it or a part of it: systemd's "-" is between parts. */
static bool after(struct word w, const char *mark, struct word *rest)
{
	for (*rest = w; rest->length; rest->text++, rest->length--)
		if ((rest->text == w.text || rest->text[-1] == '-') && cut_prefix(rest, mark))
			return true;
	return false;
}

/*
 * "podUID", BELOW a folder of the kubelet's; "kubepods-burstable-podUID.slice"; and
 * "machine-libpod_pod_ID.slice" of Podman.
 */
static bool take_pod(struct word w, bool below, struct plumb_place *p)
{
	const char *colon = memchr(w.text, ':', w.length);
	struct word id = w;

	if (below && cut_prefix(&id, "pod"))
		return take_uid(id, p);
	if (colon)
		w.length = colon - w.text;
	if (!cut_suffix(&w, ".slice"))
		return false;
	if (after(w, "libpod_pod_", &id) && is_id(id)) {
		snprintf(p->pod, sizeof(p->pod), "%.*s", (int)id.length, id.text);
		p->has_uid = false;
		return true;
	}
	if (!after(w, "kubepods-", &id))
		return false;
	if (!cut_prefix(&id, "burstable-"))
		cut_prefix(&id, "besteffort-");
	return cut_prefix(&id, "pod") && take_uid(id, p);
}

static bool take_container(struct word w, bool below_lxc, struct plumb_place *p)
{
	struct word name = w;

	if (below_lxc) /* lxc/NAME, until 4.0 */
		return take_name(w, p);
	if (take_id(w, p))
		return true;
	return cut_prefix(&name, "lxc.payload.") ? take_name(name, p) : take_machine(w, p);
}

struct plumb_place plumb_place_of(const char *path)
{
	bool below_lxc = false, below_kubelet = false;
	struct plumb_place p = {};
	struct word w;

	for (; *path; path += w.length) {
		path += strspn(path, "/");
		w = (struct word){path, strcspn(path, "/")};
		if (!w.length)
			break;
		if (take_pod(w, below_kubelet, &p))
			p.of_pod = false;
		if (take_container(w, below_lxc, &p))
			p.of_pod = *p.pod;
		below_lxc = is(w, "lxc");
		below_kubelet |= is(w, "kubepods");
	}
	return p;
}
