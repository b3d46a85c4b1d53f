/* `tabella check`: the cells of files that break what the rest of their table says. */
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/inference/engine/bundle.h"
#include "services/inference/engine/suspects/suspects.h"
#include "tools/tabella/tabella.h"

static const char HELP[] =
    "usage: tabella check FILE [FILE ...] [options]\n\n"
    "Lists cells that are likely wrong: another form than the column's, a misspelling, a broken rule of\n"
    "columns, a number out of range, two cells that changed places. Reads what `tabella run` reads.\n\n"
    "  --least X     least confidence of what is listed, 0 to 1 (0.5)\n"
    "  --fail-at X   exit with 1 where a cell is listed with this confidence or more\n"
    "  --json        the list as JSON on stdout\n"
    "  --help\n";

typedef struct {
    double least, fail_at;
    tab_reading_asked reading;
    bool json;
} arguments;

static bool share(const char *s, double *ret)
{
    char *end;
    *ret = strtod(s, &end);
    return *s != 0 && *end == 0 && *ret >= 0 && *ret <= 1;
}

/* -1 to go on, else the exit code. */
static int parse(int argc, char **argv, arguments *a)
{
    static const struct option options[] = { { "least", 1, NULL, 'l' }, { "fail-at", 1, NULL, 'f' },
                                             { "json", 0, NULL, 'j' },  { "help", 0, NULL, 'h' },
                                             READING_OPTIONS,           { NULL, 0, NULL, 0 } };
    *a = (arguments){ .least = 0.5, .fail_at = 2, .reading = TAB_READING_FOUND };
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        int rc = reading_option(c, &a->reading);
        if (rc < 0)
            return EXIT_USAGE;
        if (rc == 0)
            continue;
        if (c == 'j') {
            a->json = true;
        } else if (c == 'h') {
            fputs(HELP, stdout);
            return 0;
        } else if (c == '?' || !share(optarg, c == 'l' ? &a->least : &a->fail_at)) {
            fputs("tabella check: --least and --fail-at are numbers from 0 to 1; --help says what there is\n",
                  stderr);
            return EXIT_USAGE;
        }
    }
    if (optind == argc) {
        fputs("tabella check: give at least one file; --help says what there is\n", stderr);
        return EXIT_USAGE;
    }
    return -1;
}

/* A text between quotes, signs that steer a terminal left out. */
static void print_text(tab_str t)
{
    enum { SHOWN = 60 };
    putchar('"');
    for (size_t i = 0; i < t.n && i < SHOWN; i++)
        putchar((unsigned char)t.p[i] < 0x20 || t.p[i] == 0x7F ? ' ' : t.p[i]);
    fputs(t.n > SHOWN ? "...\"" : "\"", stdout);
}

static void print_cell(const tab_table *t, const tab_suspect *s)
{
    tab_cell c = tab_cell_at(&t->col[s->column], s->row);
    char buf[32];
    if (c.text.n > 0)
        print_text(c.text);
    else
        print_text((tab_str){ buf, tab_number_text(c.num, buf) });
    if (s->suggestion.n > 0) {
        fputs(" -> ", stdout);
        print_text(s->suggestion);
    }
}

/* The surest confidence of a table's suspects, 0: there is none; -1 after a message. */
static double check(const tab_engine *e, const tab_table *t, double least)
{
    tab_profile *p;
    tab_suspect *s;
    size_t n = 0;
    tab_error err = { 0 };
    if (tab_profile_table(e, t, &p, &err) != TAB_OK ||
        tab_suspects_find(e, p, least, &s, &n, &err) != TAB_OK) {
        fprintf(stderr, "tabella check: %s\n", err.message);
        return -1;
    }
    printf("%.*s   %zu rows, %zu columns: %zu cell%s likely wrong%s\n", TAB_STR(t->id), t->rows, t->cols, n,
           n == 1 ? " is" : "s are", n == TAB_MOST_SUSPECTS ? " (the surest)" : "");
    for (size_t i = 0; i < n; i++) {
        printf("  %3.0f %%  row %u, %.*s: ", 100 * s[i].confidence, s[i].row,
               TAB_STR(tab_column_address(e->arena, t, s[i].column)));
        print_cell(t, &s[i]);
        printf("   %s: %s\n", tab_suspect_name(s[i].kind), tab_suspect_reason(e->arena, p, &s[i]));
    }
    return n > 0 ? s[0].confidence : 0;
}

tab_status check_json(const tab_engine *e, const tab_table *const *table, size_t n, double least, tab_out *o,
                      double *ret_surest, tab_error *err)
{
    tab_profile *p[TABLES];
    Tabella__TableUnderstanding *told[TABLES];
    Tabella__Bundle b = TABELLA__BUNDLE__INIT;
    const Tabella__Bundle *whole = &b;
    assert(n <= TABLES);
    for (size_t t = 0; t < n; t++) {
        TAB_TRY(tab_profile_table(e, table[t], &p[t], err));
        if ((told[t] = tab_understanding(e->arena, p[t])) == NULL)
            return tab_no_memory(err);
    }
    TAB_TRY(tab_suspects(e, p, n, least, &b.suspects, err));
    b.n_tables = n;
    b.tables = told;
    tab_bundle_page_json(o, &whole, 1, TAB_PAGE_SUSPECTS, 0, TAB_MOST_SUSPECTS, NULL);
    *ret_surest = b.suspects->n_row > 0 ? b.suspects->confidence[0] : 0;
    return TAB_OK;
}

/* As check, of all tables as JSON. */
static double print_json(const tab_engine *e, const tab_table *const *table, size_t n, double least)
{
    tab_error err = { 0 };
    tab_out o = { 0 };
    double surest = -1;
    if (check_json(e, table, n, least, &o, &surest, &err) != TAB_OK)
        fprintf(stderr, "tabella check: %s\n", err.message);
    tab_out_bytes(&o, "\n", 1);
    bool ok = surest >= 0 && !o.failed && fwrite(o.p, 1, o.n, stdout) == o.n && fflush(stdout) == 0;
    tab_out_free(&o);
    return ok ? surest : -1;
}

int cmd_check(int argc, char **argv)
{
    arguments args;
    int early = parse(argc, argv, &args);
    if (early >= 0)
        return early;
    TAB_AUTO(tab_arena) *a = tab_arena_new(SIZE_MAX / 2);
    tab_engine e = { .arena = a };
    input in = { .n = 0 };
    double surest = 0;
    for (int i = optind; i < argc; i++) {
        int rc = read_file(a, argv[i], &args.reading, &in);
        if (rc != 0)
            return rc;
    }
    if (args.json)
        surest = print_json(&e, in.table, in.n, args.least);
    for (size_t t = 0; !args.json && t < in.n && surest >= 0; t++) {
        double of = check(&e, in.table[t], args.least);
        surest = of < 0 || of > surest ? of : surest;
    }
    return surest < 0 ? EXIT_FAILURE : surest >= args.fail_at;
}
