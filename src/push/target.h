/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.h - the server that profiles go to, and how it wants them.
 */
#ifndef PMEM_PUSH_TARGET_H
#define PMEM_PUSH_TARGET_H
#include <stdbool.h>

#include "base/error.h"

enum target_protocol {
	TARGET_PYROSCOPE,	 /* push.v1.PusherService/Push, the Connect protocol */
	TARGET_PYROSCOPE_INGEST, /* /ingest, multipart, as Pyroscope's SDKs do */
	TARGET_PARCA,		 /* ProfileStoreService/WriteRaw, gRPC-Web */
	TARGET_OTLP,		 /* OpenTelemetry profiles, v1development */
	TARGET_PROTOCOLS,
};

struct target {
	enum target_protocol protocol;
	char *url;	   /* with the protocol's path; without query */
	bool is_encrypted; /* https */
	bool is_local;	   /* on this machine: what is sent does not leave it */
};

/* "pyroscope" and so on. */
const char *target_protocol_name(enum target_protocol protocol);
bool target_protocol_find(const char *name, enum target_protocol *protocol);

/* What the server does with alloc_*: true if it adds up what is pushed, so that it must be what came since the last push. */
bool target_wants_deltas(enum target_protocol protocol);

/* The largest number of call stacks that the server takes unless it is told otherwise; 0 = any. */
unsigned target_stack_limit(enum target_protocol protocol);

/* url is that of the server, below which the protocol's path is added unless it ends with it; to is the protocol's name, NULL = it
 * follows from the path or the port.  False: no such URL, or one with a password, which others would see in the list of
 * processes. */
bool target_parse(struct target *target, const char *url, const char *to, struct error *err);
void target_free(struct target *target);

#endif
