#include "common/run/machine.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char at[64];

static void put(const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", at, file);
    for (char *p = path + strlen(at) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
        *p = 0;
        mkdir(path, 0700);
    }
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static int drop(const char *path, const struct stat *s, int kind, struct FTW *w)
{
    (void)s, (void)kind, (void)w;
    return remove(path);
}

static void begin(void)
{
    snprintf(at, sizeof at, "/tmp/machine-XXXXXX");
    cr_assert_not_null(mkdtemp(at));
}

static void end(void)
{
    nftw(at, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static tab_machine look(void)
{
    char groups[128];
    snprintf(groups, sizeof groups, "%s/groups", at);
    return tab_machine_limits(groups, at, (tab_machine){ 64, (size_t)64 << 30 });
}

static void expect(int64_t cores, size_t mib)
{
    tab_machine m = look();
    cr_expect(m.cores == cores && m.memory == mib << 20, "%lld cores, %zu MiB", (long long)m.cores,
              m.memory >> 20);
}

Test(machine, limits_of_version_2_and_of_the_groups_above, .init = begin, .fini = end)
{
    put("groups", "0::/pods/one\n");
    expect(64, 64 << 10);
    put("pods/one/cpu.max", "250000 100000\n");
    put("pods/one/memory.max", "max\n");
    put("pods/memory.max", "1073741824\n");
    put("pods/cpu.max", "max 100000\n");
    expect(3, 1024);
    put("pods/one/memory.max", "536870912\n");
    put("pods/cpu.max", "10000 100000\n");
    expect(1, 512);
}

/* Inside of a container the path is the host's, and the mount is our group. */
Test(machine, a_path_that_is_not_there, .init = begin, .fini = end)
{
    put("groups", "0::/kubepods/pod1/abc\n");
    put("cpu.max", "400000 100000\n");
    put("memory.max", "2147483648\n");
    expect(4, 2048);
}

Test(machine, limits_of_version_1, .init = begin, .fini = end)
{
    put("groups", "7:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n0::/\n");
    put("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "150000\n");
    put("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    put("memory/docker/x/memory.limit_in_bytes", "268435456\n");
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    expect(2, 256);
    put("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
    expect(64, 256);
}

Test(machine, what_is_damaged_limits_nothing, .init = begin, .fini = end)
{
    put("groups", "nothing\n0::/a\n:\n");
    put("a/cpu.max", "x y\n");
    put("a/memory.max", "\n");
    put("cpu.max", "100000\n");
    expect(64, 64 << 10);
}

Test(machine, this_one_has_something)
{
    tab_machine m = tab_machine_look();
    cr_expect(m.cores >= 1 && m.cores <= sysconf(_SC_NPROCESSORS_CONF) && m.memory > 16 << 20);
}
