/* What a prediction and a report show alike, as JSON: columns that give the target away, error by slice,
 * calibration, quality by regime. */
#include "common/bundle/bundle_internal.h"

void tab_leaks_json(tab_out *o, size_t n, Tabella__Leak *const *leak)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++) {
        const Tabella__Leak *l = leak[i];
        tab_out_open(o, '{');
        MEMBER(o, "column", bundle_address(o, l->column));
        MEMBER(o, "kind", tab_out_cstr(o, l->kind));
        MEMBER(o, "alone", l->has_share ? tab_out_fixed(o, l->alone) : tab_out_null(o));
        MEMBER(o, "others", l->has_share ? tab_out_fixed(o, l->others) : tab_out_null(o));
        MEMBER(o, "reason", tab_out_cstr(o, l->reason));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

void tab_slices_json(tab_out *o, size_t n, Tabella__Slice *const *slice)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++) {
        const Tabella__Slice *x = slice[i];
        tab_out_open(o, '{');
        MEMBER(o, "column", bundle_address(o, x->column));
        MEMBER(o, "slice", tab_out_str(o, bundle_bytes(x->slice)));
        MEMBER(o, "rows", tab_out_uint(o, x->rows));
        MEMBER(o, "error", tab_out_real(o, x->error));
        MEMBER(o, "beyond_chance", tab_out_bool(o, x->beyond_chance));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

void tab_calibration_json(tab_out *o, size_t n, Tabella__Calibration *const *point)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++) {
        tab_out_open(o, '{');
        MEMBER(o, "said", tab_out_fixed(o, point[i]->said));
        MEMBER(o, "was", tab_out_fixed(o, point[i]->was));
        MEMBER(o, "rows", tab_out_uint(o, point[i]->rows));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}

static void measured(tab_out *o, bool has, double x)
{
    if (has)
        tab_out_fixed(o, x);
    else
        tab_out_null(o);
}

void tab_regimes_json(tab_out *o, size_t n, Tabella__RegimeQuality *const *regime)
{
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++) {
        const Tabella__RegimeQuality *q = regime[i];
        tab_out_open(o, '{');
        MEMBER(o, "regime", tab_out_cstr(o, q->regime));
        MEMBER(o, "rows", tab_out_uint(o, q->rows));
        MEMBER(o, "metric", bundle_text_or_null(o, q->metric));
        MEMBER(o, "score", q->judged > 0 ? tab_out_real(o, q->score) : tab_out_null(o));
        MEMBER(o, "baseline", q->judged > 0 ? tab_out_real(o, q->baseline) : tab_out_null(o));
        MEMBER(o, "coverage", measured(o, q->has_coverage, q->coverage));
        MEMBER(o, "distance", measured(o, q->has_distance, q->distance));
        MEMBER(o, "judged", tab_out_uint(o, q->judged));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
}
