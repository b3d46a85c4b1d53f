/* The tokens of JSON, shared by json_read.c (trees, checking) and json_table.c (columns); private
 * to them.
 *
 * The text ends in a 0 byte that no grammar rule accepts, so scanning needs no bounds check. */
#ifndef TAB_JSON_SCAN_H
#define TAB_JSON_SCAN_H

#include "common/json/json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { JSON_KEYS_MAX = 1024, JSON_KEY_BYTES_MAX = 1024, JSON_DEPTH_MAX = 32, JSON_NODES_MAX = 1 << 18 };

typedef struct {
    const char *start, *p, *end;
    tab_arena *a;
    tab_error *err;
    size_t depth_max, depth, nodes, nodes_max;
    bool syntax;   /* the failure is one of syntax, not of shape */
    bool nul;      /* the last string held \u0000, which no cell or name may */
    char *scratch; /* the last string with escapes, decoded */
    size_t scratch_cap;
    struct json_keys *keys; /* (depth_max) by depth; made when first needed */
} json_scan;

tab_status json_scan_init(json_scan *s, tab_arena *a, tab_str text, size_t depth_max,
                          tab_error *err) TAB_CHECKED;
void json_scan_free(json_scan *s);

/* A syntax error at the current byte. Always false. */
bool json_bad(json_scan *s, const char *what);

/* The string whose opening quote has just been passed; a view of the text or of the scratch. */
bool json_text(json_scan *s, tab_str *ret);
bool json_literal(json_scan *s, const char *rest, size_t n); /* after its first letter */

/* Objects: enter at '{' passed, then keys until false; look at *ret_done. Repeated keys are errors.
 */
bool json_enter(json_scan *s);
bool json_next_key(json_scan *s, bool *first, tab_str *ret_key, bool *ret_done);
bool json_next_item(json_scan *s, bool *first, bool *ret_done); /* arrays, likewise */

bool json_skip(json_scan *s); /* any value, checked and dropped */
bool json_tree(json_scan *s, tab_json *ret);
bool json_end(json_scan *s); /* nothing but white space follows */

static inline void json_space(json_scan *s)
{
    const char *p = s->p;
    if ((unsigned char)*p > ' ')
        return;
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    s->p = p;
}

/* The first byte that a string cannot hold as it stands: a quote, a backslash or a control. */
static inline const char *json_plain(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), low = _mm_set1_epi8(0x1f);
    for (; end - p >= 16; p += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash)),
                                   _mm_cmpeq_epi8(_mm_min_epu8(x, low), x));
        int mask = _mm_movemask_epi8(hit);
        if (mask != 0)
            return p + __builtin_ctz((unsigned)mask);
    }
#else
    (void)end;
#endif
    while (*p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}
#endif
