/* `tabella admin usage verify`: every sum of usage computed anew from the ledger, and what differs. */
#include <stdio.h>
#include <string.h>

#include "common/json/json.h"
#include "proto/metering.pb-c.h"
#include "tools/tabella/admin.h"
#include "tools/tabella/cut.h"

enum { VERIFY_MS = 3600000, EXIT_DIFFERENT = 4 };

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
