/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grpc_status.h - how a call of gRPC ended, in an answer of gRPC-Web (grpc/grpc, doc/PROTOCOL-WEB.md and doc/PROTOCOL-HTTP2.md).
 *
 * With HTTP status 200 the call has a status of its own.  It stands among the answer's headers, if there is nothing but the status, or
 * else in the trailers, which are the last frame of the body.
 */
#ifndef PMEM_PUSH_GRPC_STATUS_H
#define PMEM_PUSH_GRPC_STATUS_H
#include <stdbool.h>
#include <stddef.h>

enum { GRPC_STATUS_TEXT = 256 };

/* grpc/grpc, doc/statuscodes.md; there are others. */
enum {
	GRPC_STATUS_OK = 0,
	GRPC_STATUS_INVALID_ARGUMENT = 3,
	GRPC_STATUS_NOT_FOUND = 5,
	GRPC_STATUS_PERMISSION_DENIED = 7,
	GRPC_STATUS_OUT_OF_RANGE = 11,
	GRPC_STATUS_UNIMPLEMENTED = 12,
	GRPC_STATUS_UNAUTHENTICATED = 16,
};

struct grpc_status {
	unsigned code;
	char text[GRPC_STATUS_TEXT]; /* the server's words, "" = none; any bytes */
};

/* From the values of the headers grpc-status and grpc-message; the latter may be NULL.  False: that is no status. */
bool grpc_status_of(struct grpc_status *status, const char *code, const char *message);

/* From the beginning of a body.  False: there is no status in it. */
bool grpc_status_find(struct grpc_status *status, const void *body, size_t size);

#endif
