/* See stages.h: numbers that are days. 45356 is a day as spreadsheets count them, from the end of 1899
 * on, where the column's name says so: many amounts lie there as well. 240305 is one where the name says
 * so or the numbers span months (yymmdd.c). Decision 0811. */
#include <math.h>

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/roles/stages.h"

/* Does a word of the name say that this is a day? The whole word, or its end, as in "orderdate". */
static bool says_day(tab_str name)
{
    static const char *const words[] = { "date", "datum", "fecha", "tarih", "dato", "pvm", "paiva", "дата" };
    static const char *const alone[] = { "day", "jour" }; /* "visits per day" is none */
    static const char *const no[] = { "update", "candidate", "mandate", "validate" };
    char buf[128];
    tab_str s = tab_fold(name, buf, sizeof buf);
    for (size_t k = 0; k < sizeof alone / sizeof *alone; k++)
        if (tab_str_is(s, alone[k]))
            return true;
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        while (i < s.n && ((unsigned char)s.p[i] >= 0x80 || (s.p[i] >= 'a' && s.p[i] <= 'z')))
            i++;
        tab_str word = { s.p + from, i - from };
        i += i == from;
        bool is = false;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            is |= tab_str_is(word, words[k]);
        if (word.n > 6 && memcmp(word.p + word.n - 4, "date", 4) == 0)
            is = true;
        if (word.n > 7 && memcmp(word.p + word.n - 5, "datum", 5) == 0)
            is = true;
        for (size_t k = 0; k < sizeof no / sizeof *no; k++)
            is &= !tab_str_is(word, no[k]);
        if (is)
            return true;
    }
    return false;
}

bool tab_is_serial_day(const tab_staged *c)
{
    const tab_reading *r = c->reading;
    const tab_features *f = &c->features;
    return r->can_number && r->leading_zero == 0 && r->grouped == 0 && f->min >= TAB_SERIAL_LEAST &&
           f->max < TAB_SERIAL_MOST && r->affix[TAB_AFFIX_NONE] >= r->numbers && says_day(r->column->name);
}

bool tab_is_six_digit_day(const tab_staged *c)
{
    const tab_reading *r = c->reading;
    return tab_is_yymmdd(r) && (says_day(r->column->name) || tab_spans_months(r));
}

/* Are the texts all moments as .NET writes them? Slashes at both ends are signs of paths, too. */
static bool all_dotnet(const tab_reading *r)
{
    if (!r->can_date || r->level == NULL || r->column->layout == TAB_NUMBERS)
        return false;
    for (size_t k = 0; k < r->levels; k++)
        if (r->level[k].n < 6 || memcmp(r->level[k].p, "/Date(", 6) != 0)
            return false;
    return r->levels > 0;
}

void tab_hear_days(const tab_staged *c, float *p)
{
    static const float SURE = 1000;
    bool serial = tab_is_serial_day(c), dotnet = all_dotnet(c->reading);
    if (!serial && !dotnet && !tab_is_six_digit_day(c))
        return;
    int role = dotnet || (serial && c->features.fraction) ? TAB_ROLE_DATETIME : TAB_ROLE_DATE;
    double sum = 0;
    p[role] = fmaxf(p[role], 1e-2f) * SURE;
    for (int k = 0; k < TAB_ROLES; k++)
        sum += (double)p[k];
    for (int k = 0; k < TAB_ROLES; k++)
        p[k] = (float)((double)p[k] / sum);
}
