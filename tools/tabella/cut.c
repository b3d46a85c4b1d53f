/* Exports what is old of the audit log and of the ledger, and cuts it at a signed checkpoint (cut.h,
 * decision 0352). In steps of one transaction each:
 *
 *   lock the organization -> read -> hold it together -> cut (not yet committed) -> sign
 *     -> write the lines and the checkpoint, fsync -> keep the checkpoint, commit
 *
 * A step that breaks off leaves at most lines in a file that are in the database as well; they come again in
 * a later file. */
#include "tools/tabella/cut.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/time.h"
#include "tools/tabella/admin.h"

enum { STEP_MS = 600000 };

/* One organization's file of this run. */
typedef struct {
    const char *kind, *org;
    tab_checkpoint last; /* text "": there is none yet */
    int64_t n;           /* its number */
    FILE *f;
} archive;

static void archive_close(archive *x)
{
    if (x->f != NULL)
        fclose(x->f);
    x->f = NULL;
}

static tab_status archive_open(cutter *k, archive *x, tab_error *err)
{
    char path[1024];
    int n = snprintf(path, sizeof path, "%s/%s-%s-%lld.jsonl", k->folder, x->kind, x->org,
                     (long long)tab_now_us());
    x->f = n < 0 || (size_t)n >= sizeof path ? NULL : fopen(path, "wxe");
    if (x->f == NULL)
        return tab_fail(err, TAB_VALIDATION, NULL, "%s cannot be written", path);
    int folder = open(k->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool named = folder >= 0 && fsync(folder) == 0; /* the file's name, too, is on the disk */
    if (folder >= 0)
        close(folder);
    if (!named)
        return tab_fail(err, TAB_VALIDATION, NULL, "%s cannot be written", k->folder);
    if (x->last.text[0] == '\0')
        return TAB_OK;
    tab_out o = { 0 };
    cut_checkpoint_line(&o, &x->last);
    bool good = !o.failed && fprintf(x->f, "%.*s\n", (int)o.n, o.p) > 0;
    tab_out_free(&o);
    return good ? TAB_OK : tab_fail(err, TAB_VALIDATION, NULL, "%s cannot be written", path);
}

/* The lines and what was signed for them are on the disk. */
static tab_status archive_write(cutter *k, archive *x, const tab_out *lines, const tab_checkpoint *c,
                                tab_error *err)
{
    if (x->f == NULL)
        TAB_TRY(archive_open(k, x, err));
    tab_out o = { 0 };
    cut_checkpoint_line(&o, c);
    tab_out_bytes(&o, "\n", 1);
    bool good = !o.failed && fwrite(lines->p, 1, lines->n, x->f) == lines->n &&
                fwrite(o.p, 1, o.n, x->f) == o.n && fflush(x->f) == 0 && fsync(fileno(x->f)) == 0;
    tab_out_free(&o);
    return good ? TAB_OK
                : tab_fail(err, TAB_UNAVAILABLE, NULL,
                           "the archive cannot be written; check whether the disk is full");
}

static tab_status refuse(tab_error *err, const char *org, const char *why)
{
    return tab_fail(err, TAB_CONFLICT, "", "%s is left as it is: %s", org, why);
}

/* The newest checkpoint of the organization, which must be what was signed. */
static tab_status last_checkpoint(tab_tx *tx, archive *x, const char *sql, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    x->n = 0;
    x->last.text[0] = '\0';
    TAB_TRY(tab_tx_query(tx, &r, err, sql, TAB_P(tab_p_text(x->org))));
    if (tab_rows_count(r) == 0)
        return TAB_OK;
    x->n = tab_rows_int(r, 0, 0);
    if (!tab_checkpoint_read(tab_rows_str(r, 0, 1), tab_rows_str(r, 0, 2), tab_rows_str(r, 0, 3), &x->last) ||
        !tab_checkpoint_holds(&x->last, NULL))
        return refuse(err, x->org, "its last checkpoint is not what was signed");
    return TAB_OK;
}

static void previous_of(const archive *x, char ret[TAB_SHA256_HEX])
{
    if (x->last.text[0] != '\0')
        tab_sha256_hex(tab_str_of(x->last.text), ret);
    else
        snprintf(ret, TAB_SHA256_HEX, "%064d", 0);
}

static tab_status sign(cutter *k, tab_checkpoint *c, tab_error *err)
{
    if (!tab_checkpoint_sign(k->secret, c))
        return tab_fail(err, TAB_VALIDATION, NULL, "TAB_CHECKPOINT_KEY is not 64 hex digits");
    tab_hex(c->key, sizeof c->key, k->key);
    return TAB_OK;
}

static tab_param bytes(const uint8_t *p, size_t n)
{
    return tab_p_bytes((tab_str){ (const char *)p, n });
}

/* ---- the audit log --------------------------------------------------------------------------- */

#define OLD_ENTRIES                                                                                       \
    "SELECT seq, event_id, actor, action, object, detail, request_id, address, at, hash FROM keys.audit " \
    "WHERE org = $1 AND seq < least((SELECT max(seq) FROM keys.audit WHERE org = $1), (SELECT min(seq) "  \
    "FROM keys.audit WHERE org = $1 AND at >= now() - $2 * interval '1 day')) ORDER BY seq LIMIT $3"

static void fill(Tabella__AuditEntry *e, const tab_rows *r, size_t i, char *org, tab_arena *a)
{
    char **texts[] = { &e->id, &e->actor, &e->action, &e->object, &e->detail, &e->request_id, &e->address };
    tabella__audit_entry__init(e);
    e->org = org;
    e->seq = (uint64_t)tab_rows_int(r, i, 0);
    for (size_t f = 0; f < sizeof texts / sizeof *texts; f++)
        *texts[f] = (char *)(uintptr_t)tab_rows_text(r, i, f + 1);
    e->at = tab_rows_time(r, i, 8);
    tab_str hash = tab_rows_bytes(r, i, 9, a);
    e->hash = (ProtobufCBinaryData){ hash.n, (uint8_t *)(uintptr_t)hash.p };
}

/* The entries as lines, each held against the chain from the last checkpoint on: what does not hold is not
 * signed. */
static tab_status entry_lines(const tab_rows *r, const archive *x, audit_chain *chain, tab_out *lines,
                              tab_error *err)
{
    char org[64];
    snprintf(org, sizeof org, "%s", x->org);
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        TAB_AUTO(tab_arena) *a = tab_arena_new(4 * CUT_LINE_MOST);
        Tabella__AuditEntry e;
        const tab_json *json;
        tab_out line = { 0 };
        if (a == NULL)
            return tab_no_memory(err);
        fill(&e, r, i, org, a);
        audit_line(&line, &e);
        tab_out_bytes(&line, "\n", 1);
        const char *why = "an entry does not fit a line";
        if (!line.failed && line.n <= CUT_LINE_MOST &&
            tab_json_read(a, tab_out_text(&line), 4, &json, err) == TAB_OK)
            why = audit_link(chain, json, NULL);
        if (why == NULL)
            tab_out_bytes(lines, line.p, line.n);
        tab_out_free(&line);
        if (why != NULL)
            return tab_fail(err, TAB_CONFLICT, "", "%s is left as it is: entry %llu: %s", x->org,
                            (unsigned long long)e.seq, why);
    }
    return lines->failed ? tab_no_memory(err) : TAB_OK;
}

static tab_status drop_entries(tab_tx *tx, const archive *x, const tab_checkpoint *c, const audit_chain *to,
                               tab_error *err)
{
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "INSERT INTO keys.audit_checkpoint (org, n, seq, hash, signed, key, signature) "
                         "VALUES ($1, $2, $3, $4, $5, $6, $7)",
                         TAB_P(tab_p_text(x->org), tab_p_int(x->n + 1), tab_p_int((int64_t)to->seq),
                               bytes(to->hash, sizeof to->hash), tab_p_text(c->text),
                               bytes(c->key, sizeof c->key), bytes(c->signature, sizeof c->signature))));
    TAB_TRY(tab_tx_query(
        tx, NULL, err,
        "INSERT INTO keys.audit_cut SELECT org, event_id FROM keys.audit WHERE org = $1 AND seq <= $2",
        TAB_P(tab_p_text(x->org), tab_p_int((int64_t)to->seq))));
    return tab_tx_query(tx, NULL, err, "DELETE FROM keys.audit WHERE org = $1 AND seq <= $2",
                        TAB_P(tab_p_text(x->org), tab_p_int((int64_t)to->seq)));
}

static void start_of(const archive *x, audit_chain *ret, const char **ret_why)
{
    char seq[24], hash[2 * TAB_SHA256 + 1];
    *ret = (audit_chain){ 0 };
    *ret_why = NULL;
    if (x->last.text[0] == '\0')
        return;
    snprintf(ret->org, sizeof ret->org, "%s", x->org);
    tab_checkpoint own = x->last;
    if (!tab_checkpoint_says(&own, "org", x->org) || !tab_checkpoint_get(&own, "seq", seq, sizeof seq) ||
        !tab_checkpoint_get(&own, "hash", hash, sizeof hash)) {
        *ret_why = "its last checkpoint is not of it";
        return;
    }
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    tab_out line = { 0 };
    const tab_json *json = NULL;
    cut_checkpoint_line(&line, &own);
    if (a != NULL && !line.failed && tab_json_read(a, tab_out_text(&line), 4, &json, NULL) == TAB_OK)
        *ret_why = audit_link(ret, json, NULL);
    else
        *ret_why = "out of memory";
    tab_out_free(&line);
}

static tab_status audit_step(cutter *k, archive *x, int64_t days, bool *ret_more, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    audit_chain chain;
    const char *why;
    char previous[TAB_SHA256_HEX], hash[2 * TAB_SHA256 + 1], at[TAB_TIME_TEXT];
    *ret_more = false;
    TAB_TRY(tab_tx_begin(k->pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "SELECT pg_advisory_xact_lock(hashtextextended('keys.audit ' || $1, 0))",
                         TAB_P(tab_p_text(x->org)))); /* the one of keys.audit_link: nobody adds meanwhile */
    TAB_TRY(last_checkpoint(tx, x,
                            "SELECT n, signed, encode(key, 'hex'), encode(signature, 'hex') "
                            "FROM keys.audit_checkpoint WHERE org = $1 ORDER BY n DESC LIMIT 1",
                            err));
    start_of(x, &chain, &why);
    if (why != NULL)
        return refuse(err, x->org, why);
    TAB_TRY(tab_tx_query(tx, &r, err, OLD_ENTRIES,
                         TAB_P(tab_p_text(x->org), tab_p_int(days), tab_p_int(CUT_BATCH))));
    if (tab_rows_count(r) == 0)
        return TAB_OK;
    tab_out lines = { 0 };
    tab_checkpoint c;
    tab_status s = entry_lines(r, x, &chain, &lines, err);
    previous_of(x, previous);
    tab_hex(chain.hash, sizeof chain.hash, hash);
    tab_time_text(tab_now_us(), at);
    snprintf(c.text, sizeof c.text,
             "tabella-checkpoint kind=audit org=%s n=%lld seq=%llu hash=%s entries=%zu previous=%s at=%s",
             x->org, (long long)x->n + 1, (unsigned long long)chain.seq, hash, tab_rows_count(r), previous,
             at);
    if (s == TAB_OK)
        s = sign(k, &c, err);
    if (s == TAB_OK)
        s = drop_entries(tx, x, &c, &chain, err);
    if (s == TAB_OK)
        s = archive_write(k, x, &lines, &c, err);
    tab_out_free(&lines);
    TAB_TRY(s);
    TAB_TRY(tab_tx_commit(&tx, err));
    k->gone += (int64_t)tab_rows_count(r);
    *ret_more = tab_rows_count(r) == CUT_BATCH;
    return TAB_OK;
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* An event that has lines, or particulars, behind an id. */
#define OLD_EVENTS                                                                                           \
    "SELECT e.event_id, json_build_object('event_id', e.event_id, 'org', e.org, 'at', to_char(e.at AT TIME " \
    "ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), 'surface', e.surface, 'key', e.key_id, "              \
    "'endpoint_id', e.endpoint_id, 'endpoint', e.endpoint, 'base', e.model, 'tables', e.tables, 'calls', "   \
    "e.calls, 'lines', coalesce((SELECT json_agg(json_build_object('op', l.op, 'cells', l.cells, 'milli', "  \
    "l.milli) ORDER BY l.n) FROM metering.line l WHERE l.org = e.org AND l.event_id = e.event_id), "         \
    "'[]'))::text FROM metering.event e WHERE e.org = $1 AND e.at < now() - $2 * interval '1 day' AND "      \
    "e.event_id > $3 AND e.surface IS DISTINCT FROM 'cut' AND (e.surface IS NOT NULL OR EXISTS (SELECT "     \
    "FROM metering.line l WHERE l.org = e.org AND l.event_id = e.event_id)) ORDER BY e.event_id LIMIT $4 "   \
    "FOR UPDATE OF e"

/* What is cut must be what is shown: a difference would be gone with its cause. */
static tab_status ledger_holds(cutter *k, const char *org, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(k->pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
    TAB_TRY(
        tab_tx_query(tx, &r, err, "SELECT count(day) FROM metering.differences($1)", TAB_P(tab_p_text(org))));
    TAB_TRY(tab_tx_commit(&tx, err));
    return tab_rows_int(r, 0, 0) == 0 ? TAB_OK : refuse(err, org, "its sums differ from its ledger");
}

static tab_status sums_hold(tab_tx *tx, const archive *x, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(
        tx, &r, err, "SELECT metering.cut_digest($1), EXISTS (SELECT FROM metering.cut_sum WHERE org = $1)",
        TAB_P(tab_p_text(x->org))));
    bool good = x->last.text[0] == '\0' ? !tab_rows_bool(r, 0, 1)
                                        : tab_checkpoint_says(&x->last, "sums", tab_rows_text(r, 0, 0)) &&
                                              tab_checkpoint_says(&x->last, "org", x->org);
    return good ? TAB_OK : refuse(err, x->org, "the sums of what was cut are not those that were signed");
}

/* Takes the events' lines away; what they were goes into the text that is signed. */
static tab_status drop_lines(tab_tx *tx, tab_arena *a, const tab_rows *r, const archive *x,
                             const char *segment, tab_checkpoint *c, int64_t *ret_lines, tab_error *err)
{
    TAB_AUTO(tab_rows) *cut = NULL;
    size_t n = tab_rows_count(r);
    char previous[TAB_SHA256_HEX], at[TAB_TIME_TEXT];
    char **ids = tab_arena_new_of(a, char *, n);
    for (size_t i = 0; ids != NULL && i < n; i++)
        ids[i] = (char *)(uintptr_t)tab_rows_text(r, i, 0);
    char *array = ids == NULL ? NULL : tab_pg_array(a, ids, n);
    if (array == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_query(tx, &cut, err, "SELECT lines, cells, milli, sums FROM metering.cut($1, $2::text[])",
                         TAB_P(tab_p_text(x->org), tab_p_text(array))));
    *ret_lines = tab_rows_int(cut, 0, 0);
    previous_of(x, previous);
    tab_time_text(tab_now_us(), at);
    snprintf(c->text, sizeof c->text,
             "tabella-checkpoint kind=ledger org=%s n=%lld events=%zu lines=%s cells=%s milli=%s "
             "sums=%s segment=%s previous=%s at=%s",
             x->org, (long long)x->n + 1, n, tab_rows_text(cut, 0, 0), tab_rows_text(cut, 0, 1),
             tab_rows_text(cut, 0, 2), tab_rows_text(cut, 0, 3), segment, previous, at);
    return TAB_OK;
}

static tab_status keep(tab_tx *tx, const archive *x, const tab_checkpoint *c, tab_error *err)
{
    return tab_tx_query(tx, NULL, err,
                        "INSERT INTO metering.checkpoint (org, n, signed, key, signature) "
                        "VALUES ($1, $2, $3, $4, $5)",
                        TAB_P(tab_p_text(x->org), tab_p_int(x->n + 1), tab_p_text(c->text),
                              bytes(c->key, sizeof c->key), bytes(c->signature, sizeof c->signature)));
}

static tab_status event_lines(const tab_rows *r, tab_out *ret, tab_error *err)
{
    for (size_t i = 0; i < tab_rows_count(r); i++) {
        tab_str line = tab_rows_str(r, i, 1);
        tab_out_bytes(ret, line.p, line.n);
        tab_out_bytes(ret, "\n", 1);
    }
    return ret->failed ? tab_no_memory(err) : TAB_OK;
}

/* after: the last event of the step before, in the arena. */
static tab_status ledger_step(cutter *k, archive *x, int64_t days, char *after, size_t size, bool *ret_more,
                              tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 26);
    tab_checkpoint c;
    int64_t gone = 0;
    char segment[TAB_SHA256_HEX];
    *ret_more = false;
    if (a == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_tx_begin(k->pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "SELECT pg_advisory_xact_lock(hashtextextended('metering.cut ' || $1, 0))",
                         TAB_P(tab_p_text(x->org))));
    TAB_TRY(last_checkpoint(tx, x,
                            "SELECT n, signed, encode(key, 'hex'), encode(signature, 'hex') "
                            "FROM metering.checkpoint WHERE org = $1 ORDER BY n DESC LIMIT 1",
                            err));
    TAB_TRY(sums_hold(tx, x, err));
    TAB_TRY(
        tab_tx_query(tx, &r, err, OLD_EVENTS,
                     TAB_P(tab_p_text(x->org), tab_p_int(days), tab_p_text(after), tab_p_int(CUT_BATCH))));
    size_t n = tab_rows_count(r);
    if (n == 0)
        return TAB_OK;
    tab_out lines = { 0 };
    tab_status s = event_lines(r, &lines, err);
    tab_sha256_hex(tab_out_text(&lines), segment);
    if (s == TAB_OK)
        s = drop_lines(tx, a, r, x, segment, &c, &gone, err);
    if (s == TAB_OK)
        s = sign(k, &c, err);
    if (s == TAB_OK)
        s = keep(tx, x, &c, err);
    if (s == TAB_OK)
        s = archive_write(k, x, &lines, &c, err);
    tab_out_free(&lines);
    TAB_TRY(s);
    TAB_TRY(tab_tx_commit(&tx, err));
    k->gone += gone;
    *ret_more = n == CUT_BATCH;
    snprintf(after, size, "%s", tab_rows_text(r, n - 1, 0));
    return TAB_OK;
}

/* ---- all organizations ----------------------------------------------------------------------- */

static tab_status ledger_of(cutter *k, archive *x, int64_t days, tab_error *err)
{
    char after[512] = "";
    TAB_TRY(ledger_holds(k, x->org, err));
    for (bool more = true; more;)
        TAB_TRY(ledger_step(k, x, days, after, sizeof after, &more, err));
    return TAB_OK;
}

static tab_status audit_of(cutter *k, archive *x, int64_t days, tab_error *err)
{
    for (bool more = true; more;)
        TAB_TRY(audit_step(k, x, days, &more, err));
    return TAB_OK;
}

/* One after the other; what is wrong with one keeps no other. */
static tab_status each_org(cutter *k, const char *sql, const char *kind, int64_t days,
                           tab_status (*fn)(cutter *, archive *, int64_t, tab_error *), tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *orgs = NULL;
    k->gone = 0;
    TAB_TRY(tab_tx_begin(k->pg, TAB_ORG_ALL, tab_in_ms(STEP_MS), &tx, err));
    TAB_TRY(tab_tx_query(tx, &orgs, err, sql, TAB_P(tab_p_int(days))));
    TAB_TRY(tab_tx_commit(&tx, err));
    for (size_t i = 0; i < tab_rows_count(orgs); i++) {
        static archive x;
        x = (archive){ .kind = kind, .org = tab_rows_text(orgs, i, 0) };
        tab_status s = fn(k, &x, days, err);
        archive_close(&x);
        if (s == TAB_CONFLICT) {
            fprintf(stderr, "tabella admin: %s\n", err->message);
            k->refused++;
        } else if (s != TAB_OK)
            return s;
    }
    return TAB_OK;
}

tab_status cut_audit(cutter *k, int64_t days, tab_error *err)
{
    return each_org(k,
                    "SELECT DISTINCT org FROM keys.audit WHERE at < now() - $1 * interval '1 day' "
                    "AND org ~ '^[A-Za-z0-9_]{1,60}$' ORDER BY org",
                    "audit", days, audit_of, err);
}

tab_status cut_ledger(cutter *k, int64_t days, tab_error *err)
{
    return each_org(k,
                    "SELECT DISTINCT org FROM metering.line WHERE at < now() - $1 * interval '1 day' "
                    "AND org ~ '^[A-Za-z0-9_]{1,60}$' ORDER BY org",
                    "ledger", days, ledger_of, err);
}
