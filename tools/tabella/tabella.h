/* tabella, the command line: passes of the engine with no server, and the operator's commands. */
#ifndef TABELLA_H
#define TABELLA_H

#include "common/bundle/bundle_json.h"
#include "common/files/reading.h"
#include "services/inference/engine/engine.h"
#include "tools/tabella/findings.h"

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} command;

/* Runs the command that argv[1] names, one that needs no server or `more` (or NULL): the exit code
 * (tools/library/command.c). */
int command_line(int argc, char **argv, const command *more);

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_page(int argc, char **argv);
int cmd_generate(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_admin(int argc, char **argv);

/* What a person wants to see of the bundle of these tables, on stdout. explain: the first rows' reasons
 * too. */
void print_summary(const tab_engine *e, const tab_table *const *tables, const Tabella__Bundle *b,
                   const findings *f, bool explain, double seconds);

int print_bundle(const Tabella__Bundle *b); /* as JSON on stdout; the exit code */
void show_progress(void *arg, const char *phase, double done);

enum { TABLES = 64 };
typedef struct {
    const tab_table *table[TABLES];
    tab_str reading[TABLES]; /* JSON (common/files/reading.h) */
    size_t n;
} input;
/* A file's tables behind those that there are; of a folder, whose files with the same columns become one
 * table (common/files/union.h), which is said. 0, or the exit code after a message. */
int read_file(tab_arena *a, const char *path, const tab_reading_asked *asked, input *to);

/* Options of getopt_long that say how files are to be read. */
enum { READING_OPTION = 1000, READING_ONE_TABLE = READING_OPTION + 5 };
#define READING_OPTIONS                                                                              \
    { "delimiter", 1, NULL, READING_OPTION }, { "quote", 1, NULL, READING_OPTION + 1 },              \
        { "encoding", 1, NULL, READING_OPTION + 2 }, { "header-rows", 1, NULL, READING_OPTION + 3 }, \
        { "skip-lines", 1, NULL, READING_OPTION + 4 },                                               \
    {                                                                                                \
        "one-table", 0, NULL, READING_ONE_TABLE                                                      \
    }
/* Takes option c of optarg: 0; after a message: -1; none of these: 1. */
int reading_option(int c, tab_reading_asked *r);

/* The cells of n tables (TABLES at most) that are likely wrong, at least so surely, as a bundle has them,
 * into o. *ret_surest: the highest confidence, 0: none is doubted. Profiles live in the engine's arena. */
tab_status check_json(const tab_engine *e, const tab_table *const *table, size_t n, double least, tab_out *o,
                      double *ret_surest, tab_error *err) TAB_CHECKED;

enum { EXIT_USAGE = 64, EXIT_INPUT = 65 };

#endif
