/* See given.h. */
#include "services/jobs/outcomes/given.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/proto.h"
#include "services/jobs/outcomes/rows.h"

static const int64_t DAY_US = 86400000000, AHEAD_US = 60000000; /* AHEAD_US: by which clocks may differ */

static bool refuse(tab_arena *a, Tabella__OutcomesReply *y, uint32_t row, const char *reason)
{
    Tabella__OutcomeRefused *f = tab_arena_new_of(a, Tabella__OutcomeRefused, 1);
    if (f == NULL)
        return false;
    tabella__outcome_refused__init(f);
    f->row = row;
    f->reason = tab_proto_text(a, reason);
    y->refused[y->n_refused++] = f;
    return true;
}

/* NULL, or why the row is refused. */
static const char *read_row(const given *g, const Tabella__Endpoint *e, const Tabella__OutcomeRow *row,
                            counted *c)
{
    if (row->receipt[0] == 0)
        return "the receipt is missing";
    if (row->cells.len > OUTCOME_CELLS)
        return "the cells of the row take more than 16 KiB";
    if (!tab_receipt_read(e->receipt_key.data, tab_str_of(e->id), tab_str_of(row->receipt), &c->receipt))
        return "this receipt was not issued by this endpoint, or it was altered";
    if (c->receipt.at_us < g->now - g->kept_days * DAY_US)
        return "the receipt is too old; its outcome came too late to count";
    if (c->receipt.at_us > g->now + AHEAD_US)
        return "the receipt is dated in the future";
    int64_t at = row->at_us == 0 ? g->now : row->at_us;
    if (at < c->receipt.at_us - AHEAD_US)
        return "the outcome is dated before its prediction was served";
    c->delay_us = at - c->receipt.at_us;
    return outcome_read(&c->receipt, row, &c->outcome);
}

static int by_id(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    int c = memcmp(x->receipt.id, y->receipt.id, TAB_RECEIPT_ID);
    return c != 0 ? c : x->row < y->row ? -1 : x->row > y->row;
}

static bool same_id(const counted *x, const counted *y)
{
    return memcmp(x->receipt.id, y->receipt.id, TAB_RECEIPT_ID) == 0;
}

tab_status given_read(tab_arena *a, const Tabella__Endpoint *e, const Tabella__OutcomesRequest *q, given *g,
                      Tabella__OutcomesReply *y, tab_error *err)
{
    g->of = tab_arena_new_of(a, counted, q->n_rows + 1);
    g->n = 0;
    y->refused = tab_arena_new_of(a, Tabella__OutcomeRefused *, q->n_rows + 1);
    if (g->of == NULL || y->refused == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < q->n_rows; i++) {
        g->of[g->n].row = (uint32_t)i;
        const char *reason = read_row(g, e, q->rows[i], &g->of[g->n]);
        if (reason == NULL)
            g->n++;
        else if (!refuse(a, y, (uint32_t)i, reason))
            return tab_no_memory(err);
    }
    qsort(g->of, g->n, sizeof *g->of, by_id);
    size_t m = 0;
    for (size_t i = 0; i < g->n; i++)
        if (m == 0 || !same_id(&g->of[m - 1], &g->of[i]))
            g->of[m++] = g->of[i];
    y->ignored = g->n - m;
    g->n = m;
    assert(g->n + y->ignored + y->n_refused == q->n_rows); /* no row is lost */
    return TAB_OK;
}

int32_t outcome_day_of(int64_t us)
{
    return (int32_t)(us / DAY_US);
}

/* From the oldest receipt that is taken, in the middle of a day, to one a minute ahead of midnight. */
size_t outcome_days_most(int64_t kept_days)
{
    return (size_t)kept_days + 2;
}

/* A receipt's id as PostgreSQL writes it. */
static void uuid_of(const uint8_t id[TAB_RECEIPT_ID], char ret[OUTCOME_UUID + 1])
{
    char hex[2 * TAB_RECEIPT_ID + 1];
    tab_hex(id, TAB_RECEIPT_ID, hex);
    snprintf(ret, OUTCOME_UUID + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

bool outcome_ids_begin(tab_arena *a, size_t most, outcome_ids *x)
{
    *x = (outcome_ids){ .text = tab_arena_alloc(a, most + 1, OUTCOME_UUID + 1) }; /* each with "{" or "," */
    return x->text != NULL;
}

void outcome_ids_add(outcome_ids *x, const uint8_t id[TAB_RECEIPT_ID])
{
    x->text[x->n] = x->n == 0 ? '{' : ',';
    uuid_of(id, x->text + x->n + 1);
    x->n += OUTCOME_UUID + 1;
}

const char *outcome_ids_end(outcome_ids *x)
{
    memcpy(x->text + x->n, x->n == 0 ? "{}" : "}", x->n == 0 ? sizeof "{}" : sizeof "}");
    return x->text;
}

tab_status given_to_forget(tab_arena *a, const Tabella__Endpoint *e, const Tabella__ForgetOutcomesRequest *q,
                           const char **ret, tab_error *err)
{
    outcome_ids ids;
    if (!outcome_ids_begin(a, q->n_receipts, &ids))
        return tab_no_memory(err);
    for (size_t i = 0; i < q->n_receipts; i++) {
        tab_receipt r;
        char path[48];
        snprintf(path, sizeof path, "receipts[%zu]", i);
        if (!tab_receipt_read(e->receipt_key.data, tab_str_of(e->id), tab_str_of(q->receipts[i]), &r))
            return tab_fail(err, TAB_NOT_FOUND, path, "this endpoint has issued no such receipt");
        outcome_ids_add(&ids, r.id);
    }
    *ret = outcome_ids_end(&ids);
    return TAB_OK;
}

bool given_arrays(tab_arena *a, const given *g, const char **ret_ids, const char **ret_ends)
{
    enum { END = 24 }; /* bytes that a time takes, with its comma */
    outcome_ids ids;
    char *ends = tab_arena_alloc(a, g->n + 1, END);
    if (!outcome_ids_begin(a, g->n, &ids) || ends == NULL)
        return false;
    size_t e_n = 0;
    for (size_t i = 0; i < g->n; i++) {
        int64_t end = g->of[i].receipt.at_us + (g->kept_days + 1) * DAY_US;
        outcome_ids_add(&ids, g->of[i].receipt.id);
        e_n += (size_t)snprintf(ends + e_n, END, "%c%lld", i == 0 ? '{' : ',', (long long)(end / 1000000));
    }
    ends[e_n] = '}';
    *ret_ids = outcome_ids_end(&ids);
    *ret_ends = ends;
    return true;
}

bool given_find(const given *g, const char *uuid, size_t *at)
{
    char text[OUTCOME_UUID + 1];
    for (; *at < g->n; ++*at) {
        uuid_of(g->of[*at].receipt.id, text);
        if (strcmp(text, uuid) == 0)
            return true;
    }
    return false;
}

static int as_served(const void *a, const void *b)
{
    const counted *x = *(const counted *const *)a, *y = *(const counted *const *)b;
    return x->receipt.at_us != y->receipt.at_us ? (x->receipt.at_us < y->receipt.at_us ? -1 : 1)
                                                : by_id(x, y);
}

void given_as_served(const counted **of, size_t n)
{
    qsort(of, n, sizeof *of, as_served);
}
