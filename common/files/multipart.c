/* See multipart.h. */
#include "common/files/multipart.h"

#include <strings.h>

enum { BOUNDARY_MOST = TAB_MULTIPART_MARK - 4, HEAD_MOST = TAB_MULTIPART_HEAD };

/* The value of a parameter behind the first ; of a header's value: form-data; name="file". False: not there.
 * */
static bool parameter(tab_str s, const char *name, tab_str *ret)
{
    const char *p = s.p, *end = s.p + s.n;
    size_t n = strlen(name);
    while (p < end && *p != ';')
        p++;
    while (p < end) {
        p++; /* the ; */
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        const char *key = p;
        while (p < end && *p != '=' && *p != ';')
            p++;
        bool found = (size_t)(p - key) == n && strncasecmp(key, name, n) == 0;
        const char *from = p + (p < end && *p == '=');
        bool quoted = from < end && *from == '"';
        from += quoted;
        p = from;
        while (p < end && (quoted ? *p != '"' : *p != ';'))
            p += *p == '\\' && quoted && p + 1 < end ? 2 : 1;
        tab_str value = { from, (size_t)(p - from) };
        while (!quoted && value.n > 0 && (value.p[value.n - 1] == ' ' || value.p[value.n - 1] == '\t'))
            value.n--;
        while (p < end && *p != ';')
            p++;
        if (found) {
            *ret = value;
            return true;
        }
    }
    return false;
}

tab_status tab_multipart_bad(tab_error *err, const char *what)
{
    return tab_fail(err, TAB_VALIDATION, "body", "the multipart body is malformed: %s", what);
}

tab_status tab_multipart_names(tab_str head, tab_part *ret, tab_error *err)
{
    static const char disposition[] = "Content-Disposition:", coding[] = "Content-Transfer-Encoding:";
    while (head.n > 0) {
        const char *line_end = memmem(head.p, head.n, "\r\n", 2);
        tab_str line = { head.p, line_end != NULL ? (size_t)(line_end - head.p) : head.n };
        size_t used = line.n + (line_end != NULL ? 2 : 0);
        if (line.n > sizeof coding && strncasecmp(line.p, coding, sizeof coding - 1) == 0 &&
            memmem(line.p, line.n, "base64", 6) != NULL)
            return tab_multipart_bad(err, "parts must be sent as they are, not in base64");
        if (line.n > sizeof disposition && strncasecmp(line.p, disposition, sizeof disposition - 1) == 0) {
            (void)!parameter(line, "name", &ret->name);
            (void)!parameter(line, "filename", &ret->file_name);
        }
        head = (tab_str){ head.p + used, head.n - used };
    }
    return ret->name.n > 0 ? TAB_OK : tab_multipart_bad(err, "a part has no name");
}

tab_status tab_multipart_mark(const char *content_type, char ret[TAB_MULTIPART_MARK], size_t *ret_n,
                              tab_error *err)
{
    static const char type[] = "multipart/form-data";
    tab_str boundary;
    if (content_type == NULL || strncasecmp(content_type, type, sizeof type - 1) != 0 ||
        !parameter(tab_str_of(content_type), "boundary", &boundary) || boundary.n == 0 ||
        boundary.n > BOUNDARY_MOST)
        return tab_fail(err, TAB_VALIDATION, "body",
                        "Content-Type must be multipart/form-data with a boundary");
    memcpy(ret, "\r\n--", 4);
    memcpy(ret + 4, boundary.p, boundary.n);
    *ret_n = 4 + boundary.n;
    return TAB_OK;
}

tab_status tab_multipart_read(const char *content_type, tab_str body, tab_part *ret, size_t most,
                              size_t *ret_n, tab_error *err)
{
    char mark[TAB_MULTIPART_MARK];
    size_t mark_n, count = 0;
    TAB_TRY(tab_multipart_mark(content_type, mark, &mark_n, err));
    const char *p = body.p, *end = body.p + body.n;
    if (body.n < mark_n || memcmp(p, mark + 2, mark_n - 2) != 0) {
        p = memmem(p, body.n, mark, mark_n); /* behind a preamble */
        if (p == NULL)
            return tab_multipart_bad(err, "it does not contain its boundary");
        p += 2;
    }
    for (p += mark_n - 2;;) {
        if (end - p >= 2 && memcmp(p, "--", 2) == 0)
            break;
        if (end - p < 2 || memcmp(p, "\r\n", 2) != 0)
            return tab_multipart_bad(err, "a boundary line does not end");
        p += 2;
        const char *head_end =
            memmem(p, (size_t)(end - p) < HEAD_MOST ? (size_t)(end - p) : HEAD_MOST, "\r\n\r\n", 4);
        if (head_end == NULL)
            return tab_multipart_bad(err, "the header of a part does not end");
        const char *from = head_end + 4, *to = memmem(from, (size_t)(end - from), mark, mark_n);
        if (to == NULL)
            return tab_multipart_bad(err, "it is truncated");
        if (count == most)
            return tab_multipart_bad(err, "it has too many parts");
        ret[count] = (tab_part){ .bytes = { from, (size_t)(to - from) } };
        TAB_TRY(tab_multipart_names((tab_str){ p, (size_t)(head_end - p) }, &ret[count], err));
        for (size_t i = 0; i < count; i++)
            if (tab_str_eq(ret[i].name, ret[count].name))
                return tab_multipart_bad(err, "two parts have the same name");
        count++;
        p = to + mark_n;
    }
    *ret_n = count;
    return TAB_OK;
}
