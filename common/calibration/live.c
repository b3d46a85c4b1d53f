/* See live.h. Arrays of arrays travel row by row. */
#include "common/calibration/live.h"

#include <math.h>

enum {
    LEVELS = TAB_BANDS_LEVELS,
    BANDS = TAB_BANDS_LEVELS * TAB_BANDS_EXPERTS,
    WEIGHTS = TAB_SHARES_SHIFTS * TAB_SHARES_TEMPERATURES
};

static void *copy(tab_arena *a, const void *from, size_t n, size_t size)
{
    void *to = tab_arena_alloc(a, n + 1, size);
    if (to != NULL)
        memcpy(to, from, n * size);
    return to;
}

bool tab_live_put_bands(tab_arena *a, const tab_bands *b, Tabella__LiveCalibration *ret)
{
    ret->at = copy(a, b->at, ret->n_at = LEVELS, sizeof *ret->at);
    ret->expert = copy(a, b->expert, ret->n_expert = BANDS, sizeof *ret->expert);
    return ret->at != NULL && ret->expert != NULL;
}

bool tab_live_get_bands(const Tabella__LiveCalibration *c, tab_bands *ret)
{
    bool ok = c->n_at == LEVELS && c->n_expert == BANDS;
    if (!ok)
        return false;
    memcpy(ret->at, c->at, sizeof ret->at);
    memcpy(ret->expert, c->expert, sizeof ret->expert);
    for (size_t i = 0; i < BANDS; i++)
        ok = ok && isfinite(c->expert[i]);
    return ok && isfinite(ret->at[0]) && ret->at[0] <= ret->at[1] && ret->at[1] <= ret->at[2] &&
           isfinite(ret->at[2]);
}

bool tab_live_put_shares(tab_arena *a, const tab_shares *s, Tabella__LiveCalibration *ret)
{
    size_t n = s->classes;
    ret->known = copy(a, s->known, ret->n_known = n, sizeof *ret->known);
    ret->weight = copy(a, s->weight, ret->n_weight = WEIGHTS, sizeof *ret->weight);
    ret->shift = tab_arena_new_of(a, float, TAB_SHARES_SHIFTS *n + 1);
    if (ret->known == NULL || ret->weight == NULL || ret->shift == NULL)
        return false;
    for (size_t j = 0; j < TAB_SHARES_SHIFTS; j++)
        memcpy(ret->shift + j * n, s->shift[j], n * sizeof *ret->shift);
    ret->n_shift = TAB_SHARES_SHIFTS * n;
    return true;
}

bool tab_live_get_shares(const Tabella__LiveCalibration *c, tab_shares *ret)
{
    size_t n = c->n_known;
    if (n > TAB_SHARES_CLASSES || c->n_shift != TAB_SHARES_SHIFTS * n || c->n_weight != WEIGHTS)
        return false;
    *ret = (tab_shares){ .classes = n };
    for (size_t k = 0; k < n; k++)
        ret->known[k] = c->known[k];
    for (size_t j = 0; j < TAB_SHARES_SHIFTS; j++)
        for (size_t k = 0; k < n; k++)
            ret->shift[j][k] = c->shift[j * n + k];
    memcpy(ret->weight, c->weight, sizeof ret->weight);
    return tab_shares_sound(ret);
}

Tabella__LiveBands *tab_live_of_state(tab_arena *a, const tab_bands_state *s)
{
    Tabella__LiveBands *b = tab_arena_new_of(a, Tabella__LiveBands, 1);
    if (b == NULL)
        return NULL;
    tabella__live_bands__init(b);
    b->score = copy(a, s->score, b->n_score = TAB_BANDS_SCORES, sizeof *b->score);
    b->level = copy(a, s->level, b->n_level = BANDS, sizeof *b->level);
    b->weight = copy(a, s->weight, b->n_weight = BANDS, sizeof *b->weight);
    b->next = s->next;
    return b->score == NULL || b->level == NULL || b->weight == NULL ? NULL : b;
}

bool tab_live_get_state(const Tabella__LiveBands *b, tab_bands_state *ret)
{
    if (b->n_score != TAB_BANDS_SCORES || b->n_level != BANDS || b->n_weight != BANDS)
        return false;
    memcpy(ret->score, b->score, sizeof ret->score);
    memcpy(ret->level, b->level, sizeof ret->level);
    memcpy(ret->weight, b->weight, sizeof ret->weight);
    ret->next = b->next;
    return tab_bands_restore(ret);
}
