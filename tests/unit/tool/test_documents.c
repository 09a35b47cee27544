/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_documents.c - who asks for the same gets the same, made once; what changes something is made for each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "serve/documents.h"

static unsigned suspended, resumed, woken, released;

static void count_suspended(struct waiter *waiter)
{
	(void)waiter;
	suspended++;
}

static void count_resumed(struct waiter *waiter)
{
	assert_non_null(waiter->answer);
	resumed++;
}

static void count_woken(void *argument)
{
	(void)argument;
	woken++;
}

static void count_released(void *kept)
{
	(void)kept;
	released++;
}

static struct documents *begin(void)
{
	struct documents_calls calls = {count_suspended, count_resumed, count_woken, NULL,
					count_released};
	struct documents *documents = documents_new(&calls);

	assert_non_null(documents);
	suspended = resumed = woken = released = 0;
	return documents;
}

static const struct route page = {.kind = ROUTE_PAGE, .id = "a"};

static void publish(struct documents *documents, unsigned status)
{
	struct document *document = documents_next(documents);

	assert_non_null(document);
	documents_publish(documents, document, rendered_text(status, "text"), documents_now());
}

static void test_made_once(void **state)
{
	struct documents *documents = begin();
	struct waiter waiters[3];
	struct rendered *answer;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_null(documents_ask(documents, &page, &waiters[i]));
	assert_true(suspended == 3 && woken == 1 && resumed == 0);
	publish(documents, 200);
	assert_null(documents_next(documents));
	assert_int_equal(resumed, 3);
	/* For a while. */
	answer = documents_ask(documents, &page, &waiters[0]);
	assert_true(answer == waiters[1].answer && suspended == 3);
	assert_int_equal(documents_made(documents), 1);
	rendered_release(answer);
	for (int i = 0; i < 3; i++)
		rendered_release(waiters[i].answer);
	documents_free(documents);
}

static void test_failures_are_not_kept(void **state)
{
	struct documents *documents = begin();
	struct waiter waiter;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_null(documents_ask(documents, &page, &waiter));
		publish(documents, 404);
		assert_int_equal(waiter.answer->status, 404);
		rendered_release(waiter.answer);
	}
	assert_null(documents_ask(documents, &page, &waiter));
	documents_publish(documents, documents_next(documents), NULL, documents_now());
	assert_int_equal(waiter.answer->status, 503);
	rendered_release(waiter.answer);
	documents_free(documents);
}

static void test_in_the_order_of_asking(void **state)
{
	struct route routes[3] = {page, page, page};
	struct documents *documents = begin();
	struct waiter waiters[3];
	struct document *document;

	(void)state;
	for (int i = 0; i < 3; i++) {
		routes[i].id[0] = (char)('c' - i);
		assert_null(documents_ask(documents, &routes[i], &waiters[i]));
	}
	for (int i = 0; i < 3; i++) {
		document = documents_next(documents);
		assert_string_equal(document->route.id, routes[i].id);
		documents_publish(documents, document, rendered_text(200, "text"), documents_now());
		rendered_release(waiters[i].answer);
	}
	documents_free(documents);
}

static void test_changes_are_for_each(void **state)
{
	struct route remember = {.kind = ROUTE_REMEMBER, .id = "a"};
	struct documents *documents = begin();
	struct waiter waiters[9];
	struct rendered *answer;

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_null(documents_ask(documents, &remember, &waiters[i]));
	/* No more than some at a time. */
	answer = documents_ask(documents, &remember, &waiters[8]);
	assert_int_equal(answer->status, 503);
	rendered_release(answer);
	for (int i = 0; i < 8; i++)
		publish(documents, 201);
	assert_int_equal(resumed, 8);
	assert_null(documents_next(documents));
	for (int i = 0; i < 8; i++)
		rendered_release(waiters[i].answer);
	documents_free(documents);
}

static void test_postponed(void **state)
{
	struct route seconds = {.kind = ROUTE_HEAP, .seconds = 5};
	struct documents *documents = begin();
	struct document *document;
	struct waiter waiter;

	(void)state;
	assert_null(documents_ask(documents, &seconds, &waiter));
	document = documents_next(documents);
	document->kept = &seconds;
	documents_postpone(documents, document, documents_now() + UINT64_C(3600000000000));
	assert_null(documents_next(documents));
	documents_postpone(documents, document, documents_now());
	assert_ptr_equal(documents_next(documents), document);
	documents_postpone(documents, document, documents_now() + UINT64_C(3600000000000));
	documents_stop(documents);
	assert_int_equal(waiter.answer->status, 503);
	rendered_release(waiter.answer);
	documents_free(documents);
	assert_int_equal(released, 1);
}

static void test_stopped(void **state)
{
	struct documents *documents = begin();
	struct waiter waiters[2];
	struct rendered *answer;

	(void)state;
	assert_null(documents_ask(documents, &page, &waiters[0]));
	documents_stop(documents);
	assert_int_equal(resumed, 1);
	assert_int_equal(waiters[0].answer->status, 503);
	answer = documents_ask(documents, &page, &waiters[1]);
	assert_int_equal(answer->status, 503);
	rendered_release(answer);
	rendered_release(waiters[0].answer);
	documents_free(documents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_once),
		cmocka_unit_test(test_failures_are_not_kept),
		cmocka_unit_test(test_in_the_order_of_asking),
		cmocka_unit_test(test_changes_are_for_each),
		cmocka_unit_test(test_postponed),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
