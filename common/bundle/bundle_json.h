/* The output bundle as JSON (specification, "The output bundle"), whole or by pages.
 *
 * Confidences, shares and probabilities are printed to 6 decimals, predicted values to 9
 * significant digits: what lies beyond differs between processors. Cells that were supplied are
 * echoed as they are. */
#ifndef TAB_BUNDLE_JSON_H
#define TAB_BUNDLE_JSON_H

#include "common/json/json.h"
#include "proto/bundle.pb-c.h"

/* The arrays that grow with the rows and are given by pages. */
#define TAB_PAGED_ARRAYS(X)                                      \
    X(RESULTS, "prediction.results", 1000)                       \
    X(MISSING_TARGET, "prediction.missing_target_results", 1000) \
    X(FILLED, "imputation.filled", 1000)                         \
    X(UNIFIED, "unified_rows.rows", 100)                         \
    X(FORECAST, "prediction.forecast.rows", 1000)                \
    X(SUSPECTS, "suspects.cells", 1000)                          \
    X(DUPLICATES, "duplicates[i].groups", 1000) /* i: the entry; elements are counted over all entries */

typedef enum {
#define TAB_X(e, name, first) TAB_PAGE_##e,
    TAB_PAGED_ARRAYS(TAB_X)
#undef TAB_X
        TAB_PAGE_COUNT
} tab_paged;

/* Names of Results.regime, by its number. */
enum { TAB_BUNDLE_REGIMES = 4 };
extern const char *const tab_bundle_regime[TAB_BUNDLE_REGIMES];

/* Names of Suspects.kind, by its number. */
enum { TAB_BUNDLE_SUSPECTS = 6 };
extern const char *const tab_bundle_suspect[TAB_BUNDLE_SUSPECTS];

/* For several bundles, written one after the other, that share messages: the text of a shared message is
 * kept and copied into the next bundle. It is freed before the messages are. */
typedef struct tab_bundle_memory tab_bundle_memory;
tab_bundle_memory *tab_bundle_memory_new(void);
void tab_bundle_memory_free(tab_bundle_memory *m);
TAB_DEFINE_AUTO(tab_bundle_memory)

typedef struct {
    size_t first[TAB_PAGE_COUNT]; /* elements on the first page; SIZE_MAX: all */
    /* Writes the cursor to element `next` of the array as one JSON string; NULL: no cursors, all
     * pages whole. */
    void (*cursor)(void *arg, tab_out *o, tab_paged array, size_t next);
    void *arg;
    tab_bundle_memory *memory; /* or NULL */
    /* Writes the receipt of result i, of results[] alone, as one JSON string; from several threads. NULL:
     * none. */
    void (*receipt)(const void *arg, tab_out *o, size_t i);
    const void *receipt_arg;
    tab_str held_out; /* JSON for summary.prediction.held_out; empty: null */
} tab_bundle_view;

const char *tab_paged_name(tab_paged array);
size_t tab_paged_first(tab_paged array); /* rows of the first page, where none is asked for */

/* Whether every index and length in the bundle is within bounds: once, before writing one that came
 * over the wire. The functions below rely on it. */
bool tab_bundle_sound(const Tabella__Bundle *b) TAB_CHECKED;

/* The bundle's members, into an object that the caller opens and closes. view NULL: whole. */
void tab_bundle_json(tab_out *o, const Tabella__Bundle *b, const tab_bundle_view *view);
/* A run that is over, as one object: how it was made, and the bundle whole. */
void tab_bundle_run_json(tab_out *o, const Tabella__Bundle *b);

/* { "array", "items", "next_cursor", "total" }: the elements from `from`, at most `limit`. The bundles hold
 * them, each a part, in order (one that holds all will do). */
void tab_bundle_page_json(tab_out *o, const Tabella__Bundle *const *piece, size_t pieces, tab_paged array,
                          size_t from, size_t limit, const tab_bundle_view *view);

/* The members of two columns that hold one attribute (a, b, attribute, confidence), into an object that the
 * caller opens and closes. */
void tab_alignment_members(tab_out *o, const Tabella__ColumnAlignment *c);

/* A wire column as a column, without a copy; false when its lengths or codes are wrong. */
bool tab_column_view(const Tabella__Column *c, size_t rows, tab_column *ret) TAB_CHECKED;

/* The members of a split (proto/bundle.proto), inside an open object. */
/* The columns that give a target away. */
void tab_leaks_json(tab_out *o, size_t n, Tabella__Leak *const *leak);
void tab_slices_json(tab_out *o, size_t n, Tabella__Slice *const *slice);
void tab_regimes_json(tab_out *o, size_t n, Tabella__RegimeQuality *const *regime);
void tab_calibration_json(tab_out *o, size_t n, Tabella__Calibration *const *point);
void tab_split_json(tab_out *o, const Tabella__Split *s);

#endif
