/* One value in several spellings: cells that are equal but for case, blanks, signs between letters, and
 * accents ("YES" and "yes", "N.Y." and "NY"), of which the column has one spelling far more often than the
 * others.
 *
 * Where case or signs carry something, they are other values: "hid" and "hId" of a list of vowels, codes of
 * letters of both cases, "US" and "us". What is measured of a pair is therefore, beside the cells of each:
 * how much of the column is a rarer spelling; how many of its cells are of a case that no writing has
 * ("aQ7x"); whether the rows of both are alike in what their other cells say, and unlike the column's other
 * rows (a test of homogeneity for each other column, Pearson 1900, as a standard normal deviate). Decision
 * 0655. */
#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/order.h"
#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/suspects/given.h"

enum { LONGEST = 128, BINS = 12, FEWEST = 3, PAIRS = 64 };

typedef enum { NO_LETTERS, LOWER, UPPER, TITLE, SENTENCE, MIXED, CASES } written;

typedef struct {
    uint64_t key;
    uint32_t level;
} folded;

static bool small(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool alnum(char c)
{
    return small(c) || capital(c) || digit(c) || (unsigned char)c >= 0x80;
}

/* Whether the sign at i says nothing: between digits it parts them, at the end "A-" is a grade. */
static bool is_idle(tab_str t, size_t i)
{
    char before = i > 0 ? t.p[i - 1] : 0, after = i + 1 < t.n ? t.p[i + 1] : 0;
    if (memchr(" .,-_/'()\":;&", t.p[i], 13) == NULL || (digit(before) && digit(after)))
        return false;
    return t.p[i] != '-' || (alnum(before) && alnum(after));
}

/* Whether t is a code of capitals and digits: there a dash between two equal signs parts them ("G2I-II" is no
 * "G2III"). */
static bool is_code(tab_str t)
{
    bool has_digit = false, has_small = false;
    for (size_t i = 0; i < t.n; i++)
        has_digit |= digit(t.p[i]), has_small |= small(t.p[i]);
    return has_digit && !has_small;
}

/* The hash of what is left of t; 0: it is too long, or has no letter. */
static uint64_t key_of(tab_str t)
{
    char buf[2 * LONGEST];
    bool letter = false, code = is_code(t);
    uint64_t h = TAB_FNV1A;
    if (t.n > LONGEST)
        return 0;
    tab_str f = tab_fold(t, buf, sizeof buf);
    for (size_t i = 0; i < f.n; i++) {
        bool parts = code && f.p[i] == '-' && i > 0 && i + 1 < f.n && f.p[i - 1] == f.p[i + 1];
        if (!is_idle(f, i) || parts) {
            letter |= small(f.p[i]) || (unsigned char)f.p[i] >= 0x80;
            h = tab_fnv1a(h, f.p + i, 1);
        }
    }
    return letter && h != 0 ? h : 0;
}

/* How letters are written; those that are not Latin say nothing. */
static written case_of(tab_str t)
{
    size_t capitals = 0, smalls = 0, words = 0, begun = 0;
    bool first = true, after = false, inner = false;
    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i];
        bool begins = i == 0 || !alnum(t.p[i - 1]);
        capitals += capital(c), smalls += small(c);
        if (begins && (capital(c) || small(c))) {
            words++;
            begun += capital(c);
            after |= !first && capital(c);
            first = false;
        } else if (capital(c)) {
            inner = true;
        }
    }
    if (capitals + smalls == 0)
        return NO_LETTERS;
    if (capitals == 0 || smalls == 0)
        return capitals == 0 ? LOWER : UPPER;
    return inner ? MIXED : begun == words ? TITLE : begun == 1 && !after ? SENTENCE : MIXED;
}

static int by_key(const void *a, const void *b)
{
    const folded *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->level > y->level) - (x->level < y->level);
}

/* ---- what the other cells say -------------------------------------------------------------------------- */

/* Each row of a column as one of a few bins; NULL: it tells nothing. */
typedef struct {
    tab_arena *arena;
    uint8_t **bin; /* (columns) each (rows): BINS where the cell is missing */
    size_t cols;
} context;

/* The bins of numbers: equal shares of a sample. */
static bool bins_of_numbers(tab_search *s, const tab_seen *v, uint8_t *bin)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    double *x = a == NULL ? NULL : tab_arena_new_of(a, double, TAB_SUSPECT_SAMPLE), edge[BINS];
    size_t most = s->rows < TAB_SUSPECT_SAMPLE ? s->rows : TAB_SUSPECT_SAMPLE, n = 0;
    if (x == NULL)
        return false;
    for (size_t i = 0; i < most; i++) {
        double y = v->num[tab_sampled_row(s->rows, most, i)];
        if (isfinite(y))
            x[n++] = y;
    }
    if (n > 0)
        qsort(x, n, sizeof *x, tab_ascending_double);
    for (size_t k = 0; k + 1 < BINS; k++)
        edge[k] = n > 0 ? tab_quantile_of(x, n, (double)(k + 1) / BINS) : 0;
    for (size_t i = 0; i < s->rows; i++) {
        size_t k = 0;
        while (k + 1 < BINS && v->num[i] > edge[k])
            k++;
        bin[i] = isfinite(v->num[i]) ? (uint8_t)k : BINS;
    }
    return true;
}

/* The bins of values: the most frequent ones, and all others. */
static bool bins_of_values(tab_search *s, const tab_seen *v, uint8_t *bin)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(TAB_SUSPECT_BYTES);
    uint8_t *of = a == NULL ? NULL : tab_arena_new_of(a, uint8_t, v->levels + 1);
    if (of == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++)
        of[l] = BINS - 1;
    for (uint8_t k = 0; k + 1 < BINS; k++) {
        uint32_t most = TAB_NULL;
        for (size_t l = 0; l < v->levels; l++)
            if (of[l] == BINS - 1 && v->count[l] > 1 && (most == TAB_NULL || v->count[l] > v->count[most]))
                most = (uint32_t)l;
        if (most == TAB_NULL)
            break;
        of[most] = k;
    }
    for (size_t i = 0; i < s->rows; i++)
        bin[i] = v->code[i] == TAB_NULL ? BINS : of[v->code[i]];
    return true;
}

static bool context_of(tab_search *s, context *ret)
{
    ret->cols = s->p->table->cols < TAB_SUSPECT_COLUMNS ? s->p->table->cols : TAB_SUSPECT_COLUMNS;
    ret->bin = tab_arena_new_of(ret->arena, uint8_t *, ret->cols + 1);
    for (size_t c = 0; ret->bin != NULL && c < ret->cols; c++) {
        const tab_seen *v = &s->seen[c];
        bool values = v->levels > 1 && v->levels <= TAB_SUSPECT_LEVELS && 2 * v->levels <= v->present;
        if (v->num == NULL && !values)
            continue;
        ret->bin[c] = tab_arena_new_of(ret->arena, uint8_t, s->rows + 1);
        if (ret->bin[c] == NULL ||
            !(values ? bins_of_values(s, v, ret->bin[c]) : bins_of_numbers(s, v, ret->bin[c])))
            return false;
    }
    return ret->bin != NULL;
}

/* How unlike two samples of bins are, as a standard normal deviate; bins that are expected less than once
 * are one. */
static double unlike(const double *x, const double *y)
{
    double nx = 0, ny = 0, chi = 0, degrees = -1, px = 0, py = 0;
    for (size_t k = 0; k < BINS; k++)
        nx += x[k], ny += y[k];
    if (nx < FEWEST || ny < FEWEST)
        return 0;
    for (size_t k = 0; k <= BINS; k++) {
        double ox = k < BINS ? x[k] : px, both = k < BINS ? x[k] + y[k] : px + py, of = both * nx / (nx + ny);
        if (k < BINS && of < 1) {
            px += x[k], py += y[k];
        } else if (of > 0) {
            chi += (ox - of) * (ox - of) / of * (nx + ny) / ny;
            degrees++;
        }
    }
    return degrees < 1 ? 0 : (chi - degrees) / sqrt(2 * degrees);
}

/* Rows of a level, of its most frequent spelling, and of all others, at most SOME of each. */
enum { OWN, ITS, REST, SAMPLES, SOME = 2000 };
typedef struct {
    uint32_t row[SAMPLES][SOME];
    size_t n[SAMPLES];
} samples;

static void sample(const tab_search *s, const tab_seen *v, uint32_t m, uint32_t big, samples *ret)
{
    size_t met[SAMPLES] = { 0 },
           of[SAMPLES] = { v->count[m], v->count[big], v->present - v->count[m] - v->count[big] };
    memset(ret->n, 0, sizeof ret->n);
    for (size_t i = 0; i < s->rows; i++) {
        uint32_t l = v->code[i];
        size_t k = l == m ? OWN : l == big ? ITS : REST;
        if (l != TAB_NULL && ret->n[k] < SOME && met[k]++ == tab_sampled_row(of[k], SOME, ret->n[k]))
            ret->row[k][ret->n[k]++] = (uint32_t)i;
    }
}

/* The most that another column tells the rows of a spelling and those of the most frequent one apart, and
 * the rows of the former and those of all others; what as many columns make by chance is taken off. */
static void compare(const context *x, size_t column, const samples *of, double *ret_pair, double *ret_rest)
{
    size_t asked = 0;
    *ret_pair = *ret_rest = 0;
    for (size_t c = 0; c < x->cols && of->n[OWN] >= FEWEST; c++) {
        double n[SAMPLES][BINS + 1] = { 0 };
        if (c == column || x->bin[c] == NULL)
            continue;
        for (size_t k = 0; k < SAMPLES; k++)
            for (size_t i = 0; i < of->n[k]; i++)
                n[k][x->bin[c][of->row[k][i]]]++;
        *ret_pair = fmax(*ret_pair, unlike(n[OWN], n[ITS]));
        *ret_rest = fmax(*ret_rest, unlike(n[OWN], n[REST]));
        asked++;
    }
    double chance = asked > 1 ? sqrt(2 * log((double)asked)) : 0;
    *ret_pair = fmax(0, *ret_pair - chance);
    *ret_rest = fmax(0, *ret_rest - chance);
}

/* ---- the column ---------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t *of;         /* (levels) the most frequent spelling; TAB_NULL: it is that */
    double rarer, merged; /* share of cells that are rarer spellings; of values that have any */
    double cases[CASES];  /* share of cells */
} spellings;

/* *ret_any: some value has several spellings. False: memory ran out. */
static bool spellings_of(tab_search *s, const tab_seen *v, spellings *x, bool *ret_any)
{
    folded *f = tab_arena_new_of(s->scratch, folded, v->levels + 1);
    size_t values = 0, several = 0;
    *x = (spellings){ .of = tab_arena_new_of(s->scratch, uint32_t, v->levels + 1) };
    if (f == NULL || x->of == NULL)
        return false;
    for (size_t l = 0; l < v->levels; l++) {
        f[l] = (folded){ key_of(v->text[l]), (uint32_t)l };
        x->of[l] = TAB_NULL;
        x->cases[case_of(v->text[l])] += (double)v->count[l] / (double)v->present;
    }
    qsort(f, v->levels, sizeof *f, by_key);
    for (size_t i = 0, k; i < v->levels; i = k) {
        uint32_t most = f[i].level;
        for (k = i; k < v->levels && f[k].key == f[i].key; k++)
            if (v->count[f[k].level] > v->count[most])
                most = f[k].level;
        values++;
        several += k - i > 1 && f[i].key != 0;
        for (size_t j = i; j < k && f[i].key != 0; j++)
            if (f[j].level != most) {
                x->of[f[j].level] = most;
                x->rarer += v->count[f[j].level] / (double)v->present;
            }
    }
    x->merged = (double)several / (double)values;
    *ret_any = several > 0;
    return true;
}

static size_t high_bytes(tab_str t)
{
    size_t n = 0;
    for (size_t i = 0; i < t.n; i++)
        n += (unsigned char)t.p[i] >= 0x80;
    return n;
}

static bool by_case_alone(tab_str x, tab_str y)
{
    for (size_t i = 0; i < x.n && x.n == y.n; i++)
        if ((x.p[i] | 0x20) != (y.p[i] | 0x20))
            return false;
    return x.n == y.n;
}

/* What is measured of a pair, in a candidate that is no cell's yet. */
static tab_suspect measured(const tab_search *s, const context *x, size_t column, const spellings *p,
                            uint32_t l, samples *of)
{
    const tab_seen *v = &s->seen[column];
    uint32_t big = p->of[l];
    written own = case_of(v->text[l]), its = case_of(v->text[big]);
    double pair, rest;
    tab_suspect c = { .column = (uint32_t)column, .kind = TAB_SUSPECT_VARIANT, .other = UINT32_MAX };
    sample(s, v, l, big, of);
    compare(x, column, of, &pair, &rest);
    c.f[0] = (float)(tab_log_count(v->count[big]) / 3);
    c.f[1] = (float)(tab_log_count((double)v->count[big] / v->count[l]) / 3);
    c.f[2] = v->count[l] == 1;
    c.f[3] = (float)p->rarer;
    c.f[4] = (float)p->merged;
    c.f[5] = (float)(fmin(tab_log_count(1 + pair), 2) / 2);
    c.f[6] = (float)(fmin(tab_log_count(1 + rest), 2) / 2);
    c.f[7] = (float)p->cases[MIXED];
    c.f[8] = by_case_alone(v->text[l], v->text[big]);
    c.f[TAB_VARIANT_BY_ACCENT] = high_bytes(v->text[l]) != high_bytes(v->text[big]);
    c.f[10] = (float)fmin(log((double)v->text[big].n) / log(16), 1);
    c.f[11] = (float)(p->cases[its] - p->cases[own]);
    c.suggestion = v->text[big];
    c.agree = v->count[big];
    c.of = v->count[big] + v->count[l];
    return c;
}

/* A rarer spelling is a candidate where the other stands twice as often, and three times at least. */
static bool is_rarer(const tab_seen *v, const spellings *p, uint32_t l)
{
    return p->of[l] != TAB_NULL && v->count[p->of[l]] >= 2 * v->count[l] && v->count[p->of[l]] >= FEWEST;
}

static bool of_column(tab_search *s, context *x, size_t column)
{
    const tab_seen *v = &s->seen[column];
    spellings p;
    bool any, few = false;
    if (!spellings_of(s, v, &p, &any))
        return false;
    tab_suspect *of = any ? tab_arena_new_of(s->scratch, tab_suspect, v->levels + 1) : NULL;
    samples *rows = any ? tab_arena_new_of(s->scratch, samples, 1) : NULL;
    if (!any)
        return true;
    if (of == NULL || rows == NULL || (x->bin == NULL && !context_of(s, x)))
        return false;
    size_t pairs = 0;
    for (uint32_t l = 0; l < v->levels; l++)
        if (is_rarer(v, &p, l) && pairs++ < PAIRS)
            of[l] = measured(s, x, column, &p, l, rows);
    few = pairs <= PAIRS; /* of a column of more pairs nothing is said: its spellings are values */
    for (size_t i = 0; few && pairs > 0 && i < s->rows; i++) {
        uint32_t l = v->code[i];
        if (l == TAB_NULL || !is_rarer(v, &p, l))
            continue;
        tab_suspect *c = tab_suspects_add(s, i, column, TAB_SUSPECT_VARIANT);
        if (c == NULL)
            return false;
        *c = of[l];
        c->row = (uint32_t)i;
    }
    return true;
}

void tab_suspects_variants(tab_search *s)
{
    context x = { .arena = s->scratch };
    for (size_t c = 0; c < s->p->table->cols && !s->failed && !tab_engine_cancelled(s->e); c++) {
        const tab_seen *v = &s->seen[c];
        if (v->col->type == TAB_NUMERIC || v->col->type == TAB_DATETIME || v->present < TAB_SUSPECT_ROWS ||
            v->levels < 2 || v->levels > TAB_SUSPECT_LEVELS || v->col->column->layout != TAB_CODED)
            continue;
        TAB_AUTO(tab_arena) *own = tab_arena_new(TAB_SUSPECT_BYTES);
        s->scratch = own;
        s->failed |= own == NULL || !of_column(s, &x, c);
        s->scratch = x.arena;
    }
}
