/* Schemas on disk (tests/bench/keys): tables as CSV files, truth.csv, family.txt. */
#ifndef TAB_TRAIN_SCHEMAS_H
#define TAB_TRAIN_SCHEMAS_H

#include "services/inference/engine/keys/grain.h"
#include "services/inference/engine/keys/inclusions.h"
#include "services/inference/engine/keys/sets.h"
#include "services/inference/engine/keys/within.h"
#include "tools/train/keys/newton.h"

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
    tab_key_set *set; /* (sets) candidates of several columns, likewise */
    size_t sets;
    tab_key_within *own; /* (owns) columns that may refer to another one of their table, likewise */
    size_t owns;
    tab_key_set_search search; /* of these; where they are wanted */
    bool silent;               /* teaches nothing */
    tab_engine e;              /* of the search */
    tab_arena *work;           /* of the tables, while references are wanted */
    tab_views *v;
    tab_str *table; /* (tables) names */
} schema;

/* Reads folder dir/name and finds its inclusions, and its references where they are `wanted`. What is not
 * freed by schema_free lives in a. Prints what is wrong and returns false. */
bool schema_read(tab_arena *a, const char *dir, const char *name, bool wanted, schema *ret);

void schema_free(schema *s);

/* Whether a candidate of several columns is key t: the same columns, in any order. */
bool schema_is_set(const tab_key_set *x, const true_key *t);
/* Whether it is one of the keys. */
bool schema_has_set(const schema *s, const tab_key_set *x);

/* Whether a reference follows from the keys: it is part of one of more columns, or the way by several of them
 * (an item's copy to the copy's book). Then it is neither right nor wrong. deep: 0 at the start. */
bool schema_implied(const schema *s, const uint32_t *child, const uint32_t *parent, uint32_t n, size_t deep);

/* The candidates of a schema, each added with whether it is true; r NULL: only how many there are. */
typedef size_t schema_rows_fn(const schema *s, newton_rows *r);
/* Fills w (d + 1) with the weights of all schemas that teach and are not of the family `without` (NULL: of
 * all). False: out of memory, or no rows, said so. */
bool schemas_fit(const schema *s, size_t n, const char *without, schema_rows_fn *rows, size_t d, double l2,
                 double *w);

#endif
