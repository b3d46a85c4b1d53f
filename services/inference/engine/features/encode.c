/* See encode.h: columns become features, once a table. predict/ and impute/ call tab_encode_fit; scoring of
 * new rows calls tab_encode_rows. Order of work:
 *
 *   hash_columns   a hash a column and a row, by content; directions of texts
 *   fit_features   the features of each column, fitted (a sample of values sorted, or levels counted)
 *   sort_rows      rows in the order of their hashes
 *   encode_one     the encoded run of each feature
 *
 * The steps that touch every cell run a feature at a time under parallel_for; each writes only its own
 * feature. No step reads a target, so one encoder serves every target and fold. */
#include "services/inference/engine/features/encode.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/features/encode_text.h"
#include "services/inference/engine/features/mix.h"
#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/profile/roles/roles.h"

/* FEW_NUMBERS of 8 and 32 (with narrower and wider limits of `skewed` in encode_number.c) move log-loss by
 * 0.003 and RMSE by 0.005 of tuned XGBoost's (decision 0307). TEXT_REPEATS was not tried: no table there
 * has such texts. */
static const double SURE_ROLE = 0.5;
enum {
    FEW_NUMBERS = 16, /* beyond, levels that are numbers are read as numbers only */
    TEXT_REPEATS = 2, /* a text column whose texts stand twice on average is a category too */
    MOST_DERIVED = TAB_TEXT_DIRECTIONS + 8, /* features of one column */
    FEW_CELLS = 8192                        /* are encoded sooner than another thread is woken */
};

static const uint64_t MISSING_CELL = 0x6d697373; /* what a missing cell adds to a row's hash: any constant */

/* ---- reading one cell ------------------------------------------------------------------------ */

/* A level's text as a number, NaN where it is none. Only plain notation: profile has read affixes already. */
static double number_of_level(tab_str s)
{
    char buf[64];
    if (s.n == 0 || s.n >= sizeof buf)
        return (double)NAN;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    char *end;
    /* the whole text must be the number */
    double v = strtod(buf, &end);
    return *end == 0 && isfinite(v) ? v : (double)NAN;
}

void tab_levels_numbered(const tab_encoder *e, bool *levels)
{
    for (size_t k = 0; k < e->n; k++)
        levels[e->f[k].source] = e->f[k].derive == TAB_DERIVE_LEVEL;
    for (size_t k = 0; k < e->n; k++) /* another feature of the column, before or behind it */
        if (e->f[k].derive != TAB_DERIVE_LEVEL)
            levels[e->f[k].source] = false;
}

bool tab_numbers_read(tab_arena *a, bool levels, const tab_values *v, size_t rows, const double **ret)
{
    *ret = v->number;
    if (v->number != NULL || !levels || v->code == NULL)
        return true;
    double *number = tab_arena_new_of(a, double, rows + 1), *of = calloc(v->levels + 1, sizeof *of);
    bool ok = number != NULL && of != NULL;
    for (size_t l = 0; ok && l < v->levels; l++)
        of[l] = number_of_level(v->level[l]);
    for (size_t r = 0; ok && r < rows; r++)
        number[r] = v->code[r] == TAB_NULL ? (double)NAN : of[v->code[r]];
    free(of);
    *ret = number;
    return ok;
}

/* What a moment says besides its place in time. Beyond three million years: NaN. */
static double derive_date(tab_derive d, double seconds)
{
    if (!(fabs(seconds) < 1e14))
        return (double)NAN;
    double days = floor(seconds / 86400);
    int year, month, day;
    switch (d) {
    case TAB_DERIVE_WEEKDAY:
        /* 1970-01-01 was a Thursday: Sunday is 0. The second remainder serves days before it. */
        return fmod(fmod(days + 4, 7) + 7, 7);
    case TAB_DERIVE_HOUR:
        return (seconds - days * 86400) / 3600;
    default:
        tab_civil_from_days((int64_t)days, &year, &month, &day);
        return month - 1;
    }
}

/* Numbers derived from a level are made once a level, in `level` (levels); others come from `number`. */
typedef struct {
    const tab_values *v;
    tab_derive derive;
    double *level;
} reader;

/* False: out of memory. */
static bool reader_open(reader *r, const tab_feature *f, const tab_values *v, const tab_text_basis *text)
{
    /* values and parts of dates are read from the numbers */
    *r = (reader){ .v = v, .derive = f->derive };
    if (f->derive < TAB_DERIVE_LENGTH && f->derive != TAB_DERIVE_LEVEL)
        return true;
    /* a number for each level, which all its rows share */
    r->level = malloc((v->levels + 1) * sizeof *r->level);
    if (r->level == NULL)
        return false;
    if (f->derive == TAB_DERIVE_TOPIC) {
        tab_text_project(text, f->part, v->level, v->levels, r->level);
        return true;
    }
    for (size_t i = 0; i < v->levels; i++) {
        tab_str s = v->level[i];
        if (f->derive == TAB_DERIVE_LEVEL) {
            r->level[i] = number_of_level(s);
        } else if (f->derive == TAB_DERIVE_LENGTH) {
            r->level[i] = (double)s.n;
        } else {
            /* a word begins where a blank ends */
            size_t words = 0;
            for (size_t k = 0; k < s.n; k++)
                words += s.p[k] != ' ' && (k == 0 || s.p[k - 1] == ' ');
            r->level[i] = (double)words;
        }
    }
    return true;
}

/* The number that the feature derives from a row's cell; NaN where the cell is missing. */
static inline double read_number(const reader *r, size_t row)
{
    if (r->level != NULL) {
        uint32_t c = r->v->code[row];
        return c == TAB_NULL ? (double)NAN : r->level[c];
    }
    if (r->v->number == NULL)
        return (double)NAN;
    double v = r->v->number[row];
    return r->derive == TAB_DERIVE_VALUE || isnan(v) ? v : derive_date(r->derive, v);
}

/* ---- fitting one feature --------------------------------------------------------------------- */

/* Scale, bins and knots from the column's present values. False: out of memory. */
static bool fit_number(tab_feature *f, const tab_values *v, const tab_text_basis *text, size_t rows)
{
    reader r;
    if (!reader_open(&r, f, v, text))
        return false;
    /* present values alone decide scale, bins and knots */
    size_t n = 0;
    double *value = malloc((rows + 1) * sizeof *value);
    for (size_t i = 0; value != NULL && i < rows; i++) {
        double d = read_number(&r, i);
        if (isnan(d))
            f->has_missing = true;
        else
            value[n++] = d;
    }
    free(r.level);
    bool ok = value != NULL && tab_number_fit(f, value, n);
    free(value);
    return ok;
}

/* ---- listing, hashing, encoding -------------------------------------------------------------- */

/* What the parallel steps share; each reads all of it and writes its own feature alone. */
typedef struct {
    const tab_encoder *enc;
    tab_feature *f;
    const tab_values *values; /* (cols) */
    size_t rows;
    bool *keep; /* (features) */
    tab_data *data;
    atomic_bool failed;
} job;

/* A feature of one value says nothing, unless it is missing in some rows. */
static void fit_one(void *ctx, size_t i)
{
    job *j = ctx;
    tab_feature *f = &j->f[i];
    const tab_values *v = &j->values[f->source];
    bool ok = f->kind == TAB_FEATURE_CODE
                  ? tab_code_fit(f, v, j->rows)
                  : fit_number(f, v, j->enc->text == NULL ? NULL : j->enc->text[f->source], j->rows);
    if (!ok)
        atomic_store(&j->failed, true);
    /* A constant says nothing. Where a value or a level is missing in some rows, that it is there may say
     * something. */
    size_t seen = f->kind == TAB_FEATURE_CODE ? f->levels : f->bins;
    j->keep[i] = seen > 1 || (seen == 1 && f->has_missing && f->derive <= TAB_DERIVE_CODE);
}

/* A hash of one cell's content. */
static uint64_t cell_hash(const tab_values *v, const uint64_t *level, size_t row)
{
    if (v->number != NULL) {
        double d = v->number[row];
        if (isnan(d))
            return MISSING_CELL;
        if (d == 0)
            d = 0; /* -0 and 0 are one number */
        uint64_t bits;
        memcpy(&bits, &d, 8);
        return tab_mix(bits);
    }
    uint32_t c = v->code[row];
    return c == TAB_NULL ? MISSING_CELL : level[c];
}

/* Adds the column's share to each row's hash; the sum is the same in any order of columns. *column is the
 * column's own hash; it is made here when it is 0. */
static bool hash_column(const tab_values *v, size_t rows, uint64_t *column, uint64_t *row_hash)
{
    /* levels by the hash of their text, so that codes in another order hash alike */
    uint64_t *level = NULL;
    if (v->number == NULL) {
        if (v->code == NULL)
            return true;
        level = malloc((v->levels + 1) * sizeof *level);
        if (level == NULL)
            return false;
        for (size_t i = 0; i < v->levels; i++)
            level[i] = tab_wyhash(v->level[i].p, v->level[i].n, 0);
    }
    /* the sum over cells does not depend on the order of rows; 0 is kept for "not used" */
    if (*column == 0) {
        uint64_t sum = 0;
        for (size_t i = 0; i < rows; i++)
            sum += tab_mix(cell_hash(v, level, i));
        *column = tab_mix(sum) | 1;
    }
    for (size_t i = 0; i < rows; i++)
        row_hash[i] += tab_mix2(cell_hash(v, level, i), *column);
    free(level);
    return true;
}

/* The encoded run of feature i. */
static void encode_one(void *ctx, size_t i)
{
    job *j = ctx;
    const tab_feature *f = &j->enc->f[i];
    const tab_values *v = &j->values[f->source];
    tab_data *d = j->data;
    if (f->kind == TAB_FEATURE_CODE) {
        /* from the new table's levels to the encoder's codes */
        uint32_t *map = malloc((v->levels + 1) * sizeof *map);
        if (map == NULL) {
            atomic_store(&j->failed, true);
            return;
        }
        /* each level is looked up once, whatever the number of its rows */
        for (size_t l = 0; l < v->levels; l++)
            map[l] = tab_code_find(f, v->level[l]);
        for (size_t r = 0; r < d->rows; r++) {
            uint32_t c = v->code == NULL ? TAB_NULL : v->code[d->row[r]];
            d->code[i][r] = c == TAB_NULL ? TAB_NULL : map[c];
            d->bin[i][r] = tab_code_bin(f, d->code[i][r]);
        }
        free(map);
        return;
    }
    reader r;
    if (!reader_open(&r, f, v, j->enc->text == NULL ? NULL : j->enc->text[f->source])) {
        atomic_store(&j->failed, true);
        return;
    }
    for (size_t k = 0; k < d->rows; k++) {
        d->x[i][k] = tab_number_scaled(f, read_number(&r, d->row[k]));
        d->bin[i][k] = tab_number_bin(f, d->x[i][k]);
    }
    free(r.level);
}

bool tab_explains(const tab_column_profile *c)
{
    if (c->use != TAB_USE_READ)
        return c->use == TAB_USE_FEATURE;
    return !c->identifying || c->distinct * 4 <= c->present || (c->role == TAB_ROLE_ID && !c->proven_key);
}

/* How many of the column's levels are numbers. */
static size_t number_levels(const tab_column_profile *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->levels; i++)
        n += !isnan(number_of_level(c->level[i]));
    return n;
}

/* An id that is no proven key may be a measure (decision 0261): its numbers are read, not their letters. */
static bool doubtful_number(const tab_column_profile *c)
{
    return c->type == TAB_TEXT && c->role == TAB_ROLE_ID && !c->proven_key && c->code != NULL &&
           c->levels > 2 && number_levels(c) == c->levels;
}

/* Whether an identifying column of numbers names things that have rows of their own: its role is sure, it
 * has so many values that learners read them by shrunken means (learn/levels.h), or each value comes more
 * nearly as often as any other than in draws from so many (Fisher's index of dispersion, three standard
 * deviations below its mean), as the members of a panel do. A day's number, say, does none of it. */
static bool names_things(const tab_column_profile *c, size_t rows)
{
    if (!c->identifying || c->levels < 2)
        return false;
    if (c->role_confidence >= SURE_ROLE || c->use == TAB_USE_KEY || c->levels >= TAB_BINS)
        return true;
    size_t *count = calloc(c->levels, sizeof *count), n = 0;
    double square = 0, levels = (double)c->levels;
    for (size_t r = 0; count != NULL && r < rows; r++)
        if (c->code[r] != TAB_NULL)
            count[c->code[r]]++, n++;
    for (size_t l = 0; count != NULL && l < c->levels; l++)
        square += (double)count[l] * (double)count[l];
    bool known = count != NULL && n > 0;
    free(count);
    double mean = (double)n / levels;
    return known && (square - (double)n * mean) / mean < levels - 1 - 3 * sqrt(2 * (levels - 1));
}

/* The features that a column may give; returns their number, at most MOST_DERIVED. */
static size_t list_features(const tab_column_profile *c, size_t rows, const tab_text_basis *text,
                            tab_derive *out)
{
    size_t n = 0;
    switch (c->type) {
    case TAB_NUMERIC:
    case TAB_BOOLEAN:
        if (c->number != NULL)
            out[n++] = TAB_DERIVE_VALUE;
        else if (c->code != NULL)
            out[n++] = TAB_DERIVE_CODE;
        break;
    case TAB_DATETIME:
        if (c->number != NULL) {
            out[n++] = TAB_DERIVE_VALUE;
            out[n++] = TAB_DERIVE_WEEKDAY;
            out[n++] = TAB_DERIVE_HOUR;
            out[n++] = TAB_DERIVE_MONTH;
        }
        break;
    case TAB_CATEGORICAL: {
        if (c->code == NULL)
            break;
        size_t numbers = number_levels(c);
        /* Levels that all are numbers have an order: read as numbers where there are many, both ways where
         * they are few, or are the keys of something: its number says little of it, its other rows much
         * (decision 0390). */
        if (numbers < c->levels || c->levels <= FEW_NUMBERS || names_things(c, rows))
            out[n++] = TAB_DERIVE_CODE;
        if (numbers == c->levels && c->levels > 2)
            out[n++] = TAB_DERIVE_LEVEL;
        break;
    }
    case TAB_TEXT:
        if (c->code == NULL)
            break;
        if (doubtful_number(c)) {
            out[n++] = TAB_DERIVE_LEVEL;
            break;
        }
        out[n++] = TAB_DERIVE_LENGTH;
        out[n++] = TAB_DERIVE_WORDS;
        if (c->levels * TEXT_REPEATS < c->present)
            out[n++] = TAB_DERIVE_CODE;
        for (size_t k = 0; k < tab_text_width(text); k++)
            out[n++] = TAB_DERIVE_TOPIC;
        break;
    }
    return n;
}

/* For qsort: by content, then by what is derived. */
static int by_hash(const void *a, const void *b)
{
    const tab_feature *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->derive != y->derive)
        return x->derive < y->derive ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

/* Each feature is a run of its own, so that a step may write one feature beside another thread's. */
tab_data *tab_data_new(tab_arena *a, const tab_encoder *enc, size_t rows)
{
    tab_data *d = tab_arena_new_of(a, tab_data, 1);
    if (d == NULL)
        return NULL;
    d->rows = rows;
    d->n = enc->n;
    d->x = tab_arena_new_of(a, float *, enc->n + 1);
    d->code = tab_arena_new_of(a, uint32_t *, enc->n + 1);
    d->bin = tab_arena_new_of(a, uint8_t *, enc->n + 1);
    d->hash = tab_arena_new_of(a, uint64_t, rows + 1);
    d->row = tab_arena_new_of(a, uint32_t, rows + 1);
    for (size_t i = 0; i < enc->n && !tab_arena_full(a); i++) {
        if (enc->f[i].kind == TAB_FEATURE_CODE)
            d->code[i] = tab_arena_new_of(a, uint32_t, rows + 1);
        else
            d->x[i] = tab_arena_new_of(a, float, rows + 1);
        d->bin[i] = tab_arena_new_of(a, uint8_t, rows + 1);
    }
    return tab_arena_full(a) ? NULL : d;
}

typedef struct {
    uint64_t hash;
    uint32_t row;
} keyed;

/* For qsort: by hash, then by row. */
static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Room for one feature of a column of `levels` levels; what it needs is seen in a. */
static void new_feature(tab_arena *a, tab_feature *g, size_t levels)
{
    g->kind = g->derive == TAB_DERIVE_CODE ? TAB_FEATURE_CODE : TAB_FEATURE_NUMBER;
    if (g->kind == TAB_FEATURE_NUMBER) {
        g->edge = tab_arena_new_of(a, float, TAB_BINS);
        return;
    }
    g->slots = 4; /* the table is at most half full, so that probes stay short */
    while (g->slots < 4 * levels)
        g->slots *= 2;
    g->level_hash = tab_arena_new_of(a, uint64_t, levels + 1);
    g->folded = tab_arena_new_of(a, uint64_t, levels + 1);
    g->share = tab_arena_new_of(a, float, levels + 1);
    g->slot = tab_arena_new_of(a, uint32_t, g->slots);
}

/* Whether a column gives features. */
static bool is_used(const tab_profile *p, const bool *use, size_t c)
{
    return use != NULL ? use[c] : tab_explains(&p->col[c]);
}

/* Hashes the used columns and rows, and fits the directions of texts. *most: the features that there may
 * be. False: the arena is full or the pass was cancelled. */
static bool hash_columns(const tab_engine *e, tab_arena *a, const tab_profile *p, const bool *use,
                         tab_encoder *enc, tab_values *values, uint64_t *row_hash, size_t *most)
{
    tab_derive list[MOST_DERIVED];
    *most = 0;
    for (size_t c = 0; c < enc->cols; c++) {
        const tab_column_profile *col = &p->col[c];
        values[c] = tab_values_of(col);
        if (!is_used(p, use, c))
            continue;
        /* the directions of texts are found before the features are listed, since they say how many there
         * are */
        if (col->type == TAB_TEXT && col->code != NULL && !doubtful_number(col)) {
            enc->text[c] = tab_text_fit(a, col->level, col->levels);
            if (tab_arena_full(a))
                return false;
        }
        *most += list_features(col, p->table->rows, enc->text[c], list);
        if (!hash_column(&values[c], p->table->rows, &enc->column_hash[c], row_hash))
            return false;
        if (tab_engine_cancelled(e))
            return false;
    }
    return true;
}

/* Lists the features of all used columns, fits them, drops those that say nothing and sorts the rest by
 * their columns' hashes. False: the arena is full. */
static bool fit_features(const tab_engine *e, tab_arena *a, const tab_profile *p, const bool *use,
                         size_t most, job *j, tab_encoder *enc)
{
    tab_derive list[MOST_DERIVED];
    tab_feature *f = tab_arena_new_of(a, tab_feature, most + 1);
    bool *keep = tab_arena_new_of(a, bool, most + 1);
    size_t n = 0, kept = 0;
    for (size_t c = 0; c < enc->cols && !tab_arena_full(a); c++) {
        size_t k = is_used(p, use, c) ? list_features(&p->col[c], p->table->rows, enc->text[c], list) : 0,
               part = 0;
        for (size_t i = 0; i < k; i++) {
            tab_feature *g = &f[n++];
            *g = (tab_feature){ .derive = list[i],
                                .source = c,
                                .hash = enc->column_hash[c],
                                .scale = 1,
                                .sd = 1,
                                .time = p->col[c].type == TAB_DATETIME };
            g->part = list[i] == TAB_DERIVE_TOPIC ? (uint32_t)part++ : 0;
            new_feature(a, g, p->col[c].levels);
        }
    }
    if (tab_arena_full(a))
        return false;
    j->f = f;
    j->keep = keep;
    tab_engine_for(e, n, fit_one, j);
    if (atomic_load(&j->failed))
        return false;
    /* those that say nothing are dropped; the rest stand by content, whatever the order of columns */
    for (size_t i = 0; i < n; i++)
        if (keep[i])
            f[kept++] = f[i];
    qsort(f, kept, sizeof *f, by_hash);
    enc->f = f;
    enc->n = kept;
    return true;
}

/* Rows in the order of their hashes; equal rows in the order of the table. False: out of memory. */
static bool sort_rows(const uint64_t *row_hash, tab_data *d)
{
    keyed *order = malloc((d->rows + 1) * sizeof *order);
    if (order == NULL)
        return false;
    /* mixed again: a sum of hashes is not evenly spread */
    for (size_t i = 0; i < d->rows; i++)
        order[i] = (keyed){ tab_mix(row_hash[i]), (uint32_t)i };
    qsort(order, d->rows, sizeof *order, by_key);
    for (size_t i = 0; i < d->rows; i++) {
        d->row[i] = order[i].row;
        d->hash[i] = order[i].hash;
    }
    free(order);
    return true;
}

/* Steps in the order of the head of this file; NULL where memory ends or the pass is cancelled. */
tab_encoder *tab_encode_fit(const tab_engine *e, tab_arena *a, const tab_profile *p, const bool *use,
                            tab_data **ret)
{
    size_t cols = p->table->cols, rows = p->table->rows, most;
    tab_encoder *enc = tab_arena_new_of(a, tab_encoder, 1);
    tab_values *values = tab_arena_new_of(a, tab_values, cols + 1);
    uint64_t *column_hash = tab_arena_new_of(a, uint64_t, cols + 1);
    uint64_t *row_hash = tab_arena_new_of(a, uint64_t, rows + 1);
    if (tab_arena_full(a))
        return NULL;
    enc->cols = cols;
    enc->column_hash = column_hash;
    enc->text = tab_arena_new_of(a, tab_text_basis *, cols + 1);
    if (enc->text == NULL || !hash_columns(e, a, p, use, enc, values, row_hash, &most))
        return NULL;
    job j = { .enc = enc, .values = values, .rows = rows };
    atomic_init(&j.failed, false);
    if (!fit_features(e, a, p, use, most, &j, enc))
        return NULL;
    tab_data *d = tab_data_new(a, enc, rows);
    if (d == NULL || !sort_rows(row_hash, d))
        return NULL;
    j.data = d;
    tab_engine_for(e, enc->n, encode_one, &j);
    if (atomic_load(&j.failed))
        return NULL;
    *ret = d;
    return enc;
}

/* Rows keep their order; their hashes are made as those of the fitted rows were, so that copies are found. */
tab_data *tab_encode_rows(const tab_engine *e, tab_arena *a, const tab_encoder *enc, const tab_values *values,
                          size_t rows)
{
    tab_data *d = tab_data_new(a, enc, rows);
    if (d == NULL)
        return NULL;
    for (size_t i = 0; i < rows; i++)
        d->row[i] = (uint32_t)i;
    for (size_t c = 0; c < enc->cols; c++)
        if (enc->column_hash[c] != 0 && !hash_column(&values[c], rows, &enc->column_hash[c], d->hash))
            return NULL;
    for (size_t i = 0; i < rows; i++)
        d->hash[i] = tab_mix(d->hash[i]);
    job j = { .enc = enc, .values = values, .rows = rows, .data = d };
    atomic_init(&j.failed, false);
    if (rows * enc->n < FEW_CELLS)
        for (size_t i = 0; i < enc->n; i++)
            encode_one(&j, i);
    else
        tab_engine_for(e, enc->n, encode_one, &j);
    return atomic_load(&j.failed) ? NULL : d;
}

/* Copies the lists of features only; their contents are shared with the whole encoder. */
bool tab_encode_without(tab_arena *a, const tab_encoder *enc, const tab_data *d, size_t source, size_t rows,
                        tab_encoder *ret_enc, tab_data *ret_data)
{
    tab_feature *f = tab_arena_new_of(a, tab_feature, enc->n + 1);
    *ret_enc = *enc;
    *ret_data = *d;
    ret_data->x = tab_arena_new_of(a, float *, enc->n + 1);
    ret_data->code = tab_arena_new_of(a, uint32_t *, enc->n + 1);
    ret_data->bin = tab_arena_new_of(a, uint8_t *, enc->n + 1);
    if (tab_arena_full(a))
        return false;
    size_t n = 0;
    for (size_t i = 0; i < enc->n; i++) {
        if (enc->f[i].source == source)
            continue;
        f[n] = enc->f[i];
        ret_data->x[n] = d->x[i];
        ret_data->code[n] = d->code[i];
        ret_data->bin[n++] = d->bin[i];
    }
    ret_enc->f = f;
    ret_enc->n = ret_data->n = n;
    ret_data->rows = rows < d->rows ? rows : d->rows;
    return true;
}

/* The x that tab_mix made y of. */
static uint64_t unmixed(uint64_t y)
{
    y = (y ^ y >> 31 ^ y >> 62) * 0x319642b2d24d8ec3u; /* inverses of its factors, modulo 2^64 */
    y = (y ^ y >> 27 ^ y >> 54) * 0x96de1b173f119089u;
    return (y ^ y >> 30 ^ y >> 60) - 0x9e3779b97f4a7c15u;
}

bool tab_encode_unhash(tab_arena *a, const tab_encoder *enc, const tab_column_profile *c, size_t source,
                       tab_data *d, uint32_t **ret_order)
{
    uint64_t column = enc->column_hash[source];
    tab_values v = tab_values_of(c);
    size_t equal = 0, rows = d->rows;
    *ret_order = NULL;
    if (column == 0)
        return true;
    uint64_t *own = calloc(rows + 1, sizeof *own);
    keyed *order = malloc((rows + 1) * sizeof *order);
    bool ok = own != NULL && order != NULL && hash_column(&v, rows, &column, own);
    for (size_t i = 0; ok && i < rows; i++) {
        assert(d->row[i] < rows);
        order[i] = (keyed){ tab_mix(unmixed(d->hash[i]) - own[d->row[i]]), (uint32_t)i };
    }
    if (ok)
        qsort(order, rows, sizeof *order, by_key);
    for (size_t i = 1; ok && i < rows; i++)
        equal += order[i].hash == order[i - 1].hash;
    if (ok && equal > rows / TAB_FEW_EQUAL) {
        uint64_t *hash = tab_arena_new_of(a, uint64_t, rows + 1);
        *ret_order = tab_arena_new_of(a, uint32_t, rows + 1);
        ok = hash != NULL && *ret_order != NULL;
        for (size_t i = 0; ok && i < rows; i++) {
            (*ret_order)[i] = order[i].row;
            hash[order[i].row] = order[i].hash;
        }
        d->hash = ok ? hash : d->hash;
    }
    free(own);
    free(order);
    return ok;
}

tab_data *tab_encode_pick(tab_arena *a, const tab_encoder *enc, const tab_data *d, const uint32_t *row,
                          size_t n)
{
    tab_data *p = tab_data_new(a, enc, n);
    if (p == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        p->hash[i] = d->hash[row[i]];
        p->row[i] = d->row[row[i]];
    }
    for (size_t k = 0; k < enc->n; k++)
        for (size_t i = 0; i < n; i++) {
            if (p->x[k] != NULL)
                p->x[k][i] = d->x[k][row[i]];
            else
                p->code[k][i] = d->code[k][row[i]];
            p->bin[k][i] = d->bin[k][row[i]];
        }
    return p;
}
