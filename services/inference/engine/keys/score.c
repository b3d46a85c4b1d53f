/* See score.h: runs the trees. The model is a file of numbers that the linker takes in as it is
 * (tools/train/keys writes it), read as a tab_key_model. */
#include "services/inference/engine/keys/score.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/keys/choose.h"

/* SURE: probability from which whole numbers of few values are said to refer; what lies between is as often
 * wrong as it is right where no schema like it was learned on (decision 0416). */
static const float BELOW = 0.49f, SURE = 0.75f;

/* The model's bytes, by their first and last address. */
__asm__(".section .rodata\n.balign 16\n.global tab_blob_keys\n.hidden tab_blob_keys\ntab_blob_keys:\n"
        ".incbin \"services/inference/engine/keys/keys.model\"\n.global tab_blob_keys_end\n"
        ".hidden tab_blob_keys_end\ntab_blob_keys_end:\n.previous\n");
extern const char tab_blob_keys[] __attribute__((visibility("hidden")));
extern const char tab_blob_keys_end[] __attribute__((visibility("hidden")));

/* The blob is part of the program: one that does not fit is our own mistake, and a build error in effect. */
const tab_key_model *tab_key_model_shipped(void)
{
    const void *blob = tab_blob_keys;
    if ((size_t)(tab_blob_keys_end - tab_blob_keys) != sizeof(tab_key_model) ||
        memcmp(blob, TAB_KEY_MARK, sizeof TAB_KEY_MARK) != 0)
        abort();
    return blob;
}

void tab_key_stage_run(const tab_key_stage *s, const tab_inclusion *x, size_t n, float *p)
{
    for (size_t i = 0; i < n; i++) {
        double z = tab_trees_add((double)s->start, s->tree, TAB_KEY_TREES, x[i].f);
        p[i] = (float)(1 / (1 + exp(-z)));
    }
}

/* BELOW: just below the half from which references count. */
bool tab_keys_settle(const tab_key_columns *k, size_t columns, const tab_inclusion *x, size_t n, float *p)
{
    for (size_t i = 0; i < n; i++) {
        const tab_key_column *c = &k->col[x[i].child];
        if (c->kind == TAB_KEY_WHOLE && c->n <= TAB_KEY_FEW && p[i] < SURE)
            p[i] = fminf(p[i], BELOW);
    }
    return tab_keys_choose(columns, x, n, p);
}

bool tab_keys_score(const tab_key_model *m, const tab_key_columns *k, size_t columns, tab_inclusion *x,
                    size_t n, float *p)
{
    tab_key_stage_run(&m->stage[0], x, n, p);
    if (!tab_inclusions_context(k, x, n, p))
        return false;
    tab_key_stage_run(&m->stage[1], x, n, p);
    return tab_keys_settle(k, columns, x, n, p);
}
