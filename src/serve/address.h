/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.h - where the server listens, and by which names it is asked for.
 */
#ifndef PMEM_SERVE_ADDRESS_H
#define PMEM_SERVE_ADDRESS_H
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

struct address {
	struct sockaddr_storage socket;
	socklen_t size;
	char host[INET6_ADDRSTRLEN + 2]; /* as in an address: "127.0.0.1", "[::1]" */
	uint16_t port;
	bool is_local; /* other machines cannot reach it */
	bool is_any;   /* all of the machine's addresses */
};

/* Of an IP address; port 0 = any that is free. */
bool address_parse(const char *text, uint16_t port, struct address *address, struct error *err);

/* A socket that listens there, in *fd; sets port. */
bool address_listen(struct address *address, int *fd, struct error *err);

/* True if a Host header (RFC 9110, section 7.2) names this server: 127.0.0.1, localhost, [::1] or the address itself, with its port.  A
 * web page of somebody else that makes a browser ask here under its own name (DNS rebinding) is told so.  If it listens on all addresses, any
 * IP address will do: that takes no name. */
bool address_is_host(const struct address *address, const char *host);

#endif
