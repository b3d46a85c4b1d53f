#include "common/base.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name;
    int http;
} statuses[] = {
#define TAB_X(e, name, code) { name, code },
    TAB_STATUS_LIST(TAB_X)
#undef TAB_X
};

tab_status tab_fail(tab_error *err, tab_status status, const char *param, const char *fmt, ...)
{
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

const char *tab_status_name(tab_status s)
{
    return (unsigned)s < TAB_STATUS_COUNT ? statuses[s].name : "internal";
}

int tab_status_http(tab_status s)
{
    return (unsigned)s < TAB_STATUS_COUNT ? statuses[s].http : 500;
}
