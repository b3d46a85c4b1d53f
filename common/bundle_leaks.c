/* The columns that give a target away, as JSON: a prediction and a report show them alike. */
#include "common/bundle_internal.h"

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
