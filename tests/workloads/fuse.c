// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fuse: a file system in user space, with one file, whose server takes a known time. */
#include "workload.h"
#include <linux/fuse.h>
#include <sys/mount.h>

const char usage[] =
	"Usage: fuse DIR MS\n"
	"Mount a file system on DIR, and serve it. Its only file, DIR/file, is not cached; each\n"
	"read, write and fsync of it takes at least MS ms.\n"
	"Gates: ready, end.\n";

#define FILE_ID   2
#define FILE_SIZE (16 << 20)
#define MOST      65536 /* bytes of a read or write */

static struct {
	struct fuse_in_header head;
	char rest[MOST + 4096];
} request;

static struct {
	struct fuse_out_header head;
	char rest[MOST];
} answer;

static int device;
static uint64_t delay;

static struct fuse_attr attributes(uint64_t id)
{
	return (struct fuse_attr){
		.ino = id,
		.size = id == FILE_ID ? FILE_SIZE : 0,
		.mode = id == FILE_ID ? S_IFREG | 0644 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

/* Return the number of bytes in answer.rest; negative: an error. */
static int serve_attributes(void)
{
	struct fuse_attr_out out = {.attr_valid = 60, .attr = attributes(request.head.nodeid)};

	memcpy(answer.rest, &out, sizeof(out));
	return sizeof(out);
}

static int serve_lookup(void)
{
	struct fuse_entry_out out = {.nodeid = FILE_ID,
				     .entry_valid = 60,
				     .attr_valid = 60,
				     .attr = attributes(FILE_ID)};

	if (strcmp(request.rest, "file"))
		return -ENOENT;
	memcpy(answer.rest, &out, sizeof(out));
	return sizeof(out);
}

static int serve_open(void)
{
	struct fuse_open_out out = {.fh = 1, .open_flags = FOPEN_DIRECT_IO};

	memcpy(answer.rest, &out, sizeof(out));
	return sizeof(out);
}

static int serve_init(void)
{
	struct fuse_init_out out = {.major = 7, .minor = 31, .max_write = MOST, .time_gran = 1};

	memcpy(answer.rest, &out, sizeof(out));
	return sizeof(out);
}

static int serve_data(void)
{
	const struct fuse_read_in *in = (const void *)request.rest;
	struct fuse_write_out out = {.size = in->size};

	pause_ns(delay);
	switch (request.head.opcode) {
	case FUSE_READ:
		return in->size <= MOST ? (int)in->size : -EINVAL;
	case FUSE_WRITE:
		memcpy(answer.rest, &out, sizeof(out));
		return sizeof(out);
	default:
		return 0;
	}
}

static int serve_one(void)
{
	switch (request.head.opcode) {
	case FUSE_INIT:
		return serve_init();
	case FUSE_LOOKUP:
		return serve_lookup();
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		return serve_attributes();
	case FUSE_OPEN:
		return serve_open();
	case FUSE_READ:
	case FUSE_WRITE:
	case FUSE_FSYNC:
		return serve_data();
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return 0;
	default:
		return -ENOSYS;
	}
}

static void *serve(void *unused)
{
	int n;

	while (syscall(SYS_read, device, &request, sizeof(request)) > 0) {
		memset(answer.rest, 0, sizeof(answer.rest));
		if (request.head.opcode == FUSE_FORGET ||
		    request.head.opcode == FUSE_BATCH_FORGET ||
		    request.head.opcode == FUSE_INTERRUPT)
			continue; /* no answer */
		n = serve_one();
		answer.head.unique = request.head.unique;
		answer.head.error = n < 0 ? n : 0;
		answer.head.len = sizeof(answer.head) + (n > 0 ? n : 0);
		if (syscall(SYS_write, device, &answer, (size_t)answer.head.len) < 0 &&
		    errno != ENOENT)
			die("/dev/fuse: %s", strerror(errno));
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t server;
	char options[128];

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("2 arguments");
	delay = parse_number(argv[2], "MS", 0, 10000) * 1000000;
	device = open_uncounted("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0) {
		fprintf(stderr, "/dev/fuse: %s\n", strerror(errno));
		return WORKLOAD_SKIP;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (mount("plumb", argv[1], "fuse", MS_NODEV | MS_NOSUID, options)) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return WORKLOAD_SKIP;
	}
	if (pthread_create(&server, NULL, serve, NULL))
		die("pthread_create");
	reached("ready");
	gate("end");
	umount2(argv[1], MNT_DETACH);
	return 0;
}
