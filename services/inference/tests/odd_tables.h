/* Tables and options drawn from bytes: every kind of cell that has been trouble, in tables of a few rows. */
#ifndef TAB_ODD_TABLES_H
#define TAB_ODD_TABLES_H

#include "common/table/table.h"

typedef struct {
    const uint8_t *p, *end;
} source;

/* The next byte below the bound; 0 when they are used up. */
size_t odd_next(source *s, size_t below);

enum { KINDS = 30 }; /* of cells; see odd_tables.c */

typedef struct {
    size_t kind, seed, nulls, name, from;
    bool own; /* each cell takes a byte of its own */
} shape;

typedef struct {
    size_t rows, cols;
    shape col[8];
    tab_str id;
} plan;

typedef struct {
    size_t n, path;
    plan plan[3];
    tab_table table[3];
    const tab_table *tables[3];
    const char *base, *task, *mode;
    char target[24];
    double threshold;
    bool explain;
} odd;

/* False: out of memory. The tables live in the arena. */
bool odd_make(tab_arena *a, source *s, odd *ret) TAB_CHECKED;

/* Rows of a plan's columns; another salt, other cells. */
bool odd_add_table(tab_arena *a, const plan *p, size_t rows, size_t salt, source *s,
                   tab_table *ret) TAB_CHECKED;
#endif
