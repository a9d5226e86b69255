/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* writer-answer: what plumb-writer answers, with the descriptor of a file that it opened. */
#ifndef PLUMB_WRITER_ANSWER_H
#define PLUMB_WRITER_ANSWER_H

#include <stdint.h>
#include <sys/types.h>

struct answer {
	uint32_t number;
	int32_t err; /* 0 or -errno */
};

/* As send(2); FD, if it is not -1, goes with it, and is closed here. */
ssize_t answer_send(int to, const struct answer *a, int fd);

/* As recv(2); a descriptor that came with it takes the place of *FD, which is closed. */
ssize_t answer_receive(int from, struct answer *a, int *fd, int flags);

#endif
