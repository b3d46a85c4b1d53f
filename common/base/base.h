/* What every file of Tabella may use: views of text, status and error values, self-freeing locals. */
#ifndef TAB_BASE_H
#define TAB_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAB_CHECKED __attribute__((warn_unused_result))

/* A view of bytes; no terminator to trust. The owner is elsewhere. */
typedef struct {
    const char *p;
    size_t n;
} tab_str;

#define TAB_S(literal) ((tab_str){ (literal), sizeof(literal) - 1 })
#define TAB_STR(s) (int)(s).n, (s).p /* for "%.*s" */

static inline tab_str tab_str_of(const char *c)
{
    tab_str s = { c, c == NULL ? 0 : strlen(c) };
    return s;
}

static inline bool tab_str_eq(tab_str a, tab_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* The enumerator, the wire name of the envelope's `type`, the HTTP code: written here and nowhere else. */
#define TAB_STATUS_LIST(X)                       \
    X(OK, "ok", 200)                             \
    X(VALIDATION, "validation_error", 400)       \
    X(AUTH_MISSING, "auth_error", 401)           \
    X(AUTH_SCOPE, "auth_error", 403)             \
    X(NOT_FOUND, "not_found", 404)               \
    X(CONFLICT, "conflict", 409)                 \
    X(CAPABILITY, "capability_unavailable", 422) \
    X(RATE_LIMIT, "rate_limit", 429)             \
    X(JOB_FAILED, "job_failed", 500)             \
    X(INTERNAL, "internal", 500)                 \
    X(UNAVAILABLE, "internal", 503)              \
    X(CANCELLED, "internal", 504)

typedef enum {
#define TAB_X(e, name, code) TAB_##e,
    TAB_STATUS_LIST(TAB_X)
#undef TAB_X
        TAB_STATUS_COUNT
} tab_status;

typedef struct {
    tab_status status;
    char param[128];   /* the offending field, "tables[1].rows", or "" */
    char message[400]; /* one sentence for the caller; never a cell's value */
} tab_error;

/* Fill err (may be NULL) and give status back, so that a failure is one line at its place. */
tab_status tab_fail(tab_error *err, tab_status status, const char *param, const char *fmt, ...)
    __attribute__((format(printf, 4, 5), cold));

/* The one way in which a failed allocation ends: INTERNAL, "out of memory". */
tab_status tab_no_memory(tab_error *err) __attribute__((cold));

/* Goes on when the step is TAB_OK, else returns its status: for a function whose steps come one after
 * another and whose locals free themselves (decision 0264). */
#define TAB_TRY(step)             \
    do {                          \
        tab_status try_ = (step); \
        if (try_ != TAB_OK)       \
            return try_;          \
    } while (0)

const char *tab_status_name(tab_status s); /* wire name */
int tab_status_http(tab_status s);

/* Self-freeing locals: TAB_DEFINE_AUTO(tab_x) once beside tab_x_free, then TAB_AUTO(tab_x) *x. */
#define TAB_AUTO(type) __attribute__((cleanup(type##_freep))) type
#define TAB_DEFINE_AUTO(type)                 \
    static inline void type##_freep(type **p) \
    {                                         \
        type##_free(*p);                      \
    }

/* Read a pointer and leave NULL behind: hands an owned local to the caller. */
#define tab_take(pp)                      \
    __extension__({                       \
        __typeof__(*(pp)) taken_ = *(pp); \
        *(pp) = NULL;                     \
        taken_;                           \
    })

#ifdef __cplusplus
}
#endif

/* Append code point cp to buf (room for 4 bytes) as UTF-8; returns the bytes written. */
size_t tab_utf8_put(uint32_t cp, char *buf);

#endif
