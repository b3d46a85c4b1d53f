/* See fill_gaps.h; fill_column.c asks before the view is completed. */
#include "services/inference/engine/impute/fill_gaps.h"

#include <math.h>

#include "services/inference/engine/features/missingness.h"
#include "services/inference/engine/features/mix.h"

static tab_gap_count count(const tab_data *d, size_t feature, const uint8_t *row)
{
    tab_gap_count c = { 0 };
    for (size_t i = 0; i < d->rows; i++) {
        bool gap = row[i] != TAB_FILL_NEITHER && tab_data_lacks(d, feature, i);
        c.known += row[i] == TAB_FILL_KNOWN, c.known_gaps += row[i] == TAB_FILL_KNOWN && gap;
        c.asked += row[i] == TAB_FILL_ASKED, c.asked_gaps += row[i] == TAB_FILL_ASKED && gap;
    }
    return c;
}

/* (rows) whether a known row's cell of the column goes, as that of the asked row that it draws does. */
static bool *drawn(tab_arena *a, const tab_data *d, size_t feature, uint64_t column, double thin,
                   const uint8_t *row, const uint32_t *asked, size_t n)
{
    bool *gone = tab_arena_new_of(a, bool, d->rows + 1);
    for (size_t i = 0; gone != NULL && i < d->rows; i++) {
        size_t from = asked[(size_t)(tab_unit(tab_mix(d->hash[i])) * (double)n)];
        gone[i] = row[i] == TAB_FILL_KNOWN && tab_data_lacks(d, feature, from) &&
                  tab_unit(tab_mix2(d->hash[i], column)) < thin;
    }
    return gone;
}

/* The feature's cells without those that are gone. */
static bool blank(tab_arena *a, tab_data *d, size_t feature, const bool *gone)
{
    float *x = d->x[feature] == NULL ? NULL : tab_arena_new_of(a, float, d->rows + 1);
    uint32_t *code = d->code[feature] == NULL ? NULL : tab_arena_new_of(a, uint32_t, d->rows + 1);
    uint8_t *bin = tab_arena_new_of(a, uint8_t, d->rows + 1);
    if (tab_arena_full(a))
        return false;
    for (size_t i = 0; i < d->rows; i++) {
        if (x != NULL)
            x[i] = gone[i] ? NAN : d->x[feature][i];
        if (code != NULL)
            code[i] = gone[i] ? TAB_NULL : d->code[feature][i];
        bin[i] = gone[i] ? TAB_BIN_MISSING : d->bin[feature][i];
    }
    d->x[feature] = x, d->code[feature] = code, d->bin[feature] = bin;
    return true;
}

bool tab_fill_gaps(tab_arena *a, const uint8_t *row, tab_encoder *enc, tab_data *d, tab_joint_gaps *ret)
{
    uint32_t *asked = tab_arena_new_of(a, uint32_t, d->rows + 1);
    size_t n = 0, sources = 0;
    *ret = (tab_joint_gaps){ 0 };
    size_t *column = tab_arena_new_of(a, size_t, enc->n + 1);
    bool **gone = tab_arena_new_of(a, bool *, enc->n + 1), **of = tab_arena_new_of(a, bool *, enc->cols + 1);
    bool *seen = tab_arena_new_of(a, bool, enc->cols + 1);
    tab_feature *f = tab_arena_new_of(a, tab_feature, enc->n + 1);
    if (tab_arena_full(a))
        return false;
    memcpy(f, enc->f, enc->n * sizeof *f);
    for (size_t i = 0; i < d->rows; i++)
        if (row[i] == TAB_FILL_ASKED)
            asked[n++] = (uint32_t)i;
    for (size_t j = 0; j < enc->n; j++)
        sources += !seen[f[j].source], seen[f[j].source] = true;
    memset(seen, 0, enc->cols * sizeof *seen);
    for (size_t j = 0; j < enc->n; j++) {
        size_t s = f[j].source;
        tab_gap_count c = seen[s] || !f[j].has_missing ? (tab_gap_count){ 0 } : count(d, j, row);
        if (!seen[s] && tab_gaps_differ(&c, sources)) {
            gone[ret->n] = of[s] = drawn(a, d, j, enc->column_hash[s], tab_gaps_thin(&c), row, asked, n);
            column[ret->n++] = s;
            if (of[s] == NULL)
                return false;
        }
        seen[s] = true;
    }
    for (size_t j = 0; j < enc->n; j++)
        if (of[f[j].source] != NULL) {
            f[j].has_missing = true;
            if (!blank(a, d, j, of[f[j].source]))
                return false;
        }
    enc->f = f;
    ret->column = column;
    ret->gone = (const bool *const *)gone;
    return true;
}
