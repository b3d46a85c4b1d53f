/* Sums and products of a row, and the rows in which they do not hold. Inside of suspects only. */
#ifndef TAB_SUSPECTS_IDENTITIES_H
#define TAB_SUSPECTS_IDENTITIES_H

#include "services/inference/engine/suspects/given.h"

enum {
    TAB_IDENTITY_TERMS = 3,
    TAB_IDENTITY_SUMMANDS = TAB_SUSPECT_NUMBERS - 1,
    TAB_IDENTITY_TRIED = 48,
    TAB_IDENTITIES = 24
};

/* What a factor does. */
typedef enum {
    TAB_FORM_PLAIN,
    TAB_FORM_LESS,
    TAB_FORM_MORE,
    TAB_FORM_LESS_HUNDREDTHS,
    TAB_FORM_MORE_HUNDREDTHS,
    TAB_FORM_INVERSE,
    TAB_FORMS
} tab_form;

/* y = k f(a) f(b) f(c), or a + b - c ..., or k f(a) f(b) + c. */
typedef struct {
    bool sum;
    bool added; /* of a product: its last term comes on top of the others' */
    size_t y, n;
    size_t of[TAB_IDENTITY_SUMMANDS]; /* numbers of tab_numbers */
    tab_form form[TAB_IDENTITY_TERMS];
    double sign[TAB_IDENTITY_SUMMANDS]; /* 1 or -1 of each summand */
    double k, unit;
    double broken; /* share of the rows of which all numbers are known */
    size_t rows;
    uint32_t group; /* of identities that have columns in common, themselves or by others: its first, + 1 */
} tab_identity;

typedef struct {
    tab_search *s;
    const tab_numbers *u;
    const double *num[TAB_SUSPECT_NUMBERS];
    double unit[TAB_SUSPECT_NUMBERS]; /* of the last decimal */
    bool form[TAB_SUSPECT_NUMBERS][TAB_FORMS];
    bool varies[TAB_SUSPECT_NUMBERS];
    size_t row[TAB_IDENTITY_TRIED], tried;
    tab_identity found[TAB_IDENTITIES];
    size_t n;
} tab_identities;

/* The identities of the table, in scratch memory; NULL: memory ran out. */
tab_identities *tab_identities_find(tab_search *s, const tab_numbers *u);

/* The numbers that it relates, a bit each. */
uint32_t tab_identity_columns(const tab_identity *d);

/* Whether term i is a summand. */
bool tab_identity_adds(const tab_identity *d, size_t i);

/* What the factor makes of x. */
double tab_form_of(tab_form f, double x);

/* What y would be, with w in place of number `with` (SIZE_MAX: none); NaN where a number is missing. */
double tab_identity_made(const tab_identities *x, const tab_identity *d, size_t row, size_t with, double w);

/* Whether y is what is made, to the last decimal. */
bool tab_identity_equal(const tab_identity *d, double y, double made);

/* -1: a number is missing. */
int tab_identity_holds(const tab_identities *x, const tab_identity *d, size_t row);

/* The cells that may be wrong of the rows in which the k-th identity does not hold (broken.c). */
void tab_identity_broken(tab_identities *x, size_t k);
#endif
