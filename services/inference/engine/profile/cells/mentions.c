/* See mentions.h. */
#include "services/inference/engine/profile/cells/mentions.h"

#include "services/inference/engine/lexicon/fold_text.h"
#include "services/inference/engine/lexicon/lexicon.h"
#include "services/inference/engine/profile/cells/ascii.h"

/* A telephone number without its country, as notes hold it: groups of digits with a blank or dash between,
 * the first of three digits at least and with a zero in front ("0746 017 370", "(058) 590-7711"), three
 * groups of America ("555-010-4477"), or five pairs of France. Days have other groups. */
size_t tab_phone_at_home(tab_str s)
{
    size_t groups = 0, digits = 0, run = 0, first = 0, pairs = 0, end = 0, i = s.p[0] == '(';
    bool zero = i < s.n && s.p[i] == '0', three = true;
    for (; i <= s.n; i++) {
        if (i < s.n && digit(s.p[i])) {
            run++;
            continue;
        }
        if (run == 0)
            break;
        first = groups == 0 ? run : first;
        three = three && run == (groups < 2 ? 3 : 4);
        pairs += run == 2;
        end = i;
        groups++;
        digits += run;
        run = 0;
        if (i < s.n && s.p[i] == ')' && s.p[0] == '(' && groups == 1)
            i += i + 1 < s.n && s.p[i + 1] == ' ';
        else if (i == s.n || memchr(" -", s.p[i], 2) == NULL)
            break;
    }
    bool france = groups == 5 && pairs == 5 && zero, america = groups == 3 && three && digits == 10,
         trunk =
             zero && groups >= 2 && groups <= 4 && first >= 3 && first <= 5 && digits >= 9 && digits <= 11;
    return france || america || trunk ? end : 0;
}

static const char between_words[] = " \t\r\n<>()[]{},;:|\"/";

uint64_t tab_holds_phone(tab_str s)
{
    if (s.n < 20 || memchr(s.p, ' ', s.n) == NULL)
        return 0;
    for (size_t i = 0; i + 8 < s.n; i++) {
        if (!(digit(s.p[i]) || s.p[i] == '(') || (i > 0 && strchr(between_words, s.p[i - 1]) == NULL))
            continue;
        size_t n = tab_phone_at_home((tab_str){ s.p + i, s.n - i });
        if (n > 0)
            return tab_wyhash(s.p + i, n, 3) | 1;
    }
    return 0;
}

/* The bytes of an initial with its point at i, a capital of ASCII or a letter of two bytes; 0: none. */
static size_t initial_at(tab_str s, size_t i)
{
    size_t n = i < s.n && upper(s.p[i]) ? 1 : i + 1 < s.n && ((unsigned char)s.p[i] & 0xe0) == 0xc0 ? 2 : 0;
    return n > 0 && i + n < s.n && s.p[i + n] == '.' ? n + 1 : 0;
}

/* Words of names, one to three, and one to three initials, all before or all behind them. */
bool tab_has_initials(tab_str s)
{
    size_t words = 0, marks = 0, turns = 0;
    bool last_initial = false;
    if (s.n < 5 || s.n > 60 || memchr(s.p, '.', s.n) == NULL)
        return false;
    for (size_t i = 0; i < s.n;) {
        size_t n = initial_at(s, i), letters = 0;
        bool initial = n > 0;
        while (!initial && i + n < s.n && memchr(" ,.", s.p[i + n], 3) == NULL) {
            unsigned char c = (unsigned char)s.p[i + n++];
            if (c < 0x80 && !letter((char)c) && c != '-' && c != '\'')
                return false;
            letters += c < 0x80 || c >= 0xc0;
        }
        /* a word has small letters behind a capital, so that "U.S." and "NO. 5" are none */
        if (!initial &&
            (letters < 3 || (!upper(s.p[i]) && (unsigned char)s.p[i] < 0xc0) || upper(s.p[i + n - 1])))
            return false;
        turns += words + marks > 0 && initial != last_initial;
        last_initial = initial;
        words += !initial;
        marks += initial;
        for (i += n; i < s.n && (s.p[i] == ' ' || s.p[i] == ',');)
            i++;
        if (i < s.n && s.p[i] == '.')
            return false;
    }
    return words >= 1 && words <= 3 && marks >= 1 && marks <= 3 && turns == 1;
}

bool tab_has_patronym(tab_str s)
{
    static const char *const ends[] = { "dóttir", "dottir", "sson", "յան", "յանց", "zadə", "oğlu", "qızı" };
    enum { WORDS = 4, SHORTEST = 6 };
    size_t words = 1, last = 0;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == ' ') {
            words++;
            last = i + 1;
        } else if ((unsigned char)s.p[i] < 0x80 && !letter(s.p[i]) && memchr("-.'", s.p[i], 3) == NULL) {
            return false;
        }
    tab_str word = { s.p + last, s.n - last };
    if (words > WORDS || word.n < SHORTEST || (!upper(*word.p) && (unsigned char)*word.p < 0xc0))
        return false;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        tab_str end = tab_str_of(ends[k]);
        if (word.n > end.n && memcmp(word.p + word.n - end.n, end.p, end.n) == 0)
            return true;
    }
    return false;
}

/* The lists that the word is in where it is written as a name is, a capital and then small letters; or 0. */
uint64_t tab_lists_of_name(tab_str w)
{
    char buf[64];
    unsigned char first = (unsigned char)w.p[0];
    if (w.n < 3 || w.n > 40 || !(upper(w.p[0]) || first >= 0xc3) || upper(w.p[w.n - 1]))
        return 0;
    const tab_lexeme *x = tab_lexicon_find(tab_fold(w, buf, sizeof buf));
    return x != NULL ? x->lists : 0;
}

bool tab_is_pair_of_name(uint64_t first, uint64_t second)
{
    static const uint64_t given = UINT64_C(1) << TAB_LIST_FIRST_NAME,
                          family = UINT64_C(1) << TAB_LIST_LAST_NAME,
                          other = UINT64_C(1) << TAB_LIST_COUNTRY | UINT64_C(1) << TAB_LIST_REGION |
                                  UINT64_C(1) << TAB_LIST_PLACE_WORD | UINT64_C(1) << TAB_LIST_STREET_WORD |
                                  UINT64_C(1) << TAB_LIST_ORG_WORD | UINT64_C(1) << TAB_LIST_COLOR |
                                  UINT64_C(1) << TAB_LIST_COMPANY;
    return (first & given) != 0 && (second & family) != 0 && ((first | second) & other) == 0;
}

bool tab_holds_name(tab_str s)
{
    uint64_t before = 0;
    size_t end = 0;
    for (size_t i = 0; i < s.n;) {
        while (i < s.n && (s.p[i] == ' ' || strchr(between_words, s.p[i]) != NULL))
            i++;
        size_t from = i;
        while (i < s.n && strchr(between_words, s.p[i]) == NULL)
            i++;
        size_t n = i - from;
        while (n > 0 && memchr(".!?'", s.p[from + n - 1], 4) != NULL)
            n--;
        uint64_t lists = n > 0 ? tab_lists_of_name((tab_str){ s.p + from, n }) : 0;
        bool next = from == end + 1 && s.p[end] == ' '; /* one blank stands between */
        if (next && tab_is_pair_of_name(before, lists))
            return true;
        before = lists;
        end = from + n;
    }
    return false;
}

size_t tab_numbered_names(tab_str s, uint64_t ret_lists[2])
{
    enum { WORDS = 4, LETTERS = 3, DIGITS = 4 };
    size_t words = 0;
    for (size_t i = 0; i < s.n; i++) {
        size_t from = i, digits;
        while (i < s.n && s.p[i] != ' ' && !digit(s.p[i]))
            i++;
        size_t letters = i - from;
        while (i < s.n && digit(s.p[i]))
            i++;
        digits = i - from - letters;
        if (letters < LETTERS || digits < 1 || digits > DIGITS || (i < s.n && s.p[i] != ' ') ||
            words == WORDS)
            return 0;
        ret_lists[1] = tab_lists_of_name((tab_str){ s.p + from, letters });
        ret_lists[0] = words++ == 0 ? ret_lists[1] : ret_lists[0];
    }
    return words;
}
