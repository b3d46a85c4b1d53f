/* See multipart_stream.h. The buffer begins with the line's end that a boundary at the very start lacks, so
 * that every boundary looks alike, and what comes before the first one is a part that nobody takes. */
#include "common/files/multipart_stream.h"

enum { BUFFER = 128 * 1024, PARTS = 16 };

struct tab_parts {
    tab_arena *a;
    tab_pull *pull;
    void *arg;
    char mark[TAB_MULTIPART_MARK], *buffer;
    size_t mark_n, from, to; /* buffer[from..to) is here and not taken */
    bool in_part, ended;     /* within a part; the last boundary has passed */
    tab_str name[PARTS];
    size_t n, most;
};

tab_status tab_parts_open(tab_arena *a, const char *content_type, tab_pull *pull, void *arg, size_t most,
                          tab_parts **ret, tab_error *err)
{
    tab_parts *p = tab_arena_new_of(a, tab_parts, 1);
    if (p == NULL || (p->buffer = tab_arena_alloc(a, BUFFER, 1)) == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_multipart_mark(content_type, p->mark, &p->mark_n, err));
    p->a = a;
    p->pull = pull;
    p->arg = arg;
    p->most = most < PARTS ? most : PARTS;
    memcpy(p->buffer, "\r\n", 2);
    p->to = 2;
    p->in_part = true; /* of what comes before the first */
    *ret = p;
    return TAB_OK;
}

/* More bytes behind those that are here, of which there is less than a buffer; *ret false: no more come. */
static tab_status fill(tab_parts *p, bool *ret, tab_error *err)
{
    size_t n = 0;
    if (p->from > 0) {
        memmove(p->buffer, p->buffer + p->from, p->to - p->from);
        p->to -= p->from;
        p->from = 0;
    }
    TAB_TRY(p->pull(p->arg, p->buffer + p->to, BUFFER - p->to, &n, err));
    p->to += n;
    *ret = n > 0;
    return TAB_OK;
}

tab_status tab_parts_take(tab_parts *p, tab_str *ret, tab_error *err)
{
    bool more = true;
    *ret = (tab_str){ p->buffer, 0 };
    while (p->in_part) {
        char *at = p->buffer + p->from;
        size_t here = p->to - p->from;
        char *mark = memmem(at, here, p->mark, p->mark_n);
        if (mark == at) {
            p->from += p->mark_n;
            p->in_part = false;
            return TAB_OK;
        }
        size_t n = mark != NULL ? (size_t)(mark - at) : here >= p->mark_n ? here - (p->mark_n - 1) : 0;
        if (n > 0) {
            *ret = (tab_str){ at, n };
            p->from += n;
            return TAB_OK;
        }
        TAB_TRY(fill(p, &more, err));
        if (!more)
            return tab_multipart_bad(err, p->n == 0 ? "it does not contain its boundary" : "it is truncated");
    }
    return TAB_OK;
}

/* Until so many bytes are here, or all that come. */
static tab_status need(tab_parts *p, size_t n, tab_error *err)
{
    bool more = true;
    while (p->to - p->from < n && more)
        TAB_TRY(fill(p, &more, err));
    return TAB_OK;
}

static tab_status read_names(tab_parts *p, tab_part *ret, tab_error *err)
{
    char *at = p->buffer + p->from;
    size_t here = p->to - p->from < TAB_MULTIPART_HEAD ? p->to - p->from : TAB_MULTIPART_HEAD;
    char *end = memmem(at, here, "\r\n\r\n", 4);
    if (end == NULL)
        return tab_multipart_bad(err, "the header of a part does not end");
    if (p->n == p->most)
        return tab_multipart_bad(err, "it has too many parts");
    *ret = (tab_part){ .name = { NULL, 0 } };
    tab_str head = tab_arena_copy(p->a, (tab_str){ at, (size_t)(end - at) });
    if (head.p == NULL)
        return tab_no_memory(err);
    TAB_TRY(tab_multipart_names(head, ret, err));
    for (size_t i = 0; i < p->n; i++)
        if (tab_str_eq(p->name[i], ret->name))
            return tab_multipart_bad(err, "two parts have the same name");
    p->name[p->n++] = ret->name;
    p->from += (size_t)(end - at) + 4;
    p->in_part = true;
    return TAB_OK;
}

tab_status tab_parts_next(tab_parts *p, tab_part *ret, bool *ret_more, tab_error *err)
{
    tab_str skipped;
    while (p->in_part && !p->ended)
        TAB_TRY(tab_parts_take(p, &skipped, err));
    *ret_more = false;
    if (p->ended)
        return TAB_OK;
    TAB_TRY(need(p, 2, err));
    const char *at = p->buffer + p->from;
    if (p->to - p->from >= 2 && memcmp(at, "--", 2) == 0) {
        p->ended = true;
        p->from = p->to;
        for (bool more = true; more; p->from = p->to) /* what follows says nothing, but is part of the body */
            TAB_TRY(fill(p, &more, err));
        return TAB_OK;
    }
    if (p->to - p->from < 2 || memcmp(at, "\r\n", 2) != 0)
        return tab_multipart_bad(err, "a boundary line does not end");
    p->from += 2;
    TAB_TRY(need(p, TAB_MULTIPART_HEAD, err));
    TAB_TRY(read_names(p, ret, err));
    *ret_more = true;
    return TAB_OK;
}
