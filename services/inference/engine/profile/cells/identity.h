/* Numbers by which states know a person or a company, by country: each family is a row of one table (form,
 * check digits, dates within), no function. A value that passes proves little: a digit modulo 10 or 11 is
 * right once in ten by chance, and many families are asked. What a column's values prove together is said as
 * a likelihood ratio, in which both are counted:
 *
 *   k of n values pass a family whose chance is c
 *   a column of the family   most of its numbers are right: their share is uniform on 1/2 .. 1
 *   any other column         each value passes with probability c
 *
 *   ratio(family) = 2 B(k+1, n-k+1) P(share > 1/2) / (c^k (1-c)^(n-k))
 *   ratio(kind)   = sum over the kind's families / all families that there are
 *
 * so a family that is asked in vain lowers the answer of the others, as it must (Bayes factors correct for
 * many comparisons by their prior). */
#ifndef TAB_IDENTITY_H
#define TAB_IDENTITY_H

#include "common/base/base.h"

typedef enum {
    TAB_IDENTITY_PERSON,   /* identity and social security */
    TAB_IDENTITY_TAX,      /* taxes, of persons and companies; registers of companies */
    TAB_IDENTITY_PASSPORT, /* travel documents */
    TAB_IDENTITY_LICENCE,  /* to drive */
    TAB_IDENTITY_ACCOUNT,  /* bank accounts */
    TAB_IDENTITY_PLATE,    /* of cars */
    TAB_IDENTITY_OTHER,    /* of books, goods, banks and hospitals, whose checks are alike */
    TAB_IDENTITY_KINDS
} tab_identity_kind;

enum { TAB_IDENTITY_FAMILIES = 168 }; /* at most; identity.c has fewer */

/* How many values were shown, and how many pass each family; `most`: the greatest of these; `years`: spans of
 * five years in which the dates within lie, a bit each. All zero at first. */
typedef struct {
    uint16_t shown, most, pass[TAB_IDENTITY_FAMILIES];
    uint32_t years[TAB_IDENTITY_FAMILIES];
} tab_identity;

/* Shows one value, trimmed; at most 60,000. What can be of no family (longer than any, all of one digit)
 * counts as shown. */
void tab_identity_show(tab_identity *t, tab_str value);

/* The natural logarithm of each kind's ratio; 0 where no value passed. */
void tab_identity_weigh(const tab_identity *t, double ret[TAB_IDENTITY_KINDS]);

/* The same of one test of chance c that k of n values pass, k half of them at least. */
double tab_identity_ratio(double n, double k, double c);

/* Whether the value is one of the family of that name ("PL PESEL"); for tests. */
bool tab_identity_is(const char *name, tab_str value);
/* The name of family i, NULL past the last; for tests. */
const char *tab_identity_name(size_t i);
#endif
