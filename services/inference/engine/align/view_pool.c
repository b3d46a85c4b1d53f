/* See view_pool.h. */
#include "services/inference/engine/align/view_pool.h"

#include <stdlib.h>

#include "common/base/order.h"

bool tab_view_reserve(void *array, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return true;
    size_t to = *cap == 0 ? 1024 : *cap;
    while (to < need)
        to *= 2;
    void *grown = to > UINT32_MAX ? NULL : realloc(*(void **)array, to * size);
    if (grown == NULL)
        return false;
    *(void **)array = grown;
    *cap = to;
    return true;
}

uint32_t tab_view_text(tab_views *v, tab_str s)
{
    struct tab_view_scratch *o = v->own;
    if (!tab_view_reserve(&o->text, &o->text_cap, o->text_n + s.n + 1, 1)) {
        o->failed = true;
        return 0;
    }
    if (s.n > 0)
        memcpy(o->text + o->text_n, s.p, s.n);
    uint32_t at = (uint32_t)o->text_n;
    o->text_n += s.n;
    return at;
}

void tab_view_tokens(tab_views *v, tab_value *x)
{
    struct tab_view_scratch *o = v->own;
    size_t n = 0;
    x->tok = (uint32_t)o->tok_n;
    x->tok_n = 0;
    if (o->buffered == 0)
        return;
    qsort(o->buffer, o->buffered, sizeof *o->buffer, tab_ascending_u32);
    /* each token once, ascending: comparisons walk two lists side by side */
    for (size_t i = 0; i < o->buffered; i++)
        if (i == 0 || o->buffer[i] != o->buffer[i - 1])
            o->buffer[n++] = o->buffer[i];
    if (!tab_view_reserve(&o->tok, &o->tok_cap, o->tok_n + n, sizeof *o->tok)) {
        o->failed = true;
        return;
    }
    memcpy(o->tok + o->tok_n, o->buffer, n * sizeof *o->buffer);
    x->tok_n = (uint32_t)n;
    o->tok_n += n;
}
