// simdjson's vectorized UTF-8 check behind a C name; the rest of simdjson is not used (decision 0030).
#include "common/json/json.h"

#include <simdjson.h>

extern "C" bool tab_utf8_valid(tab_str s)
{
    return s.n == 0 || simdjson::validate_utf8(s.p, s.n);
}

extern "C" size_t tab_utf8_count(tab_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += (static_cast<unsigned char>(s.p[i]) & 0xC0) != 0x80;
    return n;
}
