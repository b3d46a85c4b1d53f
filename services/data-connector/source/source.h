/* Sources outside, and the providers that read them.
 *
 * A source is read in a process of its own (child.h) that holds nothing of the daemon's: no secret but the
 * source's own credentials, a limit of memory and processor time, and an end that the daemon sees to.
 *
 * Three walls stand between a caller's ref and the inside (decision 0021): the ref is parsed once, by us
 * (reference.h); its host is resolved once, every answer must be public or in a network that the operator
 * allows, and the provider connects to that address (address.h); and connect() itself, which this program
 * defines, refuses anything else while a source is being read, whatever library tries (guard.h). */
#ifndef DATA_SOURCE_H
#define DATA_SOURCE_H

#include <stdatomic.h>

#include "common/base/time.h"
#include "common/json/json.h"
#include "common/security/address.h"
#include "common/table/table.h"
#include "proto/data.pb-c.h"
#include "services/data-connector/reader/guard.h"
#include "services/data-connector/source/cells.h"
#include "services/data-connector/source/reference.h"

typedef struct {
    const source_ref *ref;
    const char *address;      /* numeric, checked; NULL where the provider resolves (by_name) */
    bool is_public;           /* else the operator allowed its network */
    const char *allow, *odbc; /* networks; the operator's odbc.ini, "" */
    Tabella__Credential *const *credentials;
    size_t n_credentials;
    const char *query; /* "" = the table that the ref names */
    const char *sheet, *records;
    const char *reading; /* options.reading of a file, a JSON object; "" = as found */
    char *const *key;    /* options.key: columns that identify a row */
    size_t n_key;
    tab_deadline deadline;
    int64_t connect_s, read_mib;
    const atomic_bool *cancel;
    tab_str *notes; /* what was done that is not plain, a line each */
    tab_str *read;  /* of a file: how it was read, a JSON object */
} source;

/* What a run writes: a file's content, or a table's rows, which may come in pieces and be made a .csv of. A
 * table that a run wrote holds in its comment the names of the runs that wrote it, newest first, blanks
 * between: so a writing that is repeated is known, and nobody else's table is touched (decision 0397). */
typedef enum { OUT_NEW, OUT_APPEND, OUT_REPLACE } out_mode;
typedef struct {
    tab_str file;
    const tab_table *table; /* its rows, or the first of them; NULL: the file */
    bool csv;               /* a file is made of the rows */
    const uint32_t *kinds;  /* of its columns over all rows (cells_kind); none: as the table holds */
    size_t n_kinds;
    tab_status (*more)(void *arg, tab_arena *a, const tab_table **ret,
                       tab_error *err); /* NULL: these are all */
    void *arg;
    const char *once; /* written before under this name: nothing is left to do */
    out_mode mode;    /* of a table */
    bool check;       /* nothing is written: only whether it may be */
} output;

/* output.c */

/* What is to be done about a table: comment is NULL where there is none of this name; columns are its own.
 * *ret_done: nothing. CONFLICT on options.out where the mode does not allow it. */
tab_status output_may(const output *o, const char *comment, const char *const *columns, size_t n_columns,
                      bool *ret_done, tab_error *err) TAB_CHECKED;
/* The comment after this writing. */
const char *output_comment(const output *o, tab_arena *a, const char *before);
cells_kind output_kind(const output *o, size_t column);
/* The rows that come next, in this arena. *ret NULL: there are no more. */
tab_status output_more(const output *o, tab_arena *a, const tab_table **ret, tab_error *err) TAB_CHECKED;

/* A file in parts of OUTPUT_PART bytes or somewhat more, the last one any. { 0 } at the beginning. */
enum { OUTPUT_PART = 8 << 20 };
typedef struct {
    tab_str bytes; /* of this part, until the next is asked for */
    bool last, begun;
    tab_out text;
} output_parts;
tab_status output_part(output_parts *p, const output *o, tab_error *err) TAB_CHECKED;
tab_status output_whole(output_parts *p, const output *o, tab_error *err) TAB_CHECKED; /* in one part */
void output_parts_free(output_parts *p);

typedef struct {
    const char *scheme;
    uint16_t port;
    size_t least, most; /* segments that a ref may have; a folder's one less */
    bool folder;        /* its path may end in / */
    bool by_name;       /* the ref's authority is no host to connect to: the provider makes one of it */
    bool cased;         /* and its letters keep their case */
    const char *const *credentials; /* members that are known, NULL at the end */
    const char *const *options;     /* beside key and write; NULL at the end */
    tab_status (*read)(const source *s, tab_arena *a, const tab_table **ret, tab_error *err);
    /* All or nothing. NULL: this family is not written to. files: what is written is a file. */
    tab_status (*write)(const source *s, tab_arena *a, const output *o, tab_error *err);
    bool files;
} provider;

/* Calls go one way: providers.c, the list, knows each provider; a provider knows source.c. */
const provider *provider_of(const char *scheme); /* providers.c; NULL: not enabled here */
size_t provider_all(const provider *const **ret);

/* source.c */
const char *credential(const source *s, const char *name); /* "" when absent */
/* How long until the deadline, at most `most` ms; 0 also when nobody waits any more. */
int64_t source_left_ms(const source *s, int64_t most);
/* Whether the caller wants no TLS (credentials.tls "disable"), which only networks that the operator allows
 * may have. VALIDATION on credentials.tls. */
tab_status source_plain(const source *s, bool *ret, tab_error *err) TAB_CHECKED;
/* The caller's own root certificates as a file that a library can name: memory, not disk. *ret -1 and path
 * the system's: none given. The caller closes it. */
tab_status source_roots(const source *s, char path[64], int *ret, tab_error *err) TAB_CHECKED;
/* Whether the source's address and port refuse a connection: for libraries that do not tell. */
bool source_refuses(const source *s);
/* What every family says alike. */
tab_status source_refuses_login(tab_error *err);
tab_status source_grants_nothing(tab_error *err); /* who has come in may not read the table */
tab_status source_without_tls(tab_error *err);
tab_status source_not_listening(tab_error *err);
tab_status source_too_large(tab_error *err);
tab_status source_too_late(tab_error *err);
tab_status source_broke(tab_error *err);

#endif
