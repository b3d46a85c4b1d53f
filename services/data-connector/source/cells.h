/* Cells as sources deliver them, as the cells of a table: what databases' texts become, one place for all
 * providers. Servers are not trusted: a text must be UTF-8 without a zero byte, as the rest of the service
 * holds it. */
#ifndef DATA_CELLS_H
#define DATA_CELLS_H

#include "common/table/table.h"

enum { CELL_BYTES = 1 << 20 }; /* of a text */

bool cell_is_text(const char *p, size_t n);
/* "bytes(12)", "vector(768)": of what is not delivered only the size is told. */
void cell_size(tab_builder *b, const char *what, size_t n);
/* "[1,2,3]": vector(3) */
void cell_vector(tab_builder *b, const char *text, size_t n);
/* At most CELL_BYTES of it, cut at a character. */
void cell_text(tab_builder *b, const char *p, size_t n);
void cell_double(tab_builder *b, double x);                        /* NaN and infinities are null */
void cell_double_text(tab_builder *b, const char *text, size_t n); /* a zero behind */
/* Decimal digits as a database writes them (n > 0, a zero behind); more than a double holds are kept. */
void cell_number(tab_builder *b, const char *text, size_t n);
/* "2026-01-31 12:30:00+00" (with a zone) to "2026-01-31T12:30:00Z". What has no year of four digits is
 * null. */
void cell_time(tab_builder *b, const char *text, size_t n, bool zone);

/* ---- the other way: what a run's table becomes in a database */
typedef enum { CELLS_NUMBER, CELLS_BOOL, CELLS_TEXT } cells_kind;
cells_kind cells_of(const tab_column *c);
/* A cell as text; p NULL: null. digits holds what has no text of its own. */
tab_str cell_out(const tab_column *c, size_t row, char digits[32]);

#endif
