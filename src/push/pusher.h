/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pusher.h - takes states of processes at regular times, and brings them to the server in their order.
 *
 * One thread: while a request is under way, or the server is away, states are taken all the same, and wait in the spool.
 */
#ifndef PMEM_PUSH_PUSHER_H
#define PMEM_PUSH_PUSHER_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "push/collect.h"
#include "push/http.h"
#include "push/target.h"

struct pusher_options {
	struct target target;
	struct http_options http;
	struct collect_options collect;
	const char *spool; /* folder; NULL = one for this run */
	uint64_t spool_max;
	uint64_t every_ns;   /* 0 = once */
	uint64_t give_up_ns; /* how long the server may be away when there is nothing else to do */
	bool drain;	     /* only what is in the spool */
	int stop;	     /* a descriptor that becomes readable when it should end; -1 = none */
	void (*say)(const char *text); /* one line about what goes wrong, or is well again */
};

struct pusher_result {
	uint64_t pushed_count;
	uint64_t pushed_bytes;
	uint64_t refused_count; /* the server will never take them */
	uint64_t lost_count;	/* there was no room in the spool */
	uint64_t lost_bytes;
	uint64_t left_count; /* are still in the spool */
	bool nothing_new;    /* all was pushed before */
	bool is_stopped;     /* from outside */
	char spool[1024];    /* its folder, which stays; "" = none */
	bool is_temporary;   /* it has no name that was given */
};

/* Until all is done, or it should stop.  False: it could not begin. */
bool pusher_run(const struct pusher_options *options, struct pusher_result *result,
		struct error *err);

#endif
