/* See usage_forms.h.
 *
 * Stripe's meter events (POST /v1/billing/meter_events) are one value of one customer a call, so the events
 * of a count are summed: `value` is thousandths of a cell equivalent, whole as the ledger has them, and
 * `identifier` the count's own id, which Stripe takes once; the time is the newest event's. */
#include "services/keys/usage_forms.h"

#include <stdlib.h>

#include "common/base/time.h"
#include "common/json/json.h"

enum { DEPTH = 4, LONG = 24 };

const char *usage_content_type(const usage_form *f)
{
    return f->stripe ? "Content-Type: application/x-www-form-urlencoded"
                     : "Content-Type: application/cloudevents-batch+json";
}

/* Of the arena; p NULL: memory is out. */
static tab_str taken(tab_arena *a, tab_out *o)
{
    tab_str ret = o->failed ? (tab_str){ NULL, 0 } : tab_arena_copy(a, tab_out_text(o));
    tab_out_free(o);
    return ret;
}

/* The subject is written once an event and in no value: there a quotation mark has a backslash before it. */
static tab_str cloud_events(tab_arena *a, const usage_form *f, const char *org, tab_str events)
{
    const char *subject = tab_arena_printf(a, ",\"subject\":\"%s\"", org);
    tab_out o = { 0 };
    if (subject == NULL)
        return (tab_str){ NULL, 0 };
    size_t n = strlen(subject);
    const char *from = events.p, *end = events.p + events.n, *at;
    tab_out_bytes(&o, "[", 1);
    while (from < end && f->customer[0] != '\0' &&
           (at = memmem(from, (size_t)(end - from), subject, n)) != NULL) {
        tab_out_bytes(&o, from, (size_t)(at - from));
        tab_out_bytes(&o, ",\"subject\":", strlen(",\"subject\":"));
        tab_out quoted = { 0 };
        tab_out_cstr(&quoted, f->customer);
        tab_out_bytes(&o, quoted.p, quoted.n);
        o.failed = o.failed || quoted.failed;
        tab_out_free(&quoted);
        from = at + n;
    }
    if (from < end)
        tab_out_bytes(&o, from, (size_t)(end - from));
    tab_out_bytes(&o, "]", 1);
    return taken(a, &o);
}

/* False: one of them is none, or more than a counter holds. */
static bool sum(const tab_json *list, uint64_t *ret_milli, int64_t *ret_us)
{
    for (const tab_json *e = list->first; e != NULL; e = e->next) {
        const tab_json *milli = tab_json_get(tab_json_get(e, "data"), "equivalents_milli");
        const tab_json *time = tab_json_get(e, "time");
        char digits[LONG];
        int64_t us = 0;
        if (milli == NULL || milli->kind != TAB_JSON_NUMBER || milli->text.n >= LONG || time == NULL ||
            time->kind != TAB_JSON_STRING || !tab_time_parse(time->text, &us))
            return false;
        *ret_us = us > *ret_us ? us : *ret_us;
        memcpy(digits, milli->text.p, milli->text.n);
        digits[milli->text.n] = '\0';
        if (__builtin_add_overflow(*ret_milli, strtoull(digits, NULL, 10), ret_milli))
            return false;
    }
    return list->first != NULL;
}

static void field(tab_out *o, const char *name, const char *value)
{
    static const char hex[] = "0123456789ABCDEF";
    if (o->n > 0)
        tab_out_bytes(o, "&", 1);
    tab_out_bytes(o, name, strlen(name));
    tab_out_bytes(o, "=", 1);
    for (const char *p = value; *p != '\0'; p++) {
        const uint8_t c = (uint8_t)*p;
        const char coded[] = { '%', hex[c >> 4], hex[c & 15] };
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     (c != '\0' && strchr("-_.~", c) != NULL);
        tab_out_bytes(o, plain ? p : coded, plain ? 1 : sizeof coded);
    }
}

static tab_str meter_event(tab_arena *a, const usage_form *f, const char *id, tab_str events)
{
    const char *text = tab_arena_printf(a, "[%.*s]", TAB_STR(events));
    const tab_json *list;
    uint64_t milli = 0;
    int64_t us = 0;
    tab_out o = { 0 };
    if (text == NULL || tab_json_read(a, tab_str_of(text), DEPTH, &list, NULL) != TAB_OK ||
        !sum(list, &milli, &us))
        return (tab_str){ NULL, 0 };
    const char *value = tab_arena_printf(a, "%llu", (unsigned long long)milli);
    const char *at = tab_arena_printf(a, "%lld", (long long)(us / 1000000));
    if (value == NULL || at == NULL)
        return (tab_str){ NULL, 0 };
    field(&o, "event_name", f->meter[0] != '\0' ? f->meter : "tabella_cells");
    field(&o, "identifier", id);
    field(&o, "timestamp", at);
    field(&o, "payload[stripe_customer_id]", f->customer);
    field(&o, "payload[value]", value);
    return taken(a, &o);
}

tab_str usage_body(tab_arena *a, const usage_form *f, const char *org, const char *id, tab_str events)
{
    return f->stripe ? meter_event(a, f, id, events) : cloud_events(a, f, org, events);
}

bool usage_known(const usage_form *f, long status, tab_str head)
{
    static const char has[] = "already exists with identifier";
    return f->stripe && status == 400 && memmem(head.p, head.n, has, sizeof has - 1) != NULL;
}
