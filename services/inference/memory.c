/* See memory.h. */
#include "services/inference/memory.h"

static atomic_llong all_used;
static atomic_llong all_most = INT64_MAX;
static _Thread_local tab_memory *mine;

void tab_memory_limit(size_t all)
{
    atomic_store(&all_most, (long long)all);
}

size_t tab_memory_used(void)
{
    long long used = atomic_load(&all_used);
    return used > 0 ? (size_t)used : 0;
}

int64_t tab_memory_most(void)
{
    return atomic_load(&all_most);
}

tab_memory *tab_memory_enter(tab_memory *m)
{
    tab_memory *before = mine;
    mine = m;
    return before;
}

tab_memory *tab_memory_mine(void)
{
    return mine;
}

bool tab_memory_take(size_t n)
{
    tab_memory *m = mine;
    long long bytes = n > INT64_MAX / 4 ? INT64_MAX / 4 : (long long)n;
    if (m != NULL && atomic_fetch_add(&m->used, bytes) + bytes > m->most) {
        atomic_fetch_sub(&m->used, bytes);
        atomic_store(&m->full, true);
        return false;
    }
    if (atomic_fetch_add(&all_used, bytes) + bytes <= atomic_load(&all_most))
        return true;
    atomic_fetch_sub(&all_used, bytes);
    if (m != NULL) {
        atomic_fetch_sub(&m->used, bytes);
        atomic_store(&m->crowded, true);
    }
    return false;
}

void tab_memory_put(size_t n)
{
    if (mine != NULL)
        atomic_fetch_add(&mine->used, (long long)n);
    atomic_fetch_add(&all_used, (long long)n);
}

void tab_memory_give(size_t n)
{
    if (mine != NULL)
        atomic_fetch_sub(&mine->used, (long long)n);
    atomic_fetch_sub(&all_used, (long long)n);
}
