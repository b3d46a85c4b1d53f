/* Signatures of webhooks: what receivers with a library of Standard Webhooks compute. */
#include <criterion/criterion.h>

#include "services/keys/webhook.h"

/* The secret, the id, the time and the body that the libraries of the specification are tested with. */
Test(webhook, a_signature_is_that_of_the_specification)
{
    const tab_str secret = TAB_S("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    const tab_str body = TAB_S("{\"test\": 2432232314}");
    char got[WEBHOOK_SECRET];
    cr_assert(webhook_sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, got));
    cr_expect_str_eq(got, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    cr_assert(webhook_sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265331, body, got));
    cr_expect_str_neq(got, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "the time is signed");
}

Test(webhook, a_secret_of_another_form_signs_nothing)
{
    char got[WEBHOOK_SECRET];
    cr_expect_not(webhook_sign(TAB_S("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), "m", 1, TAB_S("{}"), got));
    cr_expect_not(webhook_sign(TAB_S("whsec_!!"), "m", 1, TAB_S("{}"), got));
    cr_expect_not(webhook_sign(TAB_S(""), "m", 1, TAB_S("{}"), got));
}
