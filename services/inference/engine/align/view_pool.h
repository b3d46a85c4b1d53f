/* What the views of one run share and add to while they are built: the pool of texts and tokens (view.c). One
 * thread builds them. */
#ifndef TAB_ALIGN_VIEW_POOL_H
#define TAB_ALIGN_VIEW_POOL_H

#include "services/inference/engine/align/host_names.h"
#include "services/inference/engine/align/view.h"

struct tab_view_scratch {
    tab_arena *arena;
    tab_host_names *hosts;
    uint64_t *slot_hash;
    uint32_t *slot_id;
    size_t slots;
    uint32_t *tok;
    size_t tok_n, tok_cap, text_n, text_cap, term_cap;
    char *text;
    uint32_t joined_keys; /* of values of joined columns that no other column has */
    bool failed;
    uint32_t buffer[1024]; /* tokens of the value at hand */
    size_t buffered;
};

/* Appends to the common text and returns where; v->own->failed where it does not fit. */
uint32_t tab_view_text(tab_views *v, tab_str s);

/* The tokens in v->own->buffer, sorted and each once, become the value's. */
void tab_view_tokens(tab_views *v, tab_value *x);

/* tab_view.once of a column. */
float tab_view_once(const tab_view *w);
#endif
