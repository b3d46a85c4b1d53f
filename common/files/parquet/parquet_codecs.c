/* See parquet_pages.h: pages that are packed. A page tells its size unpacked, and it must have just that. */
#include <brotli/decode.h>
#include <endian.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "common/files/parquet/parquet_pages.h"

enum { NONE = 0, SNAPPY = 1, GZIP = 2, BROTLI = 4, LZ4 = 5, ZSTD = 6, LZ4_RAW = 7 }; /* CompressionCodec */

static bool snappy(tab_str in, char *out, size_t n)
{
    size_t size;
    return snappy_uncompressed_length(in.p, in.n, &size) == SNAPPY_OK && size == n &&
           snappy_uncompress(in.p, in.n, out, &size) == SNAPPY_OK && size == n;
}

/* gzip or zlib, of one member or more. */
static bool gzip(tab_str in, char *out, size_t n)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)in.p,
                   .avail_in = (uInt)in.n,
                   .next_out = (Bytef *)out,
                   .avail_out = (uInt)n };
    if (in.n > INT32_MAX || n > INT32_MAX || inflateInit2(&z, 15 + 32) != Z_OK)
        return false;
    int s = inflate(&z, Z_FINISH);
    while (s == Z_STREAM_END && z.avail_in > 0 && z.avail_out > 0) {
        if (inflateReset(&z) != Z_OK)
            break;
        s = inflate(&z, Z_FINISH);
    }
    inflateEnd(&z);
    return s == Z_STREAM_END && z.avail_out == 0;
}

static bool brotli(tab_str in, char *out, size_t n)
{
    size_t made = n;
    return BrotliDecoderDecompress(in.n, (const uint8_t *)in.p, &made, (uint8_t *)out) ==
               BROTLI_DECODER_RESULT_SUCCESS &&
           made == n;
}

static bool lz4_raw(tab_str in, char *out, size_t n)
{
    return in.n <= INT32_MAX && n <= INT32_MAX && LZ4_decompress_safe(in.p, out, (int)in.n, (int)n) == (int)n;
}

static size_t big_endian(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return be32toh(x);
}

/* Hadoop's frames: size unpacked, size packed, block ... */
static bool lz4_hadoop(tab_str in, char *out, size_t n)
{
    while (in.n >= 8 && n > 0) {
        size_t made = big_endian(in.p), used = big_endian(in.p + 4);
        if (made > n || used > in.n - 8 || !lz4_raw((tab_str){ in.p + 8, used }, out, made))
            return false;
        in = (tab_str){ in.p + 8 + used, in.n - 8 - used };
        out += made;
        n -= made;
    }
    return in.n == 0 && n == 0;
}

bool parquet_codec_known(int64_t codec)
{
    return codec >= NONE && codec <= LZ4_RAW && codec != 3; /* LZO */
}

bool parquet_unpack(int codec, tab_str in, char *out, size_t n)
{
    switch (codec) {
    case NONE:
        if (in.n == n && n > 0)
            memcpy(out, in.p, n);
        return in.n == n;
    case SNAPPY:
        return snappy(in, out, n);
    case GZIP:
        return gzip(in, out, n);
    case BROTLI:
        return brotli(in, out, n);
    case LZ4: /* some writers left the frames out */
        return lz4_hadoop(in, out, n) || lz4_raw(in, out, n);
    case ZSTD:
        return ZSTD_decompress(out, n, in.p, in.n) == n;
    case LZ4_RAW:
        return lz4_raw(in, out, n);
    default:
        return false;
    }
}
