/* See journal.h. A file is a line that names its kind, then records:
 *
 *   u32 bytes of the id, u32 bytes of the record, first 8 bytes of SHA-256 of both, id, record
 *
 * An answer may leave once what it bills is on a disk. While PostgreSQL is away that is this file, so its
 * cost is that of serving then: one write and one fdatasync. Who comes first writes and syncs for all that
 * wait (so no thread is needed); those that come meanwhile are the next group: the disk's own pace decides
 * how large groups grow.
 *
 *   begin: hidden name, lock, first line, rename to ID.bills, sync of the folder
 *      |
 *   grows (j.now) --4 MiB--> full --all records settled--> deleted
 *      |                                                      or kept as NAME.unreadable, where it is damaged
 *      +-- its process dies: the lock goes with it, and whoever looks next adopts the file
 *
 * A file gets its name only when it is locked: one with a name and without a lock is one whose process has
 * gone. No process id, no time and no look at other processes is needed, and two that look at once cannot
 * both adopt. A file whose folder entry was not synced could be lost in a crash with records in it; so that
 * happens before its first record.
 *
 * `open` counts a file's records that are not settled, and one more while it grows or is read; at 0 it goes.
 * So an empty folder says that nothing is owed, and a backup of the folder says what is.
 *
 * What holds:
 *
 *   - journal_put returns OK only when the record and everything before it in its file is on the disk. After
 *     a write that failed the file ends where it did before, or grows no more: no record follows a torn one.
 *   - Each record that was put is found again, once, by this process's settler or by who adopts the file;
 *     found twice (a crash between settling and deletion) it is settled once, by its id (bills_settle.c).
 *   - Bytes on the disk are outside input: sizes are bounded before they are used, and a record counts only
 *     with its digest. A damaged one is passed by its length if a whole one follows; what cannot be read is
 *     never deleted. */
#include "services/api/serve/journal.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/security/crypto.h"
#include "common/security/ids.h"

enum { HEAD = 16, FILE_MOST = 4 << 20, READ_MOST = 64 << 20, ID_MOST = 128, RECORD_MOST = 4 << 20 };

static const char kind[] = "tabella bills 1\n";
_Static_assert(sizeof kind - 1 == HEAD, "a file's first line is its head");
_Static_assert(RECORD_MOST <= FILE_MOST && FILE_MOST + RECORD_MOST < READ_MOST,
               "what is written can be read");
#define NAMED ".bills"

struct journal_file {
    journal_file *next;
    int fd;
    char path[512];
    size_t open; /* records that are not settled, and one while it is written to or read */
    off_t bytes;
    bool damaged; /* not all of it could be read: it is kept */
};

typedef struct waiting {
    struct waiting *next;
    const char *id;
    tab_str bytes;
    journal_file *file;
    bool done, ok;
} waiting;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t written;
    char dir[256];
    journal_file *now, *all; /* now: the one that grows */
    waiting *first, **last;
    bool writing;
} j = { .lock = PTHREAD_MUTEX_INITIALIZER, .written = PTHREAD_COND_INITIALIZER };

/* ---- files ----------------------------------------------------------------------------------- */

static bool sync_dir(void)
{
    int fd = open(j.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

/* The lock is held, as in all of this part. */
static journal_file *add(int fd, const char *path)
{
    journal_file *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->fd = fd;
    f->open = 1;
    snprintf(f->path, sizeof f->path, "%s", path);
    f->next = j.all;
    j.all = f;
    return f;
}

static bool put_aside(const journal_file *f)
{
    char aside[600];
    snprintf(aside, sizeof aside, "%s.unreadable", f->path);
    return rename(f->path, aside) == 0;
}

/* goes: all that could be read of it is settled. */
static void drop(journal_file *f, bool goes)
{
    for (journal_file **at = &j.all; *at != NULL; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            break;
        }
    if (j.now == f)
        j.now = NULL;
    if (goes && (f->damaged ? !put_aside(f) : unlink(f->path) != 0))
        tab_log_fields(TAB_WARN, "a journal of bills cannot be deleted", "file", f->path, NULL);
    close(f->fd);
    free(f);
}

static void release(journal_file *f)
{
    assert(f->open > 0);
    if (--f->open == 0)
        drop(f, true);
}

/* A new file, named once it is locked. It is released by who takes it. */
static journal_file *begin(void)
{
    char hidden[512], path[512], id[TAB_ID];
    tab_id_new(id, "");
    snprintf(hidden, sizeof hidden, "%s/.%s", j.dir, id);
    snprintf(path, sizeof path, "%s/%s" NAMED, j.dir, id);
    int fd = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    journal_file *f = NULL;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && write(fd, kind, HEAD) == HEAD &&
        rename(hidden, path) == 0 && sync_dir())
        f = add(fd, path);
    if (f != NULL) {
        f->bytes = HEAD;
        return f;
    }
    if (fd >= 0) {
        unlink(hidden);
        unlink(path);
        close(fd);
    }
    return NULL;
}

bool journal_open(const char *dir)
{
    j.last = &j.first;
    j.dir[0] = 0;
    if (dir == NULL || dir[0] == 0)
        return true;
    snprintf(j.dir, sizeof j.dir, "%s", dir);
    if (strlen(dir) >= sizeof j.dir || (mkdir(dir, 0700) != 0 && errno != EEXIST) ||
        access(dir, R_OK | W_OK | X_OK) != 0) {
        tab_log_fields(TAB_ERROR, "the folder of the journal cannot be used", "TAB_API_JOURNAL", dir, NULL);
        j.dir[0] = 0;
        return false;
    }
    return true;
}

bool journal_kept(void)
{
    return j.dir[0] != 0;
}

void journal_close(void)
{
    pthread_mutex_lock(&j.lock);
    while (j.all != NULL)
        drop(j.all, false);
    pthread_mutex_unlock(&j.lock);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void digest(const char *id, tab_str bytes, uint8_t ret[8])
{
    uint8_t both[2][TAB_SHA256], all[TAB_SHA256];
    tab_sha256(tab_str_of(id), both[0]);
    tab_sha256(bytes, both[1]);
    tab_sha256((tab_str){ (const char *)both, sizeof both }, all);
    memcpy(ret, all, 8);
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* The records of a group behind the file's end, on the disk when it gives true. */
static bool append(journal_file *f, const waiting *group)
{
    size_t n = 0;
    for (const waiting *w = group; w != NULL; w = w->next)
        n += 16 + strlen(w->id) + w->bytes.n;
    char *buf = malloc(n), *at = buf;
    if (buf == NULL)
        return false;
    for (const waiting *w = group; w != NULL; w = w->next) {
        uint32_t size[2] = { (uint32_t)strlen(w->id), (uint32_t)w->bytes.n };
        memcpy(at, size, sizeof size);
        digest(w->id, w->bytes, (uint8_t *)at + 8);
        memcpy(at + 16, w->id, size[0]);
        memcpy(at + 16 + size[0], w->bytes.p, size[1]);
        at += 16 + size[0] + size[1];
    }
    assert(at == buf + n);
    bool ok = write_all(f->fd, buf, n) && fdatasync(f->fd) == 0;
    free(buf);
    if (ok)
        f->bytes += (off_t)n;
    else if (ftruncate(f->fd, f->bytes) != 0 || lseek(f->fd, f->bytes, SEEK_SET) < 0)
        f->bytes = FILE_MOST; /* nothing more behind what is half there */
    return ok;
}

/* Writes what has come for all who wait. The lock is held, and left meanwhile. */
static void write_group(void)
{
    waiting *group = j.first;
    j.first = NULL;
    j.last = &j.first;
    j.writing = true;
    if (j.now != NULL && j.now->bytes >= FILE_MOST) {
        journal_file *full = j.now;
        j.now = NULL;
        release(full);
    }
    if (j.now == NULL)
        j.now = begin(); /* whose first release is due when it is full */
    assert(group != NULL);
    journal_file *f = j.now;
    bool ok = false;
    if (f != NULL) {
        f->open++;
        pthread_mutex_unlock(&j.lock);
        ok = append(f, group);
        pthread_mutex_lock(&j.lock);
        for (waiting *w = group; ok && w != NULL; w = w->next)
            f->open++;
        release(f);
    }
    for (waiting *w = group, *next; w != NULL; w = next) {
        next = w->next; /* w may end at once */
        w->file = f;
        w->ok = ok;
        w->done = true;
    }
    j.writing = false;
    pthread_cond_broadcast(&j.written);
}

tab_status journal_put(const char *id, tab_str bytes, journal_file **ret_file, tab_error *err)
{
    waiting w = { .id = id, .bytes = bytes };
    if (!journal_kept() || strlen(id) > ID_MOST || bytes.n > RECORD_MOST)
        return tab_fail(err, TAB_UNAVAILABLE, "", "the usage journal is not available; try again");
    pthread_mutex_lock(&j.lock);
    *j.last = &w;
    j.last = &w.next;
    while (!w.done)
        if (!j.writing)
            write_group();
        else
            pthread_cond_wait(&j.written, &j.lock);
    pthread_mutex_unlock(&j.lock);
    *ret_file = w.file;
    return w.ok ? TAB_OK
                : tab_fail(err, TAB_UNAVAILABLE, "", "the usage journal cannot be written; try again");
}

/* The file that grows goes as well once all of it is settled: an empty folder says that nothing is owed. */
void journal_settled(journal_file *f)
{
    pthread_mutex_lock(&j.lock);
    bool whole = f == j.now && f->open == 2 && !j.writing;
    if (whole)
        j.now = NULL;
    assert(f->open > 0);
    f->open--;
    if (whole || f->open == 0) {
        f->open = 1;
        release(f);
    }
    pthread_mutex_unlock(&j.lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct {
    char id[ID_MOST + 1];
    tab_str bytes;
    size_t n;   /* of the whole record; 0: what stands there cannot be one */
    bool whole; /* it is as it was written */
} record_read;

static record_read record_at(tab_str file, size_t at)
{
    record_read r = { 0 };
    uint32_t size[2];
    uint8_t sum[8];
    if (file.n - at < 16)
        return r;
    memcpy(size, file.p + at, sizeof size);
    if (size[0] > ID_MOST || size[1] > RECORD_MOST || file.n - at - 16 < (size_t)size[0] + size[1])
        return r;
    memcpy(r.id, file.p + at + 16, size[0]);
    r.bytes = (tab_str){ file.p + at + 16 + size[0], size[1] };
    r.n = 16 + (size_t)size[0] + size[1];
    digest(r.id, r.bytes, sum);
    r.whole = strlen(r.id) == size[0] && memcmp(sum, file.p + at + 8, 8) == 0;
    return r;
}

void journal_read(tab_str file, journal_record *record, void *arg, size_t *ret_whole)
{
    *ret_whole = 0;
    if (file.n < HEAD || memcmp(file.p, kind, HEAD) != 0)
        return;
    *ret_whole = HEAD;
    for (size_t at = HEAD; at < file.n;) {
        record_read r = record_at(file, at);
        /* A damaged record is passed by its length where a whole one follows. */
        if (!r.whole && (r.n == 0 || !record_at(file, at + r.n).whole))
            return;
        if (r.whole) {
            record(arg, r.id, r.bytes);
            *ret_whole += r.n;
        }
        at += r.n;
    }
}

typedef struct {
    journal_found *found;
    void *arg;
    journal_file *f;
} adopted;

static void take_record(void *arg, const char *id, tab_str bytes)
{
    const adopted *a = arg;
    pthread_mutex_lock(&j.lock);
    a->f->open++;
    pthread_mutex_unlock(&j.lock);
    a->found(a->arg, id, bytes, a->f);
}

static void adopt_file(journal_file *f, journal_found *found, void *arg)
{
    adopted a = { found, arg, f };
    struct stat st = { 0 };
    bool readable = fstat(f->fd, &st) == 0 && st.st_size < READ_MOST;
    size_t n = (size_t)st.st_size, whole = 0;
    char *buf = readable ? malloc(n + 1) : NULL;
    bool good = buf != NULL && pread(f->fd, buf, n, 0) == (ssize_t)n;
    if (good)
        journal_read((tab_str){ buf, n }, take_record, &a, &whole);
    free(buf);
    pthread_mutex_lock(&j.lock);
    f->damaged = !good || whole != n;
    if (f->damaged) {
        char bytes[32];
        snprintf(bytes, sizeof bytes, "%zu", n - whole);
        tab_log_fields(TAB_ERROR,
                       "a journal of bills is damaged; what can be read is billed, the file is kept", "file",
                       f->path, "unread_bytes", bytes, NULL);
    }
    release(f);
    pthread_mutex_unlock(&j.lock);
}

static bool ours(const char *path)
{
    for (const journal_file *f = j.all; f != NULL; f = f->next)
        if (strcmp(f->path, path) == 0)
            return true;
    return false;
}

void journal_adopt(journal_found *found, void *arg)
{
    DIR *d = journal_kept() ? opendir(j.dir) : NULL;
    for (const struct dirent *e = d == NULL ? NULL : readdir(d); e != NULL; e = readdir(d)) {
        size_t n = strlen(e->d_name);
        char path[512];
        struct stat st;
        if (n <= sizeof NAMED - 1 || strcmp(e->d_name + n - (sizeof NAMED - 1), NAMED) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%.200s", j.dir, e->d_name);
        pthread_mutex_lock(&j.lock);
        int fd = ours(path) ? -1 : open(path, O_RDWR | O_CLOEXEC);
        journal_file *f = NULL;
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink > 0)
            f = add(fd, path);
        pthread_mutex_unlock(&j.lock);
        if (f != NULL)
            adopt_file(f, found, arg);
        else if (fd >= 0)
            close(fd);
    }
    if (d != NULL)
        closedir(d);
}
