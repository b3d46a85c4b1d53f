/* See point.h. Nothing of this is in a release. */
#include "common/base/point.h"

#ifdef TAB_POINTS

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* tests/seeds/lib/points.py has the same numbers. WAIT_MOST_MS: a test that went stops nobody for ever. */
enum { SLOTS = 2048, CLOCKS = 64, WAIT_MOST_MS = 60000 };
enum action { NONE, WAIT, FAIL, CRASH };

struct slot {
    _Atomic uint32_t named;             /* 0: free, 1: somebody writes the name, 2: it is there */
    _Atomic uint32_t action, left, pid; /* for so many who come, of this process (0: of any) */
    _Atomic uint32_t entered, released; /* who waits has a number, and goes on when it is released */
    _Atomic uint32_t who, unused;       /* the last process that waited */
    _Atomic uint64_t hits;
    char name[TAB_POINT_NAME];
};

struct table {
    struct {
        _Atomic uint32_t pid, unused;
        _Atomic int64_t us;
    } clock[CLOCKS];
    struct slot slot[SLOTS];
};

static struct table *table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_table(void)
{
    const char *path = getenv("TAB_POINTS_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *p = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    table = p == MAP_FAILED ? NULL : p;
}

static void doze(void)
{
    struct timespec t = { 0, 1000000 };
    nanosleep(&t, NULL);
}

/* NULL: no test, or no room. */
static struct slot *slot_of(const char *name)
{
    pthread_once(&once, open_table);
    if (table == NULL)
        return NULL;
    uint32_t h = 2166136261u; /* FNV-1a */
    for (const char *c = name; *c != 0; c++)
        h = (h ^ (uint8_t)*c) * 16777619u;
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *s = &table->slot[(h + i) % SLOTS];
        uint32_t was = 0;
        if (atomic_compare_exchange_strong(&s->named, &was, 1)) {
            snprintf(s->name, sizeof s->name, "%s", name);
            atomic_store(&s->named, 2);
            return s;
        }
        for (int tries = 0; atomic_load(&s->named) == 1 && tries < 1000;
             tries++) /* or its writer was killed */
            doze();
        if (strncmp(s->name, name, sizeof s->name - 1) == 0)
            return s;
    }
    return NULL;
}

static void wait_here(struct slot *s)
{
    atomic_store(&s->who, (uint32_t)getpid());
    uint32_t mine = atomic_fetch_add(&s->entered, 1) + 1;
    for (int ms = 0; ms < WAIT_MOST_MS && (int32_t)(atomic_load(&s->released) - mine) < 0; ms++)
        doze();
}

bool tab_point_at(const char *name)
{
    struct slot *s = slot_of(name);
    if (s == NULL)
        return false;
    atomic_fetch_add(&s->hits, 1);
    uint32_t action = atomic_load(&s->action), pid = atomic_load(&s->pid), left = atomic_load(&s->left);
    if (action == NONE || (pid != 0 && pid != (uint32_t)getpid()))
        return false;
    while (left > 0 && !atomic_compare_exchange_weak(&s->left, &left, left - 1))
        ;
    if (left == 0)
        return false;
    if (action == WAIT)
        wait_here(s);
    else if (action == CRASH)
        kill(getpid(), SIGKILL);
    return action == FAIL;
}

static const char *joined(const char *a, const char *b, const char *c, char ret[TAB_POINT_NAME])
{
    snprintf(ret, TAB_POINT_NAME, c == NULL ? "%s.%s" : "%s.%s.%s", a, b, c == NULL ? "" : c);
    return ret;
}

bool tab_point_of(const char *a, const char *b, const char *c)
{
    char name[TAB_POINT_NAME];
    return tab_point_at(joined(a, b, c, name));
}

void tab_point_known(const char *a, const char *b, const char *c)
{
    char name[TAB_POINT_NAME];
    (void)slot_of(joined(a, b, c, name));
}

int64_t tab_point_clock_us(void)
{
    pthread_once(&once, open_table);
    if (table == NULL)
        return 0;
    for (size_t i = 0; i < CLOCKS; i++)
        if (atomic_load(&table->clock[i].pid) == (uint32_t)getpid())
            return atomic_load(&table->clock[i].us);
    return 0;
}

#else
typedef int tab_no_points; /* a file has something in it */
#endif
