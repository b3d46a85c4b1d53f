/* What is exported of the audit log and the ledger, and how it is held against its checkpoints
 * (decision 0352): lines of JSON; a checkpoint's line stands behind what it was signed for. */
#ifndef TABELLA_CUT_H
#define TABELLA_CUT_H

#include <stdio.h>

#include "common/json/json.h"
#include "common/pg/pg.h"
#include "common/security/checkpoint.h"
#include "common/security/crypto.h"
#include "proto/keys.pb-c.h"

enum { CUT_LINE_MOST = 1 << 20, CUT_BATCH = 5000 };

/* {"checkpoint": TEXT, "key": HEX, "signature": HEX} */
void cut_checkpoint_line(tab_out *o, const tab_checkpoint *c);
/* False: the line is no checkpoint. */
bool cut_checkpoint_read(const tab_json *line, tab_checkpoint *ret) TAB_CHECKED;

/* An organization's audit log as far as it was read (audit.c). */
typedef struct {
    uint64_t seq;
    uint8_t hash[TAB_SHA256];
    char org[64];
    size_t entries;
    char key[2 * TAB_CHECKPOINT_KEY + 1]; /* of the last checkpoint; "": there was none */
} audit_chain;
void audit_line(tab_out *o, const Tabella__AuditEntry *e);
/* The next line, an entry or a checkpoint, against the chain so far; the reason where it does not hold.
 * known: as for tab_checkpoint_holds. */
const char *audit_link(audit_chain *c, const tab_json *line, const char *known);

/* Reads `path` ("-": stdin) line by line until fn gives a reason, which is said with the line's number.
 * The exit status. */
int cut_each_line(const char *path, const char *(*fn)(void *self, tab_str line, const tab_json *json),
                  void *self);

/* An archive of the ledger, checked without a server (archive.c): `usage verify --file`. */
int ledger_file_verify(const char *path, const char *known);

/* Exports what is older into `folder`, signs, and cuts it, of all organizations; one that does not hold
 * together is left as it is, and said. */
typedef struct {
    tab_pg *pg;
    const char *folder, *secret;
    int64_t gone, refused, months; /* entries or lines; organizations; parts of the ledger */
    char key[2 * TAB_CHECKPOINT_KEY + 1];
} cutter;
tab_status cut_audit(cutter *k, int64_t days, tab_error *err) TAB_CHECKED;
tab_status cut_ledger(cutter *k, int64_t days, tab_error *err) TAB_CHECKED;

#endif
