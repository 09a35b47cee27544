/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - the subcommands: `pmem help`, the completions' test and main() read this table.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/symbol_options.h"

/* Lines of at most 80 columns: the formatter would break the strings elsewhere. */
/* clang-format off */
const struct cmd cmd_table[] = {
	{"run", cmd_run, "[OPTION...] [--] PROGRAM [ARGUMENT...]",
	 "run a program, record its heap, print a summary",
	 "  -o, --output FILE   the profile's name, default pmem.%p.prof here (%p process\n"
	 "                      id, %h host, %e program, %t start in seconds, %% a percent\n"
	 "                      sign); without %p it names the first one, others get a\n"
	 "                      number: FILE.2.prof\n"
	 "  -q, --quiet         no summary at the end\n"
	 "      --no-log        no text log, only the profile\n"
	 "      --only PATTERN  record only programs whose name matches this shell pattern\n"
	 "      --no-children   record only the started process, not those it forks and\n"
	 "                      executes\n",
	 "      --sample[=BYTES]  record a sample only: of the bytes allocated one in so\n"
	 "                      many, default 512k; figures are estimates then\n"
	 "      --max-overhead SHARE  of the CPU time, like 3%, that capturing call stacks\n"
	 "                      may take; beyond it new ones are charged to their caller\n"
	 "      --help          the most used options\n",
	 "Exit code: that of the program; 125 if pmem itself failed, 126 if the program\n"
	 "cannot be recorded or executed, 127 if it was not found.\n"
	 "`pmem PROGRAM ...` is short for `pmem run PROGRAM ...`.\n"},
	{"report", cmd_report, "[OPTION...] [FILE|PID|DIR]",
	 "say who holds the memory, from a profile or a running process",
	 "      --by KEY            sort by live (default), peak, alloc, count, temporary\n"
	 "                          or growth\n"
	 "      --top N             at most N rows in a table\n"
	 "      --tree              call stacks as a tree, from main() down\n"
	 "      --callers           the tree from the sites up; also --bottom-up\n"
	 "      --leaks             what was live at exit, by allocation site\n"
	 "      --peak              what the peak consisted of\n"
	 "      --rss               what the resident set consists of; also with --json\n"
	 "      --advice            what to change, and what that would spare; also with\n"
	 "                          --json\n"
	 "      --focus PATTERN     only call stacks with a matching frame\n"
	 "      --since TIME        the interval of the timeline to look at: 90s, 10m\n"
	 "      --until TIME        (since start), -10m (before the end) or 10:42:13\n"
	 "      --all-frames        also allocators, standard libraries and runtimes\n"
	 "      --json              the profile as JSON\n",
	 "      --summary           the answer in words, the largest sites, the heaviest\n"
	 "                          call stack (default)\n"
	 "      --sizes             sizes of the blocks\n"
	 "      --lifetimes         how long blocks lived (estimates)\n"
	 "      --threads           who allocated and freed, by thread\n"
	 "      --mappings          what the program maps itself (mmap), past malloc; also\n"
	 "                          with --json or --csv\n"
	 "      --pinned            whose live blocks keep free memory; also with --json\n"
	 "      --ignore PATTERN    only call stacks without a matching frame\n"
	 "      --raw-names         names as in the symbol tables, not demangled or cut\n"
	 "      --source            source lines of the sites, with the bytes of each line\n"
	 "      --frame-table       with --json: each frame once, for deep call stacks\n"
	 SYMBOL_OPTIONS_HELP
	 "      --csv               the table as CSV\n"
	 "      --help              the most used options\n",
	 "Without an argument the newest profile in the current folder is taken.\n"},
	{"leaks", cmd_leaks, "[OPTION...] PID | --at-exit [--] PROGRAM [ARGUMENT...]",
	 "say what memory a program cannot reach any more",
	 "      --at-exit           run the program, and look at it when it ends\n"
	 "      --suppressions FILE  leaks that are known, in LeakSanitizer's format; can\n"
	 "                          be repeated\n"
	 "      --error-exitcode N  exit with N if there are leaks\n"
	 "      --top N             at most N rows in a table\n"
	 "      --all-frames        also allocators, standard libraries and runtimes\n"
	 "  -o, --output FILE       write there instead of to standard output\n"
	 "  -q, --quiet             do not announce the pause\n"
	 "      --json              as JSON\n",
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n",
	 "PID is stopped for some milliseconds only: a copy of it is looked at.\n"
	 "Exit code: 0, or N if there are leaks; with --at-exit else the program's own.\n"},
	{"diff", cmd_diff, "[OPTION...] A[@TIME] B[@TIME]",
	 "say what changed between two profiles, or two moments of one",
	 "      --by KEY            sort by growth of live (default), alloc, count, peak\n"
	 "                          or temporary\n"
	 "      --top N             at most N rows\n"
	 "      --stacks            call stacks instead of sites\n"
	 "      --focus PATTERN     only call stacks with a matching frame\n"
	 "      --ignore PATTERN    only call stacks without a matching frame\n"
	 "      --fold-recursion    functions that call each other again and again: once\n"
	 "      --fail-over SIZE    exit with 1 if the live bytes grew by more\n"
	 "      --json              as JSON\n"
	 "      --csv               as CSV\n",
	 "      --all-frames        also allocators, standard libraries and runtimes\n"
	 "      --raw-names         names as in the symbol tables, not demangled or cut\n"
	 "      --mappings          what the programs map themselves (mmap), not the heap\n"
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n",
	 "A and B are files, process ids or folders.  TIME is a moment of the profile:\n"
	 "10m (since its start), -30s (before its end), 10:42:13 or end.  Call stacks are\n"
	 "matched by the names of their functions.\n"},
	{"info", cmd_info, "[FILE|PID|DIR]",
	 "say what was recorded, by which version, what it cost and lost",
	 "      --json   as JSON\n"
	 "      --help   this text\n", NULL, NULL},
	{"top", cmd_top, "[OPTION...] [PID|FILE|DIR]",
	 "watch a running process: totals, verdict, sites, call stacks",
	 "  -d, --delay SECONDS     time between two readings, default 2; also 500ms\n"
	 "      --by KEY            sort by live (default), growth, churn, blocks, alloc\n"
	 "                          or temporary\n"
	 "      --group WHAT        rows are a site (default), a function or a module\n"
	 "      --filter TEXT       only call stacks with this text in a name\n"
	 "      --all-frames        also allocators, standard libraries and runtimes\n"
	 "      --mappings          what the program maps itself (mmap), not the heap\n"
	 "  -b, --batch             print plain text, and no screen\n"
	 "  -n, --count N           with --batch: N times, default until the process ends\n"
	 "      --top N             with --batch: at most N rows, default 20\n",
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n",
	 "The key h explains the keys.  Without an argument a recorded process that runs\n"
	 "is taken, of several the one chosen from a list; DIR: of those recorded there.\n"},
	{"html", cmd_html, "[OPTION...] [FILE|PID|DIR [FILE|PID|DIR]]",
	 "make a page for the browser: timeline, flame graph, tables",
	 "  -o, --output FILE       default: the profile's name with .html, of two\n"
	 "                          BEFORE..AFTER.html, in the current folder; - is\n"
	 "                          standard output\n"
	 "      --force             replace also a file that is no page of pmem\n"
	 "      --no-source         no source lines in the page\n"
	 "  -q, --quiet             do not say what was written, and how large it is\n",
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n",
	 "Of two profiles the page shows what changed from the first to the second; of one\n"
	 "from one moment to another: FILE@10m FILE@end.\n"
	 "The page is one file that needs no network, and no pmem where it is looked at.\n"},
	{"serve", cmd_serve, "[OPTION...] [FILE|PID|DIR]",
	 "show recorded processes in a browser, live; metrics, pprof",
	 "      --port N            the port, by default any that is free\n"
	 "      --listen ADDRESS    an IP address other than 127.0.0.1: other machines too\n"
	 "      --token-file FILE   the secret part of the address; made if not there\n"
	 "      --sites N           allocation sites of a process in /metrics, default 10\n",
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n",
	 "Prints the address, which holds a secret, and runs until it is interrupted.\n"
	 "Without an argument all recorded processes are shown, and the profiles in the\n"
	 "current folder.  Below the address: metrics (Prometheus), debug/pprof/heap and\n"
	 "debug/pprof/allocs (go tool pprof): of the process that was named, else of the\n"
	 "youngest that runs; ?pid=PID chooses.\n"},
	{"bundle", cmd_bundle, "[OPTION...] [FILE|PID|DIR]",
	 "put a profile and all its names into one file that opens anywhere",
	 "  -o, --output FILE       default: the profile's name with .bundle, in the\n"
	 "                          current folder; - is standard output\n"
	 "      --source            with the source lines around your own functions' calls\n"
	 "  -q, --quiet             do not say how large it is\n",
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n",
	 "All commands that read a profile read a bundle.\n"},
	{"export", cmd_export, "--format FORMAT [-o FILE] [FILE|PID|DIR]",
	 "write a profile in another format",
	 "      --format FORMAT     log, collapsed, pprof, speedscope, massif, dhat,\n"
	 "                          firefox, heaptrack, csv, json\n"
	 "      --list-formats      say what each of them is for\n"
	 "      --value VALUE       of --format collapsed: live (default), live_blocks,\n"
	 "                          alloc, alloc_blocks, peak, temporary\n"
	 "      --mappings          of collapsed, csv, massif, firefox: what the program\n"
	 "                          maps itself (mmap) instead of the heap\n"
	 "  -o, --output FILE       write there instead of to standard output\n",
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n", NULL},
	{"push", cmd_push, "[OPTION...] URL [FILE|PID|DIR]",
	 "bring profiles to Pyroscope, Parca or an OpenTelemetry collector",
	 "      --to SERVER         pyroscope, pyroscope-ingest, parca, or otlp, which is\n"
	 "                          experimental; default: what URL's path or port says\n"
	 "      --every TIME        again and again until the process ends: 15, 10m; of a\n"
	 "                          folder all that record there, without an end\n"
	 "      --label NAME=VALUE  can be repeated; default: service_name, pid and host\n"
	 "      --spool DIR         where profiles wait while the server is away\n"
	 "      --drain             push what is in the spool, and nothing new\n"
	 "      --cacert FILE       certificates of who may vouch for the server (PEM)\n"
	 "      --insecure          do not check the server's certificate, let passwords\n"
	 "                          go unencrypted\n"
	 "      --user NAME         with the password in $PMEM_PUSH_PASSWORD or in\n"
	 "      --password-file FILE  the first line of this file\n"
	 "      --bearer-file FILE  with the token in this file, or in $PMEM_PUSH_TOKEN\n"
	 "      --header HEADER     'NAME: VALUE', or @FILE of such lines; can be repeated\n"
	 "      --tenant ID         of Pyroscope: X-Scope-OrgID\n"
	 "  -q, --quiet             do not say what was pushed\n",
	 "      --spool-max SIZE    the most that it may hold, default 256m: the oldest go\n"
	 "      --give-up TIME      how long to wait for the server at the end, by default\n"
	 "                          60s\n"
	 "      --timeout TIME      the longest that one request may take, default 30s\n"
	 "      --now               with the time of the push, for old profiles\n"
	 "      --max-stacks N      smaller call stacks go as one; 0 = all go; by default\n"
	 "                          what the server takes\n"
	 "      --cert FILE         own certificate\n"
	 "      --key FILE          its key; its password: $PMEM_PUSH_KEY_PASSWORD\n"
	 SYMBOL_OPTIONS_HELP
	 "      --help              the most used options\n", NULL},
	{"help", cmd_help, "[VERB]", "explain pmem, or a command with all its options",
	 "      --help   this text\n", NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};
/* clang-format on */

const struct cmd *cmd_find(const char *name)
{
	const struct cmd *cmd;

	for (cmd = cmd_table; cmd->name; cmd++)
		if (strcmp(cmd->name, name) == 0)
			return cmd;
	return NULL;
}

/* One line, whatever names from files hold. */
static void print_line(const char *verb, const struct error *err)
{
	const char *at;

	fprintf(stderr, "pmem %s: ", verb);
	for (at = err->text; *at; at++)
		fputc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, stderr);
	fputc('\n', stderr);
}

int cmd_fail(const char *verb, const struct error *err)
{
	fflush(stdout);
	print_line(verb, err);
	return CMD_FAILED;
}

int cmd_usage(const char *verb, const char *format, ...)
{
	struct error err;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(err.text, sizeof(err.text), format, arguments);
	va_end(arguments);
	print_line(verb, &err);
	fprintf(stderr, "To see how it is used: pmem help %s\n", verb);
	return CMD_USAGE;
}

bool cmd_parse_number(const char *text, unsigned long most, unsigned long *number)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || value > most)
		return false;
	*number = value;
	return true;
}

int cmd_bad_option(const char *verb, int option, char *const *argv)
{
	const char *word = argv[optind - 1];

	if (option == ':')
		return cmd_usage(verb, "%s needs an argument", word);
	/* 0 for an unknown word, else what getopt_long() would have returned without the argument. */
	if (optopt && strncmp(word, "--", 2) == 0)
		return cmd_usage(verb, "%s takes no argument", word);
	return cmd_usage(verb, "unknown option %s", word);
}

static void print_head(const struct cmd *cmd)
{
	printf("pmem %s - %s\n\nusage: pmem %s %s\n\n%s", cmd->name, cmd->summary, cmd->name,
	       cmd->arguments, cmd->options);
}

static void print_notes(const struct cmd *cmd)
{
	if (cmd->notes)
		printf("\n%s", cmd->notes);
}

void cmd_help_print(const struct cmd *cmd)
{
	print_head(cmd);
	if (cmd->more)
		printf("All options: pmem help %s, or man pmem-%s\n", cmd->name, cmd->name);
	print_notes(cmd);
}

void cmd_help_print_all(const struct cmd *cmd)
{
	print_head(cmd);
	if (cmd->more)
		fputs(cmd->more, stdout);
	print_notes(cmd);
}
