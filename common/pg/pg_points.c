/* Points around commits; see pg.h and common/base/point.h. Nothing of this is in a release. One that fails
 * before the commit rolls back; one that fails behind it is a commit whose answer was lost. */
#include "common/pg/pg.h"

#include "common/base/point.h"

#ifdef TAB_POINTS

#undef tab_tx_commit
#undef tab_tx_finish

#include <stdio.h>
#include <string.h>

/* "api/runs/run.c:commit", so that the folder of all services does not fill the names. */
static const char *where(const char *file, const char *fn, char ret[TAB_POINT_NAME])
{
    static const char services[] = "services/";
    if (strncmp(file, services, sizeof services - 1) == 0)
        file += sizeof services - 1;
    snprintf(ret, TAB_POINT_NAME, "%s:%s", file, fn);
    return ret;
}

static tab_status unknown(tab_error *err)
{
    return tab_fail(err, TAB_UNAVAILABLE, NULL, "a server is not responding; try again");
}

tab_status tab_tx_commit_at(const char *file, const char *fn, tab_tx **tx, tab_error *err)
{
    char name[TAB_POINT_NAME];
    if (tab_point_of(where(file, fn, name), "commit", NULL)) {
        tab_tx_free(tab_take(tx));
        return unknown(err);
    }
    tab_status s = tab_tx_commit(tx, err);
    return tab_point_of(name, "committed", NULL) && s == TAB_OK ? unknown(err) : s;
}

tab_status tab_tx_finish_at(const char *file, const char *fn, tab_tx **tx, tab_rows **ret, tab_error *err,
                            const char *sql, const tab_param *p, size_t n)
{
    char name[TAB_POINT_NAME];
    if (tab_point_of(where(file, fn, name), "commit", NULL)) {
        tab_tx_free(tab_take(tx));
        return unknown(err);
    }
    tab_status s = tab_tx_finish(tx, ret, err, sql, p, n);
    if (!tab_point_of(name, "committed", NULL) || s != TAB_OK)
        return s;
    if (ret != NULL) {
        tab_rows_free(*ret);
        *ret = NULL;
    }
    return unknown(err);
}

#else
typedef int tab_no_points; /* a file has something in it */
#endif
