/* See twin_model.h: runs the trees. The model is a file of numbers that the linker takes in as it is
 * (tools/train/pairs writes it), read as a tab_twin_model. */
#include "services/inference/engine/link/evidence/twin_model.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNKS = 64 };

/* The model's bytes, by their first and last address. */
__asm__(".section .rodata\n.balign 16\n.global tab_blob_twins\n.hidden tab_blob_twins\ntab_blob_twins:\n"
        ".incbin \"services/inference/engine/link/twins.model\"\n.global tab_blob_twins_end\n"
        ".hidden tab_blob_twins_end\ntab_blob_twins_end:\n.previous\n");
extern const char tab_blob_twins[] __attribute__((visibility("hidden")));
extern const char tab_blob_twins_end[] __attribute__((visibility("hidden")));

/* The blob is part of the program: one that does not fit is our own mistake, and a build error in effect. */
const tab_twin_model *tab_twin_model_shipped(void)
{
    const void *blob = tab_blob_twins;
    if ((size_t)(tab_blob_twins_end - tab_blob_twins) != sizeof(tab_twin_model) ||
        memcmp(blob, TAB_TWIN_MARK, sizeof TAB_TWIN_MARK) != 0)
        abort();
    return blob;
}

typedef struct {
    const tab_engine *e;
    const tab_twin_model *m;
    tab_twin_pairs *s;
} answering;

/* Most pairs are plainly two entities: they are known after the first trees. */
static void answer_chunk(void *ctx, size_t chunk)
{
    enum { GLANCE = 40 };
    static const double NONE = -6;
    static const float FAR = 0.35f; /* cosine; with no evidence either, nobody looks further */
    answering *w = ctx;
    tab_twin_pairs *s = w->s;
    const tab_twin_model *m = w->m;
    float x[TAB_TWIN_FEATURES];
    for (size_t i = s->n * chunk / CHUNKS; i < s->n * (chunk + 1) / CHUNKS; i++) {
        if ((i & 255) == 0 && tab_engine_cancelled(w->e))
            return;
        s->p[i] = 0;
        if (s->evidence[i] <= 0 && s->cosine[i] < FAR)
            continue;
        tab_twin_features(s, i, x);
        double z = tab_trees_add((double)m->start, m->tree, GLANCE, x);
        if (z > NONE)
            z = tab_trees_add(z, m->tree + GLANCE, TAB_TWIN_TREES - GLANCE, x);
        s->p[i] = (float)(1 / (1 + exp(-z)));
    }
}

tab_status tab_twin_model_run(const tab_engine *e, const tab_twin_model *m, tab_twin_pairs *s, tab_error *err)
{
    answering w = { e, m, s };
    tab_engine_for(e, CHUNKS, answer_chunk, &w);
    return tab_engine_cancelled(e) ? tab_fail(err, TAB_CANCELLED, "", "cancelled") : TAB_OK;
}
