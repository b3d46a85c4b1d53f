/* Parameters and rows of common/pg.h. Values arrive as PostgreSQL's text unless asked for in binary. */
#include <stdio.h>
#include <stdlib.h>

#include "common/pg/pg_internal.h"

tab_param tab_p_null(void)
{
    return (tab_param){ .kind = TAB_P_NULL };
}

tab_param tab_p_text(const char *s)
{
    return s == NULL ? tab_p_null() : (tab_param){ .kind = TAB_P_TEXT, .s = tab_str_of(s) };
}

tab_param tab_p_str(tab_str s)
{
    return s.p == NULL ? tab_p_null() : (tab_param){ .kind = TAB_P_TEXT, .s = s };
}

tab_param tab_p_bytes(tab_str s)
{
    return (tab_param){ .kind = TAB_P_BYTES, .s = s };
}

tab_param tab_p_int(int64_t x)
{
    tab_param p = { .kind = TAB_P_TEXT };
    snprintf(p.local, sizeof p.local, "%lld", (long long)x);
    return p;
}

tab_param tab_p_real(double x)
{
    tab_param p = { .kind = TAB_P_TEXT };
    snprintf(p.local, sizeof p.local, "%.17g", x);
    return p;
}

tab_param tab_p_bool(bool x)
{
    tab_param p = { .kind = TAB_P_TEXT };
    snprintf(p.local, sizeof p.local, "%s", x ? "t" : "f");
    return p;
}

tab_param tab_p_time(int64_t us)
{
    tab_param p = { .kind = TAB_P_TEXT };
    tab_time_text(us, p.local);
    return p;
}

char *tab_pg_array(tab_arena *a, char *const *item, size_t n)
{
    size_t most = 3, at = 0;
    for (size_t i = 0; i < n; i++)
        most += 2 * strlen(item[i]) + 3;
    char *out = tab_arena_new_of(a, char, most);
    if (out == NULL)
        return NULL;
    out[at++] = '{';
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            out[at++] = ',';
        out[at++] = '"';
        for (const char *c = item[i]; *c != '\0'; c++) {
            if (*c == '"' || *c == '\\')
                out[at++] = '\\';
            out[at++] = *c;
        }
        out[at++] = '"';
    }
    out[at++] = '}';
    return out;
}

void tab_rows_free(tab_rows *r)
{
    if (r != NULL)
        PQclear(r->r);
    free(r);
}

size_t tab_rows_count(const tab_rows *r)
{
    return (size_t)PQntuples(r->r);
}

size_t tab_rows_affected(const tab_rows *r)
{
    return (size_t)strtoull(PQcmdTuples(r->r), NULL, 10);
}

bool tab_rows_null(const tab_rows *r, size_t row, size_t col)
{
    return PQgetisnull(r->r, (int)row, (int)col);
}

tab_str tab_rows_str(const tab_rows *r, size_t row, size_t col)
{
    return (tab_str){ PQgetvalue(r->r, (int)row, (int)col), (size_t)PQgetlength(r->r, (int)row, (int)col) };
}

const char *tab_rows_text(const tab_rows *r, size_t row, size_t col)
{
    return PQgetvalue(r->r, (int)row, (int)col);
}

int64_t tab_rows_int(const tab_rows *r, size_t row, size_t col)
{
    return strtoll(tab_rows_text(r, row, col), NULL, 10);
}

double tab_rows_real(const tab_rows *r, size_t row, size_t col)
{
    return strtod(tab_rows_text(r, row, col), NULL);
}

bool tab_rows_bool(const tab_rows *r, size_t row, size_t col)
{
    return tab_rows_text(r, row, col)[0] == 't';
}

/* "2026-11-21 09:24:05.123+00": the server's form in any DateStyle ISO session; hours-only offsets are
 * given their minutes, so that one reader serves. */
int64_t tab_rows_time(const tab_rows *r, size_t row, size_t col)
{
    char buf[64];
    int64_t us = 0;
    snprintf(buf, sizeof buf - 2, "%s", tab_rows_text(r, row, col));
    size_t n = strlen(buf);
    if (n > 3 && (buf[n - 3] == '+' || buf[n - 3] == '-'))
        memcpy(buf + n, "00", 3);
    return tab_time_parse(tab_str_of(buf), &us) ? us : 0;
}

tab_str tab_rows_bytes(const tab_rows *r, size_t row, size_t col, tab_arena *a)
{
    tab_str s = tab_rows_str(r, row, col);
    if (r->binary || s.n < 2 || s.p[0] != '\\' || s.p[1] != 'x')
        return s;
    size_t n = (s.n - 2) / 2;
    char *out = tab_arena_alloc(a, n + 1, 1);
    if (out == NULL)
        return (tab_str){ NULL, 0 };
    for (size_t i = 0; i < n; i++) {
        int hi = s.p[2 + 2 * i], lo = s.p[3 + 2 * i];
        hi = hi <= '9' ? hi - '0' : hi - 'a' + 10;
        lo = lo <= '9' ? lo - '0' : lo - 'a' + 10;
        out[i] = (char)(hi << 4 | lo);
    }
    return (tab_str){ out, n };
}
