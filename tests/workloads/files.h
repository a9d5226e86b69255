/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files: the operations that the workload of that name makes, and what each of them does. */
#pragma once

#include "ring.h"
#include "workload.h"
#include <linux/aio_abi.h>
#include <sys/sendfile.h>

enum {
	READ,
	WRITE,
	OPEN,
	FSYNC,
	RANGE,
	MMAP,
	SENDFILE,
	SPLICE,
	COPY,
	DIRECTORY,
	MISSING,
	BAD,
	SYNCED,
	DSYNCED,
	UNMAPPED,
	DIRECT_READ,
	DIRECT_WRITE,
	CLOSED,
	COLD,
	WARM,
	URING_READ,
	URING_WRITE,
	URING_FSYNC,
	URING_OPEN,
	AIO_READ,
	AIO_WRITE,
	AIO_FSYNC,
	AIO_DIRECT,
	AIO_BAD_READ,
	AIO_BAD_WRITE,
	AIO_BAD_FSYNC,
	KINDS
};

/* Rows: the size is of the bytes; of 0 bytes it is 0. */
static const struct {
	const char *op, *flags, *error;
	uint64_t count, bytes, size;
} kinds[KINDS] = {
	[READ] = {"read", "-", "0", 53, 3000, 2048},
	[WRITE] = {"write", "-", "0", 41, 5000, 4096},
	[OPEN] = {"open", "-", "0", 23, 0, 0},
	[FSYNC] = {"fsync", "-", "0", 7, 0, 0},
	[RANGE] = {"sync_file_range", "-", "0", 5, 0, 0},
	[MMAP] = {"mmap", "-", "0", 11, 8192, 8192},
	[SENDFILE] = {"sendfile", "-", "0", 13, 1000, 512},
	[SPLICE] = {"splice", "-", "0", 17, 4096, 4096},
	[COPY] = {"copy_file_range", "-", "0", 3, 10000, 8192},
	[DIRECTORY] = {"read", "-", "EISDIR", 2, 0, 0},
	[MISSING] = {"open", "-", "ENOENT", 19, 0, 0},
	[BAD] = {"read", "-", "EBADF", 29, 0, 0},
	[UNMAPPED] = {"mmap", "-", "EINVAL", 13, 0, 0},
	[SYNCED] = {"write", "sync", "0", 5, 5000, 4096},
	[DSYNCED] = {"write", "dsync", "0", 3, 5000, 4096},
	[DIRECT_READ] = {"read", "direct", "0", 31, 4096, 4096},
	[DIRECT_WRITE] = {"write", "direct", "0", 37, 4096, 4096},
	[CLOSED] = {"read", "-", "0", 3, 4096, 4096},
	[COLD] = {"read", "-", "0", 19, 4096, 4096},
	[WARM] = {"read", "-", "0", 19, 4096, 4096},
	[URING_READ] = {"io_uring:read", "-", "0", 43, 3000, 2048},
	[URING_WRITE] = {"io_uring:write", "-", "0", 47, 5000, 4096},
	[URING_FSYNC] = {"io_uring:fsync", "-", "0", 5, 0, 0},
	[URING_OPEN] = {"io_uring:open", "-", "0", 11, 0, 0},
	[AIO_READ] = {"aio:read", "-", "0", 31, 3000, 2048},
	[AIO_WRITE] = {"aio:write", "-", "0", 19, 5000, 4096},
	[AIO_FSYNC] = {"aio:fsync", "-", "0", 3, 0, 0},
	[AIO_DIRECT] = {"aio:read", "direct", "0", 17, 4096, 4096},
	[AIO_BAD_READ] = {"aio:read", "-", "EFAULT", 13, 0, 0},
	[AIO_BAD_WRITE] = {"aio:write", "-", "EFAULT", 11, 0, 0},
	[AIO_BAD_FSYNC] = {"aio:fsync", "-", "EINVAL", 7, 0, 0},
};

static const char *directory;
static bool with_direct, with_uring, with_cold, with_aio, with_skip, with_sqpoll;
struct worker {
	pthread_t thread;
	pid_t tid;
	char comm[16], path[PATH_MAX], shown[PATH_MAX], cold_shown[PATH_MAX];
	volatile char *map; /* of the file */
	int file, other, cold, direct, synced, dsynced, null, dir, pipe[2];
	struct series series[KINDS];
	char *buffer;
	struct ring ring;
	aio_context_t aio;
	uint64_t skipped; /* requests of io_uring without a completion */
};

static bool left_out(int kind)
{
	return (!with_direct && (kind == DIRECT_READ || kind == DIRECT_WRITE)) ||
	       (!with_cold && (kind == COLD || kind == WARM)) ||
	       (!with_uring && kind >= URING_READ && kind <= URING_OPEN) ||
	       (!with_aio && kind >= AIO_READ) || (!with_direct && kind == AIO_DIRECT);
}

/* ---- one operation each; I is its number ---- */

static ssize_t read_one(struct worker *w, uint64_t i)
{
	struct iovec parts[2] = {{w->buffer, 1000}, {w->buffer + 1000, 2000}};

	switch (i % 5) {
	case 0:
		return pread(w->file, w->buffer, 3000, 0);
	case 1:
		lseek(w->file, 0, SEEK_SET);
		return read(w->file, w->buffer, 3000);
	case 2:
		lseek(w->file, 0, SEEK_SET);
		return readv(w->file, parts, 2);
	case 3:
		return preadv(w->file, parts, 2, 0);
	default:
		return preadv2(w->file, parts, 2, 0, 0);
	}
}

static ssize_t write_one(struct worker *w, uint64_t i)
{
	struct iovec parts[2] = {{w->buffer, 1000}, {w->buffer + 1000, 4000}};

	switch (i % 5) {
	case 0:
		return pwrite(w->file, w->buffer, 5000, 0);
	case 1:
		lseek(w->file, 0, SEEK_SET);
		return write(w->file, w->buffer, 5000);
	case 2:
		lseek(w->file, 0, SEEK_SET);
		return writev(w->file, parts, 2);
	case 3:
		return pwritev(w->file, parts, 2, 0);
	default:
		return pwritev2(w->file, parts, 2, 0, 0);
	}
}

static ssize_t open_one(struct worker *w, uint64_t i)
{
	int fd;

#if defined(SYS_open)
	if (i % 4 == 0)
		fd = syscall(SYS_open, w->path, O_RDONLY);
	else if (i % 4 == 1)
		fd = syscall(SYS_creat, w->path + 0, 0644);
	else
#endif
		if (i % 4 == 2)
		fd = open_uncounted(w->path, O_RDONLY);
	else
		fd = syscall(SYS_openat, AT_FDCWD, w->path, O_RDONLY);
	return fd;
}

/* A read that ends without a completion: the kernel uses its memory for the next request. */
static void read_unseen(struct worker *w, struct io_uring_sqe sqe)
{
	sqe.flags = IOSQE_CQE_SKIP_SUCCESS;
	ring_submit(&w->ring, &sqe, 0);
	w->skipped++;
	pause_ns(3000000);
}

static ssize_t by_ring(struct worker *w, int kind, uint64_t *start)
{
	struct io_uring_sqe sqe = {.fd = w->file};

	switch (kind) {
	case URING_READ:
		sqe.opcode = IORING_OP_READ;
		sqe.addr = (uintptr_t)w->buffer;
		sqe.len = 3000;
		if (with_skip)
			read_unseen(w, sqe);
		*start = now_ns();
		break;
	case URING_WRITE:
		sqe.opcode = IORING_OP_WRITE;
		sqe.addr = (uintptr_t)w->buffer;
		sqe.len = 5000;
		break;
	case URING_FSYNC:
		sqe.opcode = IORING_OP_FSYNC;
		break;
	default:
		sqe.opcode = IORING_OP_OPENAT;
		sqe.fd = AT_FDCWD;
		sqe.addr = (uintptr_t)w->path;
	}
	return ring_call(&w->ring, &sqe);
}

static ssize_t by_aio(struct worker *w, int kind)
{
	uint64_t bad_address = 1ULL << 63;
	struct iocb request = {.aio_fildes = kind == AIO_DIRECT ? w->direct : w->file,
			       .aio_lio_opcode = IOCB_CMD_PREAD,
			       .aio_buf = (uintptr_t)w->buffer,
			       .aio_nbytes = kinds[kind].bytes},
		    *requests = &request;
	struct io_event event;

	if (kind == AIO_WRITE || kind == AIO_BAD_WRITE)
		request.aio_lio_opcode = IOCB_CMD_PWRITE;
	if (kind == AIO_BAD_READ || kind == AIO_BAD_WRITE) {
		request.aio_buf = bad_address;
		request.aio_nbytes = 4096;
	}
	if (kind == AIO_FSYNC || kind == AIO_BAD_FSYNC) {
		request.aio_lio_opcode = IOCB_CMD_FSYNC;
		request.aio_buf = 0;
		request.aio_nbytes = kind == AIO_BAD_FSYNC; /* it has to be 0 */
	}
	if (syscall(SYS_io_submit, w->aio, 1, &requests) != 1)
		return -1; /* refused: there is no event */
	if (kind >= AIO_BAD_READ || syscall(SYS_io_getevents, w->aio, 1, 1, &event, NULL) != 1)
		die("aio: %s", strerror(errno));
	if (event.res >= 0)
		return event.res;
	errno = -event.res;
	return -1;
}

static void *close_soon(void *context)
{
	pause_ns(5000000);
	close(*(int *)context);
	return NULL;
}

/*
 * Read by another descriptor, which another thread closes, on a slow disk meanwhile. Its number is
 * one that no other thread opens anything by: a read after that would be of another file.
 */
static ssize_t read_closed(struct worker *w, uint64_t *start)
{
	int fd = fcntl(with_direct ? w->direct : w->file, F_DUPFD_CLOEXEC, 256 + w->file);
	pthread_t closer;
	ssize_t result;
	int error;

	if (fd < 0 || pthread_create(&closer, NULL, close_soon, &fd))
		die("a descriptor, or a thread: %s", strerror(errno));
	*start = now_ns();
	result = pread(fd, w->buffer, 4096, 0);
	error = errno;
	if (pthread_join(closer, NULL))
		die("pthread_join");
	errno = error;
	return result;
}

/* The result of the system call. */
static ssize_t one(struct worker *w, int kind, uint64_t i, uint64_t *start)
{
	void *p;

	switch (kind) {
	case READ:
		return read_one(w, i);
	case WRITE:
		return write_one(w, i);
	case OPEN:
		return open_one(w, i);
	case FSYNC:
		return i % 2 ? fdatasync(w->file) : fsync(w->file);
	case RANGE:
		return sync_file_range(w->file, 0, 8192, SYNC_FILE_RANGE_WRITE);
	case MMAP:
		p = mmap(NULL, 8192, PROT_READ, i % 2 ? MAP_SHARED : MAP_PRIVATE, w->file, 0);
		return p == MAP_FAILED ? -1 : !munmap(p, 8192);
	case SENDFILE:
		return sendfile(w->null, w->file, &(off_t){0}, 1000);
	case SPLICE:
		return splice(w->file, &(loff_t){0}, w->pipe[1], NULL, 4096, 0);
	case COPY:
		return copy_file_range(w->file, &(loff_t){0}, w->other, &(loff_t){0}, 10000, 0);
	case DIRECTORY:
		return read(w->dir, w->buffer, 100);
	case MISSING:
		return open("/nowhere/to be found", O_RDONLY);
	case BAD:
		return read(-1, w->buffer, 100);
	case UNMAPPED: /* a length of 0 */
		return mmap(NULL, 0, PROT_READ, MAP_SHARED, w->file, 0) == MAP_FAILED ? -1 : 0;
	case SYNCED:
		return pwrite(w->synced, w->buffer, 5000, 0);
	case DSYNCED:
		return pwrite(w->dsynced, w->buffer, 5000, 0);
	case DIRECT_READ:
		return pread(w->direct, w->buffer, 4096, 0);
	case DIRECT_WRITE:
		return pwrite(w->direct, w->buffer, 4096, 4096);
	case CLOSED:
		return read_closed(w, start);
	case COLD:
	case WARM:
		return pread(w->cold, w->buffer, 4096, i * 8192);
	case AIO_READ:
	case AIO_WRITE:
	case AIO_FSYNC:
	case AIO_DIRECT:
	case AIO_BAD_READ:
	case AIO_BAD_WRITE:
	case AIO_BAD_FSYNC:
		return by_aio(w, kind);
	default:
		return by_ring(w, kind, start);
	}
}
