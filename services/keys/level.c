/* What became of an organization's serve calls, by day: the service level that its gateways saw (decision
 * 0685). Gateways count, Redis keeps the counts for a moment beside those of uses, and a batch brings both
 * here, once. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/integer.h"
#include "common/base/proto.h"
#include "services/keys/keys.h"

enum { KINDS = 4, BOUNDS = 21, COUNTS = KINDS + BOUNDS + 1, MONTHS_MOST = 24, PAGE_MOST = 1000 };
enum { DAY_S = 86400, DAYS_BACK = 40, DAYS_AHEAD = 2 };

/* Milliseconds, each the most of its bucket: those of gateway/module/tab_level.c. */
static const double bounds[BOUNDS] = { 1,   2,   3,   5,   7,   10,   15,   20,   30,    50,   70,
                                       100, 150, 200, 300, 500, 1000, 2000, 5000, 10000, 30000 };

/* ---- storing --------------------------------------------------------------------------------- */

/* COUNTS numbers with a blank between; false: it is something else. */
static bool read_counts(tab_str text, int64_t ret[COUNTS])
{
    for (size_t i = 0; i < COUNTS; i++) {
        size_t n = 0;
        while (n < text.n && text.p[n] != ' ')
            n++;
        bool last = i + 1 == COUNTS;
        if (!tab_integer_read((tab_str){ text.p, n }, 0, (int64_t)1 << 52, &ret[i]) || last != (n == text.n))
            return false;
        text = last ? text : (tab_str){ text.p + n + 1, text.n - n - 1 };
    }
    return true;
}

/* "level DAY ORG" or "level DAY ORG ENDPOINT", of a day that a gateway may tell of now. */
typedef struct {
    int64_t day;
    tab_str org, endpoint; /* "": of all of them */
} told_of;

static bool read_field(const char *field, told_of *ret)
{
    static const char prefix[] = "level ";
    if (strncmp(field, prefix, sizeof prefix - 1) != 0)
        return false;
    const char *day = field + sizeof prefix - 1, *end = strchr(day, ' ');
    int64_t today = tab_now_us() / 1000000 / DAY_S;
    const char *org = end == NULL ? "" : end + 1, *blank = strchrnul(org, ' ');
    ret->org = (tab_str){ org, (size_t)(blank - org) };
    ret->endpoint = tab_str_of(*blank == ' ' ? blank + 1 : "");
    return end != NULL &&
           tab_integer_read((tab_str){ day, (size_t)(end - day) }, today - DAYS_BACK, today + DAYS_AHEAD,
                            &ret->day) &&
           tab_id_valid(ret->org, "org_") && (*blank == '\0' || tab_id_valid(ret->endpoint, ""));
}

/* As rows for jsonb_to_recordset; how many. */
static size_t rows_of(const keys_uses *u, tab_out *o)
{
    size_t rows = 0;
    int64_t count[COUNTS];
    told_of of;
    tab_out_open(o, '[');
    for (size_t i = 0; u->text != NULL && i < u->n; i++) {
        if (!read_field(u->key_id[i], &of) || !read_counts(u->text[i], count))
            continue; /* a key's uses, or damaged */
        tab_out_open(o, '{');
        tab_out_key(o, "org");
        tab_out_str(o, of.org);
        tab_out_key(o, "endpoint");
        tab_out_str(o, of.endpoint);
        tab_out_key(o, "day");
        tab_out_int(o, of.day);
        tab_out_key(o, "counts");
        tab_out_str(o, u->text[i]);
        tab_out_close(o, '}');
        rows++;
    }
    tab_out_close(o, ']');
    return rows;
}

/* An organization that is gone stays gone. */
#define STORE(into, columns, values, which)                                                   \
    "INSERT INTO " into " AS t (" columns ", counts) SELECT " values                          \
    ", string_to_array(u.counts, ' ')::bigint[] "                                             \
    "FROM jsonb_to_recordset($1::jsonb) AS u(org text, endpoint text, day int, counts text) " \
    "JOIN keys.org o ON o.org = u.org WHERE " which " ORDER BY u.org, u.day, u.endpoint "     \
    "ON CONFLICT (" columns ") DO UPDATE SET counts = (SELECT array_agg(a + b ORDER BY i) "   \
    "FROM unnest(t.counts, excluded.counts) WITH ORDINALITY x(a, b, i))"

static const char *const store[] = {
    STORE("keys.service_level", "org, day", "u.org, date '1970-01-01' + u.day", "u.endpoint = ''"),
    STORE("keys.service_level_endpoint", "org, day, endpoint", "u.org, date '1970-01-01' + u.day, u.endpoint",
          "u.endpoint <> ''"),
};

tab_status keys_levels_store(tab_tx *tx, const keys_uses *u, tab_error *err)
{
    tab_out rows = { 0 };
    tab_status s = TAB_OK;
    size_t n = rows_of(u, &rows);
    for (size_t i = 0; s == TAB_OK && n > 0 && i < sizeof store / sizeof *store; i++)
        s = rows.failed ? tab_no_memory(err)
                        : tab_tx_query(tx, NULL, err, store[i], TAB_P(tab_p_str(tab_out_text(&rows))));
    tab_out_free(&rows);
    return s;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Milliseconds that the share p of the answered took at most: a bucket's are taken to lie evenly in it. What
 * is beyond the last bound is told as that bound. */
static double percentile(const int64_t *bucket, double p)
{
    double all = 0, before = 0;
    for (size_t i = 0; i <= BOUNDS; i++)
        all += (double)bucket[i];
    for (size_t i = 0; i < BOUNDS; i++) {
        double from = i == 0 ? 0 : bounds[i - 1], n = (double)bucket[i];
        if (n > 0 && before + n >= p * all)
            return from + (bounds[i] - from) * (p * all - before) / n;
        before += n;
    }
    return all == 0 ? 0 : bounds[BOUNDS - 1];
}

/* Rows of org, span and counts. */
static tab_status read_spans(const tab_rows *r, tab_arena *a, Tabella__ServedSpan ***ret, size_t *ret_n,
                             tab_error *err)
{
    size_t n = tab_rows_count(r);
    Tabella__ServedSpan *m = tab_arena_new_of(a, Tabella__ServedSpan, n + 1);
    *ret = tab_arena_new_of(a, Tabella__ServedSpan *, n + 1);
    if (m == NULL || *ret == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        int64_t count[COUNTS];
        if (!read_counts(tab_str_of(tab_rows_text(r, i, 2)), count))
            return tab_fail(err, TAB_INTERNAL, "", "a service level is damaged");
        tabella__served_span__init(&m[i]);
        m[i].org = tab_proto_text(a, tab_rows_text(r, i, 0));
        m[i].span = tab_proto_text(a, tab_rows_text(r, i, 1));
        m[i].answered = (uint64_t)count[0];
        m[i].failed = (uint64_t)count[1];
        m[i].refused = (uint64_t)count[2];
        m[i].abandoned = (uint64_t)count[3];
        m[i].p50_ms = percentile(count + KINDS, 0.5);
        m[i].p95_ms = percentile(count + KINDS, 0.95);
        m[i].p99_ms = percentile(count + KINDS, 0.99);
        (*ret)[i] = &m[i];
    }
    *ret_n = n;
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* Days of some organizations as sums; from where, what they are grouped by, which of them, in what order. */
#define SPANS_OF(table, span, days, order)                                                       \
    "SELECT org, span, array_to_string(array_agg(n ORDER BY i), ' ') FROM "                      \
    "(SELECT org, " span " AS span, i, least(sum(n), 4503599627370496)::bigint AS n "            \
    "FROM " table ", unnest(counts) WITH ORDINALITY x(n, i) WHERE " days " GROUP BY 1, 2, 3) s " \
    "GROUP BY org, span ORDER BY " order
#define SPANS(span, days, order) SPANS_OF("keys.service_level", span, days, order)
#define OF_ENDPOINT(span) \
    SPANS_OF("keys.service_level_endpoint", span, SINCE " AND endpoint = $3", "span DESC")
#define SINCE                                                             \
    "org = $1 AND day >= (date_trunc('month', now() AT TIME ZONE 'UTC') " \
    "- ($2::int - 1) * interval '1 month')::date"
#define OF_MONTH                                                                                     \
    "day >= $1::date AND day < $1::date + interval '1 month' AND org IN (SELECT DISTINCT org FROM "  \
    "keys.service_level WHERE day >= $1::date AND day < $1::date + interval '1 month' AND org > $2 " \
    "ORDER BY org LIMIT $3)"

/* Months, then days, of the whole organization; of one endpoint. */
static const char *const of_all[] = { SPANS("to_char(day, 'YYYY-MM')", SINCE, "span DESC"),
                                      SPANS("day::text", SINCE, "span DESC") },
                         *const of_one[] = { OF_ENDPOINT("to_char(day, 'YYYY-MM')"),
                                             OF_ENDPOINT("day::text") };

/* Those of the most calls first; 1,000 at most. */
static const char endpoints[] = SPANS_OF("keys.service_level_endpoint", "endpoint", SINCE,
                                         "sum(n) FILTER (WHERE i <= 4) DESC, span LIMIT 1000");

static tab_status spans(tab_tx *tx, const char *sql, tab_arena *a, const tab_param *p, size_t n,
                        Tabella__ServedSpan ***ret, size_t *ret_n, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err, sql, p, n));
    return read_spans(r, a, ret, ret_n, err);
}

tab_status keys_service_level(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ServiceLevelRequest *q = call->in;
    Tabella__ServiceLevelReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    const bool one = q->endpoint[0] != '\0';
    const char *const *sql = one ? of_one : of_all;
    const tab_param p[] = { tab_p_text(call->org), tab_p_int(q->months), tab_p_text(q->endpoint) };
    const size_t n = one ? 3 : 2;
    if (q->months < 1 || q->months > MONTHS_MOST)
        return tab_fail(err, TAB_VALIDATION, "months", "`months` must be a whole number from 1 to %d.",
                        MONTHS_MOST);
    TAB_TRY(tab_tx_begin(self->pg, call->org, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(spans(tx, sql[0], call->arena, p, n, &out->months, &out->n_months, err));
    TAB_TRY(spans(tx, sql[1], call->arena, p, n, &out->days, &out->n_days, err));
    if (!one)
        TAB_TRY(spans(tx, endpoints, call->arena, p, n, &out->endpoints, &out->n_endpoints, err));
    out->endpoint = tab_proto_text(call->arena, q->endpoint);
    return tab_tx_commit(&tx, err);
}

/* The first day of "2026-11"; of this month where text is "". */
static bool first_day(const char *text, char ret[16])
{
    char now[TAB_TIME_TEXT];
    tab_time_text(tab_now_us(), now);
    if (text[0] == 0)
        text = now;
    else if (strlen(text) != 7)
        return false;
    for (size_t i = 0; i < 7; i++)
        if (i == 4 ? text[i] != '-' : text[i] < '0' || text[i] > '9')
            return false;
    snprintf(ret, 16, "%.7s-01", text);
    int month = 10 * (text[5] - '0') + text[6] - '0';
    return text[0] != '0' && month >= 1 && month <= 12;
}

tab_status keys_list_service_levels(void *arg, tab_call *call, tab_error *err)
{
    keys *self = arg;
    const Tabella__ListServiceLevelsRequest *q = call->in;
    Tabella__ServiceLevelReply *out = call->out;
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    char day[16];
    if (!first_day(q->month, day))
        return tab_fail(err, TAB_VALIDATION, "month", "`month` must be a month, such as 2026-11.");
    if (q->limit < 1 || q->limit > PAGE_MOST)
        return tab_fail(err, TAB_VALIDATION, "limit", "`limit` must be from 1 to %d.", PAGE_MOST);
    TAB_TRY(tab_tx_begin(self->pg, TAB_ORG_ALL, tab_within_ms(call->deadline, TAB_SMALL_TX_MS), &tx, err));
    TAB_TRY(tab_tx_finish(&tx, &r, err, SPANS("to_char(day, 'YYYY-MM')", OF_MONTH, "org"),
                          TAB_P(tab_p_text(day), tab_p_text(q->after), tab_p_int(q->limit))));
    return read_spans(r, call->arena, &out->months, &out->n_months, err);
}
