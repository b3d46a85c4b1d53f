/* Columns to numbers. An encoder is fitted once a table and then shared by every target, fold, learner
 * and by imputation; it never sees a target.
 *
 *   column (profile)      features
 *   numeric, boolean      x                            a missing cell stays missing
 *   datetime              seconds; day of week, hour, month where they vary
 *   categorical           codes by falling frequency; a second, numeric reading where all levels are numbers
 *   text                  length, words, and a few directions of hashed character n-grams
 *                         (features/encode_text.c); the codes as well where texts repeat
 *   identifying           none, unless its values repeat: a key of something else, a month, a day
 *   a doubtful id         its numbers
 *
 * A feature is held in two forms: `x` (float, robustly scaled; NaN = missing) or `code`, and `bin`, one byte
 * a cell for the tree learners. Features stand in the order of their content's hash and rows in the order
 * of theirs, so that neither the order of columns nor of rows can change an answer.
 *
 * Memory belongs to the arena given. */
#ifndef TAB_ENCODE_H
#define TAB_ENCODE_H

#include <math.h>

#include "services/inference/engine/pack/pack.h"
#include "services/inference/engine/profile/profile.h"

enum { TAB_BINS = 254, TAB_BIN_MISSING = 255, TAB_KNOTS = 33 };

typedef enum { TAB_FEATURE_NUMBER, TAB_FEATURE_CODE } tab_feature_kind;

typedef enum {
    TAB_DERIVE_VALUE,   /* the number, seconds of a date, 0 / 1 of a boolean */
    TAB_DERIVE_CODE,    /* the level */
    TAB_DERIVE_LEVEL,   /* a level's text read as a number */
    TAB_DERIVE_WEEKDAY, /* 0..6 */
    TAB_DERIVE_HOUR,    /* 0..24, with its fraction */
    TAB_DERIVE_MONTH,   /* 0..11 */
    TAB_DERIVE_LENGTH,  /* bytes of a text */
    TAB_DERIVE_WORDS,   /* words of a text */
    TAB_DERIVE_TOPIC    /* direction `part` of the text's n-grams */
} tab_derive;

typedef struct {
    tab_feature_kind kind;
    tab_derive derive;
    uint32_t part;
    size_t source; /* column of the table */
    uint64_t hash; /* of the column's content; the same for any order of rows */

    /* numbers: x = (value - shift) / scale, limited to +-1e6 */
    double shift, scale;
    float *edge; /* (edges) ascending, of x: bin = count of edges <= x */
    size_t edges;
    float knot[TAB_KNOTS]; /* quantiles (i + 1/2) / TAB_KNOTS of x, not falling */
    float mean, sd;        /* of x limited to the outer knots +- their distance to the median */
    bool skewed;           /* far from normal: learners that measure distances read it by rank */
    bool has_missing;
    bool time; /* of a column of times */

    /* codes: 0..levels-1 by falling frequency; unseen = levels, missing = TAB_NULL */
    size_t levels;
    uint64_t *level_hash; /* (levels) of the levels' texts */
    uint64_t *folded;     /* (levels) of the texts in one case, without accents; 0: as another level's */
    float *share;         /* (levels) of the present rows */
    uint32_t *slot;       /* (slots) open-addressed table: code + 1 of either hash, or 0 */
    size_t slots;         /* power of two */
    size_t bins;          /* codes: used bins without the missing one; numbers: edges + 1 */
} tab_feature;

typedef struct tab_text_basis tab_text_basis; /* features/encode_text.h */

typedef struct {
    size_t n;              /* features */
    const tab_feature *f;  /* (n) */
    size_t cols;           /* columns of the table */
    tab_text_basis **text; /* (cols) or NULL where the column is not text */
    uint64_t *column_hash; /* (cols) of a column's content; 0: no feature reads it */
} tab_encoder;

/* Rows as the learners read them. Feature-major: feature j's values are a run of `rows`. */
typedef struct {
    size_t rows, n;
    float **x;       /* (n)(rows) numbers; NULL for codes */
    uint32_t **code; /* (n)(rows) codes; NULL for numbers */
    uint8_t **bin;   /* (n)(rows) */
    uint64_t *hash;  /* (rows) of the row's cells in used columns; equal cells, equal hash, in any data */
    uint32_t *row;   /* (rows) row of the table that stands here; tab_encode_fit sorts by hash */
} tab_data;

/* Whether row `row` of d has no value of the feature. */
static inline bool tab_data_lacks(const tab_data *d, size_t feature, size_t row)
{
    return d->x[feature] != NULL ? isnan(d->x[feature][row]) : d->code[feature][row] == TAB_NULL;
}

tab_pack_fn tab_pack_encoder, tab_pack_data;

/* What a column's cells are once parsed: the profile's view without its statistics. */
typedef struct {
    tab_type type;
    const double *number;
    const uint32_t *code;
    const tab_str *level;
    size_t levels;
} tab_values;

static inline tab_values tab_values_of(const tab_column_profile *c)
{
    return (tab_values){ c->type, c->number, c->code, c->level, c->levels };
}

/* levels (columns): whether the levels of a column are texts that are read as numbers and in no other way (an
 * order's number). */
void tab_levels_numbered(const tab_encoder *e, bool *levels);

/* The numbers of a column's cells: those that the profile read, or, where `levels` says so, what its
 * levels say. *ret (rows): NaN where a cell is missing; NULL: it holds no numbers. Of a. False: the arena is
 * full. */
bool tab_numbers_read(tab_arena *a, bool levels, const tab_values *v, size_t rows,
                      const double **ret) TAB_CHECKED;

/* Whether a column may explain others: one that names rows one by one could only be learned by heart. */
bool tab_explains(const tab_column_profile *c);

/* Fits an encoder on all rows of p and encodes them. `use` (cols) says which columns are features; NULL:
 * all that tab_explains. NULL when the arena is full. */
tab_encoder *tab_encode_fit(const tab_engine *e, tab_arena *a, const tab_profile *p, const bool *use,
                            tab_data **ret);

/* Room for rows in the encoder's features; NULL when the arena is full. */
tab_data *tab_data_new(tab_arena *a, const tab_encoder *enc, size_t rows);

/* Encodes other rows of the same columns, in their order. values (cols). */
tab_data *tab_encode_rows(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_values *values,
                          size_t rows);

/* Views, shallow: an encoder and its data without the features of column `source`, and of the first `rows`
 * rows only (rows stand in hash order: a fair sample). False when the arena is full. */
bool tab_encode_without(tab_arena *a, const tab_encoder *enc, const tab_data *d, size_t source, size_t rows,
                        tab_encoder *ret_enc, tab_data *ret_data);

/* The hashes of d's rows (all of the table's, c its column `source`) without the column's cells, where rows
 * that are equal but for these are more than one in TAB_FEW_EQUAL: by hashes that know the cell, such rows
 * would be told apart by what is to be found. *ret_order: the rows by these hashes, for tab_encode_pick,
 * since equal rows have to be neighbours; else NULL, and nothing changed. False: memory. */
enum { TAB_FEW_EQUAL = 50 };
bool tab_encode_unhash(tab_arena *a, const tab_encoder *enc, const tab_column_profile *c, size_t source,
                       tab_data *d, uint32_t **ret_order);

/* A copy of rows row[0..n) of d, in that order. NULL when the arena is full. */
tab_data *tab_encode_pick(tab_arena *a, const tab_encoder *enc, const tab_data *d, const uint32_t *row,
                          size_t n);

/* One number's form (features/encode_number.c). fit: from its n present values, which it sorts; f->edge has
 * room for TAB_BINS. False: memory. */
bool tab_number_fit(tab_feature *f, double *value, size_t n);
float tab_number_scaled(const tab_feature *f, double value);
uint8_t tab_number_bin(const tab_feature *f, float x);
/* The normal score of x and back; score (TAB_KNOTS) from tab_number_scores. */
void tab_number_scores(float *score);
float tab_number_score(const tab_feature *f, const float *score, float x);
float tab_number_of_score(const tab_feature *f, const float *score, float z);

/* One category's codes (features/encode_code.c). fit: from the column's levels and the rows that hold them;
 * f has room for all levels. False: out of memory. find: the code of a text; `levels` where fitting has not
 * seen it. */
bool tab_code_fit(tab_feature *f, const tab_values *v, size_t rows);
uint32_t tab_code_find(const tab_feature *f, tab_str text);
/* The hash of a text in one case and without accents; 0: it is long, or nothing is left. */
uint64_t tab_folded_hash(tab_str text);
uint8_t tab_code_bin(const tab_feature *f, uint32_t code);
void tab_pack_code(tab_pack *p, tab_feature *f);

/* The dense form, row-major float, that linear algebra reads (features/dense.c). */
typedef enum {
    TAB_DENSE_SPLINE, /* z, missing flag, hinges at inner quantiles; one-hot levels */
    TAB_DENSE_METRIC, /* one coordinate a number (rank-based where skewed), missing flag; one-hot / sqrt 2 */
    TAB_DENSE_FAR     /* as METRIC, but no number by rank and none cut off: far values stay far */
} tab_dense_kind;

typedef struct {
    tab_dense_kind kind;
    size_t width;
    size_t hinges, onehot;  /* limits a feature: hinges a number, levels a category */
    uint32_t *feature;      /* (width) the feature that a dense column reads */
    size_t features;        /* of the encoder */
    bool *skip;             /* (features) those left out, or NULL */
    float score[TAB_KNOTS]; /* tab_number_scores */
} tab_dense;

tab_pack_fn tab_pack_dense;

/* Where there are more features than width_limit, half as many are read: the most important ones
 * (importance: a share a feature, or NULL: all are read). Else a feature is read more coarsely until all
 * fit. */
tab_dense *tab_dense_new(tab_arena *a, const tab_encoder *enc, tab_dense_kind kind, size_t width_limit,
                         const float *importance);
/* out (n, width): rows row[0..n) of d. */
void tab_dense_read(const tab_dense *s, const tab_encoder *enc, const tab_data *d, const uint32_t *row,
                    size_t n, float *out);
/* scale (width): what each column is multiplied by so that distances weigh features by their importance (a
 * share a feature; NULL: all alike). strength: 0 not at all, 1 squared distances in proportion. */
void tab_dense_weigh(const tab_dense *s, size_t features, const float *importance, double strength,
                     float *scale);
/* tab_dense_read, each column times its scale (width). */
void tab_dense_read_scaled(const tab_dense *s, const tab_encoder *enc, const tab_data *d, const uint32_t *row,
                           size_t n, const float *scale, float *out);
#endif
