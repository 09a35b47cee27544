/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.c - see address.h.
 */
#include "serve/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BACKLOG = 128, HTTP_PORT = 80 };

static void set_v4(struct address *address, uint16_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&address->socket;
	uint32_t number = ntohl(in->sin_addr.s_addr);

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	address->size = sizeof(*in);
	address->is_local = number >> 24 == IN_LOOPBACKNET;
	address->is_any = number == INADDR_ANY;
	inet_ntop(AF_INET, &in->sin_addr, address->host, sizeof(address->host));
}

static void set_v6(struct address *address, uint16_t port)
{
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)&address->socket;
	char text[INET6_ADDRSTRLEN];

	in->sin6_family = AF_INET6;
	in->sin6_port = htons(port);
	address->size = sizeof(*in);
	address->is_local = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
	address->is_any = IN6_IS_ADDR_UNSPECIFIED(&in->sin6_addr);
	inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text));
	snprintf(address->host, sizeof(address->host), "[%s]", text);
}

bool address_parse(const char *text, uint16_t port, struct address *address, struct error *err)
{
	*address = (struct address){.port = port};
	if (inet_pton(AF_INET, text, &((struct sockaddr_in *)&address->socket)->sin_addr) == 1)
		set_v4(address, port);
	else if (inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&address->socket)->sin6_addr) ==
		 1)
		set_v6(address, port);
	else
		return error_set(err, "%s: no IP address", text);
	return true;
}

static bool bind_and_listen(int fd, const struct address *address)
{
	int yes = 1;

	/* A port whose last connections are still dying is free. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	return bind(fd, (const struct sockaddr *)&address->socket, address->size) == 0 &&
	       listen(fd, BACKLOG) == 0;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage bound = {0};
	socklen_t size = sizeof(bound);

	getsockname(fd, (struct sockaddr *)&bound, &size);
	return ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
						 : ((struct sockaddr_in *)&bound)->sin_port);
}

bool address_listen(struct address *address, int *fd, struct error *err)
{
	int made = socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (made < 0)
		return error_set_errno(err, "%s", address->host);
	if (!bind_and_listen(made, address)) {
		error_set_errno(err, "%s port %u", address->host, address->port);
		close(made);
		return false;
	}
	address->port = port_of(made);
	*fd = made;
	return true;
}

/* Splits "host:port".  False: malformed. */
static bool split(const char *text, char *host, size_t size, unsigned long *port)
{
	const char *bracket = text[0] == '[' ? strchr(text, ']') : NULL;
	const char *colon = strchr(bracket ? bracket : text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);

	if (length == 0 || length >= size)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	*port = HTTP_PORT;
	if (!colon)
		return true;
	if (strspn(colon + 1, "0123456789") != strlen(colon + 1) || strlen(colon + 1) > 5 ||
	    !colon[1])
		return false;
	*port = strtoul(colon + 1, NULL, 10);
	return true;
}

static bool is_ip_address(const char *host)
{
	struct in6_addr number;
	char inner[INET6_ADDRSTRLEN + 2];
	size_t length = strlen(host);

	if (inet_pton(AF_INET, host, &number) == 1)
		return true;
	if (host[0] != '[' || host[length - 1] != ']' || length >= sizeof(inner))
		return false;
	snprintf(inner, sizeof(inner), "%.*s", (int)length - 2, host + 1);
	return inet_pton(AF_INET6, inner, &number) == 1;
}

bool address_is_host(const struct address *address, const char *host)
{
	char name[64];
	unsigned long port;

	if (!split(host, name, sizeof(name), &port) || port != address->port)
		return false;
	return strcmp(name, "127.0.0.1") == 0 || strcasecmp(name, "localhost") == 0 ||
	       strcmp(name, "[::1]") == 0 || strcasecmp(name, address->host) == 0 ||
	       (address->is_any && is_ip_address(name));
}
