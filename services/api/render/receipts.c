/* See receipts.h. Nothing is stored or asked for: the endpoint's key came with its row. */
#include "services/api/render/receipts.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/bundle/bundle_json.h"
#include "proto/events.pb-c.h"
#include "proto/jobs.pb-c.h"

/* The likeliest classes, the label first, the others by falling share. */
static void fill_classes(const serve_receipts *s, const Tabella__Results *r, size_t i, tab_receipt *ret)
{
    const double *p = r->probabilities + i * s->classes;
    const double *own = s->own == NULL ? NULL : s->own->probabilities + i * s->classes;
    double rest = 1;
    ret->classes = 1;
    for (size_t n = 0; n < s->classes; n++) {
        size_t k = n == 0 ? r->label[i] : n <= r->label[i] ? n - 1 : n; /* the label is looked at first */
        size_t at = n == 0 ? 0 : ret->classes;
        float share = (float)fmin(fmax(p[k], 0), 1);
        while (at > 1 && ret->of[at - 1].share < share)
            at--;
        if (at == TAB_RECEIPT_CLASSES)
            continue;
        ret->classes += n > 0 && ret->classes < TAB_RECEIPT_CLASSES;
        memmove(&ret->of[at + 1], &ret->of[at], (ret->classes - at - 1) * sizeof *ret->of);
        ret->of[at].hash = s->class_hash[k];
        ret->of[at].share = share;
        ret->of[at].own = own == NULL ? 0 : (float)fmin(fmax(own[k], 0), 1);
    }
    for (size_t k = 0; k < ret->classes; k++)
        rest -= (double)ret->of[k].share;
    ret->others = (uint32_t)(s->classes - ret->classes);
    ret->rest = fmin(fmax(rest, 0), 1);
}

static void fill_own(const serve_receipts *s, size_t i, tab_receipt *ret)
{
    const double *q = s->own->quantiles + i * s->p->n_quantile_levels;
    bool there = s->low != SIZE_MAX && s->median != SIZE_MAX && s->high != SIZE_MAX;
    ret->own_low = there ? q[s->low] : ret->value;
    ret->own_median = there ? q[s->median] : ret->value;
    ret->own_high = there ? q[s->high] : ret->value;
    memcpy(ret->expert, s->own->bands.expert, sizeof ret->expert);
}

static void row_id(const serve_receipts *s, size_t i, uint8_t ret[TAB_RECEIPT_ID])
{
    char text[32];
    int n = snprintf(text, sizeof text, "/%zu", i);
    crypto_generichash_state h;
    (void)crypto_generichash_init(&h, s->e->receipt_key.data, TAB_RECEIPT_KEY, TAB_RECEIPT_ID);
    (void)crypto_generichash_update(&h, (const uint8_t *)s->event, strlen(s->event));
    (void)crypto_generichash_update(&h, (const uint8_t *)text, (size_t)n);
    (void)crypto_generichash_final(&h, ret, TAB_RECEIPT_ID);
}

/* Names that do not fit are left out: tab_receipt_sound looks at the others. */
static void fill_slices(const Tabella__ServePart *y, size_t i, tab_receipt *ret)
{
    for (size_t k = 0; k < TAB_RECEIPT_SLICES; k++) {
        size_t at = y->slice_of[i * TAB_RECEIPT_SLICES + k];
        if (at == 0 || at > y->n_slice || y->slice[at - 1].len >= TAB_RECEIPT_SLICE)
            continue;
        memcpy(ret->slice[ret->slices], y->slice[at - 1].data, y->slice[at - 1].len);
        ret->slices++;
    }
}

static void write_receipt(const void *arg, tab_out *o, size_t i)
{
    const serve_receipts *s = arg;
    const Tabella__Results *r = s->p->results;
    char text[TAB_RECEIPT_TEXT];
    tab_receipt t = { .at_us = s->at_us,
                      .regime = (uint8_t)(r->n_regime > 0 ? r->regime[i] : 0),
                      .config_revision = (uint32_t)s->e->config_revision,
                      .data_revision = (uint32_t)s->e->data_revision,
                      .followed = s->own != NULL && r->n_anomaly_score == 0,
                      .state = s->own == NULL ? 0 : s->own->state };
    row_id(s, i, t.id);
    if (s->slices != NULL)
        fill_slices(s->slices, i, &t);
    if (r->n_label > 0) {
        t.task = TAB_RECEIPT_CLASS;
        fill_classes(s, r, i, &t);
    } else if (r->n_value > 0) {
        const double *q = r->quantiles + i * s->p->n_quantile_levels;
        t.task = TAB_RECEIPT_NUMBER;
        t.value = r->value[i];
        t.low = s->low == SIZE_MAX ? t.value : q[s->low];
        t.median = s->median == SIZE_MAX ? t.value : q[s->median];
        t.high = s->high == SIZE_MAX ? t.value : q[s->high];
        if (t.followed)
            fill_own(s, i, &t);
    } else {
        t.task = TAB_RECEIPT_ANOMALY;
        t.score = r->anomaly_score[i];
        t.flagged = round(t.score * 1e6) >= round(s->p->threshold * 1e6);
    }
    if (!tab_receipt_sound(&t)) /* a figure that is none: nothing to be held to */
        tab_out_null(o);
    else
        tab_out_str(
            o, (tab_str){ text, tab_receipt_sign(s->e->receipt_key.data, tab_str_of(s->e->id), &t, text) });
}

tab_status serve_receipts_begin(serve_receipts *ret, tab_arena *a, const Tabella__Endpoint *e,
                                const Tabella__WorkDone *work, const Tabella__ServePart *part,
                                const tab_followed *own, tab_bundle_view *view, tab_error *err)
{
    const Tabella__Prediction *p = part->bundle->prediction;
    if (p == NULL || p->results == NULL)
        return TAB_OK;
    *ret = (serve_receipts){ .e = e,
                             .p = p,
                             .own = own,
                             .event = work->event_id,
                             .at_us = work->at_us,
                             .low = tab_quantile_place(p, 0.1),
                             .median = tab_quantile_place(p, 0.5),
                             .high = tab_quantile_place(p, 0.9) };
    size_t slices = p->results->n_row * TAB_RECEIPT_SLICES;
    ret->slices = part->n_slice > 0 && part->n_slice_of == slices ? part : NULL;
    if (p->results->n_label > 0) {
        ret->classes = p->results->n_probabilities / p->results->n_label;
        TAB_TRY(tab_class_hashes(a, p, ret->classes, &ret->class_hash, err));
    }
    view->receipt = write_receipt;
    view->receipt_arg = ret;
    return TAB_OK;
}
