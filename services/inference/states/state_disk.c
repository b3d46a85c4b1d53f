/* See state_disk.h: a list of the files in order of use under one lock, which is not held while one is read
 * or written. A file is written beside and moved into place. */
#include "services/inference/states/state_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/pg/data_key.h"

enum { NAME = 40, DIGITS = 16, MOST_FILES = 1 << 20 };

typedef struct {
    char name[NAME];
    size_t bytes;
    uint64_t used; /* rises with each use */
} file;

struct state_disk {
    pthread_mutex_t lock;
    int folder;
    file *file; /* (n) */
    size_t n, room, bytes, budget;
    uint64_t uses, evicted;
};

/* Hexadecimal digits of a hash. */
static void digits(tab_str s, char ret[DIGITS + 1])
{
    uint8_t h[16];
    crypto_generichash(h, sizeof h, (const uint8_t *)s.p, s.n, NULL, 0);
    sodium_bin2hex(ret, DIGITS + 1, h, DIGITS / 2);
}

static void name_of(tab_str owner, tab_str name, char ret[NAME])
{
    char of[DIGITS + 1], state[DIGITS + 1];
    digits(owner, of);
    digits(name, state);
    snprintf(ret, NAME, "%s-%s.state", of, state);
}

/* The lock is held, here and below. */
static file *find(state_disk *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->file[i].name, name) == 0)
            return &d->file[i];
    return NULL;
}

static void forget(state_disk *d, file *f)
{
    d->bytes -= f->bytes;
    *f = d->file[--d->n];
}

static void erase(state_disk *d, file *f)
{
    (void)unlinkat(d->folder, f->name, 0);
    forget(d, f);
}

static bool know(state_disk *d, const char *name, size_t bytes, uint64_t used)
{
    file *f = find(d, name);
    if (f == NULL && d->n == d->room) {
        size_t room = 2 * d->room + 64;
        file *list = d->n >= MOST_FILES ? NULL : realloc(d->file, room * sizeof *list);
        if (list == NULL)
            return false;
        d->file = list;
        d->room = room;
    }
    if (f == NULL) {
        f = &d->file[d->n++];
        *f = (file){ 0 };
        snprintf(f->name, sizeof f->name, "%s", name);
    }
    d->bytes = d->bytes - f->bytes + bytes;
    f->bytes = bytes;
    f->used = used;
    return true;
}

static void make_room(state_disk *d)
{
    while (d->bytes > d->budget && d->n > 0) {
        file *oldest = d->file;
        for (size_t i = 1; i < d->n; i++)
            if (d->file[i].used < oldest->used)
                oldest = &d->file[i];
        erase(d, oldest);
        d->evicted++;
    }
}

static bool is_sealed(int folder, const char *name)
{
    char head[8];
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
    if (fd >= 0)
        close(fd);
    return n > 0 && tab_data_sealed((tab_str){ head, (size_t)n });
}

/* What lies in the folder, by when it was used; what a process that died was writing goes. */
static bool scan(state_disk *d, bool sealed)
{
    int fd = openat(d->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;
    struct stat s;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        size_t n = strlen(e->d_name);
        if (n > 4 && strcmp(e->d_name + n - 4, ".new") == 0)
            (void)unlinkat(d->folder, e->d_name, 0);
        if (n != 2 * DIGITS + 7 || strcmp(e->d_name + n - 6, ".state") != 0 ||
            fstatat(d->folder, e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode))
            continue;
        if (sealed && !is_sealed(d->folder, e->d_name)) {
            (void)unlinkat(d->folder, e->d_name, 0);
            continue;
        }
        uint64_t used = (uint64_t)s.st_mtim.tv_sec * 1000 + (uint64_t)s.st_mtim.tv_nsec / 1000000;
        d->uses = used > d->uses ? used : d->uses;
        if (!know(d, e->d_name, (size_t)s.st_size, used))
            break;
    }
    if (dir != NULL)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    make_room(d);
    return dir != NULL;
}

state_disk *state_disk_open(const char *folder, size_t budget_bytes, bool sealed)
{
    state_disk *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    pthread_mutex_init(&d->lock, NULL);
    d->budget = budget_bytes;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        tab_log(TAB_WARN, "states: cannot make %s: %s", folder, strerror(errno));
    d->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->folder >= 0 && fchmod(d->folder, 0700) == 0 && scan(d, sealed))
        return d;
    tab_log(TAB_WARN, "states: cannot use %s: %s", folder, strerror(errno));
    state_disk_free(d);
    return NULL;
}

void state_disk_free(state_disk *d)
{
    if (d == NULL)
        return;
    if (d->folder >= 0)
        close(d->folder);
    pthread_mutex_destroy(&d->lock);
    free(d->file);
    free(d);
}

/* A whole file, malloc'd; p NULL: it cannot be read. */
static tab_str read_file(int folder, const char *name, size_t n)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *to = fd < 0 ? NULL : malloc(n + 1);
    size_t at = 0;
    while (to != NULL && at < n) {
        ssize_t got = read(fd, to + at, n - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        at += (size_t)got;
    }
    if (fd >= 0) {
        (void)futimens(fd, NULL); /* used now, also for who opens the folder after us */
        close(fd);
    }
    if (at == n && to != NULL)
        return (tab_str){ to, n };
    free(to);
    return (tab_str){ NULL, 0 };
}

tab_str state_disk_read(state_disk *d, tab_str owner, tab_str name)
{
    char as[NAME];
    size_t n = 0;
    if (d == NULL)
        return (tab_str){ NULL, 0 };
    name_of(owner, name, as);
    pthread_mutex_lock(&d->lock);
    file *f = find(d, as);
    if (f != NULL) {
        f->used = ++d->uses;
        n = f->bytes;
    }
    pthread_mutex_unlock(&d->lock);
    tab_str ret = n == 0 ? (tab_str){ NULL, 0 } : read_file(d->folder, as, n);
    if (n > 0 && ret.p == NULL)
        state_disk_remove(d, owner, name);
    return ret;
}

bool state_disk_has(state_disk *d, tab_str owner, tab_str name)
{
    char as[NAME];
    if (d == NULL)
        return false;
    name_of(owner, name, as);
    pthread_mutex_lock(&d->lock);
    bool has = find(d, as) != NULL;
    pthread_mutex_unlock(&d->lock);
    return has;
}

static bool write_file(int folder, const char *name, tab_str bytes)
{
    char beside[NAME + 40];
    snprintf(beside, sizeof beside, "%s-%d-%p.new", name, (int)getpid(), (const void *)&folder);
    int fd = openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t at = 0;
    while (fd >= 0 && at < bytes.n) {
        ssize_t put = write(fd, bytes.p + at, bytes.n - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        at += (size_t)put;
    }
    bool ok = fd >= 0 && close(fd) == 0 && at == bytes.n && renameat(folder, beside, folder, name) == 0;
    if (!ok && fd >= 0)
        (void)unlinkat(folder, beside, 0);
    return ok;
}

bool state_disk_write(state_disk *d, tab_str owner, tab_str name, tab_str bytes)
{
    char as[NAME];
    if (d == NULL || bytes.n > d->budget)
        return false;
    name_of(owner, name, as);
    if (!write_file(d->folder, as, bytes)) {
        tab_log(TAB_WARN, "states: a file cannot be written: %s", strerror(errno));
        return false;
    }
    pthread_mutex_lock(&d->lock);
    bool ok = know(d, as, bytes.n, ++d->uses);
    make_room(d);
    pthread_mutex_unlock(&d->lock);
    return ok;
}

void state_disk_remove(state_disk *d, tab_str owner, tab_str name)
{
    char as[NAME];
    if (d == NULL)
        return;
    name_of(owner, name, as);
    pthread_mutex_lock(&d->lock);
    file *f = find(d, as);
    if (f != NULL)
        erase(d, f);
    pthread_mutex_unlock(&d->lock);
}

void state_disk_drop(state_disk *d, tab_str owner)
{
    char of[DIGITS + 1];
    if (d == NULL)
        return;
    digits(owner, of);
    pthread_mutex_lock(&d->lock);
    for (size_t i = d->n; i-- > 0;)
        if (memcmp(d->file[i].name, of, DIGITS) == 0)
            erase(d, &d->file[i]);
    pthread_mutex_unlock(&d->lock);
}

state_disk_figures state_disk_look(state_disk *d)
{
    if (d == NULL)
        return (state_disk_figures){ 0 };
    pthread_mutex_lock(&d->lock);
    state_disk_figures f = { d->n, d->bytes, d->evicted };
    pthread_mutex_unlock(&d->lock);
    return f;
}
