/* `tabella generate`: tables of a sector, made from nothing, as CSV files. Rows are written as they
 * are made. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "services/inference/engine/generate/generate.h"
#include "services/inference/engine/sector/sectors.h"
#include "tools/tabella/tabella.h"

static const char HELP[] =
    "usage: tabella generate SECTOR --rows N [options]\n\n"
    "Makes tables as an organization of the sector keeps them: keys that fit, seasons, gaps, slips, sums\n"
    "that hold, and outcomes that can be learned. The main table goes to stdout. One seed gives the same\n"
    "bytes.\n\n"
    "  --rows N       rows of the main table; the others get as many as go with it\n"
    "  --tables       all linked tables (with --out)\n"
    "  --out FOLDER   write TABLE.csv there, over what has these names\n"
    "  --seed N       another organization (default 1)\n"
    "  --describe     say which tables and columns there are, what holds in every row, and how strongly\n"
    "                 outcomes can be learned; makes nothing\n"
    "  --list         the sectors\n"
    "  --help\n";

typedef struct {
    const char *sector, *out;
    uint64_t rows, seed;
    bool tables, describe, list;
} arguments;

static int wrong(const char *what, const char *value)
{
    fprintf(stderr, "tabella generate: %s%s\n", what, value);
    return EXIT_USAGE;
}

static void list_sectors(FILE *to)
{
    for (int i = 0; i < TAB_SECTORS; i++)
        fprintf(to, "  %-18s %s\n", tab_sectors[i].slug, tab_sectors[i].name);
}

/* Digits alone; false for anything else, and for more than 2^63. */
static bool whole(const char *s, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(s, &end, 10);
    return s[0] >= '0' && s[0] <= '9' && *end == 0 && errno == 0 && *ret <= INT64_MAX;
}

/* -1 to go on, else the exit code. */
static int parse(int argc, char **argv, arguments *a)
{
    static const struct option options[] = {
        { "rows", 1, NULL, 'r' }, { "tables", 0, NULL, 't' },   { "out", 1, NULL, 'o' },
        { "seed", 1, NULL, 's' }, { "describe", 0, NULL, 'd' }, { "list", 0, NULL, 'l' },
        { "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
    };
    *a = (arguments){ .seed = 1 };
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        switch (c) {
        case 'r':
            if (!whole(optarg, &a->rows) || a->rows == 0 || a->rows > TAB_GENERATE_MOST_ROWS)
                return wrong("--rows must be a whole number from 1 to 1000000000, not ", optarg);
            break;
        case 's':
            if (!whole(optarg, &a->seed))
                return wrong("--seed must be a whole number, not ", optarg);
            break;
        case 't':
            a->tables = true;
            break;
        case 'o':
            a->out = optarg;
            break;
        case 'd':
            a->describe = true;
            break;
        case 'l':
            list_sectors(stdout);
            return EXIT_SUCCESS;
        case 'h':
            fputs(HELP, stdout);
            return EXIT_SUCCESS;
        default:
            fputs(HELP, stderr);
            return EXIT_USAGE;
        }
    if (argc - optind != 1) {
        fputs(HELP, stderr);
        fputs("\nsectors:\n", stderr);
        list_sectors(stderr);
        return EXIT_USAGE;
    }
    a->sector = argv[optind];
    if (tab_sector_of(tab_str_of(a->sector)) < 0) {
        fprintf(stderr, "tabella generate: there is no sector %s; the sectors are\n", a->sector);
        list_sectors(stderr);
        return EXIT_USAGE;
    }
    if (a->describe && a->rows == 0)
        a->rows = 1000;
    if (a->rows == 0)
        return wrong("--rows is required: how many rows to make", "");
    if (a->tables && a->out == NULL && !a->describe)
        return wrong("--tables needs --out FOLDER", "");
    return -1;
}

/* ---- CSV (RFC 4180) --------------------------------------------------------------------------- */

static void put_text(FILE *f, tab_str s)
{
    bool quoted = s.n == 0;
    for (size_t i = 0; i < s.n && !quoted; i++)
        quoted = s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
    if (!quoted) {
        fwrite_unlocked(s.p, 1, s.n, f);
        return;
    }
    putc_unlocked('"', f);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            putc_unlocked('"', f);
        putc_unlocked(s.p[i], f);
    }
    putc_unlocked('"', f);
}

static bool write_table(FILE *f, const tab_generator *g, tab_generate_reader *r, size_t i)
{
    const tab_generated_table *t = tab_generate_table(g, i);
    tab_generated_cell cell[TAB_GENERATE_COLS];
    char buf[40];
    for (size_t k = 0; k < t->cols; k++) {
        if (k > 0)
            putc_unlocked(',', f);
        put_text(f, t->col[k].name);
    }
    putc_unlocked('\n', f);
    for (uint64_t row = 0; row < t->rows && !ferror_unlocked(f); row++) {
        tab_generate_row(r, i, row, cell);
        for (size_t k = 0; k < t->cols; k++) {
            if (k > 0)
                putc_unlocked(',', f);
            if (cell[k].kind == TAB_CELL_NUMBER)
                fwrite_unlocked(buf, 1, tab_generate_number(cell[k].num, cell[k].decimals, buf), f);
            else if (cell[k].kind == TAB_CELL_TEXT)
                put_text(f, cell[k].text);
        }
        putc_unlocked('\n', f);
    }
    return fflush(f) == 0 && !ferror(f);
}

static bool write_file(const char *folder, const tab_generator *g, tab_generate_reader *r, size_t i)
{
    const tab_generated_table *t = tab_generate_table(g, i);
    char path[4200];
    snprintf(path, sizeof path, "%.4000s/%.*s.csv", folder, TAB_STR(t->name));
    FILE *f = fopen(path, "w");
    bool ok = f != NULL;
    if (ok) {
        setvbuf(f, NULL, _IOFBF, 1 << 18);
        ok = write_table(f, g, r, i);
        ok &= fclose(f) == 0;
    }
    if (ok)
        fprintf(stderr, "%s: %llu rows, %zu columns\n", path, (unsigned long long)t->rows, t->cols);
    else
        fprintf(stderr, "tabella generate: %s: %s\n", path, strerror(errno));
    return ok;
}

/* ---- what there is ---------------------------------------------------------------------------- */

static void describe(const tab_generator *g)
{
    for (size_t i = 0; i < tab_generate_tables(g); i++) {
        const tab_generated_table *t = tab_generate_table(g, i);
        printf("%s%.*s: %llu rows\n", i > 0 ? "\n" : "", TAB_STR(t->name), (unsigned long long)t->rows);
        for (size_t k = 0; k < t->cols; k++) {
            printf("  %.*s", TAB_STR(t->col[k].name));
            for (size_t p = 0; p < t->refers; p++)
                if (t->ref[p].col == k)
                    printf(" -> %.*s", TAB_STR(tab_generate_table(g, t->ref[p].table)->name));
            if (t->col[k].stated.n > 0)
                printf(" (%.*s)", TAB_STR(t->col[k].stated));
            putchar('\n');
        }
        for (size_t k = 0; k < t->checks; k++)
            printf("  holds: %.*s\n", TAB_STR(t->check[k]));
    }
}

int cmd_generate(int argc, char **argv)
{
    arguments a;
    int early = parse(argc, argv, &a);
    if (early >= 0)
        return early;
    TAB_AUTO(tab_arena) *arena = tab_arena_new((size_t)256 << 20);
    tab_generator *g = NULL;
    tab_error err = { 0 };
    if (arena == NULL || tab_generate_open(arena, tab_str_of(a.sector), a.rows, a.seed, &g, &err) != TAB_OK) {
        fprintf(stderr, "tabella generate: %s\n", arena == NULL ? "out of memory" : err.message);
        return EXIT_FAILURE;
    }
    if (a.describe) {
        describe(g);
        return EXIT_SUCCESS;
    }
    tab_generate_reader *r = tab_generate_reader_new(arena, g);
    if (r == NULL)
        return wrong("out of memory", "");
    if (a.out == NULL) {
        setvbuf(stdout, NULL, _IOFBF, 1 << 18);
        if (write_table(stdout, g, r, 0))
            return EXIT_SUCCESS;
        fprintf(stderr, "tabella generate: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    if (mkdir(a.out, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "tabella generate: %s: %s\n", a.out, strerror(errno));
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < (a.tables ? tab_generate_tables(g) : 1); i++)
        if (!write_file(a.out, g, r, i))
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
