/* What the columns of a table are: role, type, personal data, and the parsed view of their values that
 * every later stage of the engine works on. Names are never read. */
#ifndef TAB_PROFILE_H
#define TAB_PROFILE_H

#include "services/inference/engine/engine.h"

typedef enum { TAB_CATEGORICAL, TAB_NUMERIC, TAB_DATETIME, TAB_TEXT, TAB_BOOLEAN } tab_type;

/* What a column is used for, where the caller says so. */
typedef enum { TAB_USE_READ, TAB_USE_FEATURE, TAB_USE_KEY, TAB_USE_IGNORE } tab_use;

/* A kind of personal data within a column's texts, by the role that a column of it would have. */
typedef struct {
    int role;
    double share, confidence; /* of the cells that are not null; that the column holds some */
} tab_held_share;

/* One column, profiled. Arrays live in the engine's arena. */
typedef struct {
    size_t index;
    const tab_column *column;
    tab_type type;
    double type_confidence;
    int role;               /* index into tab_role_names[] (profile/roles/roles.h) */
    double role_confidence; /* the models' probability; what is said of it is tab_told_role */
    bool pii;
    double pii_confidence;
    const tab_held_share *held; /* (held_kinds) of texts alone */
    size_t held_kinds;
    bool identifying; /* names one row's entity (roles-and-sectors): never imputed, never a target */
    bool proven_key;  /* of role `id`: its values prove it, and say nothing else (decision 0261) */
    tab_use use;
    bool numbers;             /* the cells read as numbers, whatever the role; none starts with a zero */
    double missing;           /* nulls / rows; 0 for a table without rows */
    size_t present, distinct; /* cells that are not null; 0 where all of them are marks: an empty column */

    const tab_str *mark; /* (marks) texts of its cells that stand for "missing", a few at most */
    size_t marks;

    /* The values as a machine sees them. A cell that is null, or foreign to the column's type ("?",
     * "N/A" in a column of numbers), is NaN in `number` and TAB_NULL in `code`.
     *   number  (rows) TAB_NUMERIC: the number, affixes read through; TAB_DATETIME: seconds since
     *           1970-01-01 UTC; TAB_BOOLEAN: 0 or 1; NULL for other types
     *   code    (rows) the value as a category: an index 0..levels-1 of the cell's distinct values in
     *           order of first appearance. NULL for TAB_NUMERIC and TAB_DATETIME columns that are laid
     *           out as TAB_NUMBERS
     *   level   (levels) text of each level, trimmed; views into the table or the arena */
    const double *number;
    const uint32_t *code;
    const tab_str *level;
    size_t levels;
    int decimals; /* numeric: largest number of decimals seen (0: integers) */
} tab_column_profile;

enum { TAB_SECTOR_HINTS = 3, TAB_HINT_WORDS = 3 };

/* A column that spoke for the table's likeliest sector. */
typedef struct {
    const tab_column_profile *col;
    double weight;                /* what the sector's log odds lose when the column is left out; above 0 */
    tab_str word[TAB_HINT_WORDS]; /* (words) terms of the sector that are among its values, folded */
    size_t words;
} tab_sector_hint;

typedef struct {
    const tab_table *table;
    tab_column_profile *col; /* (table->cols) */
    /* (TAB_SECTORS) probability of each industry sector (sector/sectors.h), summing to 1 */
    const double *sector;
    tab_sector_hint hint[TAB_SECTOR_HINTS]; /* (hints) the strongest first */
    size_t hints;
    /* cells that count as missing, as the caller said; NULL: null alone */
    const struct tab_voids *voids;
    /* the next steps of its rows are asked (options.horizon): something says when they were, if only a count
     * or their order */
    bool steps;
} tab_profile;

tab_status tab_profile_table(const tab_engine *e, const tab_table *t, tab_profile **ret,
                             tab_error *err) TAB_CHECKED;

/* Views the column as TAB_NUMERIC where its cells are numbers, whatever the role made of them; *ret: whether
 * they are. False: the arena is full. */
bool tab_view_as_number(tab_arena *a, tab_column_profile *c, size_t rows, bool *ret) TAB_CHECKED;

/* Whether a target of this column is predicted as a number where nobody named the task. */
bool tab_numeric_target(const tab_column_profile *c);

const char *tab_type_name(tab_type t); /* "categorical", ... */
#endif
