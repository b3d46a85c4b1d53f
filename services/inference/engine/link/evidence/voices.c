/* See voices.h. Two visits of one patient on one day share his number, his name and his birth date, which
 * says nothing of the visit: what names the thing is there in each of its rows, and what follows from it as
 * well. A row of observations is one moment of one thing; at two moments there are two. */
#include "services/inference/engine/link/evidence/voices.h"

static const double HALF = 0.5;

/* Whether most rows that have a value of column `of` in common, at other moments, have one of column c in
 * common. last: scratch for a row of each value of `of`. */
static bool follows(const tab_table_view *t, size_t of, size_t when, size_t c, uint32_t *last)
{
    const tab_view *w = &t->col[of], *x = &t->col[c], *at = &t->col[when];
    size_t seen = 0, same = 0;
    for (uint32_t i = 0; i < w->values; i++)
        last[i] = TAB_NULL;
    for (uint32_t r = 0; r < t->rows; r++) {
        uint32_t value = w->code[r];
        if (value == TAB_NULL)
            continue;
        if (last[value] != TAB_NULL && at->code[r] != at->code[last[value]]) {
            seen++;
            same += x->code[r] == x->code[last[value]];
        }
        last[value] = r;
    }
    return (double)same > HALF * (double)seen;
}

tab_voice *tab_voices_of(const tab_views *v, const tab_keys *k, const tab_grain *g, size_t t, tab_arena *a)
{
    const tab_table_view *w = &v->table[t];
    tab_voice *voice = tab_arena_new_of(a, tab_voice, w->cols);
    uint32_t *last = tab_arena_new_of(a, uint32_t, w->rows + 1);
    if (voice == NULL || last == NULL)
        return NULL;
    for (size_t i = 0; i < k->n; i++) {
        const tab_reference *q = &k->ref[i];
        if (q->child_table == t && q->p >= HALF && !q->one_to_one && q->also == 0)
            voice[q->child] = TAB_VOICE_WHOSE;
    }
    if (g->kind != TAB_GRAIN_OBSERVATION || g->when == TAB_NULL)
        return voice;
    for (uint32_t i = 0; i < g->n; i++)
        voice[g->of[i]] = TAB_VOICE_WHOSE;
    for (size_t c = 0; c < w->cols; c++)
        for (uint32_t i = 0; i < g->n && voice[c] == TAB_VOICE_WHICH && c != g->when; i++)
            if (follows(w, g->of[i], g->when, c, last))
                voice[c] = TAB_VOICE_AGAIN;
    voice[g->when] = TAB_VOICE_WHOSE;
    return voice;
}
