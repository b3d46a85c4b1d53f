/* The ref that names a source: parsed once, by us (decision 0021). */
#ifndef DATA_REFERENCE_H
#define DATA_REFERENCE_H

#include "common/base/arena.h"

enum { REF_SEGMENTS = 32, REF_LENGTH = 2048 };

typedef struct {
    const char *scheme, *host;         /* host in lower case */
    uint16_t port;                     /* 0: none given, or the scheme's own */
    const char *segment[REF_SEGMENTS]; /* decoded */
    size_t segments;
    bool folder;      /* its path ends in / */
    const char *text; /* normalised: one source, one spelling */
} source_ref;

/* VALIDATION with param "source". */
tab_status ref_parse(tab_arena *a, const char *text, source_ref *ret, tab_error *err) TAB_CHECKED;

/* How much of a normalised ref is the place where it lies, up to its last /. */
size_t ref_location(const char *text);

/* What references of a scheme look like, such as postgres://HOST/DATABASE/SCHEMA/TABLE. */
const char *reference_shape(const char *scheme);

/* Whether text seems to hold a secret (user:pass@, an API key): it is refused wherever it would be
 * shown again. */
bool looks_secret(const char *text);

#endif
