/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * body.c - the bodies that are a pprof profile in an envelope: Pyroscope's and Parca's.
 *
 * Pyroscope, push.v1.PusherService/Push (api/push/v1/push.proto, api/types/v1/types.proto):
 *   PushRequest { repeated RawProfileSeries series = 1 }
 *   RawProfileSeries { repeated LabelPair labels = 1; repeated RawSample samples = 2 }
 *   LabelPair { string name = 1; string value = 2 }   RawSample { bytes raw_profile = 1; string ID = 2 }
 * as a unary call of the Connect protocol: POST, Content-Type application/proto.
 * Pyroscope, /ingest: multipart/form-data with the parts profile and sample_type_config, and name, from, until and spyName in the
 * query.  There is no format=pprof: with it the server takes the whole body for a profile (pkg/ingester/pyroscope, ingest_handler.go).
 * Parca, parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw (proto/parca/profilestore/v1alpha1/profilestore.proto):
 *   WriteRawRequest { repeated RawProfileSeries series = 2 }
 *   RawProfileSeries { LabelSet labels = 1; repeated RawSample samples = 2 }
 *   LabelSet { repeated Label labels = 1 }   Label { string name = 1; string value = 2 }   RawSample { bytes raw_profile = 1 }
 * as a unary call of gRPC-Web (grpc/grpc, doc/PROTOCOL-WEB.md): POST, the message in a frame.  Parca's own page speaks it to the same
 * port (pkg/server/server.go, grpcHandlerFunc()).  Its JSON gateway is no way: it is mounted at /api without taking that off the path,
 * so that /profiles/writeraw is never found.
 */
#include "push/body.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/protobuf.h"
#include "push/spool.h"

/* What the metric is called by which the profile's types are found: "memory:inuse_space:bytes:space:bytes". */
#define PROFILE_NAME "memory"

#define MESSAGE_LIMIT ((size_t)1 << 31)

enum { REQUEST_SERIES = 1, WRITE_RAW_SERIES = 2 };
enum { SERIES_LABELS = 1, SERIES_SAMPLES = 2 };
enum { LABEL_SET_LABELS = 1, LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { SAMPLE_PROFILE = 1, SAMPLE_ID = 2 };

char *body_pprof(const struct body *body, size_t *size, struct error *err)
{
	char *bytes = NULL;
	FILE *file = open_memstream(&bytes, size);
	bool ok;

	if (!file) {
		error_set_errno(err, "the profile");
		return NULL;
	}
	ok = export_pprof(&body->source, file, err);
	if (ok && ferror(file))
		ok = error_set(err, "no memory for the profile");
	if (fclose(file) != 0 && ok)
		ok = error_set(err, "no memory for the profile");
	if (ok)
		return bytes;
	free(bytes);
	return NULL;
}

const char *body_uuid(const struct body *body, char text[BODY_UUID_SIZE])
{
	const uint8_t *id = body->id;
	size_t used = 0, i;

	for (i = 0; i < BODY_ID_SIZE; i++) {
		uint8_t byte = id[i];

		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[used++] = '-';
		if (i == 6)
			byte = (byte & 0x0f) | 0x40;
		if (i == 8)
			byte = (byte & 0x3f) | 0x80;
		used += (size_t)snprintf(text + used, BODY_UUID_SIZE - used, "%02x", byte);
	}
	return text;
}

/* --- Pyroscope ------------------------------------------------------------------------------- */

static void put_label(struct protobuf *list, uint32_t field, const char *name, const char *value)
{
	struct protobuf label = protobuf_new(MESSAGE_LIMIT);

	protobuf_text(&label, LABEL_NAME, name);
	protobuf_text(&label, LABEL_VALUE, value);
	protobuf_message(list, field, &label);
	protobuf_free(&label);
}

/* alloc_* are differences already: __delta__ keeps the server from taking them again. */
static void put_labels(struct protobuf *series, const struct labels *labels)
{
	unsigned i;

	put_label(series, SERIES_LABELS, "__name__", PROFILE_NAME);
	put_label(series, SERIES_LABELS, "__delta__", "false");
	for (i = 0; i < labels->count; i++)
		put_label(series, SERIES_LABELS, labels->items[i].name, labels->items[i].value);
}

bool body_pyroscope(const struct body *body, FILE *file, struct error *err)
{
	struct protobuf series = protobuf_new(MESSAGE_LIMIT), sample = protobuf_new(MESSAGE_LIMIT);
	struct protobuf request = protobuf_new(MESSAGE_LIMIT);
	char uuid[BODY_UUID_SIZE];
	size_t size;
	char *pprof = body_pprof(body, &size, err);
	bool ok = pprof != NULL;

	if (ok) {
		protobuf_bytes(&sample, SAMPLE_PROFILE, pprof, size);
		protobuf_text(&sample, SAMPLE_ID, body_uuid(body, uuid));
		put_labels(&series, body->labels);
		protobuf_message(&series, SERIES_SAMPLES, &sample);
		protobuf_message(&request, REQUEST_SERIES, &series);
		ok = !request.failed || error_set(err, "the profile is too large, or no memory");
	}
	if (ok) {
		spool_head_write(file, &(struct spool_head){"application/proto", "", ""});
		fwrite(request.bytes, 1, request.size, file);
	}
	protobuf_free(&sample);
	protobuf_free(&series);
	protobuf_free(&request);
	free(pprof);
	return ok;
}

/* --- Pyroscope, /ingest ---------------------------------------------------------------------- */

/* For a query: what is not allowed in a URL as it is, is there as %XX (RFC 3986). */
static void put_encoded(FILE *file, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (; *at; at++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", *at))
			fputc(*at, file);
		else
			fprintf(file, "%%%02X", *at);
}

/* The grammar has no escapes (api/model/labelset): a character that would end a value, or that a service may not have, becomes _. */
static void put_plain(FILE *file, const char *text, const char *allowed, const char *refused)
{
	char one[2] = "";

	for (; *text; text++) {
		one[0] = *text;
		if ((allowed && !strchr(allowed, *text)) || strchr(refused, *text))
			one[0] = '_';
		put_encoded(file, one);
	}
}

/* service{name=value,...} */
static void put_series_name(FILE *file, const struct labels *labels)
{
	static const char
		allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/";
	const char *service = labels_find(labels, "service_name"), *between = "%7B";
	unsigned i;

	put_plain(file, service ? service : "unknown", allowed, "");
	for (i = 0; i < labels->count; i++) {
		if (strcmp(labels->items[i].name, "service_name") == 0)
			continue;
		fputs(between, file);
		put_encoded(file, labels->items[i].name);
		fputs("%3D", file);
		put_plain(file, labels->items[i].value, NULL, "{},");
		between = "%2C";
	}
	fputs(between[2] == 'C' ? "%7D" : "%7B%7D", file);
}

/* To be freed; NULL: no memory. */
static char *ingest_query(const struct body *body)
{
	char *query = NULL;
	size_t size;
	FILE *file = open_memstream(&query, &size);

	if (!file)
		return NULL;
	fputs("name=", file);
	put_series_name(file, body->labels);
	fprintf(file, "&from=%" PRIu64 "&until=%" PRIu64 "&spyName=pmem", body->from_ns,
		body->until_ns);
	if (fclose(file) == 0)
		return query;
	free(query);
	return NULL;
}

/* As Pyroscope's SDK for Go says it of the same types: no type is cumulative. */
static const char sample_types[] =
	"{\"alloc_objects\":{\"units\":\"objects\",\"cumulative\":false},"
	"\"alloc_space\":{\"units\":\"bytes\",\"cumulative\":false},"
	"\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\",\"cumulative\":false}"
	","
	"\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\",\"cumulative\":false}}";

static void put_part(FILE *file, const char *boundary, const char *name, const char *file_name)
{
	fprintf(file,
		"--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n",
		boundary, name, file_name);
}

bool body_pyroscope_ingest(const struct body *body, FILE *file, struct error *err)
{
	char uuid[BODY_UUID_SIZE], type[96];
	char *query = ingest_query(body);
	size_t size;
	char *pprof = query ? body_pprof(body, &size, err) : NULL;

	if (!query)
		return error_set(err, "no memory for the profile's labels");
	if (pprof) {
		body_uuid(body, uuid);
		snprintf(type, sizeof(type), "multipart/form-data; boundary=%s", uuid);
		spool_head_write(file, &(struct spool_head){type, "", query});
		put_part(file, uuid, "profile", "profile.pprof");
		fwrite(pprof, 1, size, file);
		fputs("\r\n", file);
		put_part(file, uuid, "sample_type_config", "sample_type_config.json");
		fprintf(file, "%s\r\n--%s--\r\n", sample_types, uuid);
	}
	free(query);
	free(pprof);
	return pprof != NULL;
}

/* --- Parca ----------------------------------------------------------------------------------- */

static void put_label_set(struct protobuf *series, const struct labels *labels)
{
	struct protobuf set = protobuf_new(MESSAGE_LIMIT);
	unsigned i;

	put_label(&set, LABEL_SET_LABELS, "__name__", PROFILE_NAME);
	for (i = 0; i < labels->count; i++)
		put_label(&set, LABEL_SET_LABELS, labels->items[i].name, labels->items[i].value);
	protobuf_message(series, SERIES_LABELS, &set);
	protobuf_free(&set);
}

/* A byte of flags, of which none is set, and the length, the highest byte first. */
static void put_frame(FILE *file, const struct protobuf *message)
{
	uint32_t size = (uint32_t)message->size; /* MESSAGE_LIMIT */
	const uint8_t head[] = {0, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
				(uint8_t)(size >> 8), (uint8_t)size};

	fwrite(head, 1, sizeof(head), file);
	fwrite(message->bytes, 1, message->size, file);
}

bool body_parca(const struct body *body, FILE *file, struct error *err)
{
	struct protobuf series = protobuf_new(MESSAGE_LIMIT), sample = protobuf_new(MESSAGE_LIMIT);
	struct protobuf request = protobuf_new(MESSAGE_LIMIT);
	size_t size;
	char *pprof = body_pprof(body, &size, err);
	bool ok = pprof != NULL;

	if (ok) {
		protobuf_bytes(&sample, SAMPLE_PROFILE, pprof, size);
		put_label_set(&series, body->labels);
		protobuf_message(&series, SERIES_SAMPLES, &sample);
		protobuf_message(&request, WRITE_RAW_SERIES, &series);
		ok = !request.failed || error_set(err, "the profile is too large, or no memory");
	}
	if (ok) {
		spool_head_write(file, &(struct spool_head){"application/grpc-web+proto", "", ""});
		put_frame(file, &request);
	}
	protobuf_free(&sample);
	protobuf_free(&series);
	protobuf_free(&request);
	free(pprof);
	return ok;
}

/* --------------------------------------------------------------------------------------------- */

bool body_write(const struct body *body, enum target_protocol protocol, FILE *file,
		struct error *err)
{
	static bool (*const write[TARGET_PROTOCOLS])(const struct body *, FILE *, struct error *) = {
		[TARGET_PYROSCOPE] = body_pyroscope,
		[TARGET_PYROSCOPE_INGEST] = body_pyroscope_ingest,
		[TARGET_PARCA] = body_parca,
		[TARGET_OTLP] = body_otlp,
	};

	return write[protocol](body, file, err);
}
