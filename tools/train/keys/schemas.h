/* Schemas on disk (tests/bench/keys): tables as CSV files, truth.csv, family.txt. */
#ifndef TAB_TRAIN_SCHEMAS_H
#define TAB_TRAIN_SCHEMAS_H

#include "services/inference/engine/keys/grain.h"
#include "services/inference/engine/keys/inclusions.h"

/* A known foreign key of one or more columns; columns are of tab_key_columns.col. */
typedef struct {
    uint32_t n, child[8], parent[8];
} true_key;

typedef struct {
    char name[64], family[64];
    size_t tables, columns, rows;
    tab_key_columns k;
    char **title; /* (columns) "table.column", for people */
    true_key *truth;
    size_t truths;
    tab_inclusion *x;
    int8_t *label; /* (n) 1 a key, 0 none, -1 not asked: part of a key of several columns */
    size_t n;
    float *p;         /* (n) for the caller */
    tab_keys keys;    /* all references, as the engine finds them; where they are wanted */
    tab_grain *grain; /* (tables) likewise */
    tab_str *table;   /* (tables) names */
} schema;

/* Reads folder dir/name and finds its inclusions, and its references where they are `wanted`. All of it lives
 * in a. Prints what is wrong and returns false. */
bool schema_read(tab_arena *a, const char *dir, const char *name, bool wanted, schema *ret);

#endif
