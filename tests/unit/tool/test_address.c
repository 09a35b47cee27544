/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_address.c - addresses to listen on, and the names by which a server may be asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/address.h"

static struct address parse(const char *text, uint16_t port)
{
	struct address address;
	struct error err;

	assert_true(address_parse(text, port, &address, &err));
	return address;
}

static void test_addresses(void **state)
{
	struct address address = parse("127.0.0.1", 80);
	struct error err;

	(void)state;
	assert_string_equal(address.host, "127.0.0.1");
	assert_true(address.is_local && !address.is_any);
	address = parse("127.255.0.9", 80);
	assert_true(address.is_local);
	address = parse("192.0.2.1", 80);
	assert_false(address.is_local || address.is_any);
	address = parse("0.0.0.0", 80);
	assert_true(!address.is_local && address.is_any);
	address = parse("::1", 80);
	assert_string_equal(address.host, "[::1]");
	assert_true(address.is_local);
	address = parse("2001:db8:0::1", 80);
	assert_string_equal(address.host, "[2001:db8::1]");
	address = parse("::", 80);
	assert_true(address.is_any);
	assert_false(address_parse("localhost", 80, &address, &err));
	assert_string_equal(err.text, "localhost: no IP address");
	assert_false(address_parse("", 80, &address, &err));
	assert_false(address_parse("127.0.0.1:80", 80, &address, &err));
}

static void check_hosts(const struct address *address, const char *const *hosts, bool expected)
{
	for (; *hosts; hosts++)
		if (address_is_host(address, *hosts) != expected)
			fail_msg("%s", *hosts);
}

static void test_hosts(void **state)
{
	static const char *const mine[] = {"127.0.0.1:4711", "localhost:4711", "LOCALHOST:4711",
					   "[::1]:4711",     "192.0.2.1:4711", NULL};
	static const char *const others[] = {"127.0.0.1",
					     "127.0.0.1:471",
					     "127.0.0.1:47110",
					     "127.0.0.1:4711 ",
					     "127.0.0.1:+4711",
					     "127.0.0.1:",
					     ":4711",
					     "",
					     "a:4711",
					     "[::1]",
					     "::1:4711",
					     "[::1:4711",
					     "localhost.:4711",
					     "192.0.2.2:4711",
					     "127.0.0.1:4711:4711",
					     NULL};
	struct address address = parse("192.0.2.1", 4711);

	(void)state;
	check_hosts(&address, mine, true);
	check_hosts(&address, others, false);
}

/* Without a port it is that of HTTP. */
static void test_the_port_of_http(void **state)
{
	static const char *const mine[] = {"127.0.0.1", "localhost:80", "[::1]", NULL};
	struct address address = parse("127.0.0.1", 80);

	(void)state;
	check_hosts(&address, mine, true);
}

static void test_all_addresses(void **state)
{
	static const char *const mine[] = {"198.51.100.3:9", "[2001:db8::7]:9", "localhost:9", NULL};
	static const char *const others[] = {"example.org:9", "[x]:9", "[]:9", "1.2.3:9", NULL};
	struct address address = parse("::", 9);

	(void)state;
	check_hosts(&address, mine, true);
	check_hosts(&address, others, false);
}

static void test_listening(void **state)
{
	struct address first = parse("127.0.0.1", 0), second;
	char expected[64];
	struct error err;
	int fd, other;

	(void)state;
	assert_true(address_listen(&first, &fd, &err));
	assert_int_not_equal(first.port, 0);
	second = parse("127.0.0.1", first.port);
	assert_false(address_listen(&second, &other, &err));
	snprintf(expected, sizeof(expected), "127.0.0.1 port %u: Address already in use",
		 first.port);
	assert_string_equal(err.text, expected);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),	 cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_the_port_of_http), cmocka_unit_test(test_all_addresses),
		cmocka_unit_test(test_listening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
