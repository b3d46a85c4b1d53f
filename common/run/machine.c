/* See machine.h.
 *
 *   /proc/self/cgroup   0::/PATH                v2: PATH/cpu.max "QUOTA PERIOD", PATH/memory.max
 *                       4:cpu,cpuacct:/PATH     v1: cpu,cpuacct/PATH/cpu.cfs_quota_us, .../cpu.cfs_period_us
 *                       7:memory:/PATH          v1: memory/PATH/memory.limit_in_bytes
 *
 * In a container PATH may be the host's, which is not there: its last existing parent, the mount itself at
 * least, is our own group then. */
#include "common/run/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH = 1024 };

/* The file's first number, which a second may follow; false: there is none ("max", "-1" or no file). */
static bool numbers(const char *folder, const char *file, long long *ret, long long *ret_second)
{
    char path[3 * PATH + 64], line[128] = "";
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    bool read = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    char *end = line;
    long long x = read ? strtoll(line, &end, 10) : -1;
    if (end == line || x <= 0)
        return false;
    *ret = x;
    if (ret_second != NULL)
        *ret_second = strtoll(end, NULL, 10);
    return true;
}

static void less_cores(tab_machine *m, long long quota, long long period)
{
    long long cores = period <= 0 ? m->cores : quota / period + (quota % period != 0);
    if (cores < m->cores)
        m->cores = cores < 1 ? 1 : cores;
}

static void limits_of(const char *folder, tab_machine *m)
{
    long long x, y;
    if (numbers(folder, "cpu.max", &x, &y))
        less_cores(m, x, y);
    if (numbers(folder, "cpu.cfs_quota_us", &x, NULL) && numbers(folder, "cpu.cfs_period_us", &y, NULL))
        less_cores(m, x, y);
    if ((numbers(folder, "memory.max", &x, NULL) || numbers(folder, "memory.limit_in_bytes", &x, NULL)) &&
        (unsigned long long)x < m->memory)
        m->memory = (size_t)x;
}

/* The group and all above it, up to the mount. */
static void walk_up(const char *mount, const char *path, tab_machine *m)
{
    char folder[3 * PATH]; /* both are shorter than a line and the mount */
    snprintf(folder, sizeof folder, "%s%s", mount, path);
    for (size_t root = strlen(mount);;) {
        limits_of(folder, m);
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < root)
            break;
        *slash = 0;
    }
}

tab_machine tab_machine_limits(const char *groups, const char *mount, tab_machine whole)
{
    tab_machine m = whole;
    char line[PATH], controller[PATH + 64];
    FILE *f = fopen(groups, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *names = strchr(line, ':'), *path = names == NULL ? NULL : strchr(names + 1, ':');
        if (path == NULL)
            continue;
        *path++ = 0;
        names++;
        path[strcspn(path, "\n")] = 0;
        snprintf(controller, sizeof controller, "%s%s%s", mount, *names != 0 ? "/" : "", names);
        walk_up(controller, path, &m);
    }
    if (f != NULL)
        fclose(f);
    return m;
}

tab_machine tab_machine_look(void)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES),
         page = sysconf(_SC_PAGESIZE);
    int mine = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)online;
    tab_machine whole = { mine > 0 ? mine : 1, (size_t)pages * (size_t)page };
    return tab_machine_limits("/proc/self/cgroup", "/sys/fs/cgroup", whole);
}
