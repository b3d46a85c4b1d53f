/* What looks like personal data by its form and is not (see stages.h): versions of four numbers, numbers of
 * documents behind their year, subjects counted up behind a site, and forms whose check digits do not
 * check. */
#include <math.h>
#include <stdlib.h>

#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/roles/stages.h"

enum { FEWEST = 8, LOOKED_AT = 160 };

/* What the column's texts (LOOKED_AT at most) have in common. */
typedef struct {
    size_t n;
    /* of four numbers between points: with one of 100 and more; from 10 on; whole networks ("5.1.0.0") */
    size_t high, ten, nets;
    size_t dated;          /* that begin with a year and a mark: "2024-", "1999/" */
    size_t ends, most_end; /* whose last group is of four digits; of these the most that share its first */
} shapes;

static bool has_high_part(tab_str s)
{
    size_t run = 0;
    for (size_t i = 0; i < s.n; i++) {
        run = digit(s.p[i]) ? run + 1 : 0;
        if (run == 3 && s.p[i - 2] != '0')
            return true;
    }
    return false;
}

static bool is_dated(tab_str s)
{
    return s.n > 6 && (memcmp(s.p, "19", 2) == 0 || memcmp(s.p, "20", 2) == 0) && digit(s.p[2]) &&
           digit(s.p[3]) && (s.p[4] == '-' || s.p[4] == '/');
}

/* The first of the four digits behind the last mark; 0: the text ends otherwise, or on the "555-01" that
 * numbers of stories have. */
static char last_group(tab_str s)
{
    if (s.n < 8 || digit(s.p[s.n - 5]))
        return 0;
    for (size_t i = s.n - 4; i < s.n; i++)
        if (!digit(s.p[i]))
            return 0;
    return memcmp(s.p + s.n - 8, "555", 3) == 0 ? 0 : s.p[s.n - 4];
}

static shapes look(const tab_reading *r)
{
    shapes t = { 0 };
    size_t of[10] = { 0 };
    if (r->level == NULL)
        return t;
    for (size_t k = 0; k < r->levels && t.n < (size_t)LOOKED_AT; k++) {
        tab_str s = r->level[k];
        char end = last_group(s);
        t.n++;
        t.high += has_high_part(s);
        t.ten += s.n > 3 && memcmp(s.p, "10.", 3) == 0;
        t.nets += s.n > 4 && memcmp(s.p + s.n - 4, ".0.0", 4) == 0;
        t.dated += is_dated(s);
        if (end != 0) {
            size_t same = ++of[end - '0'];
            t.ends++;
            t.most_end = same > t.most_end ? same : t.most_end;
        }
    }
    return t;
}

/* The role keeps `most` at the most; the others share the rest as they did. */
static void hold(float *p, int role, float most)
{
    float rest = 1 - p[role];
    if (p[role] <= most)
        return;
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] = r == role ? most : rest > 0 ? p[r] * (1 - most) / rest : 0;
}

/* A role keeps the share `left`; the other one gets what it loses. */
static void give(float *p, int from, int to, float left)
{
    float taken = p[from] * (1 - left);
    p[from] -= taken;
    p[to] += taken;
}

/* Of addresses drawn from all, 0.98 have a part of 100 and more, of versions hardly one; networks within an
 * office may begin with 10, and whole ones end in two zeros. */
static void doubt_addresses(const tab_staged *c, const shapes *t, float *p)
{
    static const double HIGH = 0.15, TEN = 0.8, NETS = 0.8;
    static const float LEFT = 0.05f;
    if (c->features.check[TAB_CHECK_IPV4] < 0.5 || t->high >= HIGH * t->n || t->ten >= TEN * t->n ||
        t->nets >= NETS * t->n)
        return;
    give(p, TAB_ROLE_IP_ADDRESS, TAB_ROLE_VERSION, LEFT);
}

/* No subscriber's number begins with a year and a mark throughout; and of four digits that are given out to
 * subscribers all ten come first, where a counter's stay the same. Both are keys. */
static void doubt_phones(const tab_staged *c, const shapes *t, float *p)
{
    static const double DATED = 0.95, SAME = 0.95;
    static const float LEFT = 0.03f;
    enum { ENDS = 16 };
    bool counted = t->ends >= ENDS && t->ends >= SAME * t->n && t->most_end >= SAME * t->ends;
    if (t->dated >= DATED * t->n || (counted && c->features.check[TAB_CHECK_PHONE_ABROAD] < 0.5))
        give(p, TAB_ROLE_PHONE, TAB_ROLE_ID, LEFT);
}

/* Numbers of persons and firms whose form alone speaks: America's and Great Britain's have no check digit,
 * and where one is it was not right. */
static void doubt_forms(const tab_staged *c, float *p)
{
    static const float MOST = 0.85f;
    const double *proof = c->features.identity;
    if (proof[TAB_IDENTITY_TAX] <= 0)
        hold(p, TAB_ROLE_TAX_ID, MOST);
    if (proof[TAB_IDENTITY_PERSON] <= 0 && c->features.check[TAB_CHECK_NATIONAL] < 0.5 &&
        c->features.check[TAB_CHECK_FISCAL] < 0.5)
        hold(p, TAB_ROLE_NATIONAL_ID, MOST);
}

/* What has a legal form of firms in most of its values names firms, though a family's name stands beside. */
static void doubt_firms(const tab_features *f, float *p)
{
    static const uint8_t names[] = { TAB_ROLE_NAME, TAB_ROLE_FIRST_NAME, TAB_ROLE_LAST_NAME };
    static const double FORMS = 0.6;
    static const float LEFT = 0.03f;
    for (size_t i = 0; f->org_forms >= FORMS && i < sizeof names; i++)
        give(p, names[i], TAB_ROLE_ORGANIZATION, LEFT);
}

/* The bytes behind the last blank; 0: it is one word. */
static tab_str last_word(tab_str s)
{
    for (size_t i = s.n; i > 0; i--)
        if (s.p[i - 1] == ' ')
            return (tab_str){ s.p + i, s.n - i };
    return (tab_str){ 0 };
}

/* A few levels that come again and again and end in one word ("Small Cap", "Large Cap") are a scale's: whole
 * names of persons differ in their last words unless they are of one family, whose members are as few. */
static void doubt_scales(const tab_staged *c, float *p)
{
    enum { LEVELS = 3, AGAIN = 8 };
    static const float LEFT = 0.03f;
    const tab_reading *r = c->reading;
    tab_str last = r->level != NULL && r->levels >= (size_t)LEVELS ? last_word(r->level[0]) : (tab_str){ 0 };
    if (last.n == 0 || c->features.present < AGAIN * (double)r->levels)
        return;
    for (size_t k = 1; k < r->levels; k++)
        if (!tab_str_eq(last_word(r->level[k]), last))
            return;
    give(p, TAB_ROLE_NAME, TAB_ROLE_CATEGORY, LEFT);
}

void tab_doubt_forms(const tab_staged *c, float *p)
{
    static const float ASKED = 0.1f;
    doubt_scales(c, p);
    if (c->features.values < FEWEST)
        return;
    doubt_forms(c, p);
    doubt_firms(&c->features, p);
    if (p[TAB_ROLE_IP_ADDRESS] < ASKED && p[TAB_ROLE_PHONE] < ASKED)
        return;
    shapes t = look(c->reading);
    if (t.n < (size_t)FEWEST)
        return;
    doubt_addresses(c, &t, p);
    doubt_phones(c, &t, p);
}
