/* See encode.h: an encoder and encoded rows as bytes, and back (pack/pack.h). */
#include "services/inference/engine/features/encode.h"
#include "services/inference/engine/features/encode_text.h"

static void pack_feature(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_feature *f = each;
    TAB_PACK(p, f->edge, f->edges);
    tab_pack_code(p, f);
}

void tab_pack_encoder(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_encoder *e = each;
    TAB_PACK_EACH(p, e->f, e->n, pack_feature, NULL);
    TAB_PACK_EACH(p, e->text, e->cols, tab_pack_text_basis, NULL);
    TAB_PACK(p, e->column_hash, e->cols);
}

/* One feature's values. context: how many rows. */
static void pack_numbers(tab_pack *p, void *each, const void *context)
{
    float **x = each;
    TAB_PACK(p, *x, *(const size_t *)context);
}

static void pack_codes(tab_pack *p, void *each, const void *context)
{
    uint32_t **code = each;
    TAB_PACK(p, *code, *(const size_t *)context);
}

static void pack_bins(tab_pack *p, void *each, const void *context)
{
    uint8_t **bin = each;
    TAB_PACK(p, *bin, *(const size_t *)context);
}

void tab_pack_data(tab_pack *p, void *each, const void *context)
{
    (void)context;
    tab_data *d = each;
    TAB_PACK_EACH(p, d->x, d->n, pack_numbers, &d->rows);
    TAB_PACK_EACH(p, d->code, d->n, pack_codes, &d->rows);
    TAB_PACK_EACH(p, d->bin, d->n, pack_bins, &d->rows);
    TAB_PACK(p, d->hash, d->rows);
    TAB_PACK(p, d->row, d->rows);
}
