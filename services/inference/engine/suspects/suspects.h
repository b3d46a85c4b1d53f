/* Cells that break what the rest of their table says (docs/suspects.md): values alone, no labels, no rules
 * given.
 *
 *   view.c       a column as its distinct values, their rows, and numbers
 *      |
 *      +--> spelling.c   format, typo: values beside the column's other values
 *      +--> variants.c   format, typo: one value in several spellings
 *      +--> codes.c      format: codes of one form, and the slips that took a cell out of it
 *      +--> calendar.c   format: what is written as a date and is none
 *      +--> rules.c      rule: columns that fix others nearly always, and where they do not
 *      +--> numbers.c    range, outlier: numbers alone, and given the row's other cells (given.c)
 *      |        +--> identities.c   rule: sums and products to the last digit (identity.c), and which cell of
 *      |        |                   a row is wrong (broken.c)
 *      |        +--> orders.c       rule: dates in order
 *      +--> swapped.c    swapped: two cells that would each fit the other's column
 *      +--> unfitted/misplaced.c  swapped: the same by their forms, and rows of which cells are shifted
 *      +--> unfitted/proven.c     format: check digits that are wrong, dates' signs, misread letters
 *      +--> unfitted/cut.c        format: texts that were cut at one length
 *      +--> unfitted/bounds.c     range: what a column's role cannot be (an age below 0)
 *      +--> references.c rule: keys of another table
 *      |
 *      |            told_apart.c: rows that break a law and are another kind of thing
 *      |            cleared/: rare forms that a column makes by chance, values of their own, tails and marks;
 *      |            marks.c: 99 and AB for what is not known
 *      |
 *   candidates.c      they become suspects with one confidence and the likely right value
 *      |
 *      +--> confidence.c   a logistic regression for each kind over what its finder measured, fitted on
 *      |                   errors that were sown into public tables (weights.h)
 *      +--> repair.c       the cell with one slip undone
 *
 * Nothing else reads suspects: a supplied cell is never overwritten. */
#ifndef TAB_SUSPECTS_H
#define TAB_SUSPECTS_H

#include "services/inference/engine/profile/profile.h"

typedef enum {
    TAB_SUSPECT_FORMAT,
    TAB_SUSPECT_TYPO,
    TAB_SUSPECT_RULE,
    TAB_SUSPECT_OUTLIER,
    TAB_SUSPECT_RANGE,
    TAB_SUSPECT_SWAPPED,
    TAB_SUSPECT_IDENTITY,   /* told as a rule */
    TAB_SUSPECT_VARIANT,    /* told as a format, as a typo where accents differ */
    TAB_SUSPECT_ORDER,      /* told as a rule */
    TAB_SUSPECT_REFERENCE,  /* told as a rule */
    TAB_SUSPECT_CALENDAR,   /* told as a format */
    TAB_SUSPECT_INEQUALITY, /* told as a rule */
    TAB_SUSPECT_STILL,      /* told as an outlier */
    TAB_SUSPECT_UNIT,       /* the same */
    TAB_SUSPECT_CODE,       /* told as a format */
    TAB_SUSPECT_MISPLACED,  /* told as swapped */
    TAB_SUSPECT_IMPOSSIBLE, /* told as range */
    TAB_SUSPECT_KINDS
} tab_suspect_kind;

enum {
    TAB_SUSPECT_FEATURES = 15,
    TAB_TYPO_OF_WORDS = 5, /* whether a word of a text is misspelt */
    TAB_VARIANT_BY_CASE = 8,
    TAB_VARIANT_BY_ACCENT = 9, /* how spellings differ */
    TAB_INEQUALITY_ABOVE = 10, /* whether the cell is the one that is not below the other */
    TAB_CODE_LACKS_AT = 1,     /* whether it is an address without an @; of no weight */
    TAB_CODE_FAILS_CHECK = 2,  /* the same: whether its check digit is wrong, */
    TAB_CODE_MISREAD = 3,      /* or its letters were read in another encoding, */
    TAB_CODE_OTHER_SIGN = 4,   /* or it is a date with another sign between its numbers, */
    TAB_CODE_CUT = 5,          /* or a text that was cut */
    TAB_IMPOSSIBLE_ROLE = 1,   /* of no weight: what the column holds, a tab_role */
    TAB_MISPLACED_SHIFTED = 1  /* the same: whether neighbours are shifted with it */
};

/* A cell with what a finder measured of it. Texts live in the engine's arena. */
typedef struct {
    uint32_t row, column;
    uint8_t kind;                  /* tab_suspect_kind */
    float f[TAB_SUSPECT_FEATURES]; /* what its finder says they are; about 0..1 each */
    tab_str suggestion;            /* the likely right value; n = 0: none is known */
    const tab_profile *table;      /* of `other`; NULL: its own */
    uint32_t other;                /* column that speaks against it, UINT32_MAX: none */
    uint32_t agree, of;            /* rows that show what is usual, of how many */
    uint32_t alternatives;         /* of one row those of a number are alternatives; 0: it has none */
    double instead;                /* odds of its alternatives */
    double by_tail;                /* odds that the column's own tail goes on to it; 0: it does not */
    tab_str mended;                /* the suggestion, or the cell with a slip undone */
    double second;                 /* confidence of the surest of another kind; 0: there is none */
    bool same;                     /* which would have the cell mended to the same */
    double confidence;             /* confidence.c */
} tab_suspect;

/* At most one a cell, surest first (ties by row and column), none below `least`, at most TAB_MOST_SUSPECTS.
 * Memory beside the result: about 12 bytes a cell, given back. TAB_CANCELLED, TAB_INTERNAL. */
enum { TAB_MOST_SUSPECTS = 10000 };
tab_status tab_suspects_find(const tab_engine *e, const tab_profile *p, double least, tab_suspect **ret,
                             size_t *ret_n, tab_error *err) TAB_CHECKED;

/* The same of the i-th of n tables, which may refer to the others. */
tab_status tab_suspects_find_beside(const tab_engine *e, tab_profile *const *p, size_t n, size_t i,
                                    double least, tab_suspect **ret, size_t *ret_n,
                                    tab_error *err) TAB_CHECKED;

/* Every candidate with its features, as found (several a cell), for fitting the weights. */
tab_status tab_suspects_candidates(const tab_engine *e, const tab_profile *p, tab_suspect **ret,
                                   size_t *ret_n, tab_error *err) TAB_CHECKED;

/* "format", "typo", ...; from "identity" on they are finders, whose suspects are told as another kind. */
const char *tab_suspect_name(tab_suspect_kind k);
tab_suspect_kind tab_suspect_told(const tab_suspect *s);

/* Why the cell is doubted, a sentence for a person, in the arena. No value of another cell is told: the
 * suggestion has its place. */
const char *tab_suspect_reason(tab_arena *a, const tab_profile *p, const tab_suspect *s);

/* A column whose values are classes, and which of them are said to be one value in several spellings. */
typedef struct {
    size_t table, column;
    char *told; /* a sentence; NULL: none is */
} tab_spelt;

/* The suspects of n tables as the bundle has them, surest first, none below `least`. spelt: NULL, or a column
 * to be told of. */
tab_status tab_suspects(const tab_engine *e, tab_profile *const *p, size_t n, double least, tab_spelt *spelt,
                        Tabella__Suspects **ret, tab_error *err) TAB_CHECKED;
#endif
