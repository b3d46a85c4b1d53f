/* What glibc 2.28 has not, for the libraries of the wheel (tools/dist/older_glibc.py): a newer glibc's own
 * are found first. By system calls, whose structures are those of 64-bit glibc. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OLDER(type, name, ...)                                                            \
    type older_##name(__VA_ARGS__) __asm__(#name) __attribute__((visibility("default"))); \
    type older_##name(__VA_ARGS__)

extern char older_single_threaded __asm__("__libc_single_threaded") __attribute__((visibility("default")));
char older_single_threaded = 0; /* nobody knows: others may run */

static int stat_at(int fd, const char *path, struct stat *ret, int flags)
{
    return (int)syscall(SYS_newfstatat, fd, path, ret, flags);
}

OLDER(int, stat, const char *path, struct stat *ret)
{
    return stat_at(AT_FDCWD, path, ret, 0);
}

OLDER(int, stat64, const char *path, struct stat *ret)
{
    return stat_at(AT_FDCWD, path, ret, 0);
}

OLDER(int, lstat, const char *path, struct stat *ret)
{
    return stat_at(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

OLDER(int, lstat64, const char *path, struct stat *ret)
{
    return stat_at(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

OLDER(int, fstat, int fd, struct stat *ret)
{
    return (int)syscall(SYS_fstat, fd, ret);
}

OLDER(int, fstat64, int fd, struct stat *ret)
{
    return (int)syscall(SYS_fstat, fd, ret);
}

OLDER(pid_t, gettid, void)
{
    return (pid_t)syscall(SYS_gettid);
}

OLDER(void, arc4random_buf, void *ret, size_t n)
{
    for (char *p = ret; n > 0;) {
        ssize_t got = getrandom(p, n, 0);
        if (got < 0 && errno != EINTR)
            __builtin_trap(); /* no kernel that glibc 2.28 runs on lacks it; never a number that is known */
        if (got > 0) {
            p += got;
            n -= (size_t)got;
        }
    }
}

OLDER(uint32_t, arc4random, void)
{
    uint32_t ret;
    older_arc4random_buf(&ret, sizeof ret);
    return ret;
}
