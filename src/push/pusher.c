/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pusher.c - see pusher.h.
 *
 * A request that failed is repeated with the same bytes, first after about a second (backoff.h).  What the server says it will never
 * take is given up.  If it would take nothing at all, as with a wrong password, nothing is given up: the next try is when the next state
 * is taken.  Each kind of trouble is said once.
 */
#include "push/pusher.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/units.h"
#include "push/backoff.h"

#define NS_IN_MS UINT64_C(1000000)
#define NS_IN_S UINT64_C(1000000000)

enum { SAID_MAX = 32, END_CHECK_MS = 1000, STOP_MS = 5000 };

struct pusher {
	const struct pusher_options *options;
	struct pusher_result *result;
	struct spool spool;
	struct collect collect;
	struct http *http;
	struct backoff backoff;
	char *head; /* SPOOL_HEAD_MAX bytes: the beginning of the file that is sent */
	FILE *body; /* what is sent now */
	struct spool_item item;
	uint64_t next_round_ns; /* CLOCK_MONOTONIC, as all here; UINT64_MAX = none */
	uint64_t next_try_ns;	/* not before it */
	uint64_t progress_ns;	/* when something was done last */
	uint64_t stop_ns;	/* 0 = it should go on */
	uint64_t announced;	/* losses that were said */
	bool is_away;		/* the last request was not answered well */
	bool is_hopeless;	/* and would not be if it were repeated */
	char *said[SAID_MAX];
	unsigned said_count;
};

/* --- what is said ---------------------------------------------------------------------------- */

static void say(const struct pusher *pusher, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct pusher *pusher, const char *format, ...)
{
	char text[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	pusher->options->say(text);
}

/* True the first time that something of this kind is to be said. */
static bool is_new(struct pusher *pusher, const char *kind)
{
	unsigned i;

	for (i = 0; i < pusher->said_count; i++)
		if (strcmp(pusher->said[i], kind) == 0)
			return false;
	if (pusher->said_count < SAID_MAX) {
		pusher->said[pusher->said_count] = strdup(kind);
		pusher->said_count += pusher->said[pusher->said_count] != NULL;
	}
	return true;
}

static void say_problem(const struct error *err, void *context)
{
	struct pusher *pusher = context;

	if (is_new(pusher, err->text))
		say(pusher, "%s", err->text);
}

/* Each time their number has doubled. */
static void say_losses(struct pusher *pusher)
{
	const struct spool *spool = &pusher->spool;
	char bytes[UNITS_SIZE];

	if (spool->lost_count == 0 || spool->lost_count < pusher->announced * 2)
		return;
	pusher->announced = spool->lost_count;
	say(pusher, "%s: full (--spool-max): %" PRIu64 " of the oldest profiles dropped so far, %s",
	    spool->folder, spool->lost_count, units_bytes(spool->lost_bytes, bytes));
}

static void say_folded(struct pusher *pusher)
{
	if (pusher->collect.folded && is_new(pusher, "folded"))
		say(pusher,
		    "%" PRIu64 " smaller call stacks go as one: the server takes %" PRIu32
		    " (--max-stacks)",
		    pusher->collect.folded, pusher->options->collect.stacks_max);
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* What is new may be taken where the last one was not, or the password has been renewed. */
static void note_round(struct pusher *pusher)
{
	pusher->progress_ns = clock_monotonic_ns();
	if (collect_is_over(&pusher->collect))
		pusher->next_round_ns = UINT64_MAX;
	if (pusher->is_hopeless) {
		pusher->is_hopeless = false;
		pusher->next_try_ns = 0;
	}
	say_losses(pusher);
	say_folded(pusher);
}

static bool do_round(struct pusher *pusher, struct error *err)
{
	uint64_t every = pusher->options->every_ns, now = clock_monotonic_ns();
	bool ok = collect_round(&pusher->collect, err);

	if (every == 0)
		pusher->next_round_ns = UINT64_MAX;
	else
		pusher->next_round_ns += ((now - pusher->next_round_ns) / every + 1) * every;
	note_round(pusher);
	return ok;
}

static void do_due_round(struct pusher *pusher)
{
	struct error err = {""};

	if (pusher->stop_ns || pusher->next_round_ns == UINT64_MAX)
		return;
	if (clock_monotonic_ns() < pusher->next_round_ns) {
		if (collect_ended(&pusher->collect))
			note_round(pusher);
	} else if (!do_round(pusher, &err)) {
		say_problem(&err, pusher);
	}
}

/* --- sending --------------------------------------------------------------------------------- */

/* A file of the spool that is no profile, or cannot be read, must not hold up the others. */
static void give_up_item(struct pusher *pusher, const struct error *err)
{
	say_problem(err, pusher);
	spool_remove(&pusher->spool, pusher->item.number);
	pusher->result->refused_count++;
}

static void close_body(struct pusher *pusher)
{
	if (pusher->body)
		fclose(pusher->body);
	pusher->body = NULL;
	pusher->spool.busy = 0;
}

static void fail_request(struct pusher *pusher, const struct http_answer *answer)
{
	uint64_t random = 0, wait_ms;

	(void)!getrandom(&random, sizeof(random), 0);
	wait_ms = backoff_next(&pusher->backoff, random, answer->retry_after_ms);
	pusher->next_try_ns = clock_monotonic_ns() + wait_ms * NS_IN_MS;
	pusher->is_away = true;
	if (is_new(pusher, "away"))
		say(pusher, "%s: %s; it is tried again", pusher->options->target.url,
		    answer->text.text);
}

static void refuse_request(struct pusher *pusher, const struct error *reason, long status)
{
	char kind[sizeof(reason->text)];

	pusher->is_hopeless = pusher->is_away = true;
	pusher->next_try_ns = UINT64_MAX;
	if (status)
		snprintf(kind, sizeof(kind), "refused %ld", status);
	else
		snprintf(kind, sizeof(kind), "%s", reason->text);
	if (is_new(pusher, kind))
		say(pusher, "%s: %s", pusher->options->target.url, reason->text);
}

static void begin_request(struct pusher *pusher)
{
	struct spool_head head;
	struct http_request request;
	struct error err = {""};
	size_t size, length;

	pusher->body = spool_oldest(&pusher->spool, &pusher->item, &err);
	if (!pusher->body) {
		give_up_item(pusher, &err);
		return;
	}
	size = fread(pusher->head, 1, SPOOL_HEAD_MAX, pusher->body);
	length = spool_head_parse(pusher->head, size, &head);
	if (length == 0 || length > pusher->item.size ||
	    fseek(pusher->body, (long)length, SEEK_SET) != 0) {
		close_body(pusher);
		error_set(&err, "%s: a file that is no profile was taken out", pusher->spool.folder);
		give_up_item(pusher, &err);
		return;
	}
	pusher->spool.busy = pusher->item.number;
	request = (struct http_request){&head, pusher->body, pusher->item.size - length};
	if (http_begin(pusher->http, &request, &err))
		return;
	close_body(pusher);
	refuse_request(pusher, &err, 0);
}

static void note_delivery(struct pusher *pusher)
{
	unsigned i;

	pusher->result->pushed_count++;
	pusher->result->pushed_bytes += pusher->item.size;
	pusher->backoff = (struct backoff){0};
	if (pusher->is_away)
		say(pusher, "%s: takes profiles again", pusher->options->target.url);
	pusher->is_away = false;
	for (i = 0; i < pusher->said_count; i++) {
		if (strcmp(pusher->said[i], "away") != 0)
			continue;
		free(pusher->said[i]);
		pusher->said[i] = pusher->said[--pusher->said_count];
	}
}

static void end_request(struct pusher *pusher, const struct http_answer *answer)
{
	char kind[32];

	close_body(pusher);
	snprintf(kind, sizeof(kind), "refused %ld", answer->status);
	switch (answer->outcome) {
	case HTTP_DELIVERED:
		spool_remove(&pusher->spool, pusher->item.number);
		note_delivery(pusher);
		break;
	case HTTP_BAD_PROFILE:
		spool_remove(&pusher->spool, pusher->item.number);
		pusher->result->refused_count++;
		if (is_new(pusher, kind))
			say(pusher, "%s: %s; the profile was dropped", pusher->options->target.url,
			    answer->text.text);
		break;
	case HTTP_LATER:
		fail_request(pusher, answer);
		return;
	case HTTP_BAD_REQUEST:
		refuse_request(pusher, &answer->text, answer->status);
		return;
	}
	pusher->progress_ns = clock_monotonic_ns();
	pusher->next_try_ns = 0;
}

/* --- the loop -------------------------------------------------------------------------------- */

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&poll_fd, 1, 0) > 0;
}

static bool is_done(const struct pusher *pusher, uint64_t now)
{
	if (pusher->stop_ns && (now >= pusher->stop_ns || pusher->is_away))
		return true;
	if (pusher->next_round_ns != UINT64_MAX && !pusher->stop_ns)
		return false;
	if (pusher->spool.count == 0)
		return true;
	return pusher->is_hopeless ||
	       (pusher->is_away && now >= pusher->progress_ns + pusher->options->give_up_ns);
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

static uint64_t wait_ms(const struct pusher *pusher, uint64_t now)
{
	uint64_t until = now + END_CHECK_MS * NS_IN_MS;

	if (!pusher->stop_ns)
		until = earlier(until, pusher->next_round_ns);
	if (!http_is_busy(pusher->http) && pusher->spool.count > 0)
		until = earlier(until, pusher->next_try_ns);
	if (pusher->stop_ns)
		until = earlier(until, pusher->stop_ns);
	return until > now ? (until - now) / NS_IN_MS + 1 : 0;
}

static void work(struct pusher *pusher)
{
	int stop = pusher->stop_ns ? -1 : pusher->options->stop;
	struct http_answer answer;
	uint64_t now = clock_monotonic_ns();

	if (!http_is_busy(pusher->http) && pusher->spool.count > 0 && now >= pusher->next_try_ns)
		begin_request(pusher);
	if (http_work(pusher->http, stop, wait_ms(pusher, now), &answer))
		end_request(pusher, &answer);
	if (!pusher->stop_ns && is_readable(pusher->options->stop)) {
		pusher->stop_ns = clock_monotonic_ns() + STOP_MS * NS_IN_MS;
		pusher->is_away = pusher->is_away && !http_is_busy(pusher->http);
	}
}

static void loop(struct pusher *pusher)
{
	while (!is_done(pusher, clock_monotonic_ns())) {
		do_due_round(pusher);
		work(pusher);
	}
}

/* --------------------------------------------------------------------------------------------- */

static bool open_all(struct pusher *pusher, struct error *err)
{
	const struct pusher_options *options = pusher->options;

	if (!spool_open(&pusher->spool, options->spool, options->target.protocol, err))
		return false;
	pusher->spool.bytes_max = options->spool_max;
	pusher->head = malloc(SPOOL_HEAD_MAX);
	if (!pusher->head)
		return error_set(err, "no memory");
	pusher->http = http_open(&options->target, &options->http, err);
	return pusher->http != NULL;
}

static void close_all(struct pusher *pusher)
{
	struct pusher_result *result = pusher->result;
	bool is_repeatable = pusher->options->every_ns == 0; /* from the same profile */
	unsigned i;

	http_close(pusher->http);
	close_body(pusher);
	result->left_count = pusher->spool.count;
	result->lost_count = pusher->spool.lost_count;
	result->lost_bytes = pusher->spool.lost_bytes;
	result->is_stopped = pusher->stop_ns != 0;
	result->is_temporary = pusher->spool.is_temporary;
	if (pusher->spool.folder && !(pusher->spool.is_temporary && is_repeatable))
		snprintf(result->spool, sizeof(result->spool), "%s", pusher->spool.folder);
	spool_close(&pusher->spool, pusher->spool.count == 0 || is_repeatable);
	collect_free(&pusher->collect);
	for (i = 0; i < pusher->said_count; i++)
		free(pusher->said[i]);
	free(pusher->head);
}

bool pusher_run(const struct pusher_options *options, struct pusher_result *result,
		struct error *err)
{
	struct pusher pusher = {.options = options, .result = result, .spool = {.lock = -1}};
	bool ok;

	*result = (struct pusher_result){0};
	pusher.collect = (struct collect){.options = &options->collect,
					  .spool = &pusher.spool,
					  .problem = say_problem,
					  .context = &pusher};
	pusher.next_round_ns = pusher.progress_ns = clock_monotonic_ns();
	ok = open_all(&pusher, err);
	if (options->drain)
		pusher.next_round_ns = UINT64_MAX;
	else if (ok)
		ok = do_round(&pusher, err);
	if (ok) {
		result->nothing_new = !options->drain && pusher.collect.added == 0;
		loop(&pusher);
	}
	close_all(&pusher);
	return ok;
}
