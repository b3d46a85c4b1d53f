/* The command line as a function: a table of commands that need no server. The program `tabella` adds its own
 * one; the `tabella` of the Python package is this. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/config.h"
#include "tools/library/tabella.h"
#include "tools/tabella/tabella.h"

static const command commands[] = {
    { "run", cmd_run, "understand tables in files here, with no server" },
    { "check", cmd_check, "find cells that are likely wrong, with no server" },
    { "page", cmd_page, "make the HTML page of a bundle saved as JSON" },
    { "generate", cmd_generate, "generate tables of a sector" },
    { "mcp", cmd_mcp, "run a Model Context Protocol server for agents on stdin and stdout" },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const command *at(size_t i, const command *more)
{
    return i < COMMANDS ? &commands[i] : i == COMMANDS ? more : NULL;
}

static void usage(FILE *to, const command *more)
{
    fputs("tabella understands tables: what they are, how they relate, what is missing, "
          "what can be predicted.\n\n"
          "usage: tabella COMMAND ...      (tabella COMMAND --help says more)\n\n",
          to);
    for (size_t i = 0; at(i, more) != NULL; i++)
        fprintf(to, "  %-8s %s\n", at(i, more)->name, at(i, more)->help);
}

int command_line(int argc, char **argv, const command *more)
{
    signal(SIGPIPE, SIG_DFL);
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage(stdout, more);
        return 0;
    }
    if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
        printf("tabella " TAB_VERSION " %s\n", tab_commit);
        return 0;
    }
    for (size_t i = 0; argc >= 2 && at(i, more) != NULL; i++)
        if (strcmp(argv[1], at(i, more)->name) == 0)
            return at(i, more)->run(argc - 1, argv + 1);
    usage(stderr, more);
    return EXIT_USAGE;
}

int tabella_main(int argc, char **argv)
{
    int rc = command_line(argc, argv, NULL);
    return fflush(stdout) == 0 || rc != 0 ? rc : 1;
}
