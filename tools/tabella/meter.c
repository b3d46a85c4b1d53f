/* `tabella admin usage verify`: every sum of usage computed anew from the ledger, and what differs; and
 * `service-level [MONTH]`: what became of all organizations' serve calls in a month. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "proto/keys.pb-c.h"
#include "proto/metering.pb-c.h"
#include "tools/tabella/admin.h"
#include "tools/tabella/cut.h"

enum { VERIFY_MS = 3600000, EXIT_DIFFERENT = 4, PAGE = 500, ORG_MOST = 64 };

static void text(tab_out *o, const char *key, const char *value)
{
    tab_out_key(o, key);
    tab_out_cstr(o, value);
}

static void number(tab_out *o, const char *key, int64_t value)
{
    tab_out_key(o, key);
    tab_out_int(o, value);
}

static void difference(tab_out *o, const Tabella__Difference *d)
{
    tab_out_open(o, '{');
    text(o, "org", d->org);
    text(o, "day", d->day);
    text(o, "op", d->op);
    text(o, "surface", d->surface);
    text(o, "key", d->key);
    text(o, "endpoint_id", d->endpoint_id);
    text(o, "model", d->model);
    number(o, "shown_cells", d->shown_cells);
    number(o, "ledger_cells", d->ledger_cells);
    number(o, "shown_milli", d->shown_milli);
    number(o, "ledger_milli", d->ledger_milli);
    number(o, "shown_requests", d->shown_requests);
    number(o, "ledger_requests", d->ledger_requests);
    if (d->why[0] != '\0')
        text(o, "why", d->why);
    tab_out_close(o, '}');
}

int admin_meter(int argc, char **argv)
{
    if ((argc == 4 || (argc == 6 && strcmp(argv[4], "--key") == 0)) && strcmp(argv[1], "verify") == 0 &&
        strcmp(argv[2], "--file") == 0)
        return ledger_file_verify(argv[3], argc == 6 ? argv[5] : NULL);
    if ((argc != 2 && argc != 3) || strcmp(argv[1], "verify") != 0)
        return admin_usage("usage verify [ORG], or usage verify --file FILE [--key KEYS]");
    TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 24);
    Tabella__VerifyRequest q = TABELLA__VERIFY_REQUEST__INIT;
    const void *msg;
    if (argc == 3)
        q.org = argv[2];
    int rc = admin_ask_with(a, "", "metering", "Verify", &q.base, &tabella__verify_reply__descriptor,
                            VERIFY_MS, &msg);
    if (rc != 0)
        return rc;
    const Tabella__VerifyReply *y = msg;
    tab_out out = { 0 };
    tab_out_open(&out, '{');
    number(&out, "organizations", (int64_t)y->organizations);
    number(&out, "lines", (int64_t)y->lines);
    number(&out, "sums", (int64_t)y->sums);
    number(&out, "different", (int64_t)y->different);
    number(&out, "unchecked", (int64_t)y->unchecked);
    tab_out_key(&out, "differences");
    tab_out_open(&out, '[');
    for (size_t i = 0; i < y->n_differences; i++)
        difference(&out, y->differences[i]);
    tab_out_close(&out, ']');
    tab_out_close(&out, '}');
    admin_print(&out);
    return y->different == 0 && y->unchecked == 0 ? 0 : EXIT_DIFFERENT;
}

/* ---- the service level ------------------------------------------------------------------------ */

static void real(tab_out *o, const char *key, bool there, double x)
{
    tab_out_key(o, key);
    if (there)
        tab_out_double(o, x);
    else
        tab_out_null(o);
}

/* A line of JSON. */
static void print_span(const Tabella__ServedSpan *s)
{
    uint64_t ours = s->answered + s->failed;
    tab_out o = { 0 };
    tab_out_open(&o, '{');
    text(&o, "org", s->org);
    text(&o, "month", s->span);
    number(&o, "answered", (int64_t)s->answered);
    number(&o, "failed", (int64_t)s->failed);
    number(&o, "refused", (int64_t)s->refused);
    number(&o, "abandoned", (int64_t)s->abandoned);
    real(&o, "availability", ours > 0, (double)s->answered / (double)(ours > 0 ? ours : 1));
    real(&o, "p50_ms", s->answered > 0, s->p50_ms);
    real(&o, "p95_ms", s->answered > 0, s->p95_ms);
    real(&o, "p99_ms", s->answered > 0, s->p99_ms);
    tab_out_close(&o, '}');
    admin_print(&o);
}

int admin_service_level(int argc, char **argv)
{
    char after[ORG_MOST] = "";
    if (argc > 2)
        return admin_usage("service-level [MONTH], such as service-level 2026-11");
    for (size_t n = PAGE; n == PAGE;) {
        TAB_AUTO(tab_arena) *a = tab_arena_new((size_t)1 << 24);
        Tabella__ListServiceLevelsRequest q = TABELLA__LIST_SERVICE_LEVELS_REQUEST__INIT;
        const void *msg;
        q.month = argc == 2 ? argv[1] : q.month;
        q.after = after;
        q.limit = PAGE;
        int rc = a == NULL ? EXIT_FAILURE
                           : admin_ask(a, "keys", "ListServiceLevels", &q.base,
                                       &tabella__service_level_reply__descriptor, &msg);
        if (rc != 0)
            return rc;
        const Tabella__ServiceLevelReply *y = msg;
        n = y->n_months;
        for (size_t i = 0; i < n; i++)
            print_span(y->months[i]);
        if (n > 0)
            snprintf(after, sizeof after, "%s", y->months[n - 1]->org);
    }
    return 0;
}
