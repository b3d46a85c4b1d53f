/* A member of a JSON object: its key and its value. */
#ifndef TAB_API_MEMBERS_H
#define TAB_API_MEMBERS_H

#include "common/json/json.h"

#define API_MEMBER(name, type, write)                                         \
    static inline void name##_member(tab_out *o, const char *key, type value) \
    {                                                                         \
        tab_out_key(o, key);                                                  \
        write(o, value);                                                      \
    }

API_MEMBER(text, const char *, tab_out_cstr) /* NULL: null */
API_MEMBER(str, tab_str, tab_out_str)
API_MEMBER(bool, bool, tab_out_bool)
API_MEMBER(int, int64_t, tab_out_int)
API_MEMBER(uint, uint64_t, tab_out_uint)
API_MEMBER(double, double, tab_out_double)
API_MEMBER(fixed, double, tab_out_fixed)
API_MEMBER(real, double, tab_out_real)

/* '{' or '[': what comes until tab_out_close. */
API_MEMBER(open, char, tab_out_open)

/* json: one value, as it is. */
static inline void raw_member(tab_out *o, const char *key, const char *json)
{
    tab_out_key(o, key);
    tab_out_raw(o, tab_str_of(json));
}

static inline void texts_member(tab_out *o, const char *key, size_t n, char *const *text)
{
    tab_out_key(o, key);
    tab_out_open(o, '[');
    for (size_t i = 0; i < n; i++)
        tab_out_cstr(o, text[i]);
    tab_out_close(o, ']');
}

#endif
