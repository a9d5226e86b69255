/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* disks: what a test of disks needs and busybox lacks: partitions, single commands. */
#include "workload.h"
#include <linux/aio_abi.h>
#include <linux/blkpg.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>

const char usage[] =
	"Usage: disks partition DISK NUMBER SECTOR SECTORS\n"
	"       disks command DISK N\n"
	"       disks adjacent DISK N TIMES\n"
	"       disks at DISK SECTOR SECTORS\n"
	"\n"
	"Add a partition to DISK; pass N inquiries to a SCSI disk; TIMES submit N direct reads of\n"
	"4096 bytes that follow each other, at once, and say so; read at a sector, and print the\n"
	"errno.\n";

#define READ_BYTES 4096
#define READS_MAX  60000 /* fewer than /proc/sys/fs/aio-max-nr */

static char buffer[64 * READ_BYTES] __attribute__((aligned(READ_BYTES)));

static int open_disk(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

static void partition(char **words)
{
	struct blkpg_partition part = {
		.pno = parse_number(words[1], "NUMBER", 1, 15),
		.start = parse_number(words[2], "SECTOR", 0, 1ULL << 40) * 512,
		.length = parse_number(words[3], "SECTORS", 1, 1ULL << 40) * 512,
	};
	struct blkpg_ioctl_arg arg = {
		.op = BLKPG_ADD_PARTITION, .datalen = sizeof(part), .data = &part};

	if (ioctl(open_disk(words[0]), BLKPG, &arg))
		die("BLKPG: %s", strerror(errno));
}

static void command(char **words)
{
	unsigned char inquiry[6] = {0x12, 0, 0, 0, 96, 0};
	int fd = open_disk(words[0]);
	uint64_t n = parse_number(words[1], "N", 1, 1000);

	for (uint64_t i = 0; i < n; i++) {
		sg_io_hdr_t io = {
			.interface_id = 'S',
			.cmd_len = sizeof(inquiry),
			.cmdp = inquiry,
			.dxfer_direction = SG_DXFER_FROM_DEV,
			.dxfer_len = 96,
			.dxferp = buffer,
			.timeout = 10000,
		};

		if (ioctl(fd, SG_IO, &io))
			die("SG_IO: %s", strerror(errno));
	}
}

static void adjacent(char **words)
{
	uint64_t n = parse_number(words[1], "N", 1, READS_MAX),
		 times = parse_number(words[2], "TIMES", 1, 1000);
	static struct iocb iocbs[READS_MAX], *list[READS_MAX];
	static struct io_event events[READS_MAX];
	aio_context_t context = 0;
	int fd = open_disk(words[0]);

	if (syscall(SYS_io_setup, n, &context))
		die("io_setup: %s", strerror(errno));
	for (uint64_t t = 0; t < times; t++) {
		for (uint64_t i = 0; i < n; i++) {
			iocbs[i] = (struct iocb){
				.aio_lio_opcode = IOCB_CMD_PREAD,
				.aio_fildes = fd,
				.aio_buf = (uintptr_t)(buffer + i % 64 * READ_BYTES),
				.aio_nbytes = READ_BYTES,
				.aio_offset = (t * 2 * n + i) * READ_BYTES,
			};
			list[i] = &iocbs[i];
		}
		if (syscall(SYS_io_submit, context, n, list) != (long)n)
			die("io_submit: %s", strerror(errno));
		fprintf(stderr, "disks: submitted\n");
		if (syscall(SYS_io_getevents, context, n, n, events, NULL) != (long)n)
			die("io_getevents: %s", strerror(errno));
	}
}

static void read_at(char **words)
{
	uint64_t sector = parse_number(words[1], "SECTOR", 0, 1ULL << 40),
		 sectors = parse_number(words[2], "SECTORS", 1, sizeof(buffer) / 512);
	ssize_t n = pread(open_disk(words[0]), buffer, sectors * 512, sector * 512);

	fprintf(stderr, "disks: %zd bytes, errno %d\n", n, n < 0 ? errno : 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		void (*run)(char **words);
	} commands[] = {
		{"partition", 4, partition},
		{"command", 2, command},
		{"adjacent", 3, adjacent},
		{"at", 3, read_at},
	};

	help_if_asked(argc, argv);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (argc > 1 && !strcmp(argv[1], commands[i].name) &&
		    argc == 2 + commands[i].arguments) {
			commands[i].run(argv + 2);
			return 0;
		}
	misuse("one of the commands with its arguments");
}
