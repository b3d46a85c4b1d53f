/* What makes a column personal data besides its models' answer: check digits (decision 0489), and addresses
 * of mail and telephone numbers that stand within texts (decision 0492). */
#include <math.h>

#include "services/inference/engine/profile/roles/stages.h"

/* Digits that repeat or follow a form of their own are no draws: the best ratio counts for no more than
 * MOST_OF, the columns that were looked at and of which none passed a family by accident. LEAST: what the
 * models give a role at least, as in tab_restrict_roles. */
static const double MOST_OF = 3227, LEAST = 1e-3;

/* The odds of a role, MOST_OF times as large. */
static void raise_role(float *p, int role)
{
    double q = fmax(LEAST, (double)p[role]), now = MOST_OF * q / (1 - q + MOST_OF * q);
    float rest = (float)((1 - now) / fmax(1e-9, 1 - (double)p[role]));
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] = r == role ? (float)now : p[r] * rest;
}

/* Half of the values are a name and a house number, and names and numbers differ: of the labelled columns
 * these are addresses alone; numbered things of few names ("Gallery 1A") are not (decision 0675). */
static void hear_houses(const tab_features *f, float *p)
{
    static const double HOUSED = 0.5, STREETS = 0.1, HOUSES = 0.4;
    enum { FEWEST = 8 };
    if (f->values >= FEWEST && f->housed >= HOUSED && f->streets >= STREETS && f->houses >= HOUSES)
        raise_role(p, TAB_ROLE_ADDRESS);
}

/* Half of the values are family names with initials: of the labelled columns none but persons has three in
 * ten such. */
static void hear_initials(const tab_features *f, float *p)
{
    static const double INITIALS = 0.5;
    enum { FEWEST = 8 };
    if (f->values >= FEWEST && f->initials >= INITIALS)
        raise_role(p, TAB_ROLE_NAME);
}

/* Seventeen letters and digits, of which hardly one is I, O or Q although many letters are used: a vehicle's
 * number, also where its ninth character does not check, as outside of North America. What is written in
 * base 16 has six letters. */
static void hear_vehicles(const tab_features *f, float *p)
{
    static const double SHAPE = 0.9, LETTERS = 10;
    enum { FEWEST = 8 };
    if (f->values >= FEWEST && f->check[TAB_CHECK_VIN_SHAPE] >= SHAPE && f->vin_letters >= LETTERS)
        raise_role(p, TAB_ROLE_VIN);
}

/* Half of the values end as names of families do in Iceland, Armenia and Azerbaijan (decision 0726). */
static void hear_patronyms(const tab_features *f, float *p)
{
    static const double PATRONYMS = 0.5;
    enum { FEWEST = 8 };
    if (f->values >= FEWEST && f->patronyms >= PATRONYMS)
        raise_role(p, 2 * f->patronym_words >= f->patronyms ? TAB_ROLE_NAME : TAB_ROLE_LAST_NAME);
}

/* Most values are two to four family names and nothing else, as families of Spain and Portugal have them. No
 * labelled column has three tenths of its values of this form (decision 0920). */
static void hear_families(const tab_features *f, float *p)
{
    static const double FAMILIES = 0.6;
    enum { FEWEST = 8 };
    if (f->values >= FEWEST && f->families >= FAMILIES)
        raise_role(p, TAB_ROLE_LAST_NAME);
}

/* Names with a number behind each word, of which most are in the lists and that begin with several letters:
 * patients as a generator writes them, not "Geo12" (decision 0920). */
static void hear_numbered(const tab_features *f, float *p)
{
    static const double NUMBERED = 0.8, LISTED = 0.6, INITIALS = 4;
    enum { FEWEST = 6 };
    if (f->values < FEWEST || f->numbered < NUMBERED || f->numbered_initials < INITIALS ||
        fmax(f->numbered_given, f->numbered_family) < LISTED)
        return;
    bool whole = f->numbered_words * 2 >= f->numbered, given = f->numbered_given > f->numbered_family;
    raise_role(p, whole ? TAB_ROLE_NAME : given ? TAB_ROLE_FIRST_NAME : TAB_ROLE_LAST_NAME);
}

/* cells/identity.h says how many times likelier a column's values are where it is of a kind; Bayes' rule
 * multiplies the kind's role by it and scales. Books, goods and banks check their numbers alike (a Portuguese
 * tax number is an ISBN without its zero): what speaks for them multiplies every other role, so that where
 * both hold the models decide. */
void tab_hear_identity(const tab_staged *c, float *p)
{
    static const uint8_t role[TAB_IDENTITY_OTHER] = {
        [TAB_IDENTITY_PERSON] = TAB_ROLE_NATIONAL_ID,     [TAB_IDENTITY_TAX] = TAB_ROLE_TAX_ID,
        [TAB_IDENTITY_PASSPORT] = TAB_ROLE_PASSPORT,      [TAB_IDENTITY_LICENCE] = TAB_ROLE_DRIVER_LICENSE,
        [TAB_IDENTITY_ACCOUNT] = TAB_ROLE_ACCOUNT_NUMBER, [TAB_IDENTITY_PLATE] = TAB_ROLE_LICENSE_PLATE,
    };
    const double *proof = c->features.identity;
    double by[TAB_ROLES], sum = 0, most = 0;
    hear_houses(&c->features, p);
    hear_initials(&c->features, p);
    hear_patronyms(&c->features, p);
    hear_families(&c->features, p);
    hear_numbered(&c->features, p);
    hear_vehicles(&c->features, p);
    for (int k = 0; k < TAB_IDENTITY_KINDS; k++)
        most = fmax(most, proof[k]);
    if (most <= 0)
        return;
    double over = fmax(0, most - log(MOST_OF)); /* taken off all, so that they stay as far apart */
    for (int r = 0; r < TAB_ROLES; r++)
        by[r] = exp(fmax(0, proof[TAB_IDENTITY_OTHER]) - over);
    by[TAB_ROLE_PHONE] = exp(-over); /* no subscriber's number has a check digit */
    for (int k = 0; k < TAB_IDENTITY_OTHER; k++) {
        by[role[k]] = exp(fmax(0, proof[k]) - over);
        if (proof[k] > 0)
            p[role[k]] = fmaxf(p[role[k]], (float)LEAST);
    }
    for (int r = 0; r < TAB_ROLES; r++)
        sum += by[r] * (double)p[r];
    for (int r = 0; r < TAB_ROLES; r++)
        p[r] = (float)(by[r] * (double)p[r] / sum);
}

double tab_beyond_accidents(double k, double n, double chance)
{
    double mean = chance * n, term = exp(-mean), below = 0;
    for (double j = 0; j < k; j++) {
        below += term;
        term *= mean / (j + 1);
    }
    return k > 0 ? fmin(1, below) : 0;
}

/* A mail address, or a number with its country, is read where there is none once in a thousand cells (as
 * TAB_CHECK_EMAIL); a number without it five times, and a hotline's number is that of no person: two at least
 * must differ, and most of them. */
static double holds_contacts(const tab_features *f)
{
    double n = (double)f->values, sure = tab_beyond_accidents(f->contacts, n, 1e-3);
    bool differ = f->phones >= 2 && f->phones * 2 > f->phone_texts;
    return fmax(sure, differ ? tab_beyond_accidents(f->phones, n, 5e-3) : 0);
}

/* The probability of its personal roles together. */
static double of_roles(const float *p)
{
    double sum = 0;
    for (int r = 0; r < TAB_ROLES; r++)
        sum += tab_role_pii[r] != 0 ? (double)p[r] : 0;
    return sum;
}

bool tab_has_persons(tab_staged *const *c, size_t n)
{
    static const double SURE = 0.8;
    for (size_t k = 0; k < n; k++)
        if (of_roles(c[k]->p2) >= SURE)
            return true;
    return false;
}

/* Texts that name somebody, where it is a table of persons: notes on customers, not works of art. A name is
 * read where there is none in one text of two hundred. */
static double names_persons(const tab_staged *c, const float *p)
{
    double sure = tab_beyond_accidents(c->features.named, (double)c->features.values, 5e-3);
    return sure * (double)p[TAB_ROLE_TEXT] / fmax(1e-9, 1 - of_roles(p));
}

double tab_personal(const tab_staged *c, const float *p, bool persons)
{
    double own = fmax(of_roles(p), holds_contacts(&c->features));
    return fmin(1, persons ? fmax(own, fmin(1, names_persons(c, p))) : own);
}
