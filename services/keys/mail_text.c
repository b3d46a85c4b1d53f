/* A mail of notices: headers of ASCII, then the notices as text and as HTML (RFC 5322, RFC 2046), both base64
 * (RFC 2045), so that no byte of a name can be read as anything else. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/time.h"
#include "services/keys/mail.h"

enum { LINE = 57 }; /* bytes that give a line of 76 characters */

bool mail_address_good(tab_str a)
{
    const char *at = a.n == 0 ? NULL : memchr(a.p, '@', a.n);
    bool good = a.n <= 254 && at != NULL && at > a.p && at + 1 < a.p + a.n &&
                memchr(at + 1, '@', a.n - (size_t)(at + 1 - a.p)) == NULL;
    for (size_t i = 0; i < a.n && good; i++)
        good = a.p[i] > ' ' && a.p[i] < 127 && strchr("<>()[]\\\",;:", a.p[i]) == NULL;
    return good;
}

static void put(tab_out *o, const char *s)
{
    tab_out_bytes(o, s, strlen(s));
}

static void escaped(tab_out *o, const char *s)
{
    for (; *s != '\0'; s++)
        switch (*s) {
        case '<':
            put(o, "&lt;");
            break;
        case '>':
            put(o, "&gt;");
            break;
        case '&':
            put(o, "&amp;");
            break;
        case '"':
            put(o, "&quot;");
            break;
        default:
            tab_out_bytes(o, s, 1);
        }
}

static void base64(tab_out *o, const tab_out *of)
{
    char line[sodium_base64_ENCODED_LEN(LINE, sodium_base64_VARIANT_ORIGINAL)];
    for (size_t i = 0; i < of->n; i += LINE) {
        size_t n = of->n - i < LINE ? of->n - i : LINE;
        sodium_bin2base64(line, sizeof line, (const unsigned char *)of->p + i, n,
                          sodium_base64_VARIANT_ORIGINAL);
        put(o, line);
        put(o, "\r\n");
    }
    o->failed |= of->failed;
}

static void part(tab_out *o, const char *boundary, const char *type, const tab_out *body)
{
    put(o, "--");
    put(o, boundary);
    put(o, "\r\nContent-Type: ");
    put(o, type);
    put(o, "; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n");
    base64(o, body);
}

static void as_text(tab_out *o, const mail_message *m)
{
    for (size_t i = 0; i < m->n; i++) {
        char at[TAB_TIME_TEXT];
        tab_time_text_s(m->fired[i], at);
        put(o, at);
        put(o, "  ");
        put(o, m->text[i]);
        put(o, "\r\n");
    }
    put(o, "\r\nTo ");
    put(o, m->to);
    put(o, " for the organization ");
    put(o, m->organization);
    put(o, ". Its settings say what is mailed, and to whom.\r\n");
}

static void as_html(tab_out *o, const mail_message *m)
{
    put(o, "<!doctype html><html><body><table>");
    for (size_t i = 0; i < m->n; i++) {
        char at[TAB_TIME_TEXT];
        tab_time_text_s(m->fired[i], at);
        put(o, "<tr><td>");
        put(o, at);
        put(o, "</td><td>");
        escaped(o, m->text[i]);
        put(o, "</td></tr>\r\n");
    }
    put(o, "</table><p>To ");
    escaped(o, m->to);
    put(o, " for the organization ");
    escaped(o, m->organization);
    put(o, ". Its settings say what is mailed, and to whom.</p></body></html>\r\n");
}

static void date(tab_out *o, int64_t us)
{
    /* strftime's names follow the locale, RFC 5322's do not */
    static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    time_t seconds = (time_t)(us / 1000000);
    struct tm t = { 0 };
    char text[64];
    gmtime_r(&seconds, &t);
    snprintf(text, sizeof text, "%s, %02d %s %d %02d:%02d:%02d +0000", days[t.tm_wday], t.tm_mday,
             months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
    put(o, text);
}

void mail_write(tab_out *o, const mail_message *m)
{
    char subject[64];
    tab_out text = { 0 }, html = { 0 };
    snprintf(subject, sizeof subject, m->n == 1 ? "Tabella: one notification" : "Tabella: %zu notifications",
             m->n);
    put(o, "From: Tabella <");
    put(o, m->from);
    put(o, ">\r\nTo: <");
    put(o, m->to);
    put(o, ">\r\nSubject: ");
    put(o, subject);
    put(o, "\r\nDate: ");
    date(o, m->at);
    put(o, "\r\nMessage-ID: <");
    put(o, m->id);
    put(o, strchr(m->from, '@'));
    put(o, ">\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
           "Content-Type: multipart/alternative; boundary=\"");
    put(o, m->id);
    put(o, "\"\r\n\r\n");
    as_text(&text, m);
    as_html(&html, m);
    part(o, m->id, "text/plain", &text);
    part(o, m->id, "text/html", &html);
    put(o, "--");
    put(o, m->id);
    put(o, "--\r\n");
    tab_out_free(&text);
    tab_out_free(&html);
}
