/* The families of identity.h: forms, check digits and dates, and whether a value is one of a family's. For
 * identity.c alone.
 *
 * A form is a character a position: 9 a digit, A a letter, N either, anything else itself; yymmdd within
 * stands for digits that are a date, and other small letters for letters of plates. A check is a congruence
 * over the values v of the characters (digits as they are, letters by `letters`):
 *
 *   remainder = (bias + sum of weight[i] v[i]) mod m
 *
 * at map[remainder] stands the character that belongs at position `at`, where '-' stands for numbers that are
 * not given out; without a map the remainder must be 0, and the check digit has a weight, too. Weights are
 * written in base 36, reduced modulo m. Checks come from the laws and registers of the countries. */
#ifndef TAB_IDENTITY_FAMILIES_H
#define TAB_IDENTITY_FAMILIES_H

#include "services/inference/engine/profile/cells/identity.h"

typedef struct {
    uint16_t way, m, at, bias;
    const char *weight, *map, *letters;
} tab_identity_check;

typedef struct {
    char name[12]; /* the country and the number's name there */
    uint8_t kind, dates, n;
    const char *form; /* (n) */
    tab_identity_check check[2];
} tab_identity_family;

extern const tab_identity_family tab_families[];
extern const size_t tab_family_count;

/* Whether the family has a check digit at all. */
bool tab_family_checked(const tab_identity_family *f);

/* The share of other values that pass. */
double tab_family_chance(const tab_identity_family *f);

/* Whether the f->n characters at c are a number of the family; *ret_year: the last two digits of the year
 * within, 0 where there is none. */
bool tab_family_holds(const tab_identity_family *f, const char *c, unsigned *ret_year);
#endif
