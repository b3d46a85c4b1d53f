/* See identity.h. A value is shown without blanks and marks, in capitals, to the families of its length
 * (identity_families.h). */
#include "services/inference/engine/profile/cells/identity.h"

#include <math.h>

#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/identity_families.h"

typedef tab_identity_family family;

enum { LONGEST = 26, SHORTEST = 7 };

/* ---- one value -------------------------------------------------------------------------------- */

/* The Latin capital that looks like the Cyrillic one with this second byte; 0: none does. */
static char latin_of(char second)
{
    static const char cyrillic[] = "\x90\x92\x95\x9a\x9c\x9d\x9e\xa0\xa1\xa2\xa3\xa5\x86",
                      latin[] = "ABEKMHOPCTYXI";
    const char *at = memchr(cyrillic, second, sizeof cyrillic - 1);
    return at != NULL ? latin[at - cyrillic] : 0;
}

/* Capitals and digits, without the marks that people put between groups. Its length, or 0 where it can be of
 * no family: too short or long, of other characters, or of one digit alone, which passes most checks. */
static size_t squeezed(tab_str s, char c[LONGEST])
{
    size_t n = 0, digits = 0;
    bool same = true;
    for (size_t i = 0; i < s.n; i++) {
        char x = s.p[i];
        if (x == ' ' || x == '-' || x == '.' || x == '/')
            continue;
        if (x == '\xd0' && i + 1 < s.n)
            x = latin_of(s.p[++i]);
        if (n == LONGEST || !(digit(x) || letter(x)))
            return 0;
        digits += digit(x);
        same = same && (n == 0 || x == c[0]);
        c[n++] = letter(x) ? (char)(x & ~32) : x;
    }
    return n < SHORTEST || digits < 2 || same ? 0 : n;
}

/* A number for taxes may have its country in front: "DE811907980", for Greece "EL". */
static size_t country_in_front(const family *f, const char *c, size_t n)
{
    if (f->kind != TAB_IDENTITY_TAX || n != (size_t)f->n + 2 || !upper(c[0]))
        return 0;
    bool greece = memcmp(f->name, "GR", 2) == 0 && memcmp(c, "EL", 2) == 0;
    return memcmp(f->name, c, 2) == 0 || greece ? 2 : 0;
}

/* ---- a column's values ------------------------------------------------------------------------ */

/* After these many values a family that fewer than half passed is asked no more. Births lie in this many
 * spans of five years at least. */
enum { TRIED = 16, BIRTHS = 6 };

static bool asked(const tab_identity *t, size_t i)
{
    return t->shown < TRIED || t->pass[i] * 2 >= TRIED;
}

/* A form with marks is held against the text as it stands. */
static bool marked(const family *f)
{
    return strchr(f->form, '-') != NULL;
}

/* No check but a date of birth within: what passes counts only where the years are many, since counters stand
 * behind the day that they were given. */
static bool by_births(const family *f)
{
    return !tab_family_checked(f) && strchr(f->form, 'y') != NULL;
}

void tab_identity_show(tab_identity *t, tab_str value)
{
    char c[LONGEST];
    unsigned year = 0;
    size_t n = t->shown >= TRIED && t->most * 2 < TRIED ? 0 : squeezed(value, c);
    for (size_t i = 0; n > 0 && i < tab_family_count; i++) {
        const family *f = &tab_families[i];
        const char *text = marked(f) ? value.p : c;
        size_t long_as = marked(f) ? value.n : n,
               from = f->n == long_as || marked(f) ? 0 : country_in_front(f, c, n);
        if (long_as - from != f->n || !asked(t, i) || !tab_family_holds(f, text + from, &year))
            continue;
        t->pass[i]++;
        t->most = t->pass[i] > t->most ? t->pass[i] : t->most;
        t->years[i] |= 1U << year / 5;
    }
    t->shown++;
}

/* How much likelier the characters that the form asks for are in the family than elsewhere. Values of one
 * table often begin alike, so that they count once, not for each value. */
static double log_literals(const family *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->n; i++)
        sum += digit(f->form[i]) && f->form[i] != '9'                        ? log(10)
               : upper(f->form[i]) && f->form[i] != 'A' && f->form[i] != 'N' ? log(26)
                                                                             : 0;
    return sum;
}

/* log of 2 B(k+1, n-k+1) P(share > 1/2) / (c^k (1-c)^(n-k)). Of a share that is Beta(k+1, n-k+1) it exceeds
 * 1/2 with the probability that n+1 tosses of a coin show k heads at most. */
double tab_identity_ratio(double n, double k, double c)
{
    int sign;
    double beta = lgamma_r(k + 1, &sign) + lgamma_r(n - k + 1, &sign) - lgamma_r(n + 2, &sign), heads = 0;
    for (double j = 0; j <= k; j++)
        heads += exp(lgamma_r(n + 2, &sign) - lgamma_r(j + 1, &sign) - lgamma_r(n + 2 - j, &sign) -
                     (n + 1) * M_LN2);
    return M_LN2 + beta + log(fmin(1, heads)) - k * log(c) - (n - k) * log1p(-c);
}

void tab_identity_weigh(const tab_identity *t, double ret[TAB_IDENTITY_KINDS])
{
    double sum[TAB_IDENTITY_KINDS] = { 0 }, top[TAB_IDENTITY_KINDS] = { 0 };
    for (size_t i = 0; i < tab_family_count; i++) {
        const family *f = &tab_families[i];
        bool few_years = by_births(f) && __builtin_popcount(t->years[i]) < BIRTHS;
        if (t->pass[i] * 2 < t->shown || t->pass[i] == 0 || few_years)
            continue;
        double l = tab_identity_ratio(t->shown, t->pass[i], tab_family_chance(f)) + log_literals(f);
        /* the sum of exponentials, the greatest taken out */
        double high = fmax(l, top[f->kind]);
        sum[f->kind] = sum[f->kind] * exp(top[f->kind] - high) + exp(l - high);
        top[f->kind] = high;
    }
    for (int k = 0; k < TAB_IDENTITY_KINDS; k++)
        ret[k] = sum[k] > 0 ? top[k] + log(sum[k] / (double)tab_family_count) : 0;
}

bool tab_identity_is(const char *name, tab_str value)
{
    char c[LONGEST];
    unsigned year;
    size_t n = squeezed(value, c);
    for (size_t i = 0; n > 0 && i < tab_family_count; i++) {
        const family *f = &tab_families[i];
        if (strcmp(name, f->name) == 0)
            return marked(f) ? value.n == f->n && tab_family_holds(f, value.p, &year)
                             : n == f->n && tab_family_holds(f, c, &year);
    }
    return false;
}

const char *tab_identity_name(size_t i)
{
    return i < tab_family_count ? tab_families[i].name : NULL;
}
