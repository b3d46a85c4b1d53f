/* Files on their way in: what one whole (upload.c) and one in parts (upload_resumed.c) share. */
#ifndef TAB_API_UPLOAD_H
#define TAB_API_UPLOAD_H

#include "common/security/crypto.h"
#include "services/api/api.h"

enum { UPLOAD_PIECE = 1 << 20 };

/* What of it has been taken, and what it is to become. */
struct upload {
    char id[TAB_ID];
    tab_str file_name, name, sheet, reading; /* texts of the arena; reading: JSON */
    bool has_file, resumes;
    uint64_t bytes, pieces;     /* of the file, sent on */
    uint8_t digest[TAB_SHA256]; /* of the file */
    size_t at;                  /* of a body that is in r->body */
    uint64_t come;              /* of the body */
    char *piece;                /* (UPLOAD_PIECE) */
    size_t piece_n;
};

/* A call of the data-connector with a deadline of its own, whose answer is not kept: there are thousands. */
tab_status upload_tell(request *r, const char *method, const ProtobufCMessage *in,
                       const ProtobufCMessageDescriptor *reply, tab_error *err) TAB_CHECKED;
/* The members of `options` that a file has; a name of 1 to 128 bytes. */
tab_status upload_options(request *r, const tab_json *options, struct upload *ret,
                          tab_error *err) TAB_CHECKED;
tab_status upload_name(tab_str text, const char *param, tab_str *ret, tab_error *err) TAB_CHECKED;
/* The next bytes of the body: from the connection, or from a body that came in whole, as over a gateway of
 * the version before. *ret_n 0: that was all. */
tab_status upload_pull(request *r, char *to, size_t most, size_t *ret_n, tab_error *err) TAB_CHECKED;
/* All of it is there: its datasets (201), or of a large one the job that makes them (202). ingest_id: under
 * which it becomes datasets once. */
tab_status upload_load(request *r, struct upload *u, const char *ingest_id, tab_error *err) TAB_CHECKED;

#endif
