/* Values of every role, made by chance: what generate.c fills its tables with.
 *
 * A maker writes one column at a time as texts, as a file would hold them (cell[i].p NULL: missing); how the
 * column is written (notation, language, unit, precision, coding of classes) is drawn per column within
 * the table's locale. Chance is splitmix64: the same seed gives the same tables everywhere. */
#ifndef TAB_TRAIN_MAKER_H
#define TAB_TRAIN_MAKER_H

#include "common/base/arena.h"
#include "services/inference/engine/profile/roles/roles.h"

typedef struct {
    uint64_t s;
} chance;

double chance_unit(chance *c);            /* [0, 1) */
size_t chance_below(chance *c, size_t n); /* 0 .. n-1 */
double chance_normal(chance *c);
bool chance_of(chance *c, double p);

/* How a country writes. */
typedef struct {
    char decimal;         /* '.' or ',' */
    const char *grouping; /* "," "." " " "'" or "" */
    const char *money;    /* sign */
    const char *currency; /* ISO 4217 */
    double rate;          /* units for a dollar, roughly */
    int date;             /* 0 year first, 1 month first, 2 day first with '/', 3 with '.', 4 with '-' */
    const char *phone[3], *postal, *plate, *country2, *country;
    const char *street[4]; /* "%n" the number, "%w" a name */
    const char *yes, *no;
    double lat[2], lon[2];
} locale;

extern const locale train_locales[];
extern const size_t train_locale_count;

typedef struct {
    tab_arena *a;
    chance *c;
    const char *sector;
    const locale *loc;
    size_t rows;
    tab_str *cell;         /* (rows) the column being made */
    double *now, *last[2]; /* (rows) its numbers; those of the columns before */
    int64_t *day;          /* (rows) the last date column, or NULL */
    const uint32_t *group; /* (rows) rows of one thing, or NULL */
    int script;            /* script_of the words of this table */
    const double *drift;   /* (rows) what neighbouring rows share, standard normal (drift.c) */
    double tie;            /* the column's correlation with it */
} maker;

typedef struct {
    int role;
    char arg[480]; /* what follows the role's name in the plan */
} spec;

/* Fills m->cell (and m->now where the column is one of numbers: *numeric). False: out of memory. */
bool make_numbers(maker *m, const spec *s, bool *numeric); /* numbers.c: quantities, years, coordinates */
bool make_times(maker *m, const spec *s); /* times.c: dates, timestamps, periods, clocks, durations */
bool make_texts(maker *m, const spec *s); /* texts.c: words, names, classes */
bool make_codes(maker *m, const spec *s, bool *made); /* codes.c: keys, codes, identifiers */

/* Rows of real tables come in some order, and neighbours are alike (drift.c). Begun once a table and once a
 * column; then a column's normal or uniform draw for a row. False: out of memory. */
bool drift_begin(maker *m);
void drift_column(maker *m);
double drift_normal(maker *m, size_t row);
double drift_unit(maker *m, size_t row);

/* Word lists of the engine's lexicon ("city", "sector_banking"); the program ends when there is none. */
tab_str word_of(maker *m, const char *list); /* of the table's script, where the list has one */
int script_of(tab_str w);                    /* 0 Latin, else a number for the others */
tab_str title_case(maker *m, tab_str w);
/* 9 digit, A capital, a small letter, H hex, N letter or digit, else itself */
void fill_template(chance *c, const char *t, char *out, size_t size);
bool put_cell(maker *m, size_t row, const char *text);
#endif
