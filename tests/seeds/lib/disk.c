/* A disk that is slow, full, or loses its power: loaded before the C library into PostgreSQL and the daemons
 * of a stack (LD_PRELOAD). It obeys 16 bytes that TAB_DISK_FILE names and that the test maps (ground.py):
 *
 *   u32 slow   milliseconds that each sync, and each write at a place, takes longer
 *   u32 full   1: nothing can be written to a file
 *
 * After each sync of a file below a folder called journal its length is kept in FILE.synced, beside it: what
 * lies behind is lost with the power. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct orders {
    _Atomic uint32_t slow, full, unused[2];
};

static struct orders *orders;

__attribute__((constructor)) static void open_orders(void)
{
    const char *path = getenv("TAB_DISK_FILE");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *p = mmap(NULL, sizeof *orders, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    orders = p == MAP_FAILED ? NULL : p;
}

static void take_time(void)
{
    uint32_t ms = orders == NULL ? 0 : orders->slow;
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };
    if (ms > 0)
        nanosleep(&t, NULL);
}

static int refused(int fd)
{
    struct stat st;
    int no = orders != NULL && orders->full != 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (no)
        errno = ENOSPC;
    return no;
}

static void keep_length(int fd)
{
    char link[64], path[512], kept[544], text[32];
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = 0;
    if (strstr(path, "/journal/") == NULL || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    snprintf(kept, sizeof kept, "%s.synced", path);
    int to = open(kept, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        return;
    int size = snprintf(text, sizeof text, "%lld", (long long)st.st_size);
    (void)!pwrite(to, text, (size_t)size, 0);
    close(to);
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int fsync(int fd)
{
    take_time();
    int rc = REAL(fsync)(fd);
    if (rc == 0)
        keep_length(fd);
    return rc;
}

int fdatasync(int fd)
{
    take_time();
    int rc = REAL(fdatasync)(fd);
    if (rc == 0)
        keep_length(fd);
    return rc;
}

ssize_t write(int fd, const void *p, size_t n)
{
    return refused(fd) ? -1 : REAL(write)(fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (refused(fd))
        return -1;
    take_time();
    return REAL(pwrite)(fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
    return pwrite(fd, p, n, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    if (refused(fd))
        return -1;
    take_time();
    return REAL(pwritev)(fd, v, n, at);
}

ssize_t pwritev64(int fd, const struct iovec *v, int n, off_t at)
{
    return pwritev(fd, v, n, at);
}
