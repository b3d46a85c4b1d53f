/* The columns of a table as targets: what speaks against each, and what is known of the others. */
#ifndef TAB_CONTENDERS_H
#define TAB_CONTENDERS_H

#include "services/inference/engine/profile/profile.h"

enum { TAB_CLOSEST = 3 }; /* single columns that are remembered */

/* A column as a target. Shares are of the rows that skill is measured on. */
typedef struct {
    size_t table, column;
    bool eligible, numeric;
    bool chance;      /* the others tell no more of it than chance does, or there are none */
    bool lucky;       /* the same, however few rows there are to tell; its shares are not to be named */
    char reason[200]; /* why it is not eligible */
    double skill;     /* share of the base rate's loss that all other columns take off */
    double alone[TAB_CLOSEST]; /* what the columns that tell most tell alone, falling; [0] at most skill */
    size_t closest[TAB_CLOSEST];
    size_t classes;      /* 0 for a number */
    double whole, above; /* numbers: shares of whole ones and of those above the mean */
    double
        determined;  /* numbers: 0..1, how nearly a sum or product of others (predict/choose/identities.h) */
    double positive; /* and the share of weights above 0 in it: 1 for a whole, less for a part */
    double score;    /* predict/choose/rank.h */
    bool several;    /* columns of other tables compete with it */
    bool told;       /* enough rows tell that the others tell of it, beyond chance */
} tab_contender;

/* Fills c[0..p->table->cols), of table number `table`, but for the score: the eligible ones first, *ret_open
 * of them. refers (cols): columns that refer to rows of another table; NULL: none. times (cols): columns that
 * say when, where the next steps are to be forecast: what follows from the time alone, a trend, is no copy of
 * it; NULL: no steps are asked. Errors: CANCELLED, INTERNAL (memory). */
tab_status tab_contenders(const tab_engine *e, const tab_profile *p, size_t table, const bool *refers,
                          const bool *times, tab_task task, tab_contender *c, size_t *ret_open,
                          tab_error *err) TAB_CHECKED;

/* The start of a column's name; its number where it has none. */
void tab_contender_name(const tab_profile *p, size_t column, char *who, size_t n);
void tab_contender_name_of(tab_str name, size_t column, char *who, size_t n);
#endif
