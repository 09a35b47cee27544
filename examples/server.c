/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * server.c - a small key-value server on 127.0.0.1 for script/demo: it has a memory problem.
 *
 *   server PORT-FILE      listens on a free port and writes its number into PORT-FILE
 *
 * Line protocol, one thread for each connection:
 *
 *   LOGIN token           OK | EXPIRED
 *   PUT key value         OK
 *   GET key               VALUE value | NONE
 *   STATS                 STATS requests keys
 *   QUIT                  BYE, closes the connection
 *   SHUTDOWN              BYE, ends the server once all connections are closed
 *
 * The store holds a bounded number of values, requests come and go: a healthy server's memory stays
 * level.  One kind of request, which is rare, makes it grow for ever.  Which function does it stands
 * in the file CULPRIT.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	KEY_SLOTS = 1024, /* the store keeps at most this many values */
	LINE_SIZE = 8192,
	REPORT_SIZE = 2048,
};

struct value {
	char *key;
	char *text;
};

/* Remembered for the audit of refused logins. */
struct refused_login {
	struct refused_login *next;
	time_t time;
	char *token;
	char report[REPORT_SIZE];
};

struct connection {
	FILE *in;
	FILE *out;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_less = PTHREAD_COND_INITIALIZER;
static struct value store[KEY_SLOTS];	     /* under lock */
static struct refused_login *refused_logins; /* under lock */
static unsigned key_count;		     /* under lock */
static unsigned connection_count;	     /* under lock */
static bool stopping;			     /* under lock */
static atomic_ulong request_count;
static int listener;

static void *must(void *p)
{
	if (!p) {
		perror("server");
		exit(1);
	}
	return p;
}

static struct value *slot_of(const char *key)
{
	unsigned hash = 5381;

	for (const char *c = key; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	return &store[hash % KEY_SLOTS];
}

/* A new key in a used slot takes the place of the old one: the store is a cache. */
static void store_put(const char *key, const char *text)
{
	struct value fresh = {.key = must(strdup(key)), .text = must(strdup(text))};
	struct value old;
	struct value *slot = slot_of(key);

	pthread_mutex_lock(&lock);
	old = *slot;
	*slot = fresh;
	if (!old.key)
		key_count++;
	pthread_mutex_unlock(&lock);
	free(old.key);
	free(old.text);
}

/* A copy of the value, or NULL. */
static char *store_get(const char *key)
{
	const struct value *slot = slot_of(key);
	char *copy = NULL;

	pthread_mutex_lock(&lock);
	if (slot->key && strcmp(slot->key, key) == 0)
		copy = must(strdup(slot->text));
	pthread_mutex_unlock(&lock);
	return copy;
}

/* The planted problem: nothing ever reads or shortens the list.  Not inlined, so that it has an entry
 * of its own in the ELF symbol table, which is where the log takes names from. */
static __attribute__((noinline)) void note_refused_login(const char *token)
{
	struct refused_login *login = must(malloc(sizeof(*login)));

	login->time = time(NULL);
	login->token = must(strdup(token));
	snprintf(login->report, sizeof(login->report), "refused: token %s has expired", token);
	pthread_mutex_lock(&lock);
	login->next = refused_logins;
	refused_logins = login;
	pthread_mutex_unlock(&lock);
}

static void answer_login(struct connection *connection, const char *token)
{
	if (strncmp(token, "expired-", 8) == 0) {
		note_refused_login(token);
		fprintf(connection->out, "EXPIRED\n");
		return;
	}
	fprintf(connection->out, "OK\n");
}

static void answer_get(struct connection *connection, const char *key)
{
	char *text = store_get(key);

	if (text)
		fprintf(connection->out, "VALUE %s\n", text);
	else
		fprintf(connection->out, "NONE\n");
	free(text);
}

static void answer_stats(struct connection *connection)
{
	unsigned keys;

	pthread_mutex_lock(&lock);
	keys = key_count;
	pthread_mutex_unlock(&lock);
	fprintf(connection->out, "STATS %lu %u\n", atomic_load(&request_count), keys);
}

/* Stops the wait for new connections, which are then refused. */
static void begin_shutdown(void)
{
	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_mutex_unlock(&lock);
	shutdown(listener, SHUT_RDWR);
}

/* Returns false when the connection is to be closed. */
static bool answer(struct connection *connection, char *line)
{
	char *rest = line;
	const char *verb = strsep(&rest, " ");
	const char *argument = rest ? strsep(&rest, " ") : "";
	bool go_on = true;

	if (strcmp(verb, "LOGIN") == 0) {
		answer_login(connection, argument);
	} else if (strcmp(verb, "PUT") == 0) {
		store_put(argument, rest ? rest : "");
		fprintf(connection->out, "OK\n");
	} else if (strcmp(verb, "GET") == 0) {
		answer_get(connection, argument);
	} else if (strcmp(verb, "STATS") == 0) {
		answer_stats(connection);
	} else if (strcmp(verb, "QUIT") == 0 || strcmp(verb, "SHUTDOWN") == 0) {
		if (*verb == 'S')
			begin_shutdown();
		fprintf(connection->out, "BYE\n");
		go_on = false;
	} else {
		fprintf(connection->out, "ERROR unknown request\n");
	}
	return fflush(connection->out) == 0 && go_on;
}

static void *serve(void *argument)
{
	struct connection *connection = argument;
	char *line = must(malloc(LINE_SIZE));
	bool go_on = true;

	while (go_on && fgets(line, LINE_SIZE, connection->in)) {
		char *request;

		line[strcspn(line, "\r\n")] = '\0';
		request = must(strdup(line));
		atomic_fetch_add(&request_count, 1);
		go_on = answer(connection, request);
		free(request);
	}
	free(line);
	fclose(connection->in);
	fclose(connection->out);
	free(connection);
	pthread_mutex_lock(&lock);
	connection_count--;
	pthread_cond_signal(&one_less);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void accept_connection(int fd)
{
	struct connection *connection = must(malloc(sizeof(*connection)));
	pthread_t thread;

	connection->in = must(fdopen(fd, "r"));
	connection->out = must(fdopen(dup(fd), "w"));
	pthread_mutex_lock(&lock);
	connection_count++;
	pthread_mutex_unlock(&lock);
	if (pthread_create(&thread, NULL, serve, connection) != 0)
		must(NULL);
	pthread_detach(thread);
}

/* Returns once SHUTDOWN was asked for and every connection is closed. */
static void accept_connections(void)
{
	bool stop = false;

	while (!stop) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			accept_connection(fd);
		pthread_mutex_lock(&lock);
		stop = stopping;
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	while (connection_count)
		pthread_cond_wait(&one_less, &lock);
	pthread_mutex_unlock(&lock);
}

/* Returns the port. */
static unsigned listen_on_loopback(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(addr);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, size) != 0 ||
	    listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr *)&addr, &size) != 0)
		must(NULL);
	return ntohs(addr.sin_port);
}

/* By rename: who waits for the file never reads half a number. */
static void write_port(const char *path, unsigned port)
{
	char draft[4096];
	FILE *file;

	snprintf(draft, sizeof(draft), "%s.new", path);
	file = must(fopen(draft, "w"));
	fprintf(file, "%u\n", port);
	if (fclose(file) != 0 || rename(draft, path) != 0)
		must(NULL);
}

static void empty_store(void)
{
	for (size_t i = 0; i < KEY_SLOTS; i++) {
		free(store[i].key);
		free(store[i].text);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: server PORT-FILE\n");
		return 2;
	}
	write_port(argv[1], listen_on_loopback());
	accept_connections();
	empty_store();
	printf("server: %lu requests served\n", atomic_load(&request_count));
	return 0;
}
