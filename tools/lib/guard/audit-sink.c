/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "audit-parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/files/atomic-file.h>
#include <plumb/files/folder.h>
#include <plumb/guard/policy.h>

/*
 * rsyslog cuts messages of more than 8096 bytes, with their header; the kernel's audit cuts the
 * text of more than 8560 (AUDIT_MESSAGE_TEXT_MAX).
 */
#define ROOM 7900

/* The longest message of the kernel's audit, as libaudit has it. */
#define MESSAGE_MAX 8970

/* A daemon that takes nothing for that long does not get the record. */
#define PATIENCE 5 /* s */

static const char *origin(const struct plumb_sink *sink)
{
	return sink->is_demanded ? PLUMB_POLICY_FILE ": audit=" : "--audit=";
}

static int failed(const struct plumb_sink *sink, int err, const char *why)
{
	return plumb_error(err, "%s%s: %s", origin(sink), sink->name, why);
}

/* --- a file --- */

static int check_file(const struct plumb_sink *sink, int fd, struct stat *st)
{
	if (fstat(fd, st))
		return failed(sink, errno, strerror(errno));
	if (!S_ISREG(st->st_mode))
		return failed(sink, EINVAL, "not a regular file");
	if (st->st_uid && st->st_uid != geteuid())
		return failed(sink, EPERM, "belongs to another user");
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return failed(sink, EPERM, "can be written by others");
	return 0;
}

/* Others could put another file in its place. */
static int check_folder(const struct plumb_sink *sink, int folder)
{
	struct stat st;

	if (fstat(folder, &st))
		return failed(sink, errno, strerror(errno));
	if (st.st_uid && st.st_uid != geteuid())
		return failed(sink, EPERM, "its folder belongs to another user");
	if (st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
		return failed(sink, EPERM, "its folder can be written by others");
	return 0;
}

static int open_folder(const struct plumb_sink *sink, const char **file)
{
	int folder = plumb_folder_of(AT_FDCWD, sink->name, file), err;

	if (folder < 0)
		return failed(sink, folder, plumb_atomic_file_error(folder));
	err = check_folder(sink, folder);
	if (err)
		close(folder);
	return err ?: folder;
}

static int open_as_user(struct plumb_sink *sink)
{
	const char *file;
	int folder = open_folder(sink, &file), fd, err;
	struct stat st;
	char last;

	if (folder < 0)
		return folder;
	/* Readable, for its last byte. */
	fd = openat(folder, file,
		    O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		    0600);
	err = errno;
	close(folder);
	errno = err;

	if (fd < 0)
		return failed(sink, errno,
			      errno == ELOOP ? "a symbolic link is not followed" : strerror(errno));
	err = check_file(sink, fd, &st);
	if (err) {
		close(fd);
		return err;
	}
	sink->partial = st.st_size && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
	sink->fd = fd;
	sink->device = st.st_dev;
	sink->inode = st.st_ino;
	return 0;
}

static int open_file(struct plumb_sink *sink)
{
	void *own = plumb_as_user();
	int err = open_as_user(sink);

	plumb_as_tool(own);
	return err;
}

/* One write(), so that records of several tools do not mix.  A partial line gets an end first. */
static int write_file(struct plumb_sink *sink, const char *line, size_t n)
{
	struct iovec parts[] = {{"\n", sink->partial}, {(void *)line, n}, {"\n", 1}};
	size_t all = sink->partial + n + 1;
	ssize_t done = writev(sink->fd, parts, 3);
	struct stat st;

	if (done > 0)
		sink->partial = (size_t)done != all;
	if (done < 0)
		return failed(sink, errno, strerror(errno));
	if ((size_t)done != all)
		return failed(sink, ENOSPC, "only a part of the record could be written");
	if (fdatasync(sink->fd))
		return failed(sink, errno, strerror(errno));
	if (!fstat(sink->fd, &st) && !st.st_nlink)
		return failed(sink, ENOENT, "it was removed during the run, with its records");
	return 0;
}

/* --- syslog --- */

static int connect_syslog(int fd)
{
	static const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};

	return connect(fd, (const struct sockaddr *)&log, sizeof(log)) ? -errno : 0;
}

static int open_syslog(struct plumb_sink *sink)
{
	const struct timeval patience = {.tv_sec = PATIENCE};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;
	char why[128];

	if (fd < 0)
		return failed(sink, errno, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	err = connect_syslog(fd);
	if (err) {
		close(fd);
		snprintf(why, sizeof(why), "no daemon listens on /dev/log: %s", strerror(-err));
		return failed(sink, -err, why);
	}
	sink->fd = fd;
	return 0;
}

static int write_syslog(struct plumb_sink *sink, const char *line, size_t n, const char *tag)
{
	enum { AUTHPRIV_NOTICE = 10 << 3 | 5 };
	char header[128], date[32];
	time_t now = time(NULL);
	struct tm local;
	struct iovec parts[] = {{header, 0}, {(void *)line, n}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t sent;

	localtime_r(&now, &local);
	strftime(date, sizeof(date), "%h %e %T", &local);
	parts[0].iov_len =
		snprintf(header, sizeof(header), "<%d>%s %s: ", AUTHPRIV_NOTICE, date, tag);
	sent = sendmsg(sink->fd, &message, MSG_NOSIGNAL);
	/* The daemon was started again. */
	if (sent < 0 && (errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET) &&
	    !connect_syslog(sink->fd))
		sent = sendmsg(sink->fd, &message, MSG_NOSIGNAL);
	return sent < 0 ? failed(sink, errno, strerror(errno)) : 0;
}

/* --- the kernel's audit --- */

/*
 * Sends a request and waits for its answer, of type WANTED if that is not 0; returns the kernel's
 * error.  libaudit would do the same; linked statically it brings 500 KB to each tool.
 */
static int ask_kernel(struct plumb_sink *sink, int type, const char *text, size_t n, int wanted,
		      void *answer, size_t size)
{
	struct nlmsghdr header = {
		.nlmsg_len = NLMSG_LENGTH(n),
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.nlmsg_seq = ++sink->sequence,
	};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct iovec parts[] = {{&header, NLMSG_HDRLEN}, {(void *)text, n}};
	struct msghdr message = {.msg_name = &kernel,
				 .msg_namelen = sizeof(kernel),
				 .msg_iov = parts,
				 .msg_iovlen = 2};
	union {
		struct nlmsghdr h;
		char bytes[NLMSG_SPACE(MESSAGE_MAX)];
	} got;
	bool found = !wanted;
	ssize_t length;

	if (sendmsg(sink->fd, &message, 0) < 0)
		return -errno;
	/* The acknowledgement may come before the answer. */
	for (int acknowledged = 0; !acknowledged || !found;) {
		length = recv(sink->fd, &got, sizeof(got), 0);
		if (length < (ssize_t)sizeof(got.h))
			return length < 0 ? -errno : -EPROTO;
		if (got.h.nlmsg_seq != sink->sequence)
			continue;
		if (got.h.nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = NLMSG_DATA(&got.h);

			if (length < (ssize_t)NLMSG_LENGTH(sizeof(*e)))
				return -EPROTO;
			if (e->error)
				return e->error;
			acknowledged = 1;
		} else if (got.h.nlmsg_type == wanted) {
			length -= NLMSG_HDRLEN;
			memcpy(answer, NLMSG_DATA(&got.h),
			       (size_t)length < size ? (size_t)length : size);
			found = true;
		}
	}
	return 0;
}

static int explain_audit(const struct plumb_sink *sink, int err, const char *capability)
{
	char why[160];

	switch (-err) {
	case EPERM:
		snprintf(why, sizeof(why), "%s is missing", capability);
		break;
	case EPROTONOSUPPORT:
		snprintf(why, sizeof(why), "this kernel has no audit (CONFIG_AUDIT)");
		break;
	case ECONNREFUSED:
		snprintf(why, sizeof(why),
			 "the kernel's audit is off, or this process is in "
			 "another namespace");
		break;
	default:
		snprintf(why, sizeof(why), "%s", strerror(-err));
	}
	return failed(sink, -err, why);
}

/* Where audit is not enabled the kernel drops records without an error. */
static int open_audit(struct plumb_sink *sink)
{
	const struct timeval patience = {.tv_sec = PATIENCE};
	struct audit_status status = {};
	int err;

	sink->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);
	if (sink->fd < 0)
		return explain_audit(sink, -errno, "CAP_AUDIT_WRITE");
	setsockopt(sink->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	err = ask_kernel(sink, AUDIT_GET, NULL, 0, AUDIT_GET, &status, sizeof(status));
	if (err)
		err = explain_audit(sink, err,
				    "CAP_AUDIT_CONTROL, to see whether audit is enabled,");
	else if (!status.enabled)
		err = failed(sink, EPROTONOSUPPORT,
			     "the kernel's audit is not enabled (auditctl -e 1)");
	else if (!status.pid)
		plumb_info("%s%s: there is no auditd: the kernel's log has the records",
			   origin(sink), sink->name);
	if (err)
		close(sink->fd);
	return err;
}

/* The kernel puts the text between apostrophes, and JSON can do without them. */
#define APOSTROPHE "\\u0027"

static int write_audit(struct plumb_sink *sink, const char *line, size_t n)
{
	char text[MESSAGE_MAX];
	size_t length = 0;
	int err;

	if (plumb_sink_length(sink, line, n) >= sizeof(text))
		return failed(sink, EMSGSIZE, strerror(EMSGSIZE));
	for (size_t i = 0; i < n; i++) {
		if (line[i] == '\'')
			length = stpcpy(text + length, APOSTROPHE) - text;
		else
			text[length++] = line[i];
	}
	text[length++] = 0;
	err = ask_kernel(sink, AUDIT_USER, text, length, 0, NULL, 0);
	return err ? explain_audit(sink, err, "CAP_AUDIT_WRITE") : 0;
}

/* --- any --- */

int plumb_sink_open(struct plumb_sink *sink, const char *name, bool is_demanded)
{
	*sink = (struct plumb_sink){.name = name, .is_demanded = is_demanded, .fd = -1};
	if (!strcmp(name, "syslog"))
		sink->kind = PLUMB_SINK_SYSLOG;
	else if (!strcmp(name, "audit"))
		sink->kind = PLUMB_SINK_AUDIT;
	switch (sink->kind) {
	case PLUMB_SINK_SYSLOG:
		return open_syslog(sink);
	case PLUMB_SINK_AUDIT:
		return open_audit(sink);
	default:
		return open_file(sink);
	}
}

int plumb_sink_write(struct plumb_sink *sink, const char *line, size_t n, const char *tag)
{
	switch (sink->kind) {
	case PLUMB_SINK_SYSLOG:
		return write_syslog(sink, line, n, tag);
	case PLUMB_SINK_AUDIT:
		return write_audit(sink, line, n);
	default:
		return write_file(sink, line, n);
	}
}

size_t plumb_sink_length(const struct plumb_sink *sink, const char *line, size_t n)
{
	size_t length = n;

	for (size_t i = 0; sink->kind == PLUMB_SINK_AUDIT && i < n; i++)
		if (line[i] == '\'')
			length += strlen(APOSTROPHE) - 1;
	return length;
}

size_t plumb_sink_room(const struct plumb_sink *sink)
{
	return sink->kind == PLUMB_SINK_FILE ? SIZE_MAX : ROOM;
}
