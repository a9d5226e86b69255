/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/files/writer.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/privileges.h>
#include <plumb/files/append-file.h>
#include <plumb/files/folder.h>

#define MAX_FILES 8
#define MAX_DATA  (1 << 16)
#define PATIENCE  10 /* s, for an answer: its disk may hang, or it was stopped */

enum verb { BEGIN, DATA, END, REMOVE, OPEN };

/* What the tool sends, one message each; DATA is followed by bytes, and has no answer. */
struct request {
	uint32_t verb, file;
	uint32_t number; /* from 1 */
	uint32_t most;   /* END: as of plumb_atomic_file_rotate() */
	int32_t err;     /* END */
};

struct answer {
	uint32_t number;
	int32_t err; /* 0 or -errno */
};

/* What holds one descriptor beside a message. */
union beside {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static struct {
	const char *paths[MAX_FILES];
	size_t n;
	uint64_t capabilities;
	int to; /* a socket */
	pid_t pid;
	uint32_t asked, answered;
	int failed; /* of the file that is being sent */
	int opened; /* a descriptor that came with an answer */
} writer = {.to = -1, .opened = -1};

/* --- in the writer --- */

/* The file that is being written, and those that were. */
static struct {
	struct plumb_atomic_file file;
	bool is_open;
	int err; /* the first failure */
	struct stat now;
	struct stat written[MAX_FILES];
} of = {};

static int begin(const char *path)
{
	int err;

	/* The tool has given up the one before. */
	if (of.is_open)
		plumb_atomic_file_end(&of.file, -ECANCELED);
	err = plumb_atomic_file_begin(&of.file, path);
	of.is_open = !err;
	of.err = 0;
	return err;
}

static void put(const char *data, size_t size)
{
	if (of.is_open && !of.err && fwrite(data, 1, size, of.file.out) != size)
		of.err = -(errno ?: EIO);
}

static int end(uint32_t file, int err, unsigned int most)
{
	struct stat st = {};

	if (!of.is_open)
		return -EBADF;
	of.is_open = false;
	err = err ?: of.err;
	if (!err && most)
		err = plumb_atomic_file_rotate(&of.file, most);
	if (!err && !of.file.as_it_is && fstat(fileno(of.file.out), &st))
		err = -errno;
	err = plumb_atomic_file_end(&of.file, err);
	if (!err)
		of.written[file] = st;
	return err;
}

static int remove_written(uint32_t i)
{
	const struct stat *written = &of.written[i];
	struct plumb_atomic_file file;
	int err = 0;

	if (!written->st_ino || plumb_atomic_file_find(&file, writer.paths[i]))
		return 0;
	if (plumb_is_same_file(&file.was, written) && unlinkat(file.dir, file.name, 0))
		err = -errno;
	plumb_atomic_file_end(&file, -ECANCELED);
	return err;
}

/* FD, if it is not -1, goes with it. */
static ssize_t answer_to(int to, const struct answer *a, int fd)
{
	union beside beside = {.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct iovec data = {(void *)a, sizeof(*a)};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&beside.header), &fd, sizeof(fd));
		m.msg_control = &beside;
		m.msg_controllen = sizeof(beside);
	}
	return sendmsg(to, &m, MSG_NOSIGNAL);
}

/* Until the tool closes its end, or sends what it cannot mean. */
static void serve(int from)
{
	static struct {
		struct request is;
		char data[MAX_DATA];
	} m;
	struct answer answer;
	ssize_t n;
	int fd;

	while ((n = recv(from, &m, sizeof(m), 0)) >= (ssize_t)sizeof(m.is) &&
	       m.is.file < writer.n) {
		if (m.is.verb == DATA) {
			put(m.data, n - sizeof(m.is));
			continue;
		}
		fd = m.is.verb == OPEN ? plumb_append_file_open(writer.paths[m.is.file]) : -1;
		answer.number = m.is.number;
		answer.err = m.is.verb == BEGIN    ? begin(writer.paths[m.is.file])
			     : m.is.verb == END    ? end(m.is.file, m.is.err, m.is.most)
			     : m.is.verb == REMOVE ? remove_written(m.is.file)
			     : m.is.verb == OPEN   ? (fd < 0 ? fd : 0)
						   : -EINVAL;
		n = answer_to(from, &answer, fd);
		if (fd >= 0)
			close(fd);
		if (n < 0)
			break;
	}
	if (of.is_open)
		plumb_atomic_file_end(&of.file, -ECANCELED);
}

/* As execve(2) does; /dev/fd/N may be an output. */
static bool close_what_is_not_inherited(int but)
{
	DIR *all = opendir("/proc/self/fd");
	uint64_t fd;
	int flags;

	for (struct dirent *entry; all && (entry = readdir(all));) {
		if (plumb_parse_u64(entry->d_name, 0, INT_MAX, &fd) || (int)fd == but ||
		    (int)fd == dirfd(all))
			continue;
		flags = fcntl(fd, F_GETFD);
		if (flags > 0 && flags & FD_CLOEXEC)
			close(fd);
	}
	return all && !closedir(all);
}

static void be_writer(int from, pid_t tool, int (*confine)(void))
{
	const struct answer ready = {0};
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "plumb-writer");
	if (getppid() != tool)
		_exit(1);
	/* The last file is written after the signal that ends the tool. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	plumb_verbosity = 0;
	plumb_retain_nothing();
	plumb_retain(writer.capabilities,
		     PLUMB_CALLS_WRITE | PLUMB_CALLS_CREATE | PLUMB_CALLS_REPLACE, "files");
	if (close_what_is_not_inherited(from) && !confine() &&
	    answer_to(from, &ready, -1) == sizeof(ready))
		serve(from);
	_exit(0);
}

/* --- in the tool --- */

void plumb_writer_add(const char *path, uint64_t capabilities)
{
	size_t i = 0;

	while (i < writer.n && strcmp(writer.paths[i], path) != 0)
		i++;
	if (i == MAX_FILES)
		abort();
	writer.paths[i] = path;
	writer.n += i == writer.n;
	/* A user writes where he may himself, whatever his tool may. */
	writer.capabilities |= getuid() ? 0 : capabilities;
}

static int cannot_start(int err)
{
	return plumb_error(err, "cannot start plumb-writer: %s", strerror(err));
}

/*
 * The answer to the last request: 0 or -errno; -EOWNERDEAD: it was killed, -ETIMEDOUT: there is
 * none.  A descriptor that comes with it takes the place of the one before.
 */
static int hear(int flags)
{
	struct answer answer = {0};
	struct iovec data = {&answer, sizeof(answer)};
	const struct cmsghdr *with;
	union beside beside;
	ssize_t n;

	do {
		struct msghdr m = {.msg_iov = &data,
				   .msg_iovlen = 1,
				   .msg_control = &beside,
				   .msg_controllen = sizeof(beside)};

		n = recvmsg(writer.to, &m, flags | MSG_CMSG_CLOEXEC);
		with = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
		if (with && writer.opened >= 0)
			close(writer.opened);
		if (with)
			memcpy(&writer.opened, CMSG_DATA(with), sizeof(writer.opened));
	} while ((n < 0 && errno == EINTR) ||
		 (n == sizeof(answer) && answer.number != writer.asked));
	if (n < 0 && errno == EAGAIN)
		return -ETIMEDOUT;
	if (n != sizeof(answer))
		return -EOWNERDEAD;
	writer.answered = writer.asked;
	return answer.err;
}

int plumb_writer_start(int (*confine)(void))
{
	const struct timeval patience = {.tv_sec = PATIENCE};
	const pid_t tool = getpid();
	int ends[2];

	if (!writer.n)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ||
	    setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    (writer.pid = fork()) < 0) {
		writer.pid = 0;
		return cannot_start(errno);
	}
	if (!writer.pid)
		be_writer(ends[0], tool, confine);
	close(ends[0]);
	writer.to = ends[1];
	return hear(0) ? cannot_start(EOWNERDEAD) : 0;
}

void plumb_writer_stop(void)
{
	if (!writer.pid)
		return;
	close(writer.to);
	writer.to = -1;
	/* One that was stopped ends with the tool. */
	for (int i = 0; i < PATIENCE * 100 && writer.asked == writer.answered; i++) {
		if (waitpid(writer.pid, NULL, WNOHANG))
			break;
		usleep(10000);
	}
	writer.pid = 0;
}

/* Its number; -1: none. */
static int number(const char *path)
{
	for (size_t i = 0; writer.pid && i < writer.n; i++)
		if (!strcmp(writer.paths[i], path))
			return i;
	return -1;
}

bool plumb_writer_has(const char *path)
{
	return number(path) >= 0;
}

/* As hear(). */
static int tell(const struct request *r, const char *data, size_t size)
{
	struct iovec parts[] = {{(void *)r, sizeof(*r)}, {(void *)data, size}};
	const struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;

	do
		n = sendmsg(writer.to, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n >= 0 ? 0 : errno == EAGAIN ? -ETIMEDOUT : -EOWNERDEAD;
}

/* It is waited for once: then not until it has answered. */
static int ask(struct request *r)
{
	int err = writer.asked == writer.answered ? 0 : hear(MSG_DONTWAIT);

	if (writer.asked != writer.answered)
		return err;
	r->number = writer.asked + 1;
	err = tell(r, NULL, 0);
	if (err)
		return err;
	writer.asked = r->number;
	return hear(0);
}

static ssize_t send_data(void *cookie, const char *data, size_t size)
{
	const struct request r = {.verb = DATA};
	const size_t n = size < MAX_DATA ? size : MAX_DATA;

	writer.failed = writer.failed ?: tell(&r, data, n);
	errno = -writer.failed;
	return writer.failed ? 0 : n;
}

int plumb_writer_begin(struct plumb_atomic_file *r, const char *path)
{
	struct request request = {.verb = BEGIN, .file = number(path)};
	int err = ask(&request);

	writer.failed = 0;
	*r = (struct plumb_atomic_file){.dir = -1, .writer = request.file + 1};
	if (!err && !(r->out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = send_data})))
		err = -ENOMEM;
	if (err)
		r->writer = 0;
	return err;
}

int plumb_writer_end(struct plumb_atomic_file *r, int err)
{
	struct request request = {.verb = END, .file = r->writer - 1, .most = r->most};

	errno = 0;
	if ((fflush(r->out) || ferror(r->out)) && !err)
		err = -(errno ?: EOWNERDEAD);
	fclose(r->out);
	request.err = err;
	/* What has not taken the data does not take this either. */
	err = writer.failed ?: ask(&request) ?: err;
	*r = (struct plumb_atomic_file){.dir = -1};
	return err;
}

int plumb_writer_remove(const char *path)
{
	struct request request = {.verb = REMOVE, .file = number(path)};

	return plumb_writer_has(path) ? ask(&request) : 0;
}

int plumb_writer_open(const char *path)
{
	struct request request = {.verb = OPEN, .file = number(path)};
	int err = ask(&request), fd = writer.opened;

	writer.opened = -1;
	if (err && fd >= 0)
		close(fd);
	return err ?: fd < 0 ? -EOWNERDEAD : fd;
}
