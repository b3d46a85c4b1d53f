/* JSON in (RFC 8259) and out.
 *
 * In: a request body's tables go straight into columns, cell by cell, with no tree of values;
 * everything else in a body is small and becomes a tree. One pass, constant stack, no copy of the
 * body, and no index of it either: simdjson's structural index alone would take as much as the
 * columns (decision 0030); its UTF-8 check is used.
 *
 * Strict where two readers could disagree: a byte order mark, invalid UTF-8, NaN, a lone surrogate,
 * a repeated key of an object, nesting deeper than the limit and anything after the document are
 * errors on "body". */
#ifndef TAB_JSON_H
#define TAB_JSON_H

#include "common/table/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading --------------------------------------------------------------------------------- */

typedef enum {
    TAB_JSON_NULL,
    TAB_JSON_BOOL,
    TAB_JSON_NUMBER,
    TAB_JSON_STRING,
    TAB_JSON_ARRAY,
    TAB_JSON_OBJECT
} tab_json_kind;

typedef struct tab_json {
    tab_json_kind kind;
    bool yes;     /* BOOL */
    double num;   /* NUMBER: nearest double (0 or the largest where out of range) */
    tab_str text; /* STRING: decoded; NUMBER: its digits */
    tab_str key;  /* of a member of an object */
    size_t count; /* ARRAY, OBJECT: members */
    struct tab_json *first, *next;
} tab_json;

/* The member of an object; NULL when there is none, or `of` is NULL or no object. */
const tab_json *tab_json_get(const tab_json *of, const char *key);

typedef struct {
    size_t depth; /* containers inside one another, the document's own included */
    size_t tables, columns;
    size_t rows; /* in all tables together; 0: no limit */
    uint64_t cells;
} tab_body_limits;

#define TAB_BODY_LIMITS          \
    {                            \
        8, 64, 2000, 0, 50000000 \
    }

typedef struct {
    const tab_json *root;           /* the object's members but `tables` */
    const tab_table *const *tables; /* (n_tables) */
    size_t n_tables;
    bool has_tables;      /* the member is there */
    uint64_t rows, cells; /* summed over the tables */
} tab_body;

/* Any document, as a tree. text.p[text.n] must be readable and 0. Trees borrow from text.
 * Errors: VALIDATION on "body" (syntax, depth, size of keys), INTERNAL (memory). */
tab_status tab_json_read(tab_arena *a, tab_str text, size_t depth, const tab_json **ret,
                         tab_error *err) TAB_CHECKED;

/* The same of what this program wrote itself: as many values as the arena holds. */
tab_status tab_json_read_own(tab_arena *a, tab_str text, size_t depth, const tab_json **ret,
                             tab_error *err) TAB_CHECKED;

/* A request body: an object whose member `tables` becomes columns. text as above.
 * Errors: as tab_json_read; and, only where the syntax of the whole document is right, VALIDATION
 * with the path of what is wrong: "tables", "tables[1].rows", "tables[i].rows[j][k]", ... */
tab_status tab_body_read(tab_arena *a, tab_str text, const tab_body_limits *limits, tab_body *ret,
                         tab_error *err) TAB_CHECKED;

bool tab_utf8_valid(tab_str s);
size_t tab_utf8_count(tab_str s); /* characters of valid UTF-8, as maxLength of JSON Schema counts */

/* ---- writing --------------------------------------------------------------------------------- */

/* A growing text. Once out of memory, writes are harmless and `failed` stays set. Commas are
 * written by the writer: each value, key or opening takes one before it when it needs one. */
typedef struct {
    char *p;
    size_t n, cap;
    bool failed, comma;
} tab_out;

void tab_out_free(tab_out *o); /* its text; *o itself is the caller's */

void tab_out_room(tab_out *o, size_t n); /* so many bytes more will come, or more: one allocation */
void tab_out_bytes(tab_out *o, const void *p, size_t n); /* as they are; no comma logic */
void tab_out_raw(tab_out *o, tab_str json);              /* one value, already JSON */
void tab_out_open(tab_out *o, char bracket);             /* '{' or '[' */
void tab_out_close(tab_out *o, char bracket);            /* '}' or ']' */
void tab_out_key(tab_out *o, const char *key);           /* plain ASCII without quotes */
void tab_out_key_str(tab_out *o, tab_str key);           /* any UTF-8 */
void tab_out_str(tab_out *o, tab_str s);                 /* invalid UTF-8 becomes U+FFFD */
void tab_out_cstr(tab_out *o, const char *s);            /* NULL: null */
void tab_out_null(tab_out *o);
void tab_out_bool(tab_out *o, bool x);
void tab_out_int(tab_out *o, int64_t x);
void tab_out_uint(tab_out *o, uint64_t x);
void tab_out_double(tab_out *o, double x); /* shortest; not finite: null */
/* Computed figures, rounded so that processors whose last bits differ print the same. */
void tab_out_fixed(tab_out *o, double x); /* 6 decimals at most: confidences, shares, probabilities */
void tab_out_real(tab_out *o, double x);  /* 9 significant digits: predicted values */
void tab_out_cell(tab_out *o, const tab_column *c, size_t row);

static inline tab_str tab_out_text(const tab_out *o)
{
    return (tab_str){ o->p, o->n };
}

#ifdef __cplusplus
}
#endif
#endif
