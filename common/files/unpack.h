/* What is packed by deflate (RFC 1951): gzip (RFC 1952) and the entries of a zip archive (APPNOTE 6.3), read
 * from memory piece by piece. Sizes that an archive declares are not believed: what comes out is counted, and
 * it ends at `most` bytes, or beyond 64 MiB where it is more than 200 times what went in (a zip bomb). */
#ifndef TAB_FILES_UNPACK_H
#define TAB_FILES_UNPACK_H

#include "common/base/arena.h"

/* Takes a piece of what was unpacked. */
typedef tab_status (*tab_unpack_fn)(void *arg, const char *p, size_t n, tab_error *err);

/* The members of a gzip file, one behind the other. Errors: VALIDATION (damaged, cut off, too large). */
tab_status tab_gzip_read(tab_str file, uint64_t most, tab_unpack_fn fn, void *arg,
                         tab_error *err) TAB_CHECKED;

typedef struct {
    tab_str name;      /* a view of the file */
    size_t packed, at; /* bytes; of its local header */
    uint32_t crc;
    uint16_t method, flags;
} tab_zip_entry;

typedef struct {
    tab_str file;
    tab_zip_entry *entry;
    size_t n;
} tab_zip;

/* The directory at the archive's end. Errors: VALIDATION (none there, damaged, more than 4,096 entries). */
tab_status tab_zip_open(tab_arena *a, tab_str file, tab_zip *ret, tab_error *err) TAB_CHECKED;
/* The entry of that name, or NULL. */
const tab_zip_entry *tab_zip_find(const tab_zip *z, tab_str name);
/* Errors: VALIDATION (damaged, encrypted, packed otherwise, too large). */
tab_status tab_zip_read(const tab_zip *z, const tab_zip_entry *e, uint64_t most, tab_unpack_fn fn, void *arg,
                        tab_error *err) TAB_CHECKED;

/* A text that grows by pieces; p is the caller's to free, and a 0 stands behind its end. */
typedef struct {
    char *p;
    size_t n, cap;
} tab_grown;
tab_status tab_grown_add(void *grown, const char *p, size_t n, tab_error *err);

#endif
