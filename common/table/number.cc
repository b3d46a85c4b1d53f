// Decimal text to doubles and back: exact parsing and shortest round-trip formatting, behind C names.
// The common case of reading is Clinger's (PLDI 1990): at most 15 digits and a power of ten up to 22 are
// both exact doubles, so one multiplication rounds correctly. The C++ library does the rest.
#include "common/table/table.h"

#include <charconv>
#include <cmath>

extern "C" size_t tab_number_text(double x, char *buf)
{
    // 900000, not the shorter 9e+05: people count in digits
    bool whole = x == std::trunc(x) && std::fabs(x) < 1e15 && !(x == 0 && std::signbit(x));
    auto r = whole ? std::to_chars(buf, buf + 32, static_cast<int64_t>(x)) : std::to_chars(buf, buf + 32, x);
    return r.ec == std::errc() ? static_cast<size_t>(r.ptr - buf) : 0;
}

static const double POW10[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

static const uint64_t TEN[] = { 1,
                                10,
                                100,
                                1000,
                                10000,
                                100000,
                                1000000,
                                10000000,
                                100000000,
                                1000000000,
                                10000000000,
                                100000000000,
                                1000000000000,
                                10000000000000,
                                100000000000000,
                                1000000000000000,
                                10000000000000000,
                                100000000000000000,
                                1000000000000000000,
                                10000000000000000000u };

static inline bool digit(char c)
{
    return static_cast<unsigned char>(c - '0') < 10;
}

// How many significant digits a decimal text has, leading and trailing zeros left out.
static size_t significant(const char *p, const char *end)
{
    size_t n = 0, keep = 0;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (!digit(*p) || (n == 0 && *p == '0'))
            continue;
        n++;
        if (*p != '0')
            keep = n;
    }
    return keep;
}

// Is m 10^q, m of 16 or 17 digits, what x prints when rounded correctly to as many digits? With x = f 2^-s
// and
// k = -q that is |m - f 10^k / 2^s| <= 1/2, whole numbers of 128 bits where k <= 22.
static bool is_print_of(uint64_t m, long q, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int s = 1075 - static_cast<int>(bits >> 52 & 0x7ff);
    if (q <= 0 && q >= -22 && s >= 1 && s <= 120) {
        uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
        unsigned __int128 product = static_cast<unsigned __int128>(mantissa) * TEN[-q < 19 ? -q : 19];
        if (q < -19)
            product *= TEN[-q - 19];
        unsigned __int128 half = static_cast<unsigned __int128>(1) << (s - 1);
        return (product + half) >> s == m || (product + half - 1) >> s == m;
    }
    char buf[40], want[24];
    auto w = std::to_chars(want, want + sizeof want, m);
    auto r = std::to_chars(buf, buf + sizeof buf, std::fabs(x), std::chars_format::scientific,
                           static_cast<int>(w.ptr - want) - 1);
    return r.ec == std::errc() && buf[0] == want[0] &&
           memcmp(buf + 2, want + 1, static_cast<size_t>(w.ptr - want) - 1) == 0;
}

// What is written: (negative ? -1 : 1) * m * 10^exp10, where m has no more than 19 digits.
struct written {
    uint64_t m;    // the first 19 significant digits
    size_t digits; // how many there are
    long exp10;
    bool negative, integer;
};

// Reads one by JSON's grammar; NULL: there is none. Else where it ends.
static const char *scan(const char *p, const char *end, written *ret)
{
    bool negative = p < end && *p == '-', integer = true;
    p += negative;
    if (p == end || !digit(*p))
        return nullptr;
    uint64_t m = 0;
    size_t digits = 0;
    long exp10 = 0;
    if (*p == '0') {
        p++;
    } else {
        for (; p < end && digit(*p); p++, digits++)
            if (digits < 19)
                m = m * 10 + static_cast<uint64_t>(*p - '0');
            else
                exp10++;
    }
    if (p < end && *p == '.') {
        integer = false;
        if (++p == end || !digit(*p))
            return nullptr;
        for (; p < end && digit(*p); p++) {
            if (digits < 19) {
                m = m * 10 + static_cast<uint64_t>(*p - '0');
                exp10--;
            }
            digits += m != 0;
        }
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        integer = false;
        p++;
        bool minus = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        if (p == end || !digit(*p))
            return nullptr;
        long e = 0;
        for (; p < end && digit(*p); p++)
            e = e < 100000 ? e * 10 + (*p - '0') : e;
        exp10 += minus ? -e : e;
    }
    *ret = { m, digits, exp10, negative, integer };
    return p;
}

extern "C" tab_number_kind tab_number_read(const char *start, const char *end, size_t *ret_n, double *ret)
{
    written w;
    const char *p = scan(start, end, &w);
    if (p == nullptr)
        return TAB_NUMBER_NONE;
    auto [m, digits, exp10, negative, integer] = w;
    *ret_n = static_cast<size_t>(p - start);
    if (m == 0) {
        *ret = negative ? -0.0 : 0.0;
        return TAB_NUMBER_EXACT;
    }
    if (digits <= 15 && exp10 >= -22 && exp10 <= 22) {
        double x = static_cast<double>(m);
        x = exp10 < 0 ? x / POW10[-exp10] : x * POW10[exp10];
        *ret = negative ? -x : x;
        // 1e21 has its value exactly; an integer written out has at most 15 digits here.
        return TAB_NUMBER_EXACT;
    }
    double x = 0;
    auto r = std::from_chars(start, p, x);
    if (r.ec == std::errc::result_out_of_range) {
        *ret = negative ? -0.0 : 0.0;
        return static_cast<long>(digits < 19 ? digits : 19) + exp10 > 0 ? TAB_NUMBER_RANGE
                                                                        : TAB_NUMBER_DIGITS;
    }
    *ret = x;
    if (integer && (digits > 16 || m > (UINT64_C(1) << 53)))
        return TAB_NUMBER_DIGITS;
    if (digits > 19 && significant(start, p) > 17)
        return TAB_NUMBER_DIGITS;
    for (; digits > 15 && m % 10 == 0; digits--, exp10++)
        m /= 10;
    if (digits > 17)
        return TAB_NUMBER_DIGITS;
    if (digits <= 15 && std::fabs(x) >= 2.3e-308)
        return TAB_NUMBER_EXACT; // 15 digits survive a normal double
    return is_print_of(m, exp10, x) ? TAB_NUMBER_EXACT : TAB_NUMBER_DIGITS;
}
