/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "writer-answer.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What holds one descriptor beside a message. */
union beside {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

ssize_t answer_send(int to, const struct answer *a, int fd)
{
	union beside beside = {.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {(void *)a, sizeof(*a)};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&beside.header), &fd, sizeof(fd));
		m.msg_control = &beside;
		m.msg_controllen = sizeof(beside);
	}
	n = sendmsg(to, &m, MSG_NOSIGNAL);
	if (fd >= 0)
		close(fd);
	return n;
}

ssize_t answer_receive(int from, struct answer *a, int *fd, int flags)
{
	union beside beside;
	struct iovec data = {a, sizeof(*a)};
	struct msghdr m = {.msg_iov = &data,
			   .msg_iovlen = 1,
			   .msg_control = &beside,
			   .msg_controllen = sizeof(beside)};
	ssize_t n = recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *with = n < 0 ? NULL : CMSG_FIRSTHDR(&m);

	if (with) {
		if (*fd >= 0)
			close(*fd);
		memcpy(fd, CMSG_DATA(with), sizeof(*fd));
	}
	return n;
}
