/* See align.h: which columns of two tables hold the same attribute. link/ asks twice: before rows are
 * matched, from values alone, and afterwards, when matched rows speak too. Three steps:
 *
 *   signatures   of each column: n-grams, shapes, quantiles, values, tokens
 *   features     of each pair of columns, from the signatures and, where there are any, from matched rows;
 *                a weighted sum of them is the pair's log-odds
 *   competition  of the pairs that share a column: log-odds become probabilities (decision 0106)
 *
 * assign.c then chooses pairs so that each column stands in one. */
#include "services/inference/engine/align/align.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/align/agreement.h"
#include "services/inference/engine/align/alignment_weights.h"
#include "services/inference/engine/align/beyond_chance.h"
#include "services/inference/engine/align/composed.h"
#include "services/inference/engine/align/domain.h"
#include "services/inference/engine/align/few_rows.h"
#include "services/inference/engine/align/text/normalize_text.h"

/* Sizes of the signatures: buckets of hashed 3-grams and of shapes, quantiles, values looked at for n-grams
 * and tokens (all values are compared by key). Not sensitive: half and twice of all four leave the F1 of
 * columns at 0.952 and 0.951 on real cases beside 0.952, and move it by 0.02 at most on kinds of fabricated
 * ones (decision 0307). CHUNKS: turns that parallel_for may share out; no result depends on it. */
enum { GRAMS = 512, SHAPES = 128, QUANTILES = 21, SAMPLE = 2000, CHUNKS = 64 };

/* A value or a token, by its id in the views, with its weight. */
typedef struct {
    uint32_t id;
    float w;
} weighed;

/* What one column looks like. Vectors have unit length, lists ascend by id. */
typedef struct {
    float gram[GRAMS], shape[SHAPES];
    double quantile[QUANTILES];
    weighed *key, *tok; /* share of rows a value has; idf-weighed tokens */
    uint32_t keys, toks;
    tab_held *held;
    bool numeric;
    bool plain;  /* as any table may have one: numbers, dates, and values that columns share by chance */
    bool ragged; /* filled from the top, and not to the end */
    double distinct, length, tokens, digits;
} column_signature;

/* The signatures of one table's columns. */
struct tab_signature {
    size_t cols;
    column_signature *col;
};

/* For qsort: by id. */
static int by_id(const void *a, const void *b)
{
    const weighed *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Scales a vector to unit length; zeros stay zeros. */
static void unit(float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    float scale = sum > 0 ? 1 / sqrtf(sum) : 0;
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}

/* "KX-12b" -> "a-9a": runs of letters and digits folded, at most 24 signs. */
static uint32_t shape_of(tab_str s)
{
    char out[24];
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < sizeof out; i++) {
        char c = s.p[i];
        char k = (c >= '0' && c <= '9')                                 ? '9'
                 : ((c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80) ? 'a'
                 : (c >= 'A' && c <= 'Z')                               ? 'A'
                                                                        : c;
        if (n == 0 || out[n - 1] != k)
            out[n++] = k;
    }
    return (uint32_t)(tab_hash_bytes(out, n, 3) % SHAPES);
}

/* Every `step`-th value gives its n-grams, its shape, and its share of the means; a value counts by the root
 * of its rows, so that a common one does not drown the rest. */
static void sign_writing(const tab_views *v, const tab_view *w, size_t step, column_signature *s)
{
    double length = 0, tokens = 0, digits = 0, letters = 0, weight = 0;
    const tab_column *raw = w->profile->column;
    for (uint32_t i = 0; i < w->values; i += (uint32_t)step) {
        const tab_value *x = &w->value[i];
        tab_str text = tab_value_text(v, x);
        float share = sqrtf((float)x->rows);
        char padded[66];
        size_t n = text.n < 64 ? text.n : 64;
        padded[0] = ' ';
        memcpy(padded + 1, text.p, n);
        padded[n + 1] = ' ';
        /* 3-grams of the first 64 bytes, with a blank before and behind */
        for (size_t k = 0; k + 3 <= n + 2; k++)
            s->gram[tab_hash_bytes(padded + k, 3, 7) % GRAMS] += share;
        /* shapes are of the value as it was written: capitals count */
        if (raw->layout == TAB_CODED)
            s->shape[shape_of(tab_level(raw, raw->code[x->first]))] += share;
        else
            s->shape[shape_of(text)] += share;
        for (size_t k = 0; k < text.n; k++) {
            digits += text.p[k] >= '0' && text.p[k] <= '9';
            letters++;
        }
        /* means of length and tokens go by rows, n-grams and shapes by their root */
        length += (double)x->rows * (double)text.n;
        tokens += (double)x->rows * x->tok_n;
        weight += x->rows;
    }
    /* logarithms, so that the commonest n-grams do not decide alone */
    for (size_t i = 0; i < GRAMS; i++)
        s->gram[i] = logf(1 + s->gram[i]);
    unit(s->gram, GRAMS);
    unit(s->shape, SHAPES);
    s->length = weight > 0 ? length / weight : 0;
    s->tokens = weight > 0 ? tokens / weight : 0;
    s->digits = letters > 0 ? digits / letters : 0;
}

/* Sorts by id and adds up what has one id. Returns how many are left. */
static uint32_t merge_ids(weighed *x, size_t n)
{
    uint32_t to = 0;
    qsort(x, n, sizeof *x, by_id);
    for (size_t i = 0; i < n; i++)
        if (to > 0 && x[to - 1].id == x[i].id)
            x[to - 1].w += x[i].w;
        else
            x[to++] = x[i];
    return to;
}

/* All values with their share of the rows, and the tokens of every `step`-th one: root of the rows times idf,
 * of unit length. False: the arena is full. */
static bool sign_contents(const tab_views *v, const tab_view *w, size_t step, tab_arena *a,
                          column_signature *s)
{
    /* room for the tokens of the values that are looked at */
    size_t most = 0, n = 0;
    for (uint32_t i = 0; i < w->values; i += (uint32_t)step)
        most += w->value[i].tok_n;
    s->key = tab_arena_new_of(a, weighed, w->values);
    s->tok = tab_arena_new_of(a, weighed, most);
    if (s->key == NULL || s->tok == NULL)
        return false;
    /* all values: a share of the rows each */
    for (uint32_t i = 0; i < w->values; i++)
        s->key[i] = (weighed){ w->value[i].key, (float)w->value[i].rows / (float)w->present };
    s->keys = merge_ids(s->key, w->values);
    for (uint32_t i = 0; i < w->values; i += (uint32_t)step)
        for (uint32_t k = 0; k < w->value[i].tok_n; k++)
            s->tok[n++] = (weighed){ v->tok[w->value[i].tok + k], (float)w->value[i].rows };
    s->toks = merge_ids(s->tok, n);
    float sum = 0;
    for (uint32_t i = 0; i < s->toks; i++) {
        /* rare tokens count more */
        uint32_t df = v->df[s->tok[i].id];
        s->tok[i].w = sqrtf(s->tok[i].w) * logf(1 + (float)v->total_rows / (float)(df > 0 ? df : 1));
        sum += s->tok[i].w * s->tok[i].w;
    }
    for (uint32_t i = 0; i < s->toks; i++)
        s->tok[i].w *= sum > 0 ? 1 / sqrtf(sum) : 0;
    return true;
}

/* Numbers, dates and columns of two values, which any two tables have in common (decision 0347). */
static bool usual(const tab_view *w)
{
    return w->kind != TAB_VIEW_TEXT || w->values <= 2;
}

/* A column's signature. ragged: it is filled from the top and then empty to the end, as lists of values
 * are. */
static bool sign_column(const tab_views *v, const tab_table_view *t, const tab_view *w, tab_arena *a,
                        column_signature *s)
{
    size_t step = w->values > SAMPLE ? w->values / SAMPLE : 1, filled = 0;
    sign_writing(v, w, step, s);
    /* filled from the top, and empty from there on */
    while (filled < t->rows && w->code[filled] != TAB_NULL)
        filled++;
    s->ragged = filled == w->present && filled < t->rows;
    /* how far values are different, and where the numbers lie */
    s->distinct = w->present > 0 ? (double)w->values / (double)w->present : 0;
    s->numeric = w->kind != TAB_VIEW_TEXT && w->sorted_n > 0;
    for (size_t q = 0; s->numeric && q < QUANTILES; q++)
        s->quantile[q] = w->sorted[(w->sorted_n - 1) * q / (QUANTILES - 1)];
    s->held = tab_held_new(v, w, a);
    if (s->held == NULL)
        return false;
    s->plain = usual(w) || tab_held_by_chance(s->held, s->held);
    return sign_contents(v, w, step, a, s);
}

/* One signature a column. */
tab_status tab_signatures_new(const tab_engine *e, const tab_views *v, size_t table, tab_arena *a,
                              tab_signature **ret, tab_error *err)
{
    const tab_table_view *t = &v->table[table];
    tab_signature *s = tab_arena_new_of(a, tab_signature, 1);
    if (s == NULL)
        return tab_no_memory(err);
    s->cols = t->cols;
    s->col = tab_arena_new_of(a, column_signature, t->cols);
    for (size_t c = 0; c < t->cols; c++) {
        if (tab_engine_cancelled(e))
            return tab_fail(err, TAB_CANCELLED, "", "cancelled");
        if (s->col == NULL || !sign_column(v, t, &t->col[c], a, &s->col[c]))
            return tab_no_memory(err);
    }
    *ret = s;
    return TAB_OK;
}

/* ---- features of a pair of columns ----------------------------------------------------------- */

/* The places of a vector that are not 0, and what stands there. */
typedef struct {
    size_t n;
    uint16_t at[GRAMS];
    float x[GRAMS];
} sparse;

static void sparse_of(const float *x, size_t n, sparse *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0) {
            ret->at[ret->n] = (uint16_t)i;
            ret->x[ret->n++] = x[i];
        }
}

/* Inner product; the cosine of vectors of unit length. What is left out would add nothing. */
static float inner(const sparse *a, const float *b)
{
    float sum = 0;
    for (size_t i = 0; i < a->n; i++)
        sum += a->x[i] * b[a->at[i]];
    return sum;
}

/* The smaller of two sizes over the larger; 1 where both are nothing. */
static double ratio(double a, double b)
{
    double hi = fmax(a, b), lo = fmin(a, b);
    return hi <= 0 ? 1 : lo / hi;
}

/* Largest distance between the two distribution functions, read off the quantiles (Kolmogorov's
 * statistic). Where a quantile of one falls between two of the other, or on several equal ones, the
 * distance is to the nearer end of that interval. */
static double quantile_distance(const double *a, const double *b)
{
    double worst = 0;
    for (int side = 0; side < 2; side++) {
        const double *x = side ? b : a, *y = side ? a : b;
        for (size_t q = 1; q + 1 < QUANTILES; q++) {
            /* where x's quantile lies among y's: the share of y below it is between lo and hi */
            size_t below = 0, upto = 0;
            while (below < QUANTILES && y[below] < x[q])
                below++;
            upto = below;
            while (upto < QUANTILES && y[upto] <= x[q])
                upto++;
            /* the distance to the interval, 0 within it */
            double mine = (double)q / (QUANTILES - 1);
            double lo = below == 0 ? 0 : (double)(below - 1) / (QUANTILES - 1);
            double hi = upto >= QUANTILES ? 1 : (double)upto / (QUANTILES - 1);
            double gap = mine < lo ? lo - mine : mine > hi ? mine - hi : 0;
            worst = fmax(worst, gap);
        }
    }
    return worst;
}

/* Whether w lists what values there are: each once while x holds its values again and again, or hardly one
 * twice (four of five are different) and from the top as far as there are any (decision 0171). */
static bool lists(const tab_view *w, const column_signature *s, const tab_view *x)
{
    if (w->values < 2 || 5 * (size_t)w->values < 4 * w->present)
        return false;
    return s->ragged || (w->values == w->present && x->present >= 2 * (size_t)x->values);
}

/* What two columns have in common: of distinct values and of rows, each value as far as it tells columns
 * apart. */
typedef struct {
    double values, rows, rows_a, rows_b;
} common;

/* A walk along both sorted lists. */
static common values_in_common(const tab_views *v, const column_signature *a, const column_signature *b)
{
    common c = { 0 };
    for (uint32_t i = 0, j = 0; i < a->keys && j < b->keys;) {
        uint32_t x = a->key[i].id, y = b->key[j].id;
        /* a value counts as far as it tells columns apart (view.c) */
        if (x == y) {
            double tells = (double)v->telling[x], wa = (double)a->key[i].w, wb = (double)b->key[j].w;
            c.values += tells;
            c.rows += tells * fmin(wa, wb);
            c.rows_a += tells * wa;
            c.rows_b += tells * wb;
        }
        /* the smaller id moves on, both where they are equal */
        i += x <= y;
        j += y <= x;
    }
    return c;
}

/* The cosine of the tokens, by a walk along both sorted lists. */
static double tokens_in_common(const column_signature *a, const column_signature *b)
{
    double token = 0;
    for (uint32_t i = 0, j = 0; i < a->toks && j < b->toks;) {
        uint32_t x = a->tok[i].id, y = b->tok[j].id;
        if (x == y)
            token += (double)a->tok[i].w * (double)b->tok[j].w;
        i += x <= y;
        j += y <= x;
    }
    return token;
}

/* f (TAB_ALIGN_VALUE_FEATURES): alignment_weights.h names them. Where one column is a list of values, some
 * mean something else: the other column's share of explained values stands in place of symmetric measures
 * (decision 0171). gram, shape: of a. exp(-shared / 3): one value in common may be chance, ten are not. */
static void value_features(const tab_views *v, const tab_view *wa, const tab_view *wb,
                           const column_signature *a, const sparse *gram, const sparse *shape,
                           const column_signature *b, float *f)
{
    common c = values_in_common(v, a, b);
    double shared = c.values;
    double token = tokens_in_common(a, b);
    /* how many values there are: of the smaller column, and of both together */
    double least = a->keys < b->keys ? a->keys : b->keys, all = a->keys + b->keys - shared;
    bool both = a->numeric && b->numeric;
    bool listed_b = lists(wb, b, wa), listed_a = !listed_b && lists(wa, a, wb);
    bool listed = listed_a || listed_b;
    tab_domain_match soft = { 0 };
    /* what a list explains beyond chance, also where the values are not equal */
    if (listed) {
        double beyond = 1 - tab_domain_chance(listed_b ? wa : wb, listed_b ? wb : wa);
        soft = tab_domain_soft(v, listed_b ? wa : wb, listed_b ? wb : wa, token > 0);
        soft = (tab_domain_match){ soft.values * beyond, soft.rows * beyond };
        shared *= beyond;
        c.rows_a *= beyond;
        c.rows_b *= beyond;
    }
    /* the explained column's values, and its rows that the list holds */
    double mine = listed_b ? a->keys : b->keys, rows = listed_b ? c.rows_a : c.rows_b;
    /* few values in common say less; of a list the explained column's count */
    double few = 1 / sqrt(1.0 + (listed ? mine : least));
    const tab_column_profile *pa = wa->profile, *pb = wb->profile;
    const double row[TAB_ALIGN_VALUE_FEATURES] = {
        /* named in alignment_weights.h */
        listed    ? soft.rows
        : all > 0 ? shared / all
                  : 0,
        listed      ? shared / mine
        : least > 0 ? shared / least
                    : 0,
        listed ? rows : c.rows,
        token,
        (double)inner(gram, b->gram),
        (double)inner(shape, b->shape),
        both ? 1 - quantile_distance(a->quantile, b->quantile) : 0,
        both,
        a->numeric != b->numeric,
        listed ? soft.values : ratio(a->distinct, b->distinct),
        ratio(a->length + 1, b->length + 1),
        ratio(a->tokens + 1, b->tokens + 1),
        1 - fabs(a->digits - b->digits),
        pa->role == pb->role ? pa->role_confidence * pb->role_confidence : 0,
        pa->type == pb->type,
        few,
        listed ? 1 - exp(-shared / 3) : few * (all > 0 ? shared / all : 0),
        wa->kind == TAB_VIEW_DATE && wb->kind == TAB_VIEW_DATE,
        listed,
    };
    for (size_t i = 0; i < TAB_ALIGN_VALUE_FEATURES; i++)
        f[i] = (float)row[i];
}

/* ---- scores ---------------------------------------------------------------------------------- */

typedef struct {
    const tab_engine *e;
    const tab_views *v;
    const tab_table_view *a, *b;
    const tab_signature *sa, *sb;
    const tab_row_pairs *rows;
    float *shared;       /* (rows->n) shared_in_rows */
    float *z, *features; /* (cols_a, cols_b), log-odds before the columns compete */
    bool *listed, *usual;
    bool *plain;            /* (cols_a + cols_b) */
    tab_composed *composed; /* (cols_a, cols_b); NULL without rows */
    float *few;             /* (cols_a, cols_b); NULL where no table is short */
    atomic_bool failed;
} scoring;

static const float NEVER = -20; /* log-odds of a column without values */
/* Which weights judge a pair of columns: matched rows speak where there are any. */
typedef enum { BY_VALUES, BY_LIST, BY_ROWS } judged_by;

/* The weighted sum of a pair's features. */
static double log_odds(judged_by by, const float *f)
{
    double z = (double)tab_align_intercept[by];
    for (size_t i = 0; i < TAB_ALIGN_FEATURES; i++)
        z += (double)tab_align_weight[i].of[by] * (double)f[i];
    return z;
}

/* The two greatest log-odds of a column, of which one may be the pair at hand. */
typedef struct {
    float first, second;
} best_two;

/* Keeps the two greatest. */
static void note(best_two *b, float x)
{
    if (x > b->first) {
        b->second = b->first;
        b->first = x;
    } else if (x > b->second) {
        b->second = x;
    }
}

/* How many rivals a pair of columns has: each counts by how near it comes, one that is as good or better
 * in full. STEEP was fitted with the weights of lists. */
static float rivals(const float *p, size_t n, size_t step, float z)
{
    static const float STEEP = 3;
    float sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += p[k * step] >= z ? 1 : expf(STEEP * (p[k * step] - z));
    return sum;
}

/* Pairs of columns of which each is the other's best, for certain: match[i] for column i of a. */
static void best_pairs(size_t na, size_t nb, const float *z, const best_two *b, uint32_t *match)
{
    for (size_t i = 0; i < na; i++) {
        match[i] = TAB_NULL;
        for (size_t j = 0; j < nb; j++)
            if (z[i * nb + j] >= 0 && z[i * nb + j] == b[i].first && z[i * nb + j] == b[na + j].first)
                match[i] = (uint32_t)j;
    }
}

/* How much the two tables are alike as wholes, 0..1: which share of the smaller one's columns goes
 * together with one of the other table for certain, each the other's best. Half of the columns that tell
 * (plain) are enough; or half to all of the columns, several of them, where one of them has more in
 * common than chance gives, or depend on one another alike; or half of the rows that seem to match
 * (decisions 0347, 0505). False: out of memory. */
static bool company_of(const scoring *s, const best_two *b, uint32_t *match, float *ret)
{
    double dependent = 0;
    size_t na = s->a->cols, nb = s->b->cols, telling = 0, any = 0, tell[2] = { 0, 0 };
    best_pairs(na, nb, s->z, b, match);
    for (size_t i = 0; i < na; i++) {
        size_t at = match[i] == TAB_NULL ? 0 : i * nb + match[i];
        bool best = match[i] != TAB_NULL, tells = best && !s->usual[at];
        telling += tells;
        /* an unlikely pair of columns that tell has nothing in common */
        any += best && (tells || s->plain[i]);
        tell[0] += !s->plain[i] || tells;
        tell[1] += tells && s->plain[na + match[i]];
    }
    for (size_t j = 0; j < nb; j++)
        tell[1] += !s->plain[na + j];
    size_t of = tell[0] < tell[1] ? tell[0] : tell[1], cols = na < nb ? na : nb;
    float own = of > 0 ? 2 * (float)telling / (float)of : 0;
    if (telling == 0 && !tab_alike_dependent(s->a, s->b, match, &dependent))
        return false;
    bool more = telling > 0 || dependent > TAB_BEYOND_CHANCE;
    float all = any > 0 && more ? (2 * (float)any / (float)cols - 1) * (1 - 1 / (float)any) : 0;
    float rows = s->rows == NULL ? 0 : 2 * (float)tab_rows_beyond_chance(s->a, s->b, s->rows, match);
    *ret = fminf(fmaxf(fmaxf(own, all), rows), 1);
    return true;
}

/* Columns compete: log-odds, in z, become probabilities, in p, higher by the lead over the best rival of
 * either column. A rival below WEAK counts as one at WEAK; without a rival there is no lead.
 *
 * SHARE, MOST and WEAK: decision 0106; F1 is flat from 0.5 to 1 and from 2 to 3. ODDS, LEAD, LEAD_MOST,
 * CROWD and BASE are of lists, which rival one another in crowds (sixty hold yes and no), so that their
 * number counts too: fitted with the weights, decision 0171. FAINT: below it the number of rivals changes
 * nothing; -8 and -2 give the same F1 (decision 0307). ALONE: what the log-odds of columns are at
 * most, whose values any two tables have in common, where the tables are not alike at all; by hand, and tried
 * beside taking off 4, 5 and 6 (decision 0347). */
static bool compete(const scoring *s, float *p)
{
    size_t na = s->a->cols, nb = s->b->cols;
    const float *z = s->z;
    static const float SHARE = 0.75f, MOST = 2, WEAK = -3, FAINT = -4, ALONE = -1;
    static const float ODDS = 0.37f, LEAD = 0.83f, LEAD_MOST = 3, CROWD = 0.57f, BASE = -0.11f;
    best_two *b = malloc((na + nb + 1) * sizeof *b);
    uint32_t *match = malloc((na + 1) * sizeof *match);
    if (b == NULL || match == NULL) {
        free(b);
        free(match);
        return false;
    }
    for (size_t i = 0; i < na + nb; i++)
        b[i] = (best_two){ NEVER, NEVER };
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++) {
            note(&b[i], z[i * nb + j]);
            note(&b[na + j], z[i * nb + j]);
        }
    float company = 0;
    bool ok = company_of(s, b, match, &company);
    for (size_t i = 0; i < na; i++)
        for (size_t j = 0; j < nb; j++) {
            /* the best other pair of either column, and by how much this pair leads */
            float x = z[i * nb + j], rival = WEAK, ahead = 0;
            if (na > 1)
                rival = fmaxf(rival, b[na + j].first == x ? b[na + j].second : b[na + j].first);
            if (nb > 1)
                rival = fmaxf(rival, b[i].first == x ? b[i].second : b[i].first);
            if (na > 1 || nb > 1)
                ahead = x - rival;
            /* the lead raises the odds, its lack lowers them, within bounds */
            float odds = x + fminf(fmaxf(SHARE * ahead, -MOST), MOST);
            /* lists compete with their number as well */
            if (s->listed[i * nb + j]) {
                odds = BASE + ODDS * x + LEAD * fminf(fmaxf(ahead, -LEAD_MOST), LEAD_MOST);
                if (odds > FAINT)
                    odds -= CROWD * logf(fmaxf(rivals(z + i * nb, nb, 1, x), rivals(z + j, na, nb, x)));
            }
            if (s->usual[i * nb + j] && odds > ALONE)
                odds = ALONE + company * (odds - ALONE);
            p[i * nb + j] = x == NEVER ? 0 : 1 / (1 + expf(-odds));
        }
    free(b);
    free(match);
    return ok;
}

static const float FEW_WORDS = 0.3f; /* cosine of tokens: less is nothing in common */

/* A column that stands for those that make up another one agrees with it as they do together. */
static void heed_parts(const tab_composed *c, float *f)
{
    float trust = c->pairs / (c->pairs + 10);
    for (size_t i = 0; i < 3 && c->share > 0; i++)
        f[i] = fmaxf(f[i], trust * c->share);
    if (c->share > 0)
        f[TAB_ALIGN_ROW_FEATURES - 1] = fmaxf(f[TAB_ALIGN_ROW_FEATURES - 1], trust);
}

/* Scores the pairs of one chunk of a's columns. */
static void score_chunk(void *ctx, size_t chunk)
{
    scoring *s = ctx;
    size_t n = s->rows == NULL ? 0 : s->rows->n;
    /* scratch of this chunk alone */
    tab_agreement_scratch own = { malloc((n + 1) * sizeof *own.point), malloc((n + 1) * sizeof *own.x),
                                  malloc((n + 1) * sizeof *own.y) };
    if (own.point == NULL || own.x == NULL || own.y == NULL)
        s->failed = true;
    sparse gram, shape;
    for (size_t i = s->a->cols * chunk / CHUNKS; !s->failed && i < s->a->cols * (chunk + 1) / CHUNKS; i++) {
        sparse_of(s->sa->col[i].gram, GRAMS, &gram);
        sparse_of(s->sa->col[i].shape, SHAPES, &shape);
        for (size_t j = 0; j < s->b->cols; j++) {
            if (tab_engine_cancelled(s->e))
                break;
            /* a pair with an empty column has no features and never goes together */
            float f[TAB_ALIGN_FEATURES] = { 0 };
            const tab_view *wa = &s->a->col[i], *wb = &s->b->col[j];
            size_t at = i * s->b->cols + j;
            if (wa->present == 0 || wb->present == 0) {
                s->z[at] = NEVER;
            } else {
                value_features(s->v, wa, wb, &s->sa->col[i], &gram, &shape, &s->sb->col[j], f);
                if (n > 0)
                    tab_row_agreement(s->v, wa, wb, s->rows, s->shared, &own, f + TAB_ALIGN_VALUE_FEATURES);
                if (n > 0)
                    heed_parts(&s->composed[at], f + TAB_ALIGN_VALUE_FEATURES);
                tab_tell_days_apart(wa, wb, f);
                /* which weights judge the pair; usual numbers are marked for the competition */
                bool rowed = f[TAB_ALIGN_FEATURES - 1] > 0;
                bool listed = f[TAB_ALIGN_VALUE_FEATURES - 1] > 0, by_chance = !(f[0] > 0),
                     plain = listed ? usual(wa) && usual(wb) : s->plain[i] && s->plain[s->a->cols + j];
                if (!by_chance && (plain || !listed))
                    by_chance = tab_held_by_chance(s->sa->col[i].held, s->sb->col[j].held);
                s->listed[at] = listed && !rowed;
                s->usual[at] = by_chance && (plain || (f[3] < FEW_WORDS && !rowed));
                s->z[at] = (float)log_odds(rowed ? BY_ROWS : listed ? BY_LIST : BY_VALUES, f);
                if (s->few != NULL && s->few[at] > 0) { /* a row is in both tables */
                    s->z[at] = fmaxf(s->z[at], s->few[at]);
                    s->listed[at] = s->usual[at] = false;
                }
            }
            if (s->features != NULL)
                memcpy(s->features + at * TAB_ALIGN_FEATURES, f, sizeof f);
        }
    }
    free(own.point);
    free(own.x);
    free(own.y);
}

/* What the words that two rows share weigh, all columns together: (rows->n). */
static bool shared_in_rows(const tab_views *v, const tab_table_view *a, const tab_table_view *b,
                           const tab_row_pairs *rows, float *ret)
{
    /* seen: by token, the number of the pair of rows whose a row holds it, counted from 1 */
    uint32_t *seen = calloc(v->terms + 1, sizeof *seen);
    if (seen == NULL)
        return false;
    for (uint32_t i = 0; i < rows->n; i++) {
        /* tokens of row a are marked with the pair's number; those of row b that are marked count, once
         * each */
        ret[i] = 0;
        for (int side = 0; side < 2; side++) {
            const tab_table_view *t = side == 0 ? a : b;
            for (size_t c = 0; c < t->cols; c++) {
                uint32_t code = t->col[c].code[side == 0 ? rows->a[i] : rows->b[i]];
                const tab_value *x = code == TAB_NULL ? NULL : &t->col[c].value[code];
                for (uint32_t k = 0; x != NULL && k < x->tok_n; k++) {
                    uint32_t id = v->tok[x->tok + k];
                    if (side == 0) {
                        seen[id] = i + 1;
                    } else if (seen[id] == i + 1) {
                        seen[id] = 0;
                        ret[i] += v->idf[id];
                    }
                }
            }
        }
    }
    free(seen);
    return true;
}

/* Pairs of columns are scored in chunks of a's columns, and then compete; p (cols_a, cols_b). */
tab_status tab_align_scores(const tab_engine *e, const tab_views *v, size_t ta, size_t tb,
                            const tab_signature *sa, const tab_signature *sb, const tab_row_pairs *rows,
                            float *p, float *features, tab_error *err)
{
    size_t n = v->table[ta].cols * v->table[tb].cols;
    bool is_short = rows != NULL && tab_few_rows_asked(&v->table[ta], &v->table[tb]);
    scoring s = { e,
                  v,
                  &v->table[ta],
                  &v->table[tb],
                  sa,
                  sb,
                  rows,
                  malloc(((rows == NULL ? 0 : rows->n) + 1) * sizeof(float)),
                  malloc((n + 1) * sizeof(float)),
                  features,
                  calloc(n + 1, sizeof(bool)),
                  calloc(n + 1, sizeof(bool)),
                  calloc(v->table[ta].cols + v->table[tb].cols + 1, sizeof(bool)),
                  rows == NULL ? NULL : malloc((n + 1) * sizeof(tab_composed)),
                  is_short ? malloc((n + 1) * sizeof(float)) : NULL,
                  false };
    s.failed = s.shared == NULL || s.z == NULL || s.listed == NULL || s.usual == NULL || s.plain == NULL ||
               (is_short && s.few == NULL) ||
               (rows != NULL && (s.composed == NULL || !shared_in_rows(v, s.a, s.b, rows, s.shared)));
    if (!s.failed && rows != NULL)
        tab_composed_find(v, s.a, s.b, rows, s.shared, s.composed);
    if (!s.failed && is_short)
        tab_few_rows(v, s.a, s.b, rows, s.few);
    for (size_t c = 0; !s.failed && c < s.a->cols + s.b->cols; c++)
        s.plain[c] = c < s.a->cols ? sa->col[c].plain : sb->col[c - s.a->cols].plain;
    if (!s.failed)
        tab_engine_for(e, CHUNKS, score_chunk, &s);
    bool failed = s.failed || !compete(&s, p);
    free(s.shared);
    free(s.z);
    free(s.listed);
    free(s.usual);
    free(s.plain);
    free(s.composed);
    free(s.few);
    if (failed)
        return tab_no_memory(err);
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}
