/* What a dataset's snapshots teach of the next one: each check is learnt from the rows that were known,
 * and says whether those that came are unlike them by more than chance.
 *
 * Every check marks cells (missing, of a kind, of a value, above a number, against a dependency) and
 * counts the marks among known and among judged rows. Were both drawn of one source, any rows of the two
 * could be the judged ones: the count is hypergeometric, whatever the column's distribution, and its tail
 * is exact. A check that tries many marks pays for each (Bonferroni), save for those that could never say
 * anything (Tarone, Biometrics 46, 1990). Dependencies are learnt on one half of the known rows and
 * counted in the other.
 *
 * Sources drift by themselves. So the same checks are made of earlier steps: of each stretch of the known
 * rows against those before it (where the judged ones were appended), or of each earlier snapshot against
 * the one before it. By as much as these differ more than by chance, the judged rows may as well: z is
 * divided by it, and the tail is Student's.
 *
 * Of all checks of a table those are said that Benjamini & Hochberg (JRSS B 57, 1995) keep at RATE,
 * weighed (Genovese, Roeder & Wasserman, Biometrika 93, 2006): pairs of columns, however many, are worth
 * as much as the columns by themselves. Where nothing changed, RATE is the probability that anything is
 * said.
 *
 * Same tables, same answer. No SQL, no clock. */
#ifndef DATA_EXPECTATIONS_H
#define DATA_EXPECTATIONS_H

#include "services/data-connector/store/diff.h"

/* EARLIER: snapshots before the known one that are looked at. COUNTS: whose numbers of rows are. */
enum { EXPECT_EARLIER = 3, EXPECT_COUNTS = 20, EXPECT_SAID = 100 };

typedef struct {
    const tab_table *known, *judged;
    const uint32_t *rows; /* of the judged table those that are judged, ascending; NULL: all */
    size_t n_rows;
    bool appended; /* they follow the known ones, whose order is that of their coming */
    const tab_table *earlier[EXPECT_EARLIER]; /* the newest first; used unless appended */
    size_t n_earlier;
    double share; /* of the rate at which anything may be said by chance: 1, less where it is judged twice */
    uint64_t counts[EXPECT_COUNTS]; /* rows of the snapshots before the known one, the newest first */
    size_t n_counts;
} expectations_case;

typedef struct {
    const char *kind;     /* expectations.c names them */
    tab_str column, with; /* with: the other column of a dependency; empty */
    tab_str value;        /* that is meant, or the bound; empty */
    double before, after; /* share of known and of judged cells that are so */
    double p;
    double weighed; /* p beside what its family of checks is worth: what the list is cut by */
    tab_str reason;
} expectation;

typedef struct {
    size_t checks, rows;  /* rows: that were judged */
    expectation *changed; /* the least likely first */
    size_t n_changed;
} expectations;

/* From one state of a table to the next, of which diff.h told what became of the rows. Rows that came, where
 * none went, are judged as appended ones; where any went or changed the whole of it is judged, else nothing
 * is. c: known, judged, earlier and counts. */
tab_status expectations_step(tab_arena *a, const expectations_case *c, const row_diff *d,
                             const row_changes *rows, expectations *ret, tab_error *err) TAB_CHECKED;
/* The rows that c says, however they came. */
tab_status expectations_judge(tab_arena *a, const expectations_case *c, expectations *ret,
                              tab_error *err) TAB_CHECKED;

#endif
