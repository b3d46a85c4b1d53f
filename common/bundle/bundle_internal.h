/* The parts of common/bundle_json.h. Calls go one way:
 *
 *   bundle_json.c    a bundle's members
 *      |
 *   bundle_prediction.c   the prediction's
 *      |
 *   bundle_pages.c   its paged arrays: how many elements, one page of them
 *   bundle_duplicates.c   their elements of one kind
 *      |
 *   bundle_check.c   what another daemon sent, held against what a bundle is */
#ifndef TAB_BUNDLE_INTERNAL_H
#define TAB_BUNDLE_INTERNAL_H

#include "common/bundle/bundle_json.h"
#include "common/json/spread.h"

#define MEMBER(o, key, write) \
    do {                      \
        tab_out_key(o, key);  \
        write;                \
    } while (0)

/* What the elements of the paged arrays need, made once a bundle. */
typedef struct {
    const Tabella__Bundle *b;
    tab_column *record; /* (attributes) */
    struct bundle_variant {
        const Tabella__SharedVariants *v;
        tab_column values;
        size_t at;
    } * variant; /* by attribute, then as given */
    tab_column fill;
    tab_str *column_name; /* (over all tables) how filled[].column names a column */
    size_t *column_base;  /* (tables) */
    tab_out key;          /* "\"label\":" of each class, end to end */
    size_t *key_end;      /* (classes) */
    tab_column classes;
    size_t n_classes;
    tab_out quantile_key;
    size_t *quantile_end;
    tab_column *series;          /* (forecast.series) */
    tab_column at;               /* the forecast's times */
    tab_column doubted, mended;  /* values and suggestions of suspects */
    size_t median;               /* index of level 0.5; SIZE_MAX without one */
    const tab_bundle_view *view; /* whose receipts are written; or NULL */
    size_t first;                /* place of the bundle's first entity among all; as bundle_first */
} bundle_writer;

static inline tab_str bundle_bytes(ProtobufCBinaryData d)
{
    return (tab_str){ (const char *)d.data, d.len };
}

/* A column's address, or null. */
void bundle_address(tab_out *o, const Tabella__ColumnRef *c);
void bundle_addresses(tab_out *o, size_t n, Tabella__ColumnRef *const *c);

/* An empty text of the message is null in JSON. */
void bundle_text_or_null(tab_out *o, const char *s);

/* A figure of a metric, or null where it was not measured. */
void bundle_fixed_or_null(tab_out *o, double x, const char *metric);

/* Views into the bundle, and names in the arena; the bundle must outlive the writer. False: not a
 * bundle of ours, or out of memory. bundle_writer_free in any case. */
bool bundle_writer_init(bundle_writer *w, tab_arena *a, const Tabella__Bundle *b);
void bundle_writer_free(bundle_writer *w);

/* How many elements an array has in all, how many of them the bundle holds, and the place of the first. */
size_t bundle_total(const Tabella__Bundle *b, tab_paged array);
size_t bundle_held(const Tabella__Bundle *b, tab_paged array);
size_t bundle_first(const Tabella__Bundle *b, tab_paged array);
/* What Bundle.parts says of an array (or of BUNDLE_CHILDREN); NULL: the bundle holds all of it. */
const Tabella__BundlePart *bundle_part(const Tabella__Bundle *b, const char *array);
#define BUNDLE_CHILDREN "cross_table_map.summary.children" /* not paged, but counted from what is */
/* The first of `n` ascending entities that is e or after it. */
size_t bundle_first_of(const uint32_t *entity, size_t n, size_t e);

/* The first page as member `key`, then its cursor as member `cursor`; gives the number shown. */
size_t bundle_paged(tab_out *o, const bundle_writer *w, tab_paged array, const char *key, const char *cursor,
                    const tab_bundle_view *view);

/* A list within a paged array: elements from .. end - 1 of the array; entry: of which member it is. */
typedef struct {
    size_t from, end, entry;
} bundle_range;

/* The same of a list within an array, with its cursor as member `next_cursor`. */
void bundle_paged_part(tab_out *o, const bundle_writer *w, tab_paged array, bundle_range p, const char *key,
                       const tab_bundle_view *view);

/* Groups of duplicates, counted over all entries: how many stand before an entry, and one of them. */
size_t bundle_groups_before(const Tabella__Bundle *b, size_t entry);
void bundle_group(tab_out *o, const bundle_writer *w, size_t i);

/* Row i of r, which are results of the bundle's prediction. */
void bundle_result(tab_out *o, const bundle_writer *w, const Tabella__Results *r, size_t i);

/* To three decimals, as evidence is written. */
double bundle_thousandths(double x);

/* The member `prediction`, or null. */
void bundle_prediction(tab_out *o, const bundle_writer *w, const tab_bundle_view *view);

#endif
