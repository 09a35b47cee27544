/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * body.h - a process's state as the body of a request, for each protocol.
 */
#ifndef PMEM_PUSH_BODY_H
#define PMEM_PUSH_BODY_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "export/export.h"
#include "push/labels.h"
#include "push/target.h"

enum { BODY_ID_SIZE = 16 };

struct body {
	const struct labels *labels;
	struct export_source source; /* its profile is that of a struct state */
	uint64_t from_ns;	     /* CLOCK_REALTIME: what the profile covers */
	uint64_t until_ns;
	uint8_t id[BODY_ID_SIZE]; /* random: tells a profile that is pushed again from another one */
};

/* Writes the first line of a spooled profile (spool_head_write()) and the body.  Errors of the file are the caller's to see. */
bool body_write(const struct body *body, enum target_protocol protocol, FILE *file,
		struct error *err);

/* One for each protocol, all but the choice. */
bool body_pyroscope(const struct body *body, FILE *file, struct error *err);
bool body_pyroscope_ingest(const struct body *body, FILE *file, struct error *err);
bool body_parca(const struct body *body, FILE *file, struct error *err);
bool body_otlp(const struct body *body, FILE *file, struct error *err);

/* The profile as pprof, compressed, to be freed; NULL: failed. */
char *body_pprof(const struct body *body, size_t *size, struct error *err);

/* "xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx" (RFC 9562). */
enum { BODY_UUID_SIZE = 37 };
const char *body_uuid(const struct body *body, char text[BODY_UUID_SIZE]);

#endif
