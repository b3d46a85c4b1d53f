/* One column read: its distinct trimmed values with their counts, and every reading of them (number,
 * date, clock, duration, yes/no) that enough of them allow. The role decides later which reading counts. */
#ifndef TAB_PROFILE_COLUMN_H
#define TAB_PROFILE_COLUMN_H

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/parse.h"
#include "services/inference/engine/profile/profile.h"

/* At most a fifth of the cells that are no null and no mark like "?" may fail a reading. */
#define TAB_FOREIGN_SHARE 0.2

typedef struct {
    tab_arena *arena;
    const tab_column *column;
    size_t rows, nulls;
    size_t strict, words; /* cells that are marks ("?", "N/A"); that are words like "unknown" */
    size_t marks;         /* of the nulls: cells of a column that holds marks and nothing else */
    size_t mark_levels;   /* and how many marks these are */

    /* Coded columns: distinct trimmed values. For TAB_NUMBERS columns distinct numbers, and their text
     * is made by tab_read_levels when somebody needs it. */
    size_t levels;
    const uint32_t *code; /* (rows) */
    const double *value;  /* (levels) the distinct numbers; TAB_NUMBERS only */
    tab_str *level;       /* (levels); NULL for TAB_NUMBERS until tab_read_levels */
    uint32_t *count;      /* (levels) cells of each; NULL for TAB_NUMBERS until tab_read_levels */
    uint8_t *foreign;     /* (levels) tab_foreign; coded only */

    /* Readings. `num` and `time` are by level for coded columns; for TAB_NUMBERS, num is by row. */
    bool can_number, can_date, can_clock, can_duration, can_bool;
    const double *num; /* NaN where a cell is no number */
    double *time;      /* seconds, by level: date, clock or duration, whichever can_* is set first */
    double sentinel;   /* a number that stands for "missing" (-999), or NaN */
    size_t sentinels;  /* cells of it */
    size_t numbers, dates, clocks, durations;                            /* cells that read so */
    size_t affix[TAB_AFFIXES], grouped, leading_zero, exponent, bounded; /* cells */
    int decimals;
    char decimal;
    tab_date_order order;
    bool order_known; /* an impossible day decided the order */
    uint64_t bool_pairs;
    size_t units; /* distinct unit words (at most 9 are counted) */
    tab_str unit; /* the first of them */
} tab_reading;

/* Reads `c` of `rows` cells. The arrays live in `a`; false when it is full. */
bool tab_read_column(tab_arena *a, const tab_column *c, size_t rows, tab_reading *ret) TAB_CHECKED;
/* Of a column that arrived as numbers what its values ask for: the sentinel. r->arena is set. */
void tab_read_numbers(const tab_column *c, size_t rows, tab_reading *r);

/* Gives a TAB_NUMBERS column codes, counts and level texts as well (shortest decimal text). */
bool tab_read_levels(tab_reading *r) TAB_CHECKED;

/* Whether the numbers of a column are days as YYMMDD: twenty distinct ones, all of them, some beyond the
 * twelfth of a month. */
bool tab_is_yymmdd(const tab_reading *r);
/* Of such a column: whether they are of six months of the year at least, and some of a month's end. */
bool tab_spans_months(const tab_reading *r);
/* Days as spreadsheets count them; here of 1954 to 2119. */
enum { TAB_SERIAL_LEAST = 20000, TAB_SERIAL_MOST = 80000, TAB_SERIAL_1970 = 25569 };

/* The cells' texts that stand for "missing" ("?", "N/A", -999 by evidence), in order of appearance and at
 * most TAB_MOST_MARKS of them. They live in the reading's arena. False: it is full. */
enum { TAB_MOST_MARKS = 32 };
bool tab_read_marks(const tab_reading *r, const tab_str **ret, size_t *ret_n) TAB_CHECKED;

/* Fills the typed view of p (number, code, level, levels, decimals) for p->type and p->role. */
bool tab_view_column(tab_reading *r, tab_column_profile *p) TAB_CHECKED;

/* Both for a column whose type and role are known, p->decimals left out: the same values, and of numbers that
 * arrive as such no levels are counted. r then serves tab_view_column alone. */
bool tab_read_known(tab_arena *a, const tab_column *c, size_t rows, tab_reading *r,
                    tab_column_profile *p) TAB_CHECKED;
#endif
