/* See held.h. A text is walked word by word; what a word begins with says what it may be the beginning of: a
 * plus or a digit of numbers, a capital of names and of bank accounts, an @ within of a mail address. */
#include "services/inference/engine/profile/cells/held.h"

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/profile/cells/ascii.h"
#include "services/inference/engine/profile/cells/checksum.h"
#include "services/inference/engine/profile/cells/mentions.h"
#include "services/inference/engine/profile/cells/pattern.h"
#include "services/inference/engine/profile/cells/street.h"

static bool between(char c)
{
    return memchr(" \t\r\n<>()[]{},;:|\"/=", c, 17) != NULL;
}

static bool passes(tab_str s, tab_check check)
{
    return (tab_checks_of(s) >> check & 1) != 0;
}

static void hold(tab_held *h, tab_held_kind kind, tab_str s)
{
    if (h->hash[kind] == 0)
        h->hash[kind] = tab_wyhash(s.p, s.n, 3) | 1;
}

/* Thirteen to nineteen digits, alone or in groups of four to six, and the bytes of them. Sixteen in four
 * groups with an issuer's digits before are a card, or would be. */
static size_t card_at(tab_str s, tab_held *h)
{
    size_t digits = 0, run = 0, groups = 0, end = 0;
    for (size_t i = 0; i <= s.n && i < 24; i++) {
        if (i < s.n && digit(s.p[i])) {
            digits++;
            run++;
            end = i + 1;
            continue;
        }
        bool apart = i < s.n && (s.p[i] == ' ' || s.p[i] == '-');
        groups++;
        if (!apart || run < 4 || run > 6 || i + 1 >= s.n || !digit(s.p[i + 1]))
            break;
        run = 0;
    }
    if (digits < 13 || digits > 19 || (end < s.n && (digit(s.p[end]) || letter(s.p[end]) || s.p[end] == '-')))
        return 0;
    tab_str run_of = { s.p, end };
    if (passes(run_of, TAB_CHECK_CARD))
        hold(h, TAB_HELD_CARD, run_of);
    else if (groups > 1)
        h->unchecked = true;
    else
        return 0;
    return end;
}

/* Two capitals, two digits, and groups up to a length at which the check digits are right. */
static size_t iban_at(tab_str s, tab_held *h)
{
    enum { SHORTEST = 15, LONGEST = 34 };
    size_t n = 0;
    if (s.n < SHORTEST || !upper(s.p[0]) || !upper(s.p[1]) || !digit(s.p[2]) || !digit(s.p[3]))
        return 0;
    for (size_t i = 0; i <= s.n && n <= LONGEST; i++) {
        if (i < s.n && (digit(s.p[i]) || upper(s.p[i]))) {
            n++;
            continue;
        }
        if (n >= SHORTEST && passes((tab_str){ s.p, i }, TAB_CHECK_IBAN)) {
            hold(h, TAB_HELD_IBAN, (tab_str){ s.p, i });
            return i;
        }
        if (i + 1 >= s.n || s.p[i] != ' ')
            break;
    }
    return 0;
}

/* 123-45-6789: neither 000, 666 nor 9.. in front, and no part of zeros. */
static bool american(tab_str s)
{
    static const char form[] = "999-99-9999";
    for (size_t i = 0; i < s.n && i < sizeof form - 1; i++)
        if (form[i] == '9' ? !digit(s.p[i]) : s.p[i] != form[i])
            return false;
    return s.n == sizeof form - 1 && s.p[0] != '9' && memcmp(s.p, "000", 3) != 0 &&
           memcmp(s.p, "666", 3) != 0 && memcmp(s.p + 4, "00", 2) != 0 && memcmp(s.p + 7, "0000", 4) != 0;
}

/* What a word with digits in it may be besides. */
static void number(tab_str w, tab_held *h)
{
    enum { FEWEST = 6, LONGEST = 20 };
    size_t digits = 0;
    for (size_t i = 0; i < w.n; i++) {
        digits += digit(w.p[i]);
        if (!(digit(w.p[i]) || letter(w.p[i]) || w.p[i] == '-' || w.p[i] == '.'))
            return;
    }
    if (digits < FEWEST || w.n > LONGEST)
        return;
    if (american(w) || (w.n == 16 && digits == 7 && passes(w, TAB_CHECK_FISCAL)))
        hold(h, TAB_HELD_NATIONAL, w);
    else if (h->numbers < TAB_HELD_NUMBERS)
        h->number[h->numbers++] = w;
}

/* A number that begins here: its bytes, 0 where there is none. */
static size_t number_at(tab_str s, tab_held *h)
{
    size_t n = 0;
    if (s.p[0] == '+')
        n = tab_phone_abroad(s);
    else if (digit(s.p[0]) && (n = card_at(s, h)) > 0)
        return n;
    if (n == 0 && (digit(s.p[0]) || s.p[0] == '('))
        n = tab_phone_at_home(s);
    if (n > 0)
        hold(h, TAB_HELD_PHONE, (tab_str){ s.p, n });
    return n;
}

void tab_held_in(tab_str s, tab_held *ret)
{
    tab_held h = { .numbers = 0 };
    uint64_t before = 0;
    size_t end = 0, from = 0, figures = 0;
    for (size_t i = 0; i < s.n;) {
        while (i < s.n && between(s.p[i]) && s.p[i] != '(')
            i++;
        if (i == s.n)
            break;
        size_t n = number_at((tab_str){ s.p + i, s.n - i }, &h), to = i;
        n = n > 0 ? n : iban_at((tab_str){ s.p + i, s.n - i }, &h);
        if (n > 0 || s.p[i] == '(') {
            i += n > 0 ? n : 1;
            before = 0;
            continue;
        }
        bool at = false, any = false;
        for (; to < s.n && !between(s.p[to]); to++) {
            at |= s.p[to] == '@';
            any |= digit(s.p[to]);
        }
        h.words++;
        tab_str w = { s.p + i, to - i };
        while (w.n > 0 && memchr(".!?'", w.p[w.n - 1], 4) != NULL)
            w.n--;
        if (at && tab_is_email(w))
            hold(&h, TAB_HELD_EMAIL, w);
        if (any && !at)
            number(w, &h);
        uint64_t lists = any || at || w.n == 0 ? 0 : tab_lists_of_name(w);
        if (i == end + 1 && s.p[end] == ' ' && tab_is_pair_of_name(before, lists))
            hold(&h, TAB_HELD_NAME, (tab_str){ s.p + from, i + w.n - from });
        before = lists;
        from = i;
        end = i + w.n;
        figures += any;
        i = to;
    }
    if (figures > 0)
        h.hash[TAB_HELD_ADDRESS] = tab_holds_street(s);
    *ret = h;
}
