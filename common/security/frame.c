/* See frame.h. */
#include "common/security/frame.h"

#include <zstd.h>

size_t tab_frame_pack(char *to, size_t room, tab_str plain)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    if (c == NULL)
        return 0;
    size_t n = ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
    if (!ZSTD_isError(n))
        n = ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    if (!ZSTD_isError(n))
        n = ZSTD_compress2(c, to, room, plain.p, plain.n);
    ZSTD_freeCCtx(c);
    return ZSTD_isError(n) ? 0 : n;
}
