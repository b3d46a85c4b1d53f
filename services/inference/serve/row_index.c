/* See row_index.h: an inverted index from hashed features to pinned rows; a query adds up weights of the rows
 * that share a feature with it. */
#include "services/inference/serve/row_index.h"

#include <math.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "common/base/order.h"

enum {
    FEATURES = 1 << 18,
    ROW_MOST = 2048, /* features of one row */
    CELL_MOST = 256, /* bytes of a cell that are read */
    BUDGET = 20000   /* postings that one query reads */
};

struct tab_row_index {
    size_t rows;
    uint32_t *at;  /* (FEATURES + 1) into row */
    uint32_t *row; /* ascending within a feature */
    float *length; /* (rows) sqrt of the sum of idf^2 */
};

struct tab_row_index_space {
    float *score;      /* (rows) */
    uint32_t *touched; /* (rows) */
    uint32_t feature[ROW_MOST];
};

/* Where the hash of a feature starts. It is not FNV's constant, and must stay: answers depend on it. */
#define BASIS UINT64_C(1469598103934665603)

static uint32_t hash(const char *p, size_t n, uint64_t seed)
{
    uint64_t h = tab_fnv1a(BASIS ^ seed, p, n);
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    return (uint32_t)(h >> 40) & (FEATURES - 1);
}

/* Letters and digits, lower-cased where ASCII; bytes of other alphabets count as letters. */
static bool wordly(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (uint8_t)c >= 0x80;
}

static size_t add_cell(tab_str s, uint32_t *feature, size_t n)
{
    char letters[CELL_MOST], word[CELL_MOST];
    size_t m = 0, w = 0;
    s.n = s.n > CELL_MOST ? CELL_MOST : s.n;
    for (size_t i = 0; i <= s.n; i++) {
        char c = i < s.n ? s.p[i] : ' ';
        if (wordly(c)) {
            c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
            word[w++] = letters[m++] = c;
        } else {
            if (w > 0 && n < ROW_MOST)
                feature[n++] = hash(word, w, 1);
            w = 0;
        }
    }
    for (size_t i = 0; i + 3 <= m && n < ROW_MOST; i++)
        feature[n++] = hash(letters + i, 3, 2);
    return n;
}

/* The row's distinct features, ascending. */
static size_t features_of(const tab_table *t, size_t row, uint32_t feature[ROW_MOST])
{
    size_t n = 0, m = 0;
    char buf[32];
    for (size_t c = 0; c < t->cols; c++) {
        tab_cell x = tab_cell_at(&t->col[c], row);
        if (x.kind == TAB_CELL_NUMBER && x.text.n == 0)
            x.text = (tab_str){ buf, tab_number_text(x.num, buf) };
        if (x.kind != TAB_CELL_NULL && x.kind != TAB_CELL_BOOL)
            n = add_cell(x.text, feature, n);
    }
    qsort(feature, n, sizeof *feature, tab_ascending_u32);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || feature[i] != feature[i - 1])
            feature[m++] = feature[i];
    return m;
}

static float weight(const tab_row_index *x, uint32_t f)
{
    uint32_t n = x->at[f + 1] - x->at[f];
    float idf = n == 0 ? 0 : logf(1.0f + (float)x->rows / (float)n);
    return idf * idf;
}

tab_row_index *tab_row_index_new(tab_arena *a, const tab_table *t)
{
    tab_row_index *x = tab_arena_new_of(a, tab_row_index, 1);
    uint32_t *feature = malloc(ROW_MOST * sizeof *feature);
    if (x == NULL || feature == NULL || (x->at = tab_arena_new_of(a, uint32_t, FEATURES + 2)) == NULL) {
        free(feature);
        return NULL;
    }
    x->rows = t->rows;
    /* Two passes over the rows: counts, then places. at[f + 2] counts first, so that at[f + 1] becomes the
     * place to fill next. */
    for (size_t r = 0; r < t->rows; r++) {
        size_t n = features_of(t, r, feature);
        for (size_t i = 0; i < n; i++)
            x->at[feature[i] + 2]++;
    }
    for (size_t f = 2; f <= FEATURES + 1; f++)
        x->at[f] += x->at[f - 1];
    size_t total = x->at[FEATURES + 1];
    x->row = tab_arena_new_of(a, uint32_t, total + 1);
    x->length = tab_arena_new_of(a, float, t->rows + 1);
    if (x->row != NULL && x->length != NULL)
        for (size_t r = 0; r < t->rows; r++) {
            size_t n = features_of(t, r, feature);
            for (size_t i = 0; i < n; i++)
                x->row[x->at[feature[i] + 1]++] = (uint32_t)r;
        }
    for (uint32_t f = 0; x->row != NULL && x->length != NULL && f < FEATURES; f++)
        for (uint32_t i = x->at[f]; i < x->at[f + 1]; i++)
            x->length[x->row[i]] += weight(x, f);
    for (size_t r = 0; x->length != NULL && r < t->rows; r++)
        x->length[r] = sqrtf(x->length[r]);
    free(feature);
    return tab_arena_full(a) ? NULL : x;
}

tab_row_index_space *tab_row_index_scratch(tab_arena *a, const tab_row_index *x)
{
    tab_row_index_space *s = tab_arena_new_of(a, tab_row_index_space, 1);
    if (s == NULL)
        return NULL;
    s->score = tab_arena_new_of(a, float, x->rows + 1);
    s->touched = tab_arena_new_of(a, uint32_t, x->rows + 1);
    return s->touched == NULL ? NULL : s;
}

size_t tab_row_index_rows(const tab_row_index *x, tab_row_index_space *s, const tab_table *q, size_t row,
                          size_t most, uint32_t *ret)
{
    size_t n = features_of(q, row, s->feature), touched = 0, found = 0, spent = 0;
    /* Reads the rarest features first. How many postings a feature may have doubles until the budget is
     * spent. */
    for (uint32_t from = 0, to = 1; from < x->rows && spent < BUDGET; from = to, to *= 2)
        for (size_t i = 0; i < n; i++) {
            uint32_t f = s->feature[i], k = x->at[f + 1] - x->at[f];
            if (k <= from || k > to || (spent + k > BUDGET && spent > 0))
                continue;
            float w = weight(x, f);
            spent += k;
            for (uint32_t p = x->at[f]; p < x->at[f + 1]; p++) {
                if (s->score[x->row[p]] == 0)
                    s->touched[touched++] = x->row[p];
                s->score[x->row[p]] += w;
            }
        }
    for (size_t i = 0; i < touched; i++)
        s->score[s->touched[i]] /= x->length[s->touched[i]];
    for (size_t i = 0; i < touched; i++) {
        uint32_t r = s->touched[i];
        size_t k = found;
        while (k > 0 && (s->score[r] > s->score[ret[k - 1]] ||
                         (s->score[r] == s->score[ret[k - 1]] && r < ret[k - 1])))
            k--;
        if (k == most)
            continue;
        found = found < most ? found + 1 : most;
        for (size_t m = found - 1; m > k; m--)
            ret[m] = ret[m - 1];
        ret[k] = r;
    }
    for (size_t i = 0; i < touched; i++)
        s->score[s->touched[i]] = 0;
    return found;
}

static void pack(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_row_index *x = each;
    TAB_PACK(p, x->at, FEATURES + 2);
    TAB_PACK(p, x->row, x->at == NULL ? 0 : x->at[FEATURES]);
    TAB_PACK(p, x->length, x->rows);
}

void tab_pack_row_index(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_row_index **x = each;
    TAB_PACK_ONE(p, *x, pack);
}
