/* Vector code (32 bytes at once; TAB_WIDE_CLONES: 64), compiled for several processors; the loader picks the
 * version for the one at hand. All versions add in the same order and fuse nothing, so their results are
 * equal bit for bit. */
#ifndef TAB_CLONES_H
#define TAB_CLONES_H

/* The loader's choice runs before a sanitizer is initialised, so sanitized builds have one version; clang
 * builds the fuzz targets only. Other processors than x86-64 have what their compiler takes for all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__) || \
    !defined(__x86_64__)
#define TAB_CLONES
#define TAB_WIDE_CLONES
#else
#define TAB_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define TAB_WIDE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
