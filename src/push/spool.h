/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spool.h - a folder in which profiles wait for the server.
 *
 * Each is a file of its own, complete under its name or not there: NUMBER.PROTOCOL, whose first line says how it goes to the server
 * and whose rest is the request's body, byte for byte, so that it is the same each time it is sent.  Beside them are the bases
 * (base.h), PROCESS.NUMBER.base: one counts if no profile of that number had still to be written when the pusher ended.
 * All together take a limited number of bytes; the oldest profiles make room.  One pusher holds the folder at a time.
 */
#ifndef PMEM_PUSH_SPOOL_H
#define PMEM_PUSH_SPOOL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "push/base.h"
#include "push/target.h"

struct spool_item {
	uint64_t number;
	uint64_t size;
};

struct spool {
	char *folder;
	bool is_temporary; /* made for this run, without a name given */
	enum target_protocol protocol;
	int lock;	   /* descriptor; -1 = not locked */
	uint64_t since_ns; /* CLOCK_REALTIME: when the folder became a spool */
	uint64_t bytes_max;
	uint64_t bytes;
	struct spool_item *items; /* the oldest first */
	uint32_t count;
	uint32_t capacity;
	uint64_t next;	     /* number of the next profile */
	uint64_t busy;	     /* number of the one that is being sent, which stays; 0 = none */
	uint64_t lost_count; /* that made room */
	uint64_t lost_bytes;
};

/* Makes the folder if it is not there; folder NULL = one for this run, in $TMPDIR.  What an earlier pusher left is taken over.  False: it
 * cannot be used, another pusher does, or it holds profiles for another protocol. */
bool spool_open(struct spool *spool, const char *folder, enum target_protocol protocol,
		struct error *err);

/* A temporary folder is removed if remove is true. */
void spool_close(struct spool *spool, bool remove);

/* Which process a base is of: "4711-17a2b3c4d5e6f708-1". */
enum { SPOOL_KEY_SIZE = 64 };

/* What was pushed last of the process; base is empty if nothing was, or if the file is damaged, which err then says. */
bool spool_base(const struct spool *spool, const char *key, struct base *base, struct error *err);

/* The first line of a profile's file. */
struct spool_head {
	const char *type;     /* Content-Type */
	const char *encoding; /* Content-Encoding; "" = none */
	const char *query;    /* of the URL; "" = none */
};

enum { SPOOL_HEAD_MAX = 64 * 1024 };

/* One profile on its way into the spool. */
struct spool_entry {
	const char *key;
	const struct base *base;
	/* Writes the first line, by spool_head_write(), and the body. */
	bool (*write)(FILE *file, void *context, struct error *err);
	void *context;
};

/* Adds a profile and its base; bytes receives the profile's size.  False: both are not there, and what was is as it was. */
bool spool_add(struct spool *spool, const struct spool_entry *entry, uint64_t *bytes,
	       struct error *err);

/* Forgets bases of profiles that are gone: keep() is false for their keys. */
void spool_forget(const struct spool *spool, bool (*keep)(const char *key, void *context),
		  void *context);

/* Opens the oldest profile for reading, to be closed.  NULL: there is none, or it cannot be read, which err then says. */
FILE *spool_oldest(struct spool *spool, struct spool_item *item, struct error *err);

/* Takes a profile out, delivered or not. */
void spool_remove(struct spool *spool, uint64_t number);

bool spool_head_write(FILE *file, const struct spool_head *head);

/* Takes the first line apart, in text, which is changed; size is what of the file lies there.  Returns its length with the newline;
 * 0 = it is none. */
size_t spool_head_parse(char *text, size_t size, struct spool_head *head);

#endif
