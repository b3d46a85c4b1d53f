/* A cell as numbers, words and marks, and the clock that may stand behind its date: what dates.c reads a
 * date's layout from. */
#ifndef TAB_DATE_TOKENS_H
#define TAB_DATE_TOKENS_H

#include "common/base/base.h"

enum { TAB_DATE_TOKENS = 24 }; /* a longer cell is no date */
typedef struct {
    char kind;  /* 'n' number, 'w' word, else the mark itself; ' ' blanks */
    int digits; /* of a number */
    int64_t value;
    tab_str text; /* from here to the cell's end */
    size_t n;     /* bytes of this token */
} date_token;

/* Cuts a cell into tokens t (TAB_DATE_TOKENS). Returns how many, -1 where there are too many or a number has
 * more than 14 digits. */
int date_tokens(tab_str s, date_token *t);

/* The token's own bytes. */
tab_str date_word(const date_token *t);

/* Whether the token is one of the n folded words. */
bool date_is_word(const date_token *t, const char *const *words, size_t n);
#define IS_WORD(t, ...)                                     \
    date_is_word((t), (const char *const[]){ __VA_ARGS__ }, \
                 sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* Everything from token i on must be a clock and an optional zone: its seconds since midnight in UTC, or of
 * local time where no offset is given. */
bool date_clock(const date_token *t, int i, int n, double *seconds);

/* Whether all tokens from i on are a zone or none is left; its offset is taken off *seconds. */
bool date_zone(const date_token *t, int i, int n, double *seconds);

/* Without what programs write around a moment and what changes nothing: the brackets of a web server's
 * log and the name of a zone behind its offset, "(Central European Summer Time)", "[Europe/Berlin]", and
 * " Europe/Berlin", whose local time it is. */
tab_str date_without_zone_name(tab_str s);
#endif
