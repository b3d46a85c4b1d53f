/* tabella, the command line: a table of commands. run.c understands CSV files with the engine linked in,
 * admin.c calls a running suite. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/config.h"
#include "tools/tabella/tabella.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    { "run", cmd_run, "understand CSV files here, with no server" },
    { "check", cmd_check, "cells that are likely wrong, with no server" },
    { "page", cmd_page, "the page of a bundle that was kept as JSON" },
    { "generate", cmd_generate, "tables of a sector, made from nothing" },
    { "mcp", cmd_mcp, "a server for agents (Model Context Protocol), on stdin and stdout" },
    { "admin", cmd_admin, "organizations and bases of a running suite" },
};

static void usage(FILE *to)
{
    fputs("tabella understands tables: what they are, how they relate, what is missing, "
          "what can be predicted.\n\n"
          "usage: tabella COMMAND ...      (tabella COMMAND --help says more)\n\n",
          to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_DFL);
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage(stdout);
        return 0;
    }
    if (argc >= 2 && strcmp(argv[1], "--version") == 0) {
        printf("tabella " TAB_VERSION " %s\n", tab_commit);
        return 0;
    }
    for (size_t i = 0; argc >= 2 && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    usage(stderr);
    return EXIT_USAGE;
}
