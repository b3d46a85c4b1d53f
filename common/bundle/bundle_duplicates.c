/* Groups of rows of one table that are one entity: elements of the bundle's `duplicates`. */
#include "common/bundle/bundle_internal.h"

#include <math.h>

double bundle_thousandths(double x)
{
    return round(x * 1000) / 1000;
}

size_t bundle_groups_before(const Tabella__Bundle *b, size_t entry)
{
    size_t n = 0;
    for (size_t i = 0; i < entry; i++)
        n += b->duplicates[i]->n_confidence;
    return n;
}

/* The group's rows, those of the request or those of the pinned table. */
static void rows_of(tab_out *o, const Tabella__DuplicateGroups *d, size_t g, bool pinned)
{
    tab_out_open(o, '[');
    for (size_t k = g == 0 ? 0 : d->row_end[g - 1]; k < d->row_end[g]; k++)
        if ((d->n_pinned > 0 && d->pinned[k] != 0) == pinned)
            tab_out_uint(o, d->row[k]);
    tab_out_close(o, ']');
}

void bundle_group(tab_out *o, const bundle_writer *w, size_t i)
{
    const Tabella__Bundle *b = w->b;
    size_t entry = 0;
    while (i >= bundle_groups_before(b, entry + 1))
        entry++;
    const Tabella__DuplicateGroups *d = b->duplicates[entry];
    size_t g = i - bundle_groups_before(b, entry);
    tab_out_open(o, '{');
    MEMBER(o, "rows", rows_of(o, d, g, false));
    if (d->n_pinned > 0)
        MEMBER(o, "pinned_rows", rows_of(o, d, g, true));
    MEMBER(o, "confidence", tab_out_fixed(o, d->confidence[g]));
    tab_out_key(o, "evidence");
    tab_out_open(o, '[');
    for (size_t k = g == 0 ? 0 : d->evidence_end[g - 1]; k < d->evidence_end[g]; k++) {
        tab_out_open(o, '{');
        MEMBER(o, "column", tab_out_str(o, w->column_name[w->column_base[d->table] + d->column[k]]));
        MEMBER(o, "similarity", tab_out_fixed(o, bundle_thousandths(d->similarity[k])));
        MEMBER(o, "weight", tab_out_fixed(o, bundle_thousandths(d->weight[k])));
        tab_out_close(o, '}');
    }
    tab_out_close(o, ']');
    tab_out_close(o, '}');
}
