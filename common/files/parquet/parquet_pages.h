/* The pages of a Parquet file: what is packed is unpacked, and what is encoded becomes plain values, one
 * behind the other, without the missing ones ("Parquet encoding definitions" of the format's description). */
#ifndef TAB_FILES_PARQUET_PAGES_H
#define TAB_FILES_PARQUET_PAGES_H

#include "common/files/arrow/arrow_cells.h"

/* The numbers of parquet.thrift, enum Type. */
typedef enum {
    PARQUET_BOOLEAN = 0,
    PARQUET_INT32 = 1,
    PARQUET_INT64 = 2,
    PARQUET_INT96 = 3,
    PARQUET_FLOAT = 4,
    PARQUET_DOUBLE = 5,
    PARQUET_BYTES = 6,
    PARQUET_FIXED = 7
} parquet_physical;

/* enum Encoding */
typedef enum {
    PARQUET_PLAIN = 0,
    PARQUET_PLAIN_DICTIONARY = 2,
    PARQUET_RLE = 3,
    PARQUET_BIT_PACKED = 4,
    PARQUET_DELTA = 5,
    PARQUET_DELTA_LENGTH = 6,
    PARQUET_DELTA_BYTES = 7,
    PARQUET_RLE_DICTIONARY = 8,
    PARQUET_SPLIT = 9
} parquet_encoding;

typedef struct {
    parquet_physical physical;
    size_t width;    /* bytes of a value; 0: of booleans and of texts */
    arrow_type cell; /* what it is as a cell; ARROW_UTF8: its text */
    bool uuid;       /* 16 bytes as a text */
} parquet_type;

/* Values of a page. */
typedef struct {
    size_t n;
    tab_str values; /* (n) as an Arrow buffer of the type's cell; of texts nothing */
    tab_str *text;  /* (n) */
    void *made[5];  /* freed with them */
} parquet_values;

bool parquet_codec_known(int64_t codec);
bool parquet_unpack(int codec, tab_str in, char *out, size_t n); /* out: n bytes, all of which it must fill */

/* Runs and bit-packed groups: n numbers of `width` bits, at most 32. False: too few, or damaged. */
bool parquet_runs(tab_str in, int width, uint32_t *out, size_t n);
/* The deprecated levels, whose first bit is a byte's highest. */
bool parquet_bits(tab_str in, int width, uint32_t *out, size_t n);

/* n values of a page that is no page of codes. What grows beyond the page is taken from *room. Errors:
 * VALIDATION, INTERNAL (memory); *ret is to be freed in any case. */
tab_status parquet_decode(const parquet_type *t, int encoding, tab_str in, size_t n, uint64_t *room,
                          parquet_values *ret, tab_error *err) TAB_CHECKED;
void parquet_values_free(parquet_values *v);

#endif
