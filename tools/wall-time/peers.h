/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* peers: the other ends of sockets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <plumb/core/run.h>
#include <plumb/syscalls/peers.h>

/*
 * Writes to TEXT what the socket with KEY in wall_peers is connected to: "10.0.0.5:5432",
 * "bash/412", or, of one that was accepted, "clients of port 80"; "": it is not known.  PID has the
 * socket.  Returns whether it was accepted.
 */
bool peer_text(const struct plumb_run *run, uint64_t key, uint32_t pid, char *text, size_t size);

/*
 * The process of this machine at the other end of a connection over a loopback address; of several,
 * the WAKER of process PID; else 0.
 */
void peer_process(const struct plumb_run *run, uint64_t key, uint32_t pid, uint32_t waker,
		  struct plumb_peer *process);
