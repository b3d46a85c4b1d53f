/* `tabella check`: the cells of files that break what the rest of their table says. */
#include <assert.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/data-connector/expectations/expectations.h"
#include "services/inference/engine/bundle.h"
#include "services/inference/engine/suspects/suspects.h"
#include "tools/tabella/tabella.h"

static const char HELP[] =
    "usage: tabella check FILE [FILE ...] [options]\n\n"
    "Lists cells that are likely wrong: another form than the column's, a misspelling, a broken rule of\n"
    "columns, a number out of range, two cells that changed places. Reads what `tabella run` reads.\n\n"
    "  --before FILE the same file as it was: says instead what is unlike it beyond chance; of several the\n"
    "                newest first, and what they differ by among themselves is expected\n"
    "  --least X     least confidence of what is listed, 0 to 1 (0.5)\n"
    "  --fail-at X   exit with 1 where a cell is listed with this confidence or more, or a change with p at\n"
    "                1 - X or below\n"
    "  --json        the list as JSON on stdout\n"
    "  --help\n";

typedef struct {
    double least, fail_at;
    const char *before[1 + EXPECT_EARLIER];
    size_t n_before;
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
    static const struct option options[] = { { "before", 1, NULL, 'b' },  { "least", 1, NULL, 'l' },
                                             { "fail-at", 1, NULL, 'f' }, { "json", 0, NULL, 'j' },
                                             { "help", 0, NULL, 'h' },    READING_OPTIONS,
                                             { NULL, 0, NULL, 0 } };
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
        } else if (c == 'b' && a->n_before < sizeof a->before / sizeof *a->before) {
            a->before[a->n_before++] = optarg;
        } else if (c == 'h') {
            fputs(HELP, stdout);
            return 0;
        } else if (c == '?' || c == 'b' || !share(optarg, c == 'l' ? &a->least : &a->fail_at)) {
            fputs("tabella check: --least and --fail-at are numbers from 0 to 1, and --before may be given "
                  "four times; --help says what there is\n",
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

/* The profiles of n tables; false after a message. */
static bool profile_all(const tab_engine *e, const tab_table *const *table, size_t n, tab_profile **ret)
{
    tab_error err = { 0 };
    for (size_t t = 0; t < n; t++)
        if (tab_profile_table(e, table[t], &ret[t], &err) != TAB_OK) {
            fprintf(stderr, "tabella check: %s\n", err.message);
            return false;
        }
    return true;
}

/* Cells of one column that are doubted for the same reason. */
typedef struct {
    uint32_t column;
    const char *reason;
    size_t n, shown;
} alike;

enum { ALIKE = 256, SHOWN_ALIKE = 3 };

/* The group of a column and a reason, made where there is room for one more; NULL: there is none. */
static alike *alike_of(alike *g, size_t *n, uint32_t column, const char *reason)
{
    for (size_t i = 0; i < *n; i++)
        if (g[i].column == column && strcmp(g[i].reason, reason) == 0)
            return &g[i];
    if (*n == ALIKE)
        return NULL;
    g[*n] = (alike){ column, reason, 0, 0 };
    return &g[(*n)++];
}

/* A line a cell, surest first; of many that are alike a few, and how many more there are. False: memory ran
 * out. */
static bool print_suspects(const tab_engine *e, const tab_profile *p, const tab_suspect *s, size_t n)
{
    const tab_table *t = p->table;
    const char **reason = tab_arena_new_of(e->arena, const char *, n + 1);
    alike groups[ALIKE];
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        if (reason == NULL || (reason[i] = tab_suspect_reason(e->arena, p, &s[i])) == NULL)
            return false;
        alike *g = alike_of(groups, &made, s[i].column, reason[i]);
        if (g != NULL)
            g->n++;
    }
    for (size_t i = 0; i < n; i++) {
        alike *g = alike_of(groups, &made, s[i].column, reason[i]);
        const char *column =
            tab_arena_printf(e->arena, "%.*s", TAB_STR(tab_column_address(e->arena, t, s[i].column)));
        if (column == NULL)
            return false;
        if (g != NULL && g->shown++ >= SHOWN_ALIKE && g->n > SHOWN_ALIKE + 1) {
            if (g->shown == SHOWN_ALIKE + 1)
                printf("        %zu more cells of %s for the same reason (--json lists them)\n",
                       g->n - SHOWN_ALIKE, column);
            continue;
        }
        printf("  %3.0f%%  row %u, %s: ", 100 * s[i].confidence, s[i].row, column);
        print_cell(t, &s[i]);
        printf("   %s: %s\n", tab_suspect_name(tab_suspect_told(&s[i])), reason[i]);
    }
    return true;
}

/* The surest confidence of a table's suspects, 0: there is none; -1 after a message. */
static double check(const tab_engine *e, tab_profile *const *p, size_t tables, size_t which, double least)
{
    const tab_table *t = p[which]->table;
    tab_suspect *s;
    size_t n = 0;
    tab_error err = { 0 };
    if (tab_suspects_find_beside(e, p, tables, which, least, &s, &n, &err) != TAB_OK) {
        fprintf(stderr, "tabella check: %s\n", err.message);
        return -1;
    }
    printf("%.*s   %zu rows, %zu columns: %zu cell%s likely wrong%s\n", TAB_STR(t->id), t->rows, t->cols, n,
           n == 1 ? " is" : "s are", n == TAB_MOST_SUSPECTS ? " (the surest)" : "");
    if (!print_suspects(e, p[which], s, n)) {
        fputs("tabella check: out of memory\n", stderr);
        return -1;
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
    TAB_TRY(tab_suspects(e, p, n, least, NULL, &b.suspects, err));
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

/* ---- what is unlike before ------------------------------------------------------------------- */

static void changes_json(tab_out *o, const expectations *found)
{
    tab_out_open(o, '{');
    tab_out_key(o, "checks");
    tab_out_uint(o, found->checks);
    tab_out_key(o, "rows");
    tab_out_uint(o, found->rows);
    tab_out_key(o, "changed");
    tab_out_open(o, '[');
    for (size_t i = 0; i < found->n_changed; i++) {
        const expectation *e = &found->changed[i];
        const struct {
            const char *key;
            tab_str text;
        } texts[] = { { "kind", tab_str_of(e->kind) },
                      { "column", e->column },
                      { "with", e->with },
                      { "value", e->value },
                      { "reason", e->reason } };
        tab_out_open(o, '{');
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            tab_out_key(o, texts[k].key);
            if (texts[k].text.n > 0)
                tab_out_str(o, texts[k].text);
            else
                tab_out_null(o);
        }
        tab_out_key(o, "before");
        tab_out_double(o, e->before);
        tab_out_key(o, "after");
        tab_out_double(o, e->after);
        tab_out_key(o, "p");
        tab_out_double(o, e->p);
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
    tab_out_bytes(o, "\n", 1);
}

static void print_changes(const tab_table *t, const expectations *found)
{
    printf("%.*s   %zu of %zu rows compared: %zu of %zu checks found a change\n", TAB_STR(t->id), found->rows,
           t->rows, found->n_changed, found->checks);
    for (size_t i = 0; i < found->n_changed; i++) {
        const expectation *e = &found->changed[i];
        printf("  p %-8.2g %s%s%.*s: ", e->p, e->kind, e->column.n > 0 ? ", " : "", TAB_STR(e->column));
        for (size_t k = 0; k < e->reason.n; k++)
            putchar((unsigned char)e->reason.p[k] < 0x20 || e->reason.p[k] == 0x7F ? ' ' : e->reason.p[k]);
        putchar('\n');
    }
}

/* One table as it is beside what it was. */
static int check_before(tab_arena *a, int files, const char *file, const arguments *args)
{
    expectations_case c = { .n_earlier = args->n_before - 1 };
    expectations found;
    row_diff d;
    row_changes rows;
    tab_error err = { 0 };
    for (size_t i = 0; i <= args->n_before; i++) {
        input in = { .n = 0 };
        int rc = read_file(a, i == 0 ? file : args->before[i - 1], &args->reading, &in);
        if (rc != 0)
            return rc;
        if (in.n != 1 || files != 1) {
            fputs("tabella check: --before takes one file that holds one table\n", stderr);
            return EXIT_USAGE;
        }
        *(i == 0 ? &c.judged : i == 1 ? &c.known : &c.earlier[i - 2]) = in.table[0];
    }
    if (diff_rows(a, c.known, c.judged, NULL, 0, &d, &rows, &err) != TAB_OK ||
        expectations_step(a, &c, &d, &rows, &found, &err) != TAB_OK) {
        fprintf(stderr, "tabella check: %s\n", err.message);
        return EXIT_FAILURE;
    }
    if (args->json) {
        tab_out o = { 0 };
        changes_json(&o, &found);
        bool ok = !o.failed && fwrite(o.p, 1, o.n, stdout) == o.n && fflush(stdout) == 0;
        tab_out_free(&o);
        if (!ok)
            return EXIT_FAILURE;
    } else {
        print_changes(c.judged, &found);
    }
    return found.n_changed > 0 && 1 - found.changed[0].p >= args->fail_at;
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
    if (args.n_before > 0)
        return check_before(a, argc - optind, argv[optind], &args);
    for (int i = optind; i < argc; i++) {
        int rc = read_file(a, argv[i], &args.reading, &in);
        if (rc != 0)
            return rc;
    }
    if (args.json)
        surest = print_json(&e, in.table, in.n, args.least);
    tab_profile *p[TABLES];
    if (!args.json && !profile_all(&e, in.table, in.n, p))
        return EXIT_FAILURE;
    for (size_t t = 0; !args.json && t < in.n && surest >= 0; t++) {
        double of = check(&e, p, in.n, t, args.least);
        surest = of < 0 || of > surest ? of : surest;
    }
    return surest < 0 ? EXIT_FAILURE : surest >= args.fail_at;
}
