/* See roles.h: the list of roles, spread into one array a property. The order is that of the list, so an
 * index into one array is an index into all of them, and a class of the trained models. Which role a column
 * has is decided in stages.c. */
#include "services/inference/engine/profile/roles/roles.h"

const char *const tab_role_names[TAB_ROLES] = {
#define TAB_X(e, name, family, type, pii, ident) name,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
};
const uint8_t tab_role_family[TAB_ROLES] = {
#define TAB_X(e, name, family, type, pii, ident) TAB_FAMILY_##family,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
};
const uint8_t tab_role_kinds[TAB_ROLES] = {
#define TAB_X(e, name, family, type, pii, ident) TAB_KIND_##type,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
};
const uint8_t tab_role_pii[TAB_ROLES] = {
#define TAB_X(e, name, family, type, pii, ident) pii,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
};
const uint8_t tab_role_identifying[TAB_ROLES] = {
#define TAB_X(e, name, family, type, pii, ident) ident,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
};

/* -1 where no role has this name. A walk is fast enough: only training asks. */
int tab_role_of(tab_str name)
{
    for (int i = 0; i < TAB_ROLES; i++)
        if (tab_str_eq(name, tab_str_of(tab_role_names[i])))
            return i;
    return -1;
}

/* Sources left out, of the labelled columns that were called measure to label at 0.8 and more 0.68 are so; of
 * those called keys at 0.4 0.56, of all others at 0.35 0.42. */
double tab_told_role(int role, double p)
{
    static const double FROM = 0.8, SLOPE = 0.3, KEYS = 0.65, KEYS_RISE = 0.5, OTHERS = 0.6,
                        OTHERS_RISE = 0.2;
    switch (role) {
    case TAB_ROLE_MEASURE:
    case TAB_ROLE_COUNT:
    case TAB_ROLE_PERCENTAGE:
    case TAB_ROLE_RATING:
    case TAB_ROLE_CODE:
    case TAB_ROLE_LABEL:
        return p <= FROM || p >= 1 ? p : FROM + (p - FROM) * SLOPE;
    case TAB_ROLE_ID:
        return p < KEYS ? p + (KEYS - p) * KEYS_RISE : p;
    default:
        return p < OTHERS ? p + (OTHERS - p) * OTHERS_RISE : p;
    }
}

/* Roles like "city" or "code" are categories where values repeat (twice on average) and text where they do
 * not. */
tab_type tab_role_type(int role, size_t distinct, size_t present)
{
    switch ((tab_role_kind)tab_role_kinds[role]) {
    case TAB_KIND_NUM:
        return TAB_NUMERIC;
    case TAB_KIND_TIME:
        return TAB_DATETIME;
    case TAB_KIND_BOOL:
        return TAB_BOOLEAN;
    case TAB_KIND_CAT:
        return TAB_CATEGORICAL;
    case TAB_KIND_TEXT:
        return TAB_TEXT;
    case TAB_KIND_RATIO:
        break;
    }
    /* job titles, cities, codes ...: two cells a value on average make a category */
    return 2 * distinct <= present ? TAB_CATEGORICAL : TAB_TEXT;
}

const char *tab_type_name(tab_type t)
{
    static const char *const names[] = { "categorical", "numeric", "datetime", "text", "boolean" };
    return names[t];
}
