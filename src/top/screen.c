/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.c - the terminal, by ncurses.
 *
 * ncurses keeps its handlers for SIGTSTP and SIGWINCH: it restores the terminal before the program stops, and asks for its size after it
 * changed.  These and the signals that end the program are blocked but while a key is waited for: none comes in the middle of drawing,
 * none between a look at what came and the wait.
 */
#define NCURSES_WIDECHAR 1
#include "top/screen.h"

#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "base/utf8.h"

enum { CONTROL_L = 0x0c, ESCAPE = 0x1b, ESCAPE_MS = 25, RESTORE_SIZE = 256 };

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
static const int bugs[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

enum { ENDING = sizeof(ending) / sizeof(ending[0]), BUGS = sizeof(bugs) / sizeof(bugs[0]) };

static SCREEN *screen;
static bool is_utf8;
static struct sigaction ending_before[ENDING];
static struct sigaction bugs_before[BUGS];
static volatile sig_atomic_t signal_number;
static sigset_t mask_before;

/* What a handler may use to restore the terminal. */
static struct termios modes_before;
static char restore[RESTORE_SIZE];
static size_t restore_size;

/* --- signals --------------------------------------------------------------------------------- */

static void note(int number)
{
	signal_number = number;
}

static void restore_and_die(int number)
{
	ssize_t ignored = write(STDOUT_FILENO, restore, restore_size);

	(void)ignored;
	tcsetattr(STDIN_FILENO, TCSANOW, &modes_before);
	/* The handler is gone by SA_RESETHAND, and the signal is blocked until it returns. */
	raise(number);
}

static void add_restore(const char *capability)
{
	const char *text = tigetstr(capability);
	size_t size;

	if (!text || text == (const char *)-1)
		return;
	size = strlen(text);
	if (restore_size + size > sizeof(restore))
		return;
	memcpy(restore + restore_size, text, size);
	restore_size += size;
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < ENDING; i++)
		sigaddset(&set, ending[i]);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, &mask_before);
}

/* Before newterm(): it takes only signals that have no handler. */
static void catch_signals(void)
{
	const struct sigaction noting = {.sa_handler = note};
	const struct sigaction restoring = {.sa_handler = restore_and_die,
					    .sa_flags = (int)SA_RESETHAND};

	signal_number = 0;
	restore_size = 0;
	tcgetattr(STDIN_FILENO, &modes_before);
	for (unsigned i = 0; i < ENDING; i++) {
		sigaction(ending[i], NULL, &ending_before[i]);
		/* nohup(1) wants it so. */
		if (ending_before[i].sa_handler != SIG_IGN)
			sigaction(ending[i], &noting, NULL);
	}
	for (unsigned i = 0; i < BUGS; i++)
		sigaction(bugs[i], &restoring, &bugs_before[i]);
	block_signals();
}

static void release_signals(void)
{
	for (unsigned i = 0; i < ENDING; i++)
		sigaction(ending[i], &ending_before[i], NULL);
	for (unsigned i = 0; i < BUGS; i++)
		sigaction(bugs[i], &bugs_before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

int screen_signal(void)
{
	return signal_number;
}

/* --- begin and end --------------------------------------------------------------------------- */

static bool wants_colors(void)
{
	const char *no_color = getenv("NO_COLOR");

	return has_colors() && !(no_color && *no_color);
}

static void set_modes(void)
{
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	if (wants_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_YELLOW, -1);
	}
	add_restore("sgr0");
	add_restore("cnorm");
	add_restore("rmkx");
	add_restore("rmcup");
}

bool screen_begin(struct error *err)
{
	const char *term = getenv("TERM");

	catch_signals();
	screen = newterm(NULL, stdout, stdin);
	if (screen && tigetstr("cup") && tigetstr("cup") != (const char *)-1) {
		is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
		set_modes();
		return true;
	}
	if (screen) {
		endwin();
		delscreen(screen);
		screen = NULL;
	}
	release_signals();
	return error_set(err, "TERM=%s: no terminal whose cursor can be moved; use --batch",
			 term ? term : "");
}

void screen_end(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	release_signals();
}

/* --- output ---------------------------------------------------------------------------------- */

void screen_size(struct view *view)
{
	int height, width;

	getmaxyx(stdscr, height, width);
	view->width = width > 0 ? (unsigned)width : 1;
	view->height = height > 0 ? (unsigned)height : 1;
}

static attr_t attributes_of(enum view_style style)
{
	switch (style) {
	case VIEW_TITLE:
		return A_BOLD;
	case VIEW_WARNING:
		return wants_colors() ? COLOR_PAIR(1) : A_BOLD;
	case VIEW_HEAD:
		return A_UNDERLINE;
	case VIEW_DIM:
		return A_DIM;
	case VIEW_SELECTED:
		return A_REVERSE;
	default:
		return A_NORMAL;
	}
}

/* The character at text, moved past; one that the locale lacks, or that has no width of its own, is '?'. */
static wchar_t next_character(const char **text)
{
	const unsigned char *bytes = (const unsigned char *)*text;
	unsigned length = utf8_length(*text);
	wchar_t character = bytes[0];

	*text += length ? length : 1;
	if (bytes[0] < 0x80)
		return character;
	if (!is_utf8 || !length)
		return L'?';
	character = bytes[0] & (0x7f >> length);
	for (unsigned i = 1; i < length; i++)
		character = character << 6 | (bytes[i] & 0x3f);
	return wcwidth(character) > 0 ? character : L'?';
}

/* Not into the next line: characters may be two columns wide. */
static void put(int y, const char *text, int width)
{
	int x = 0;

	while (*text) {
		wchar_t character[2] = {next_character(&text), L'\0'};
		int columns = wcwidth(character[0]) > 0 ? wcwidth(character[0]) : 1;

		if (x + columns > width)
			return;
		mvaddwstr(y, x, character);
		x += columns;
	}
}

void screen_show(const struct view *view)
{
	int height, width;

	getmaxyx(stdscr, height, width);
	erase();
	for (int y = 0; y < height && (unsigned)y < view->count; y++) {
		const struct view_line *line = &view->lines[y];

		attrset(attributes_of(line->style));
		put(y, line->text, width);
		if (line->style == VIEW_SELECTED || line->style == VIEW_HEAD)
			mvchgat(y, 0, -1, attributes_of(line->style), 0, NULL);
	}
	attrset(A_NORMAL);
	refresh();
}

void screen_redraw(void)
{
	clearok(curscr, TRUE);
}

/* --- keys ------------------------------------------------------------------------------------ */

static int key_of(int code)
{
	static const struct {
		int code;
		int key;
	} keys[] = {
		{KEY_UP, TOP_KEY_UP},	      {KEY_DOWN, TOP_KEY_DOWN},
		{KEY_LEFT, TOP_KEY_LEFT},     {KEY_RIGHT, TOP_KEY_RIGHT},
		{KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
		{KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},
		{KEY_ENTER, TOP_KEY_ENTER},   {'\n', TOP_KEY_ENTER},
		{'\r', TOP_KEY_ENTER},	      {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
		{'\b', TOP_KEY_BACKSPACE},    {0x7f, TOP_KEY_BACKSPACE},
		{KEY_RESIZE, TOP_KEY_RESIZE}, {ESCAPE, TOP_KEY_ESCAPE},
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return code <= 0xff ? code : TOP_KEY_NONE;
}

static void wait_for_key(uint64_t timeout_ns)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	const struct timespec timeout = {(time_t)(timeout_ns / 1000000000),
					 (long)(timeout_ns % 1000000000)};
	bool for_ever = timeout_ns == UINT64_MAX;

	if (ppoll(&input, 1, for_ever ? NULL : &timeout, &mask_before) < 0) {
		/* It may have been stopped, and come back. */
		screen_redraw();
		return;
	}
	if (input.revents & (POLLHUP | POLLERR | POLLNVAL) && !signal_number)
		signal_number = SIGHUP;
}

int screen_key(uint64_t timeout_ns)
{
	int code = getch();

	if (code == ERR && !signal_number) {
		wait_for_key(timeout_ns);
		code = getch();
	}
	if (code == CONTROL_L) {
		screen_redraw();
		return TOP_KEY_RESIZE;
	}
	return code == ERR ? TOP_KEY_NONE : key_of(code);
}
