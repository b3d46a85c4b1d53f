/* Weight files of the in-context transformer (NAME.tabw), little-endian:
 *
 *   0   8 bytes   "TABW\r\n\x1a\n"
 *   8   u32       version, 1
 *   12  u32       bytes of the note
 *   16  10 x u32  e, cell heads, inducing rows, tokens, blocks, heads, registers, slots, features, column
 *       code
 *   56  u32       tensors
 *   60  u32       zero
 *   64  note      JSON for people: size, training, figures; padded with spaces to 64
 *   ..  64 each   tensor: name (40, zero-padded), u32 type (0 f32, 1 bf16), u32 rows, u32 columns, u32 zero,
 *                 u64 offset
 *   ..            data, each tensor at a multiple of 64
 *   end 32 bytes  SHA-256 of all that precedes
 *
 * A vector is a tensor of one row; matrices that are multiplied by are bf16. Norm gains are folded into
 * the matrices that follow them. The tensors of a file are exactly those that its ten sizes call for
 * (tools/pretrain/net.py names them); those of numeric targets, num.*, are all there or none is. */
#ifndef TAB_PFN_WEIGHTS_H
#define TAB_PFN_WEIGHTS_H

#include "common/base/base.h"

enum {
    TAB_PFN_SLOTS = 10,
    TAB_PFN_FEATURES = 48,
    TAB_PFN_CODE = 16,
    TAB_PFN_BLOCKS = 16,
    TAB_PFN_TARGET = 16,
    TAB_PFN_LEVELS = 19 /* quantiles of a numeric target */
};

/* Queries of one set read another: q = rms(a) Q, k and v = rms(b) KV, a += attention O, a += MLP(a). */
typedef struct {
    const uint16_t *q, *kv, *o, *up, *down;
} tab_pfn_cross;

typedef struct {
    const float *inducing, *label; /* (inducing, e), (slots, e) */
    tab_pfn_cross up, down;        /* inducing rows read the context's cells; all cells read them */
} tab_pfn_column;

typedef struct {
    const uint16_t *q, *kv, *kvq, *o, *up, *down;
    const float *scale;
} tab_pfn_block;

typedef struct {
    uint32_t e, cell_heads, inducing, tokens, blocks, heads, registers, slots, features, code;
    uint32_t d; /* tokens * e, the row width */
    const uint16_t *in_w, *in_col;
    const float *freq, *in_gain;
    tab_pfn_column column[2];
    const float *row_token, *pool_token; /* (tokens, e) */
    tab_pfn_cross gather[2], broadcast[2], pool[2];
    const float *icl_label, *icl_register;
    tab_pfn_block block[TAB_PFN_BLOCKS];
    const uint16_t *dec_q, *dec_k;
    const float *dec_scale;
    bool numeric;                       /* was trained on numeric targets too: */
    const uint16_t *num_c[2], *num_icl; /* (TAB_PFN_TARGET, e), (TAB_PFN_TARGET, d) in place of labels */
    const uint16_t *num_q, *num_k;      /* their vote */
    const float *num_scale;
    /* Matrices stay bf16, in the layout of tab_pfn_pack; tokens, labels, inducing rows, gains and scales
     * are plain. */
    char note[1024]; /* the file's JSON, cut to fit */
    float *numbers;  /* what the above point into */
    uint16_t *halves;
} tab_pfn;

/* Checks every field, size and offset and the digest, refuses numbers that are not finite, and widens to
 * float. The bytes may go afterwards. Errors: VALIDATION with one line; INTERNAL when out of memory. */
tab_status tab_pfn_load(tab_str bytes, tab_pfn **ret, tab_error *err) TAB_CHECKED;
void tab_pfn_free(tab_pfn *w); /* NULL is fine */
TAB_DEFINE_AUTO(tab_pfn)

/* Maps and loads a file. */
tab_status tab_pfn_open(const char *path, tab_pfn **ret, tab_error *err) TAB_CHECKED;

/* The process's weights, loaded once: the file that the environment's TAB_PFN_WEIGHTS names, else the one
 * linked into the program. NULL where it was refused; *why (may be NULL) then says so in one line. */
const tab_pfn *tab_pfn_default(const char **why);
#endif
