/* Code that says what runs at once (vectors of 32 bytes), made for the processor that the program meets.
 * Every version adds in the same order and contracts nothing, so that the numbers are the same. */
#ifndef TAB_CLONES_H
#define TAB_CLONES_H

/* Resolvers run before a sanitizer is there; clang builds the fuzz targets only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define TAB_CLONES
#else
#define TAB_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
#endif
