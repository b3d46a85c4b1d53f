// The C++ library's shortest round-trip formatting (Ryu) and exact parsing, behind C names.
#include "common/table.h"

#include <charconv>

extern "C" size_t tab_number_text(double x, char *buf)
{
    auto r = std::to_chars(buf, buf + 32, x);
    return r.ec == std::errc() ? static_cast<size_t>(r.ptr - buf) : 0;
}
