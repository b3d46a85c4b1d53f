/* Items of a questionnaire (see stages.h). How people spread over a scale's points differs from item to
 * item, and the models read a rating from one spread, a count from the next. That several columns have the same ends
 * says more than each of them does. */
#include <math.h>

#include "services/inference/engine/profile/roles/stages.h"

/* Whole numbers of a scale of 3 to 11 points. */
static bool is_item(const tab_staged *c)
{
    const tab_features *f = &c->features;
    return c->reading->can_number && c->reading->leading_zero == 0 && !f->fraction && f->distinct >= 3 &&
           f->max - f->min <= 10;
}

static bool within(const tab_staged *c, const tab_staged *scale)
{
    return c->features.min >= scale->features.min && c->features.max <= scale->features.max;
}

/* The column among [from, to) whose ends most have, the first of equals; and how many have them. */
static const tab_staged *scale_of(tab_staged *const *c, size_t from, size_t to, size_t *ret_whole)
{
    const tab_staged *best = c[from];
    *ret_whole = 0;
    for (size_t i = from; i < to; i++) {
        size_t same = 0;
        for (size_t k = from; k < to; k++)
            same += within(c[i], c[k]) && within(c[k], c[i]);
        if (same > *ret_whole) {
            *ret_whole = same;
            best = c[i];
        }
    }
    return best;
}

/* The items among [from, to), which are those within the scale that half of them fill. */
static void agree(tab_staged *const *c, size_t from, size_t to)
{
    enum { ITEMS = 4 };
    size_t whole, items = 0;
    double sum[TAB_ROLES] = { 0 };
    const tab_staged *scale = scale_of(c, from, to, &whole);
    for (size_t k = from; k < to; k++) {
        bool is = within(c[k], scale);
        items += is;
        for (int r = 0; r < TAB_ROLES && is; r++)
            sum[r] += (double)c[k]->p2[r];
    }
    if (items < ITEMS || 2 * whole < items)
        return;
    for (size_t k = from; k < to; k++)
        for (int r = 0; r < TAB_ROLES && within(c[k], scale); r++)
            c[k]->p2[r] = (float)(sum[r] / (double)items);
}

void tab_agree_items(tab_staged *const *c, size_t n)
{
    enum { TOGETHER = 512 }; /* a longer stretch is looked at in parts: each is compared with each */
    for (size_t from = 0, to; from < n; from = to) {
        to = from;
        while (to < n && to - from < TOGETHER && is_item(c[to]))
            to++;
        if (to > from)
            agree(c, from, to);
        else
            to++;
    }
}
