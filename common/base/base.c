/* See base.h: status names and HTTP codes from one list, and the encoding of a code point as UTF-8. */
#include "common/base/base.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#ifdef NDEBUG
#error "assertions hold in production too: without them a daemon would go on, and bill or answer wrongly"
#endif

static const struct {
    const char *name;
    int http;
} statuses[] = {
#define TAB_X(e, name, code) { name, code },
    TAB_STATUS_LIST(TAB_X)
#undef TAB_X
};

_Static_assert(sizeof statuses / sizeof *statuses == TAB_STATUS_COUNT,
               "each status has a name and an HTTP code");
_Static_assert(TAB_OK == 0, "a zeroed tab_error says that nothing failed");
tab_status tab_fail(tab_error *err, tab_status status, const char *param, const char *fmt, ...)
{
    assert(status != TAB_OK &&
           status < TAB_STATUS_COUNT); /* a failure that says OK would be answered as one */
    if (err == NULL)
        return status;
    err->status = status;
    snprintf(err->param, sizeof err->param, "%s", param == NULL ? "" : param);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    return status;
}

tab_status tab_no_memory(tab_error *err)
{
    return tab_fail(err, TAB_INTERNAL, "", "out of memory");
}

const char *tab_status_name(tab_status s)
{
    return (unsigned)s < TAB_STATUS_COUNT ? statuses[s].name : "internal";
}

int tab_status_http(tab_status s)
{
    return (unsigned)s < TAB_STATUS_COUNT ? statuses[s].http : 500;
}

size_t tab_utf8_put(uint32_t cp, char *buf)
{
    assert(cp <= 0x10ffff);
    if (cp < 0x80) {
        buf[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        buf[0] = (char)(0xc0 | cp >> 6);
        buf[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        buf[0] = (char)(0xe0 | cp >> 12);
        buf[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        buf[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    buf[0] = (char)(0xf0 | (cp >> 18 & 7));
    buf[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    buf[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    buf[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}
