/* Columns as align/ and link/ compare them: distinct values in normal form, with tokens and numbers.
 *
 *   code[row] ─> value[i] { text, tokens, number, key }
 *
 * Texts and tokens of all tables share one lexicon, so that equal normal forms have equal keys and two
 * values are compared by comparing integers. */
#ifndef TAB_ALIGN_VIEW_H
#define TAB_ALIGN_VIEW_H

#include "services/inference/engine/align/text/nicknames.h"
#include "services/inference/engine/profile/profile.h"

typedef struct {
    uint32_t text, text_n; /* normal form, into tab_views.text */
    uint32_t tok, tok_n;   /* token ids, ascending, into tab_views.tok */
    uint32_t key;          /* id of the normal form: equal keys, equal values */
    uint32_t rows, first;  /* how many rows hold it, and the first */
    double number;         /* NaN where it is none */
} tab_value;

typedef enum { TAB_VIEW_TEXT, TAB_VIEW_NUMBER, TAB_VIEW_DATE } tab_view_kind;

typedef struct {
    const tab_column_profile *profile;
    tab_view_kind kind;
    uint32_t *code; /* (rows) index of the row's value, TAB_NULL where there is none */
    tab_value *value;
    uint32_t values;
    size_t present;
    float once;     /* of a value that stands in one row: how many of as many other rows hold it */
    double *sorted; /* NUMBER and DATE: (sorted_n) numbers of up to 4096 rows, ascending */
    size_t sorted_n;
    bool hosts; /* read as the names of another table (host_names.h): rows are compared by it, but it is no
                       column of names */
    uint32_t chief; /* the table's column that stands for it: itself, or of a joined one a part */
} tab_view;

/* Columns that may be joined to a table, at most (joined.h). */
enum { TAB_VIEW_JOINED = 16 };

typedef struct {
    const tab_profile *profile;
    size_t rows, cols;
    size_t joined; /* views behind those of the table's columns that several of these make up (joined.h) */
    tab_view *col; /* (cols + joined) */
} tab_table_view;

typedef struct {
    size_t n;
    tab_table_view *table;
    char *text;
    uint32_t *tok;
    /* tokens and keys: id -> its text, and in how many rows of all tables it occurs */
    size_t terms;
    uint32_t *term_at, *term_n; /* into text; term_n 0 for value keys longer than a token */
    uint32_t *df;               /* (terms) rows that hold the token, all tables; 0 for mere keys */
    tab_nickname *nickname;     /* (terms) */
    float *idf, *rarity;        /* (terms) log(1 + rows / df), log(rows / df) */
    float *telling; /* (terms) of keys: 1 for a value that two columns hold, 0 for one that all do */
    size_t total_rows;
    struct tab_view_scratch *own;
} tab_views;

tab_status tab_views_new(const tab_engine *e, tab_profile *const *profiles, size_t n, tab_views **ret,
                         tab_error *err) TAB_CHECKED;
void tab_views_free(tab_views *v);
TAB_DEFINE_AUTO(tab_views)

/* A number with its affixes read through: "$1,200.50", "45 %", "1.2e3", "3:18" and "3m 18sec" (seconds).
 * decimal is '.' or ','. */
bool tab_read_number(tab_str s, char decimal, double *ret);

/* In how many rows of strangers a value of column w would stand, were there as many as w has: its own
 * row is not one of them. Of values that stand once Good and Turing's estimate, 2 N2 / N1 (Good 1953),
 * so that texts which all stand once tell the more, the more there are (decision 0341). */
static inline float tab_value_count(const tab_view *w, const tab_value *x)
{
    return (float)(x->rows - 1) + w->once;
}

static inline tab_str tab_value_text(const tab_views *v, const tab_value *x)
{
    return (tab_str){ v->text + x->text, x->text_n };
}
#endif
