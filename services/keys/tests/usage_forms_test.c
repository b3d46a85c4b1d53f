/* Bodies for billing systems, written by hand from their documentation. */
#include <criterion/criterion.h>

#include "services/keys/usage_forms.h"

#define EVENT(id, time, name, milli)                                                           \
    "{\"specversion\":\"1.0\",\"type\":\"tabella.cells\",\"source\":\"tabella\",\"id\":\"" id  \
    "\",\"time\":\"" time "\",\"subject\":\"org_1\",\"datacontenttype\":\"application/json\"," \
    "\"data\":{\"op\":\"serve\",\"cells\":1,\"equivalents_milli\":" milli ",\"endpoint\":\"" name "\"}}"

/* An endpoint whose name tries to be a subject: quotation marks are escaped where names are written. */
#define TRICK "x,\\\"subject\\\":\\\"org_1\\\""

static const char two[] = EVENT("e/1", "2026-11-21T09:24:05.250Z", TRICK, "1500") "," EVENT(
    "e/2", "2026-11-21T09:24:05.250Z", "\\u00e9", "9007199254740993");

Test(usage_forms, the_subject_of_cloud_events_is_the_customer)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    const usage_form own = { false, "", "" }, named = { false, "cus\"1", "" };
    tab_str plain = usage_body(a, &own, "org_1", "e", tab_str_of(two));
    cr_expect(tab_str_eq(plain, tab_str_of(tab_arena_printf(a, "[%s]", two))));
    tab_str body = usage_body(a, &named, "org_1", "e", tab_str_of(two));
    const char *first = strstr(body.p, ",\"subject\":\"cus\\\"1\",");
    cr_assert_not_null(first);
    cr_expect_not_null(strstr(first + 1, ",\"subject\":\"cus\\\"1\","));
    cr_expect_null(strstr(body.p, ",\"subject\":\"org_1\""));
    cr_expect_not_null(strstr(body.p, TRICK), "a name stays as it is");
}

Test(usage_forms, a_meter_event_is_the_sum_to_the_thousandth_under_one_identifier)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    const usage_form f = { true, "cus_NciAYcXfLnqBoz", "" }, odd = { true, "a b&c=d", "other" };
    tab_str body = usage_body(a, &f, "org_1", "job/job_1", tab_str_of(two));
    cr_expect(tab_str_eq(body, TAB_S("event_name=tabella_cells&identifier=job%2Fjob_1&timestamp=1795253045"
                                     "&payload[stripe_customer_id]=cus_NciAYcXfLnqBoz"
                                     "&payload[value]=9007199254742493")),
              "%.*s", TAB_STR(body));
    body = usage_body(a, &odd, "org_1", "e", tab_str_of(two));
    cr_expect_not_null(strstr(body.p, "event_name=other&"));
    cr_expect_not_null(strstr(body.p, "[stripe_customer_id]=a%20b%26c%3Dd&"));
}

Test(usage_forms, what_cannot_be_read_is_no_body)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(1 << 16);
    const usage_form f = { true, "cus_1", "" };
    static const char *const bad[] = {
        "",
        "{",
        "7",
        "{\"data\":{}}",
        "{\"time\":\"2026-11-21T09:24:05Z\",\"data\":{\"equivalents_milli\":\"7\"}}",
        "{\"time\":\"soon\",\"data\":{\"equivalents_milli\":7}}",
        "{\"time\":\"2026-11-21T09:24:05Z\",\"data\":{\"equivalents_milli\":18446744073709551615}},"
        "{\"time\":\"2026-11-21T09:24:05Z\",\"data\":{\"equivalents_milli\":1}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_null(usage_body(a, &f, "org_1", "e", tab_str_of(bad[i])).p, "%s", bad[i]);
}

Test(usage_forms, a_receiver_that_has_it_already_says_so)
{
    const usage_form stripe = { true, "cus_1", "" }, cloud = { false, "", "" };
    const tab_str said = TAB_S("{\"error\":{\"message\":\"An event already exists with identifier e.\"}}");
    cr_expect(usage_known(&stripe, 400, said));
    cr_expect(!usage_known(&stripe, 500, said) && !usage_known(&cloud, 400, said));
    cr_expect(!usage_known(&stripe, 400, TAB_S("{\"error\":{\"message\":\"No such meter\"}}")));
}
