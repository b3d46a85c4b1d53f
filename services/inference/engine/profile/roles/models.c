/* The trained models, linked in as they stand in the repository (tools/train makes them): stage 1, stage 2's
 * linear model and perceptron (two linear models), and the sector's. They are part of the program, so no file
 * can be missing at run time. Opened once, then read by any number of threads. */
#include <pthread.h>
#include <stdlib.h>

#include "services/inference/engine/profile/roles/stages.h"

/* .incbin puts the file's bytes between two symbols, `symbol` and `symbol`_end */
#define EMBED(symbol, path)                                                                                \
    __asm__(".section .rodata\n.balign 16\n.global " #symbol "\n.hidden " #symbol "\n" #symbol             \
            ":\n.incbin \"services/inference/engine/" path "\"\n.global " #symbol "_end\n.hidden " #symbol \
            "_end\n" #symbol "_end:\n.previous\n");                                                        \
    extern const char symbol[] __attribute__((visibility("hidden")));                                      \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))

EMBED(tab_blob_stage1, "profile/stage1.model");
EMBED(tab_blob_stage2, "profile/stage2.model");
EMBED(tab_blob_hidden, "profile/stage2-hidden.model");
EMBED(tab_blob_top, "profile/stage2-top.model");
EMBED(tab_blob_sector, "sector/sector.model");

static tab_linear stage1, stage2, hidden, top, sector;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The blobs are part of the program: one that does not fit is our own mistake, and a build error in
 * effect. */
static void open_models(void)
{
    if (!tab_linear_open(tab_blob_stage1, (size_t)(tab_blob_stage1_end - tab_blob_stage1), TAB_ROLES,
                         TAB_STAGE1_INPUTS, 0, &stage1) ||
        !tab_linear_open(tab_blob_stage2, (size_t)(tab_blob_stage2_end - tab_blob_stage2), TAB_ROLES,
                         TAB_STAGE2_INPUTS, TAB_STAGE2_TIED, &stage2) ||
        !tab_linear_open(tab_blob_hidden, (size_t)(tab_blob_hidden_end - tab_blob_hidden), TAB_STAGE2_HIDDEN,
                         TAB_STAGE2_INPUTS, 0, &hidden) ||
        !tab_linear_open(tab_blob_top, (size_t)(tab_blob_top_end - tab_blob_top), TAB_ROLES,
                         TAB_STAGE2_HIDDEN, 0, &top) ||
        !tab_linear_open(tab_blob_sector, (size_t)(tab_blob_sector_end - tab_blob_sector), TAB_SECTORS,
                         TAB_SECTOR_INPUTS, TAB_SECTOR_TIED, &sector))
        abort();
}

const tab_linear *tab_model_stage1(void)
{
    pthread_once(&once, open_models);
    return &stage1;
}

/* A layer of rectified units between two linear models (decision 0163). x (TAB_STAGE2_INPUTS) and z
 * (TAB_ROLES) in, p (TAB_ROLES) probabilities out. Half of the units are left out at random while the
 * perceptron is trained; here all of them take part. */
void tab_stage2_apply(const float *x, const float *z, float *p)
{
    float h[TAB_STAGE2_HIDDEN], q[TAB_ROLES];
    pthread_once(&once, open_models);
    /* two answers in logits: the linear model's in p, the perceptron's in q */
    tab_linear_scores(&stage2, x, z, p);
    tab_linear_scores(&hidden, x, NULL, h);
    for (int i = 0; i < TAB_STAGE2_HIDDEN; i++)
        h[i] = h[i] > 0 ? h[i] : 0;
    tab_linear_scores(&top, h, NULL, q);
    /* a mean of logits is a geometric mean of probabilities; one temperature for both */
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] = (1 - TAB_STAGE2_SHARE) * p[r] + TAB_STAGE2_SHARE * q[r];
    tab_softmax(p, TAB_ROLES, stage2.temperature);
}

const tab_linear *tab_model_sector(void)
{
    pthread_once(&once, open_models);
    return &sector;
}
