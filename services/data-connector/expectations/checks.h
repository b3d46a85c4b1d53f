/* The checks of expectations.c: of one column, and of two. */
#ifndef DATA_EXPECTATIONS_CHECKS_H
#define DATA_EXPECTATIONS_CHECKS_H

#include "services/data-connector/expectations/pool.h"

/* What was checked. */
typedef struct {
    tab_arena *a;
    expectation *of;
    size_t n, room;
} expect_list;

/* False: no memory. */
bool expect_add(expect_list *list, const expectation *e) TAB_CHECKED;

/* "12.3%" */
const char *expect_share(tab_arena *a, double share);

bool expect_check_column(expect_list *list, const expect_pool *p, const expect_column *c) TAB_CHECKED;

/* What of a column is kept for pairs. */
typedef struct {
    tab_str name;
    uint32_t *code; /* (n) dense, UINT32_MAX for a missing one; NULL: too many values */
    double *number; /* (n) NULL: hardly any number */
    bool times;
    size_t levels;
} expect_side;
bool expect_side_of(tab_arena *a, const expect_pool *p, const expect_column *c, expect_side *ret) TAB_CHECKED;
bool expect_check_pairs(expect_list *list, const expect_pool *p, const expect_side *s, size_t n) TAB_CHECKED;

#endif
