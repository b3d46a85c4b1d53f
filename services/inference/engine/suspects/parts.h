/* The inside of suspects.h, shared by its files only. */
#ifndef TAB_SUSPECTS_PARTS_H
#define TAB_SUSPECTS_PARTS_H

#include "services/inference/engine/suspects/suspects.h"

enum {
    TAB_SUSPECT_ROWS = 20,    /* a column of fewer cells says nothing of any of them */
    TAB_SUSPECT_COLUMNS = 64, /* of wider tables the first ones are held against each other */
    TAB_SUSPECT_CANDIDATES = 1 << 18,
    TAB_SUSPECT_AMOUNT_ROWS = 1 << 20, /* of longer tables no amounts are looked at: memory */
    TAB_SUSPECT_LEVELS = 20000,        /* distinct values of a column that are held against each other */
};
#define TAB_SUSPECT_BYTES ((size_t)8 << 30) /* of any one arena of a finder */

/* A column as its distinct trimmed values, and as numbers where its cells are. */
typedef struct {
    const tab_column_profile *col;
    size_t present;       /* cells that are neither null nor a mark */
    size_t levels;        /* distinct values; 0 where they are not counted (numbers, nearly all distinct) */
    const uint32_t *code; /* (rows) level of the cell; TAB_NULL: null or a mark */
    const tab_str *text;  /* (levels) */
    uint32_t *count;      /* (levels) cells of each */
    const double *num;    /* (rows) NaN where the cell is no number; NULL: not a column of numbers */
    const double *amount; /* (rows) of a column whose cells are numbers and that is told as categories or
                           * names: arithmetic may hold of them; NULL: none */
    bool key;             /* as good as every value stands once */
} tab_seen;

/* The candidates of one table. */
typedef struct {
    const tab_engine *e;
    tab_arena *arena;   /* of the search: what the columns are seen as, the candidates, their texts */
    tab_arena *scratch; /* of one finder; of spelling.c on one column */
    const tab_profile *p;
    tab_profile *const *all; /* (tables) p and those that it may refer to */
    size_t tables;
    size_t rows;
    tab_seen *seen; /* (cols) */
    size_t amounts; /* of them have one */
    tab_suspect *found;
    size_t n, room;
    bool failed; /* memory ran out */
} tab_search;

/* False: memory ran out. numbers: their numbers alone, without those of dates. */
bool tab_suspects_view(tab_search *s) TAB_CHECKED;
bool tab_suspects_view_numbers(tab_search *s) TAB_CHECKED;

/* The finders. Spelling has scratch memory of each column's own. */
void tab_suspects_spelling(tab_search *s);
void tab_suspects_variants(tab_search *s);
void tab_suspects_calendar(tab_search *s);
void tab_suspects_rules(tab_search *s);
void tab_suspects_numbers(tab_search *s);
void tab_suspects_swapped(tab_search *s);
void tab_suspects_references(tab_search *s);
void tab_suspects_codes(tab_search *s);
void tab_suspects_still(tab_search *s);
void tab_suspects_misplaced(tab_search *s);
void tab_suspects_proven(tab_search *s);
void tab_suspects_cut(tab_search *s);
void tab_suspects_bounds(tab_search *s);

/* A candidate, its features zeroed, to be filled before the next is asked for; NULL: memory ran out. Past
 * TAB_SUSPECT_CANDIDATES of them the surer half is kept. */
tab_suspect *tab_suspects_add(tab_search *s, size_t row, size_t column, tab_suspect_kind kind);

/* For qsort of tab_suspect: by row and column, the surest of a cell first. */
int tab_suspect_by_cell(const void *a, const void *b);

/* Puts the surest `most` of n candidates first, their confidence set; how many they are. */
size_t tab_suspects_surest(tab_suspect *s, size_t n, size_t most);

/* The confidences of n cells, best of each, knowing what other kinds say of them; surest first. */
void tab_suspects_settle(tab_suspect *s, size_t n);

/* What a law of the table says of a row. */
enum { TAB_LAW_SILENT, TAB_LAW_HOLDS, TAB_LAW_BROKEN, TAB_LAW_OTHER_KIND };

/* judged (rows): of a law between the columns `own`. The rows that break it and are another kind of thing
 * by a value of another column become TAB_LAW_OTHER_KIND (told_apart.c). False: memory ran out. */
bool tab_suspects_told_apart(tab_search *s, uint8_t *judged, const size_t *own, size_t owns) TAB_CHECKED;

/* 'a' for a letter, '9' for a digit, else the sign itself. */
char tab_sign_class(unsigned char c);

/* The hash of a text's form: letters, digits, and each other sign as it is, runs of one class as one. exact:
 * case tells letters apart, and a run of digits counts its digits. Of long texts the first 64 runs. */
uint64_t tab_suspects_form(tab_str t, bool exact);

/* A distinct value and its form. */
typedef struct {
    uint64_t form;
    uint32_t level;
} tab_formed;

/* f (n): the values of rare forms, by form. ret (levels): true where the column makes that form by chance
 * (drawn.c). False: memory ran out. */
bool tab_suspects_drawn(tab_search *s, const tab_seen *v, const tab_formed *f, size_t n,
                        bool *ret) TAB_CHECKED;

/* rare (levels): which values are of rare forms; f (n): these by their exact form. ret (levels): how much
 * speaks for values of their own, a decimal logarithm of odds divided by 3, 0 to 1 (own_values.c). False:
 * memory ran out. */
bool tab_suspects_own_values(tab_search *s, const tab_seen *v, const bool *rare, const tab_formed *f,
                             size_t n, float *ret) TAB_CHECKED;

/* Drops the candidates whose cells are marks (marks.c). False: memory ran out. */
bool tab_suspects_drop_marks(tab_search *s) TAB_CHECKED;

/* ret (levels): which values have a mark behind them that others have as well: that is a way to write, and no
 * slip. False: memory ran out. */
bool tab_suspects_marked_alike(tab_search *s, const tab_seen *v, bool *ret) TAB_CHECKED;

/* Whether v is a column of hosts' addresses; ret (levels): those that are one get true. */
bool tab_suspects_addresses(const tab_seen *v, bool *ret);

/* A number below 0 among others is of a rare form by its sign alone. Where the column's lower tail goes on
 * to it (as an exponential one, by its 0.02 and 0.1 quantiles), its number says it all, and its form
 * nothing. */
typedef struct {
    uint64_t form; /* that most cells have */
    double begins, falls, cells;
} tab_lower_tail;

/* rough (levels): 1 for values of the commonest form. False: memory ran out. */
bool tab_suspects_lower_tail(const tab_search *s, const tab_seen *v, const float *rough,
                             tab_lower_tail *ret) TAB_CHECKED;

/* Whether the tail goes on to the cell t, which reads as x. */
bool tab_in_lower_tail(const tab_lower_tail *q, tab_str t, double x);

/* What each of n cells likely was, where no finder knew. False: memory ran out. */
bool tab_suspects_repair(tab_search *s, tab_suspect *c, size_t n) TAB_CHECKED;

/* Whether one edit (Damerau: a byte more, less, other, or two neighbours swapped) turns x into y. *ret_digit:
 * a digit takes part in it. */
bool tab_one_edit(tab_str x, tab_str y, bool *ret_digit);

/* Letters and the digits that look like them. */
enum { TAB_LOOKALIKES = 6 };
extern const char tab_lookalikes[TAB_LOOKALIKES][2];

/* log10 of x, 0 for what is below 1. */
double tab_log_count(double x);
#endif
