/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client.c - puts load on server.c: several connections at once, then asks the server to end.
 *
 *   client PORT [REQUESTS [RATE]]      REQUESTS on each connection, default 5000, at most
 *                                      RATE a second there, default as many as it can
 *
 * One request in RARE_EVERY logs in with an expired token.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 8, RARE_EVERY = 200, KEYS = 600, REQUESTS = 5000, LINE_SIZE = 8192 };
enum { BURST = 20 }; /* requests between two looks at the clock */

struct load {
	pthread_t thread;
	unsigned number;
	unsigned failed;
};

static struct sockaddr_in server;
static unsigned request_limit = REQUESTS;
static unsigned rate_limit; /* 0 = none */

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* A stream for reading and one for writing; the server is up, so a refusal is an error. */
static void open_connection(FILE **in, FILE **out)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof(server)) != 0)
		fail("client: connect");
	*in = fdopen(fd, "r");
	*out = fdopen(dup(fd), "w");
	if (!*in || !*out)
		fail("client");
}

/* A step of a linear congruential generator: the same requests in every run. */
static unsigned next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void write_request(FILE *out, unsigned i, uint32_t *random)
{
	unsigned key = next_random(random) % KEYS;

	if (i % RARE_EVERY == RARE_EVERY / 2)
		fprintf(out, "LOGIN expired-%u\n", next_random(random));
	else if (i % RARE_EVERY == 0)
		fprintf(out, "LOGIN valid-%u\n", next_random(random));
	else if (i % 50 == 7)
		fprintf(out, "STATS\n");
	else if (i % 4 == 1)
		fprintf(out, "PUT key%u %0*u\n", key, 20 + (int)(next_random(random) % 180), i);
	else
		fprintf(out, "GET key%u\n", key);
	fflush(out);
}

/* Waits until request i is due. */
static void keep_rate(const struct timespec *start, unsigned i)
{
	uint64_t due_ns = (uint64_t)i * 1000000000 / rate_limit + (uint64_t)start->tv_nsec;
	struct timespec due = {.tv_sec = start->tv_sec + (time_t)(due_ns / 1000000000),
			       .tv_nsec = (long)(due_ns % 1000000000)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static void *run_load(void *argument)
{
	struct load *load = argument;
	uint32_t random = load->number;
	struct timespec start;
	char line[LINE_SIZE];
	FILE *in, *out;

	open_connection(&in, &out);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned i = 0; i < request_limit; i++) {
		if (rate_limit && i % BURST == 0)
			keep_rate(&start, i);
		write_request(out, i, &random);
		if (!fgets(line, sizeof(line), in) || strncmp(line, "ERROR", 5) == 0)
			load->failed++;
	}
	fprintf(out, "QUIT\n");
	fclose(out);
	fclose(in);
	return NULL;
}

static void ask_for_shutdown(void)
{
	char line[LINE_SIZE];
	FILE *in, *out;

	open_connection(&in, &out);
	fprintf(out, "SHUTDOWN\n");
	fflush(out);
	if (!fgets(line, sizeof(line), in))
		fail("client: shutdown");
	fclose(out);
	fclose(in);
}

int main(int argc, char **argv)
{
	struct load loads[CONNECTIONS] = {0};
	unsigned failed = 0;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "usage: client PORT [REQUESTS [RATE]]\n");
		return 2;
	}
	server.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
	if (argc >= 3)
		request_limit = (unsigned)strtoul(argv[2], NULL, 10);
	if (argc == 4)
		rate_limit = (unsigned)strtoul(argv[3], NULL, 10);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		loads[i].number = i;
		if (pthread_create(&loads[i].thread, NULL, run_load, &loads[i]) != 0)
			fail("client");
	}
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		pthread_join(loads[i].thread, NULL);
		failed += loads[i].failed;
	}
	ask_for_shutdown();
	printf("client: %u connections, %u requests each, %u failed\n", CONNECTIONS, request_limit,
	       failed);
	return failed != 0;
}
