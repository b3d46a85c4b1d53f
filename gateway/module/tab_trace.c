#include "gateway/module/tab_trace.h"

static bool digits(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
            return false;
    return true;
}

static bool id(const unsigned char *p, size_t n)
{
    bool other_than_0 = false;
    for (size_t i = 0; i < n; i++)
        other_than_0 = other_than_0 || p[i] != '0';
    return other_than_0 && digits(p, n);
}

bool tab_traceparent_valid(const unsigned char *p, size_t n)
{
    enum { TRACE = 3, PARENT = TRACE + TAB_HEX_TRACE + 1, FLAGS = PARENT + TAB_HEX_SPAN + 1 };
    if (n < TAB_TRACEPARENT || (n > TAB_TRACEPARENT && p[TAB_TRACEPARENT] != '-'))
        return false;
    bool first = p[0] == '0' && p[1] == '0', none = p[0] == 'f' && p[1] == 'f';
    return (first ? n == TAB_TRACEPARENT : !none && digits(p, 2)) && p[TRACE - 1] == '-' &&
           p[PARENT - 1] == '-' && p[FLAGS - 1] == '-' && id(p + TRACE, TAB_HEX_TRACE) &&
           id(p + PARENT, TAB_HEX_SPAN) && digits(p + FLAGS, 2);
}

bool tab_traceparent_sampled(const unsigned char *p)
{
    unsigned char last = p[TAB_TRACEPARENT - 1];
    return ((last >= 'a' ? last - 'a' + 10 : last - '0') & 1) != 0;
}
