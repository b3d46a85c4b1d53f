/* Bytes as they are stored: a frame of zstd with a sum of the plain bytes at its end, so that a bit that a
 * disk has changed is an error when it is read (ZSTD_decompress looks), and no other value. */
#ifndef TAB_FRAME_H
#define TAB_FRAME_H

#include "common/base/base.h"

/* How many bytes of the room it took, which is ZSTD_compressBound of plain.n; 0: out of memory. */
size_t tab_frame_pack(char *to, size_t room, tab_str plain);

#endif
