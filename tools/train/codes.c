/* Columns of identifiers: keys, codes of schemes, and roles whose values identifiers.c makes one by one. A
 * plan may give a template ("id AAA-9999"); else one is drawn. */
#include <math.h>
#include <stdio.h>

#include "tools/train/identifiers.h"

/* Keys: numbered, scattered, by template; repeated where rows belong together or the key is another
 * table's. */
static bool keys(maker *m, const spec *s)
{
    chance *c = m->c;
    static const char *const forms[] = { "AA-99999",  "AAA9999",    "9999-99",     "A9999999",
                                         "AA99-9999", "999-999",    "NNNNNNNN",    "AAA-9999-99",
                                         "99-9999",   "aaaaa99",    "99999999",    "HHHHHHHH",
                                         "AA999999",  "9999999999", "99999999999", "999999999999",
                                         "A-999",     "A99" };
    bool own = s->arg[0] != 0 && strcmp(s->arg, "ref") != 0,
         ref = strcmp(s->arg, "ref") == 0 || (!own && chance_of(c, 0.2));
    size_t way = own ? 9 : chance_below(c, 14), n = ref ? 3 + chance_below(c, m->rows) : m->rows;
    bool rows = way > 9; /* the row's number, as programs write it out */
    way = rows ? 0 : way;
    double start = rows      ? 1
                   : way < 2 ? (double)chance_below(c, 2)
                             : floor(exp(3 + 10 * chance_unit(c))),
           spread = exp(1 + 4 * chance_unit(c)), spread_log = 2 + 9 * chance_unit(c);
    const char *form = own ? s->arg : forms[chance_below(c, m->rows > 90 ? 16 : 18)];
    char head[12], t[64];
    size_t n_head = strspn(form, "A"),
           fixed = chance_of(c, 0.75) ? n_head : 0; /* capitals in front are usually one prefix */
    fill_template(c, "AAAAAAAAAA", head, sizeof head);
    bool serial = way >= 7 && chance_of(c, 0.4);
    tab_str *made = tab_arena_new_of(m->a, tab_str, n);
    if (made == NULL)
        return false;
    double at = start;
    for (size_t i = 0; i < n; i++) {
        if (way < 4) { /* in order */
            snprintf(t, sizeof t, "%.0f", start + (double)i);
        } else if (way == 4) { /* in order, with holes */
            at += 1 + floor(spread * chance_unit(c) / 4);
            snprintf(t, sizeof t, "%.0f", at);
        } else if (way < 6) { /* scattered */
            snprintf(t, sizeof t, "%.0f", floor(start + start * 9 * chance_unit(c)));
        } else if (way == 6) { /* of all ages: from the first hundreds to the latest millions */
            snprintf(t, sizeof t, "%.0f", floor(start * exp(spread_log * chance_unit(c))));
        } else {
            fill_template(c, form, t, sizeof t);
            memcpy(t, head, fixed);
            for (size_t k = strlen(t), v = i + 1; serial && k > 0 && t[k - 1] >= '0' && t[k - 1] <= '9';
                 k--, v /= 10)
                t[k - 1] = (char)('0' + v % 10);
        }
        made[i] = tab_arena_copy(m->a, tab_str_of(t));
    }
    for (size_t i = 0; i < m->rows; i++)
        m->cell[i] = made[ref ? (size_t)((double)n * drift_unit(m, i)) : i % n];
    return true;
}

/* Codes of a scheme: few forms, used again and again. */
static bool codes(maker *m, const spec *s)
{
    chance *c = m->c;
    static const char *const forms[] = { "AA",   "AAA",   "A9",    "A99",    "999",   "9999",  "AA9",
                                         "AA99", "99",    "A-9",   "AAAA",   "9A",    "99-99", "AA-A9",
                                         "A999", "AA.99", "99999", "9999AA", "AAA99", "999-9A" };
    bool own = s->arg[0] != 0;
    bool pipes = strchr(s->arg, '|') != NULL;
    size_t want = 2 + (size_t)exp(5.2 * chance_unit(c)), n = want < 120 ? want : 120;
    tab_str set[128];
    const char *form = own ? s->arg : forms[chance_below(c, 20)];
    bool mixed = !own && chance_of(c, 0.4), dense = !own && chance_of(c, 0.15);
    size_t first = chance_below(c, 40);
    if (pipes) {
        n = 0;
        for (const char *p = s->arg; *p != 0 && n < 128;) {
            size_t k = strcspn(p, "|");
            set[n++] = tab_arena_copy(m->a, (tab_str){ p, k });
            p += k + (p[k] == '|');
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            char t[64];
            fill_template(c, mixed ? forms[chance_below(c, 20)] : form, t, sizeof t);
            if (dense)
                snprintf(t, sizeof t, "%zu", first + i);
            set[i] = tab_arena_copy(m->a, tab_str_of(t));
        }
    }
    double bend = 0.6 + 2 * chance_unit(c);
    bool blocks = chance_of(c, 0.25);
    for (size_t i = 0; i < m->rows; i++)
        m->cell[i] = set[blocks ? i * n / m->rows : (size_t)((double)n * pow(chance_unit(c), bend)) % n];
    return true;
}

bool make_codes(maker *m, const spec *s, bool *made)
{
    *made = true;
    if (s->role == TAB_ROLE_ID)
        return keys(m, s);
    if (s->role == TAB_ROLE_CODE)
        return codes(m, s);
    size_t way = chance_below(m->c, 10);
    bool repeat = chance_of(m->c, 0.25);
    size_t pool = 2 + chance_below(m->c, 30);
    for (size_t i = 0; i < m->rows; i++) {
        char t[256];
        if (repeat && i >= pool) {
            m->cell[i] = m->cell[chance_below(m->c, pool)];
            continue;
        }
        if (!one_identifier(m, s->role, way, t, sizeof t)) {
            *made = false;
            return true;
        }
        if (!put_cell(m, i, t))
            return false;
    }
    return true;
}
