/* A sector's plan as the interpreter holds it. plan.c reads it, rows.c makes rows of it. */
#ifndef TAB_GENERATE_PLAN_H
#define TAB_GENERATE_PLAN_H

#include "services/inference/engine/generate/generate.h"

enum { PARENTS = 4, FIELDS = 12, GROUP = 64, STACK = 24 };

/* ---- expressions: steps of a stack machine over doubles ---- */
typedef struct {
    uint8_t op, args;
    uint16_t a, b; /* parent + 1 (0: own), column; or a calendar */
    uint64_t key;  /* of a draw */
    double x;
} step;
typedef struct {
    step *s;
    size_t n; /* 0: there is none */
} formula;

/* ---- lists of records: "Austin|Texas|787##|30.27|-97.74" ---- */
typedef struct {
    tab_str name;
    size_t n, fields;
    tab_str *text; /* (n x fields) */
    double *num;   /* (n x fields) of a word: the first record that has it */
    bool *word;    /* (n x fields) no number */
} list;

/* How often things happen over the days of a range: sums of shares before each day. */
typedef struct {
    int profile;
    double from, days;
    double *before; /* (days + 1) 0 .. 1 */
} calendar;

/* A piece of a template: plain text, then perhaps a column or a list's text. */
typedef struct {
    tab_str plain;
    int parent, col; /* col -1: none; parent + 1, 0: own */
    const list *list;
    char how; /* 0 as shown, l u 1 as generate_plain has them */
    uint64_t key;
} piece;

typedef enum {
    KIND_KEY,     /* counts rows: pattern's # are digits */
    KIND_REF,     /* a parent's key */
    KIND_PICK,    /* one of labels, by weight; `by` another column's label */
    KIND_CHOOSE,  /* one of labels, by formula */
    KIND_FROM,    /* a record of a list */
    KIND_PART,    /* another field of the record that a column chose */
    KIND_FILL,    /* a pattern of a list or field, filled */
    KIND_TEXT,    /* a template */
    KIND_NUM,     /* a formula, rounded */
    KIND_DATE,    /* a formula, a day */
    KIND_TIME,    /* a formula, seconds */
    KIND_OUTCOME, /* one of two labels, by a score, with a stated AUC */
    KIND_SIGNAL,  /* a score with noise, with a stated R2 */
    KIND_CODE,    /* a pattern by chance, perhaps with check digits */
    KIND_COPY,    /* a parent's cell as it is shown */
    KIND_AGG      /* sum, count, least, most over the rows that hang below */
} kind;

typedef struct {
    tab_str name;
    kind kind;
    bool hidden, own, each; /* each: FROM takes the records in order */
    int decimals;
    uint64_t key;
    formula e, missing, only;
    double typo;
    /* labels */
    size_t labels, groups; /* weights (groups x labels), summed up */
    tab_str *label;
    float *weight;
    /* lists and columns read; parent + 1, 0: own */
    size_t lists;
    const list *list[FIELDS];
    int of_parent, of_col, field; /* of_col -1: none */
    tab_str pattern;              /* KEY, CODE; AGG: what it sums, until the plan is whole */
    piece *piece;
    size_t pieces;
    int code, agg; /* agg: what it does; of_parent is then the table below, field its parent */
    /* outcome, signal */
    double rate, strength, shift, scale;
    tab_str stated;
} column;

typedef enum { PARENT_ANY, PARENT_AFTER, PARENT_LINES, PARENT_CYCLE, PARENT_OTHER, PARENT_SELF } joining;
typedef struct {
    tab_str name; /* the table's, or its part in this one: "away" */
    joining way;
    size_t table;
    int theirs, ours; /* AFTER: columns of times */
    double least, mean;
    size_t in_group; /* LINES: rows to GROUP parents */
    uint64_t key;
} parent;

typedef struct {
    tab_str name;
    uint64_t rows, key;
    formula count; /* of rows asked for */
    double duplicates;
    size_t cols, parents;
    column *col;
    parent parent[PARENTS];
    size_t checks;
    formula *check;
    tab_str *check_text;
    size_t shown_at[TAB_GENERATE_COLS]; /* column of the n-th shown one */
    tab_generated_table shown;
} table;

struct tab_generator {
    tab_arena *a;
    uint64_t seed, rows;
    size_t tables, main, lists, calendars;
    table table[TAB_GENERATE_TABLES];
    list *list;
    calendar calendar[16];
    tab_str country; /* of this organization: which lists NAME@ stand for */
};

/* ---- chance.c ---- */
uint64_t generate_hash(uint64_t key, uint64_t row);
uint64_t generate_key(uint64_t key, tab_str name, uint64_t n);
static inline double generate_unit(uint64_t key, uint64_t row) /* (0, 1) */
{
    return ((double)(generate_hash(key, row) >> 12) + 0.5) * 0x1p-52;
}
double generate_quantile(double u); /* of a standard normal */
double generate_poisson(uint64_t key, uint64_t row, double mean);
double generate_walk(uint64_t key, double x);   /* Brownian: a step's deviation is about 1 */
double generate_smooth(uint64_t key, double x); /* standard normal, alike within about 1 */

/* ---- calendar.c ---- */
enum { GENERATE_DAY = 86400 };
int generate_profile(tab_str name); /* -1: none */
bool generate_calendar(tab_arena *a, calendar *c);
double generate_when(const calendar *c, double share, double clock); /* seconds since 1970 */
double generate_days(int year, int month, int day);                  /* since 1970 */
void generate_civil(double days, int *y, int *m, int *d);
size_t generate_date_text(double seconds, bool clock, char *buf); /* (24) */

/* ---- codes.c ---- */
enum { CODE_PLAIN, CODE_LUHN, CODE_EAN, CODE_IBAN, CODE_VIN };
/* '#' a digit, '^' a capital, '`' a small letter, '*' capital or digit, '%' a house number; '\' keeps what
 * follows. */
size_t generate_fill(uint64_t key, uint64_t row, tab_str pattern, char *out, size_t size);
void generate_check_digits(int code, char *p, size_t n);
size_t generate_key_text(tab_str pattern, uint64_t row, char *out, size_t size);
size_t generate_typo(uint64_t key, uint64_t row, tab_str s, char *out, size_t size);
size_t generate_plain(tab_str s, char how, char *out, size_t size); /* low, up, initial */

/* ---- names.c ---- */
tab_str plan_part(tab_str *rest, char by); /* up to the next `by`, without blanks around it */
int plan_column(const table *t, size_t cols, tab_str name);
int plan_parent(const tab_generator *g, size_t t, tab_str name);

/* ---- rows ---- */
typedef struct {
    double x;     /* FROM: the record's number + RECORDS times its list's */
    tab_str text; /* p NULL: what is shown is made of x */
} value;
enum { RECORDS = 65536, TEXTS = 2048 };
static inline size_t rows_record(const column *c, double x, size_t field, const list **ret)
{
    size_t k = (size_t)x;
    *ret = c->list[k / RECORDS];
    return k % RECORDS * (*ret)->fields + (field < (*ret)->fields ? field : 0);
}
typedef struct {
    const table *t;
    uint64_t row, src; /* src: the row that this one repeats, or itself */
    uint64_t done, parent_row[PARENTS];
    unsigned parents; /* bit of each that is known */
    value *v;         /* (cols) */
    char *text;
    size_t used;
} context;
typedef struct {
    uint64_t at; /* which group, + 1 */
    uint16_t before[GROUP + 1];
} group;
enum { HELD = 128, GROUPS = 16 };
struct tab_generate_reader {
    const tab_generator *g;
    /* rows.c: the row's value in a column, made when it is first asked for */
    const value *(*value)(tab_generate_reader *r, context *c, size_t col);
    context now[TAB_GENERATE_TABLES], probe[TAB_GENERATE_TABLES], *held[TAB_GENERATE_TABLES];
    group *groups[TAB_GENERATE_TABLES];
    char *shown;
    size_t used;
};

/* ---- links.c ---- */
void rows_begin(context *c, uint64_t row);
context *rows_held(tab_generate_reader *r, size_t table, uint64_t row);
/* Tables whose rows hang in order on those of the table above (LINES): a row's, and whose a row is. */
void rows_lines(tab_generate_reader *r, size_t child, uint64_t row, uint64_t *first, uint64_t *n);
uint64_t rows_line_of(tab_generate_reader *r, size_t child, uint64_t row, uint64_t *line);
/* The row that it hangs on, by its number and itself (good until another row of that table is asked for). */
uint64_t rows_above(tab_generate_reader *r, context *c, size_t parent);
context *rows_parent(tab_generate_reader *r, context *c, size_t parent);

/* ---- formula.c ---- */
tab_status formula_read(tab_generator *g, size_t table, size_t cols, tab_str text, uint64_t key, formula *ret,
                        tab_error *err) TAB_CHECKED;
bool formula_moves(const formula *f); /* follows the row's own place in the course of time */
double rows_formula(tab_generate_reader *r, context *c, const formula *f, bool own);

/* ---- plan.c, tables.c ---- */
tab_status plan_read(tab_generator *g, tab_str lists, tab_str text, tab_error *err) TAB_CHECKED;
tab_status plan_finish(tab_generator *g, uint64_t rows, tab_error *err) TAB_CHECKED;

/* ---- strength.c ---- */
tab_status strength_fit(tab_generator *g, tab_error *err) TAB_CHECKED;
#endif
