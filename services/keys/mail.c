/* See mail.h. One thread, three steps a mail, each in a transaction of its own or in none:
 *
 *   claim   rows of one address get the mail's id and are not due before LEASE_S
 *   send    to the server, by libcurl; nothing is open in PostgreSQL
 *   settle  sent, or refused for good, or due again later
 *
 * A process that dies between send and settle leaves rows that are due again: the same mail under the same
 * Message-ID is sent twice, which readers show once. */
#include "services/keys/mail.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/security/ids.h"

enum {
    LEASE_S = 300, /* longer than one sending takes */
    SEND_S = 60,   /* a whole mail; RFC 5321 allows minutes a step, a later try costs nothing */
    CONNECT_S = 10,
    NOTICES_MOST = 100,     /* in one mail */
    LATE_MOST_S = 6 * 3600, /* between two tries */
    LOG_MS = 60000,
};
_Static_assert(LEASE_S > SEND_S + CONNECT_S, "nobody else sends what is being sent");
#define GIVE_UP "interval '3 days'"

struct mail {
    tab_pg *pg;
    const mail_config *cfg;
    pthread_t thread;
    atomic_bool stop;
    int64_t logged_ms;
};

/* What is being sent, in an arena. */
typedef struct {
    char id[TAB_ID], org[TAB_ID];
    int64_t tries;
    mail_message message;
} claimed;

/* ---- claim ----------------------------------------------------------------------------------- */

/* The mail that is due: one that was tried before, or a new one of all notices that wait for an address. */
static tab_status choose(tab_tx *tx, int64_t pause_s, char id[TAB_ID], tab_rows **ret, tab_error *err)
{
    TAB_TRY(tab_tx_query(tx, NULL, err, "SELECT pg_advisory_xact_lock(74616216)", TAB_P_NONE));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.delivery "
                         "SET refused = 'no server took it in time' "
                         "WHERE sent IS NULL AND refused IS NULL AND created < now() - " GIVE_UP,
                         TAB_P_NONE));
    TAB_TRY(tab_tx_query(tx, ret, err,
                         "UPDATE keys.delivery "
                         "SET tries = tries + 1, due = now() + $1 * interval '1 second' "
                         "WHERE sent IS NULL AND refused IS NULL AND mail = ("
                         "SELECT mail FROM keys.delivery "
                         "WHERE mail IS NOT NULL AND sent IS NULL AND refused IS NULL AND due <= now() "
                         "ORDER BY due LIMIT 1) "
                         "RETURNING org, address, mail, tries, notice",
                         TAB_P(tab_p_int(LEASE_S))));
    if (tab_rows_count(*ret) > 0)
        return TAB_OK;
    tab_rows_free(*ret);
    *ret = NULL;
    tab_id_new(id, "mail_");
    return tab_tx_query(
        tx, ret, err,
        "WITH turn AS ("
        "SELECT org, address FROM keys.delivery d "
        "WHERE mail IS NULL AND sent IS NULL AND refused IS NULL AND due <= now() "
        "AND NOT EXISTS (SELECT FROM keys.delivery o "
        "WHERE o.org = d.org AND o.address = d.address AND o.mail IS NOT NULL "
        "AND ((o.sent IS NULL AND o.refused IS NULL) "
        "OR o.sent > now() - $2 * interval '1 second')) "
        "ORDER BY position LIMIT 1) "
        "UPDATE keys.delivery "
        "SET mail = $1, tries = 1, due = now() + $3 * interval '1 second' "
        "WHERE (org, position) IN (SELECT d.org, d.position FROM keys.delivery d, turn "
        "WHERE d.org = turn.org AND d.address = turn.address AND d.mail IS NULL "
        "AND d.sent IS NULL AND d.refused IS NULL ORDER BY d.position LIMIT $4) "
        "RETURNING org, address, mail, tries, notice",
        TAB_P(tab_p_text(id), tab_p_int(pause_s), tab_p_int(LEASE_S), tab_p_int(NOTICES_MOST)));
}

/* The notices of a mail as it is written. */
static tab_status read_notices(tab_tx *tx, tab_arena *a, claimed *c, tab_error *err)
{
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_query(tx, &r, err,
                         "SELECT n.text, n.at, o.name "
                         "FROM keys.delivery d "
                         "JOIN keys.notification n ON n.org = d.org AND n.id = d.notice "
                         "JOIN keys.org o ON o.org = d.org "
                         "WHERE d.org = $1 AND d.mail = $2 "
                         "ORDER BY d.position",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->id))));
    size_t n = tab_rows_count(r);
    const char **text = tab_arena_new_of(a, const char *, n);
    int64_t *fired = tab_arena_new_of(a, int64_t, n);
    if (text == NULL || fired == NULL)
        return tab_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        text[i] = tab_arena_copy(a, tab_rows_str(r, i, 0)).p;
        fired[i] = tab_rows_time(r, i, 1);
    }
    c->message.organization = n == 0 ? "" : tab_arena_copy(a, tab_rows_str(r, 0, 2)).p;
    c->message.text = text;
    c->message.fired = fired;
    c->message.n = n;
    c->message.at = n == 0 ? 0 : fired[n - 1];
    return tab_arena_full(a) ? tab_no_memory(err) : TAB_OK;
}

/* *ret_any false: nothing is due. */
static tab_status claim(mail *m, tab_arena *a, claimed *ret, bool *ret_any, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    TAB_AUTO(tab_rows) *r = NULL;
    TAB_TRY(tab_tx_begin(m->pg, TAB_ORG_ALL, tab_in_ms(5000), &tx, err));
    TAB_TRY(choose(tx, m->cfg->pause_s, ret->id, &r, err));
    *ret_any = tab_rows_count(r) > 0;
    if (*ret_any) {
        snprintf(ret->org, sizeof ret->org, "%s", tab_rows_text(r, 0, 0));
        snprintf(ret->id, sizeof ret->id, "%s", tab_rows_text(r, 0, 2));
        ret->tries = tab_rows_int(r, 0, 3);
        ret->message.from = m->cfg->from;
        ret->message.to = tab_arena_copy(a, tab_rows_str(r, 0, 1)).p;
        ret->message.id = ret->id;
        TAB_TRY(read_notices(tx, a, ret, err));
    }
    return tab_tx_commit(&tx, err);
}

/* ---- send ------------------------------------------------------------------------------------ */

typedef struct {
    tab_str text;
    size_t at;
} reading;

static size_t give(char *to, size_t size, size_t n, void *arg)
{
    reading *r = arg;
    size_t bytes = size * n < r->text.n - r->at ? size * n : r->text.n - r->at;
    memcpy(to, r->text.p + r->at, bytes);
    r->at += bytes;
    return bytes;
}

static int stopped(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const mail *m = arg;
    (void)a, (void)b, (void)c, (void)d;
    return atomic_load(&m->stop);
}

static void options(CURL *c, const mail *m, reading *r)
{
    const mail_config *cfg = m->cfg;
    curl_easy_setopt(c, CURLOPT_URL, cfg->url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(c, CURLOPT_USE_SSL, cfg->plain ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    if (cfg->ca[0] != '\0')
        curl_easy_setopt(c, CURLOPT_CAINFO, cfg->ca);
    if (cfg->user[0] != '\0') {
        curl_easy_setopt(c, CURLOPT_USERNAME, cfg->user);
        curl_easy_setopt(c, CURLOPT_PASSWORD, cfg->password);
    }
    curl_easy_setopt(c, CURLOPT_MAIL_FROM, cfg->from);
    curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(c, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(c, CURLOPT_READDATA, r);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)SEND_S);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, stopped);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, m);
}

/* Gives the server's last code, 0 where none came. *ret_why: curl's word where it failed. */
static long send_mail(const mail *m, const claimed *c, const char **ret_why)
{
    tab_out text = { 0 };
    mail_write(&text, &c->message);
    CURL *curl = curl_easy_init();
    struct curl_slist *to = curl_slist_append(NULL, c->message.to);
    CURLcode code = CURLE_OUT_OF_MEMORY;
    long said = 0;
    if (curl != NULL && to != NULL && !text.failed) {
        reading r = { tab_out_text(&text), 0 };
        options(curl, m, &r);
        curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
        code = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &said);
    }
    curl_slist_free_all(to);
    curl_easy_cleanup(curl);
    tab_out_free(&text);
    *ret_why = code == CURLE_OK ? NULL : curl_easy_strerror(code);
    /* A wrong password or certificate is the operator's to mend: the mail waits for it. */
    return code == CURLE_LOGIN_DENIED || code == CURLE_PEER_FAILED_VERIFICATION ? 0 : said;
}

/* ---- settle ---------------------------------------------------------------------------------- */

static tab_status settle(mail *m, const claimed *c, long said, const char *why, tab_error *err)
{
    TAB_AUTO(tab_tx) *tx = NULL;
    int64_t late = 30;
    for (int64_t i = 1; i < c->tries && late < LATE_MOST_S; i++)
        late *= 2;
    bool refused = why != NULL && said >= 550 && said < 560; /* RFC 5321, 4.2.1: permanent */
    char answer[16];
    snprintf(answer, sizeof answer, "%ld", said);
    TAB_TRY(tab_tx_begin(m->pg, c->org, tab_in_ms(5000), &tx, err));
    TAB_TRY(tab_tx_query(tx, NULL, err,
                         "UPDATE keys.delivery "
                         "SET sent = CASE WHEN $3::bool THEN now() END, refused = $4, "
                         "due = now() + $5 * interval '1 second' "
                         "WHERE org = $1 AND mail = $2 AND sent IS NULL AND refused IS NULL",
                         TAB_P(tab_p_text(c->org), tab_p_text(c->id), tab_p_bool(why == NULL),
                               refused ? tab_p_text(answer) : tab_p_null(),
                               tab_p_int(late < LATE_MOST_S ? late : LATE_MOST_S))));
    TAB_TRY(tab_tx_commit(&tx, err));
    const char *end = why == NULL ? "result=\"sent\"" : refused ? "result=\"refused\"" : "result=\"later\"";
    tab_metric_add(tab_counter("tabella_mails_total", "Mails of notices, by what the server said", end), 1);
    return TAB_OK;
}

/* Never an address: logs are not for them. */
static void complain(mail *m, long said, const char *why)
{
    char code[16];
    if (tab_mono_ms() < m->logged_ms)
        return;
    m->logged_ms = tab_mono_ms() + LOG_MS;
    snprintf(code, sizeof code, "%ld", said);
    tab_log_fields(TAB_WARN, "a mail was not taken; see TAB_SMTP_URL", "reason", why, "code", code, NULL);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* True: there may be more. */
static bool one(mail *m)
{
    TAB_AUTO(tab_arena) *a = tab_arena_new(16 << 20);
    claimed c = { 0 };
    bool any = false;
    tab_error err;
    const char *why = NULL;
    if (a == NULL || claim(m, a, &c, &any, &err) != TAB_OK || !any)
        return false;
    long said = send_mail(m, &c, &why);
    if (why != NULL && atomic_load(&m->stop))
        return false; /* not the server's fault: due again after the lease */
    if (why != NULL)
        complain(m, said, why);
    return settle(m, &c, said, why, &err) == TAB_OK;
}

static void *run(void *arg)
{
    mail *m = arg;
    while (!atomic_load(&m->stop)) {
        while (m->cfg->url[0] != '\0' && one(m) && !atomic_load(&m->stop))
            ;
        for (int ms = 0; ms < 1000 && !atomic_load(&m->stop); ms += 50)
            nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000000 }, NULL);
    }
    return NULL;
}

mail *mail_open(tab_pg *pg, const mail_config *cfg)
{
    if (cfg->url[0] != '\0' && !mail_address_good(tab_str_of(cfg->from))) {
        tab_log(TAB_ERROR, "TAB_SMTP_FROM must be an address like no-reply@example.org");
        return NULL;
    }
    mail *m = calloc(1, sizeof *m);
    if (m == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(m);
        return NULL;
    }
    static const char *const ends[] = { "result=\"sent\"", "result=\"refused\"", "result=\"later\"" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)tab_counter("tabella_mails_total", "Mails of notices, by what the server said", ends[i]);
    m->pg = pg;
    m->cfg = cfg;
    if (pthread_create(&m->thread, NULL, run, m) != 0) {
        free(m);
        return NULL;
    }
    return m;
}

void mail_close(mail *m)
{
    if (m == NULL)
        return;
    atomic_store(&m->stop, true);
    pthread_join(m->thread, NULL);
    curl_global_cleanup();
    free(m);
}
