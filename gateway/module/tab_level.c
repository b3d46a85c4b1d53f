/* See tab_level.h: entries without a gap, found by chains of a hash. The last one is taken first, so that no
 * other has to move. */
#include "gateway/module/tab_level.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

struct tab_level {
    uint32_t most, n, heads; /* heads: a power of two */
    uint32_t *head, *next;
    tab_level_entry *entry;
};

/* Milliseconds, each the most of its bucket; services/keys/level.c reads counts by the same. */
static const uint32_t bounds[TAB_LEVEL_BOUNDS] = { 1,   2,   3,   5,   7,   10,   15,   20,   30,    50,   70,
                                                   100, 150, 200, 300, 500, 1000, 2000, 5000, 10000, 30000 };

tab_level *tab_level_new(uint32_t most)
{
    tab_level *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    l->most = most;
    l->heads = 1;
    while (l->heads < most)
        l->heads *= 2;
    l->head = malloc(l->heads * sizeof *l->head);
    l->next = malloc(most * sizeof *l->next);
    l->entry = calloc(most, sizeof *l->entry);
    if (l->head == NULL || l->next == NULL || l->entry == NULL) {
        tab_level_free(l);
        return NULL;
    }
    memset(l->head, 0xff, l->heads * sizeof *l->head);
    return l;
}

void tab_level_free(tab_level *l)
{
    if (l == NULL)
        return;
    free(l->head);
    free(l->next);
    free(l->entry);
    free(l);
}

tab_level_kind tab_level_kind_of(unsigned status)
{
    return status >= 500   ? TAB_LEVEL_FAILED
           : status == 499 ? TAB_LEVEL_ABANDONED
           : status >= 400 ? TAB_LEVEL_REFUSED
                           : TAB_LEVEL_ANSWERED;
}

/* FNV-1a: ids of organizations and endpoints are made here, nobody chooses them. */
static uint32_t *chain_of(const tab_level *l, const char *org, uint32_t day)
{
    uint32_t h = 2166136261u ^ day;
    for (; *org != 0; org++)
        h = (h ^ (unsigned char)*org) * 16777619u;
    return &l->head[(h ^ h >> 15) & (l->heads - 1)];
}

/* NULL: no room. */
static tab_level_entry *entry_of(tab_level *l, const char *org, uint32_t day)
{
    uint32_t *head = chain_of(l, org, day);
    for (uint32_t i = *head; i != NONE; i = l->next[i])
        if (l->entry[i].day == day && strcmp(l->entry[i].org, org) == 0)
            return &l->entry[i];
    size_t n = strlen(org);
    if (l->n == l->most || n >= TAB_LEVEL_ORG)
        return NULL;
    tab_level_entry *e = &l->entry[l->n];
    memset(e, 0, sizeof *e);
    memcpy(e->org, org, n);
    e->day = day;
    l->next[l->n] = *head;
    *head = l->n++;
    return e;
}

bool tab_level_add(tab_level *l, const char *org, uint32_t day, tab_level_kind kind, uint64_t ms)
{
    tab_level_entry *e = entry_of(l, org, day);
    if (e == NULL)
        return false;
    e->count[kind]++;
    if (kind == TAB_LEVEL_ANSWERED) {
        uint32_t b = 0;
        while (b < TAB_LEVEL_BOUNDS && ms > bounds[b])
            b++;
        e->count[TAB_LEVEL_KINDS + b]++;
    }
    return true;
}

uint32_t tab_level_take(tab_level *l, tab_level_entry *ret, uint32_t n)
{
    uint32_t taken = 0;
    while (taken < n && l->n > 0) {
        uint32_t last = --l->n, *at = chain_of(l, l->entry[last].org, l->entry[last].day);
        while (*at != last)
            at = &l->next[*at];
        *at = l->next[last];
        ret[taken++] = l->entry[last];
    }
    return taken;
}

uint64_t tab_level_put_back(tab_level *l, const tab_level_entry *e, uint32_t n)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < n; i++) {
        tab_level_entry *to = entry_of(l, e[i].org, e[i].day);
        for (uint32_t k = 0; k < TAB_LEVEL_COUNTS; k++)
            if (to != NULL)
                to->count[k] += e[i].count[k];
            else if (k < TAB_LEVEL_KINDS)
                lost += e[i].count[k];
    }
    return lost;
}
