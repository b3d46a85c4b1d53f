/* What organizations keep for a time alone (decision 0665), and the certificate of what was deleted (0666).
 *
 * keys knows how long. A daemon that keeps something asks it in its sweep, a page of organizations at a time;
 * while keys is away nothing is deleted. What went is told to the organization by an entry of its audit log,
 * written by the outbox of the transaction that deleted it. */
#ifndef TAB_RETENTION_H
#define TAB_RETENTION_H

#include "common/pg/pg.h"
#include "common/rpc/rpc.h"
#include "common/security/ids.h"

enum { TAB_RETENTION_MS = 5000 }; /* between two looks */

typedef struct {
    const char *what; /* runs, logs, snapshots, outcomes */
    /* One statement: $1 organizations, $2 their days, $3 how much at most. A row an organization: itself, how
     * much went of what $3 counts, and the certificate's rows, bytes and SHA-256 in hex. */
    const char *sql;
    /* Instead of sql, the same by a function; *ret_n: how much went. */
    tab_status (*batch)(tab_tx *tx, void *arg, const char *orgs, const char *days, int64_t most,
                        size_t *ret_n, tab_error *err);
    char after[TAB_ID]; /* kept here, "" at first: the organization with which the last page ended */
} tab_retention;

/* A batch of a sweep: the next page of organizations of which something went. schema: the service's. tx has
 * seen no statement. */
tab_status tab_retention_batch(tab_retention *r, tab_rpc *rpc, tab_tx *tx, const char *schema, void *arg,
                               int64_t most, size_t *ret_n, tab_error *err) TAB_CHECKED;

typedef struct {
    const char *of;     /* dataset, endpoint, run; of a sweep: runs, logs, snapshots, outcomes */
    const char *object; /* its id; of a sweep the organization's */
    int64_t rows, bytes;
    const char *sha256; /* hex */
} tab_certificate;

/* `deletion.certificate` in the audit log. call NULL: the sweep's. */
tab_status tab_certificate_put(tab_tx *tx, const char *schema, const tab_call *call, const char *org,
                               const char *actor, const tab_certificate *c, tab_error *err) TAB_CHECKED;

/* The end of a statement: of rows `gone` (org, r: text of a row), a row an organization. The SHA-256 is over
 * those of the rows' texts, in their order as bytes. */
#define TAB_CERTIFIED                                                                  \
    "SELECT org, count(*), count(*), sum(octet_length(r)), "                           \
    "encode(sha256(string_agg(h, ''::bytea ORDER BY h)), 'hex') FROM (SELECT org, r, " \
    "sha256(convert_to(r, 'UTF8')) AS h FROM gone) x GROUP BY org"

#endif
