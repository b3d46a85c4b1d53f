#include "services/inference/engine/link/foreign_keys.h"

#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/profile/roles.h"

enum { LEAST = 5 }; /* distinct values that two columns share */

static bool identifies(const tab_view *w)
{
    int role = w->profile->role;
    return tab_role_family[role] == TAB_FAMILY_IDENTIFIER || role == TAB_ROLE_EMAIL ||
           role == TAB_ROLE_PHONE || role == TAB_ROLE_USERNAME;
}

static bool unique(const tab_view *w)
{
    return w->values == w->present;
}

/* Whole numbers counted up from where people begin (0, 1, 1000, 10001): others of their range are among
 * them by chance. */
static bool counted(const tab_view *w)
{
    double low = INFINITY, high = -INFINITY, tens = 1;
    for (uint32_t i = 0; i < w->values; i++) {
        double x = w->value[i].number;
        if (!(isfinite(x) && x == trunc(x)))
            return false;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    while (tens * 10 <= low)
        tens *= 10;
    return (double)w->values > 0.5 * (high - low + 1) && (low <= 1 || low - tens <= 1);
}

static size_t held_by(const tab_view *a, const tab_view *b, bool *scratch)
{
    size_t n = 0;
    for (uint32_t i = 0; i < a->values; i++)
        scratch[a->value[i].key] = true;
    for (uint32_t i = 0; i < b->values; i++)
        n += scratch[b->value[i].key];
    for (uint32_t i = 0; i < a->values; i++)
        scratch[a->value[i].key] = false;
    return n;
}

tab_status tab_key_of(const tab_views *v, const tab_view *a, const tab_view *b, tab_key_relation *ret,
                      tab_error *err)
{
    *ret = TAB_KEY_NONE;
    bool ua = unique(a), ub = unique(b);
    if (!identifies(a) || !identifies(b) || !(ua || ub) || counted(ua ? a : b))
        return TAB_OK;
    bool *scratch = calloc(v->terms + 1, sizeof *scratch);
    if (scratch == NULL)
        return tab_fail(err, TAB_INTERNAL, "", "out of memory");
    size_t shared = held_by(a, b, scratch);
    free(scratch);
    if (shared < LEAST)
        return TAB_OK;
    bool names_a = ua && shared * 20 >= (size_t)b->values * 19,
         names_b = ub && shared * 20 >= (size_t)a->values * 19;
    if (ua && ub && (names_a || names_b))
        *ret = TAB_KEY_ONE_TO_ONE;
    else if (names_a)
        *ret = TAB_KEY_ONE_TO_MANY;
    else if (names_b)
        *ret = TAB_KEY_MANY_TO_ONE;
    return TAB_OK;
}
