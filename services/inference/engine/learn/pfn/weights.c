/* Reading weight files: see weights.h for the layout. pfn.c takes the process's weights from
 * tab_pfn_default. A file may be damaged or hostile: every size and offset is held against the file before it
 * is used, and the digest must match.
 *
 *   tab_pfn_load ─> check_head     magic, version, digest, sizes, directory
 *                ─> take_all       every tensor by name: find, then take (floats) or matrix (bf16, packed) */
#include "services/inference/engine/learn/pfn/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "services/inference/engine/learn/pfn/tensor_ops.h"

/* Sizes of the layout, and bounds of what is accepted: tensors, and bytes of a file. */
enum { HEAD = 64, ENTRY = 64, DIGEST = 32, NAME = 40, MOST_TENSORS = 512 };
static const size_t MOST_BYTES = (size_t)64 << 20;

/* Little-endian, at any address. */
static uint32_t u32_at(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Little-endian, at any address. */
static uint64_t u64_at(const char *p)
{
    return (uint64_t)u32_at(p) | (uint64_t)u32_at(p + 4) << 32;
}

/* A file being read. Numbers and halves are filled from their beginnings; errors gather in `status`. */
typedef struct {
    tab_str bytes; /* without the digest */
    const char *entry;
    uint32_t tensors, taken;
    float *out, *end;
    uint16_t *half, *half_end;
    tab_pfn *w;
    tab_error *err;
    tab_status status;
} reader;

/* Keeps the first error only. */
static void refuse(reader *r, const char *what, const char *name)
{
    if (r->status == TAB_OK)
        r->status = tab_fail(r->err, TAB_VALIDATION, "", "weights: %s%s%s", what, name[0] ? " " : "", name);
}

/* Whether a bf16 is neither infinite nor NaN. */
static bool finite_half(uint16_t h)
{
    return (h & 0x7f80) != 0x7f80;
}

/* The data of the tensor of that name, rows x cols; errors gather in r->status. `half`: it must be bf16. */
static const unsigned char *find(reader *r, const char *name, size_t rows, size_t cols, bool half,
                                 uint32_t *type)
{
    if (r->status != TAB_OK)
        return NULL;
    for (uint32_t i = 0; i < r->tensors; i++) {
        const char *e = r->entry + (size_t)i * ENTRY;
        if (strncmp(e, name, NAME) != 0)
            continue;
        *type = u32_at(e + 40);
        uint64_t at = u64_at(e + 56);
        /* the directory's shape must be the network's, its offset within the file, its data within the
         * room */
        size_t bytes = rows * cols * (*type == 0 ? 4 : 2);
        if (*type > 1 || (half && *type != 1) || u32_at(e + 44) != rows || u32_at(e + 48) != cols ||
            u32_at(e + 52) != 0) {
            refuse(r, "wrong type or shape of tensor", name);
            return NULL;
        }
        if (at % 64 != 0 || at > r->bytes.n || bytes > r->bytes.n - at) {
            refuse(r, "wrong offset of tensor", name);
            return NULL;
        }
        if ((size_t)(half ? r->half_end - r->half : r->end - r->out) < rows * cols) {
            refuse(r, "too much data at tensor", name);
            return NULL;
        }
        r->taken++;
        return (const unsigned char *)r->bytes.p + at;
    }
    refuse(r, "no tensor", name);
    return NULL;
}

/* A tensor, widened. */
static const float *take(reader *r, const char *name, size_t rows, size_t cols)
{
    uint32_t type = 0;
    const unsigned char *p = find(r, name, rows, cols, false, &type);
    float *v = r->out;
    /* a bf16 is the upper half of a float */
    for (size_t k = 0; p != NULL && k < rows * cols; k++) {
        uint32_t u = type == 0 ? u32_at((const char *)p + 4 * k)
                               : ((uint32_t)p[2 * k] | (uint32_t)p[2 * k + 1] << 8) << 16;
        memcpy(&v[k], &u, 4);
        if (!isfinite(v[k])) {
            refuse(r, "not a finite number in tensor", name);
            return NULL;
        }
    }
    /* each tensor begins at a multiple of 64 bytes */
    r->out += p != NULL ? (rows * cols + 15) / 16 * 16 : 0;
    return p != NULL ? v : NULL;
}

/* Whether the file has a tensor of that name. */
static bool holds(const reader *r, const char *name)
{
    for (uint32_t i = 0; i < r->tensors; i++)
        if (strncmp(r->entry + (size_t)i * ENTRY, name, NAME) == 0)
            return true;
    return false;
}

/* A matrix that tab_pfn_product multiplies by. */
static const uint16_t *matrix(reader *r, const char *name, size_t rows, size_t cols)
{
    uint32_t type = 0;
    const unsigned char *p = find(r, name, rows, cols, true, &type);
    uint16_t *plain = p != NULL ? malloc(rows * cols * sizeof *plain) : NULL, *packed = r->half;
    if (p != NULL && plain == NULL)
        refuse(r, "out of memory at tensor", name);
    for (size_t k = 0; plain != NULL && k < rows * cols; k++) {
        plain[k] = (uint16_t)(p[2 * k] | p[2 * k + 1] << 8);
        if (!finite_half(plain[k]))
            refuse(r, "not a finite number in tensor", name);
    }
    if (plain != NULL) {
        tab_pfn_pack(rows, cols, plain, packed);
        r->half += (rows * cols + 31) / 32 * 32;
    }
    free(plain);
    return packed;
}

/* The matrix "of.name". */
static const uint16_t *part(reader *r, const char *of, const char *name, size_t rows, size_t cols)
{
    char full[NAME + 1];
    snprintf(full, sizeof full, "%s.%s", of, name);
    return matrix(r, full, rows, cols);
}

/* The tensor "of.name", widened. */
static const float *tensor(reader *r, const char *of, const char *name, size_t rows, size_t cols)
{
    char full[NAME + 1];
    snprintf(full, sizeof full, "%s.%s", of, name);
    return take(r, full, rows, cols);
}

/* The five matrices of an attention. The factor 1 / sqrt(16) of its scores is put into the queries' matrix: a
 * quarter is two less in the exponent of a bf16. */
static void take_cross(reader *r, tab_pfn_cross *c, const char *of)
{
    size_t e = r->w->e;
    uint16_t *q = (uint16_t *)(uintptr_t)part(r, of, "q", e, e);
    for (size_t i = 0; r->status == TAB_OK && i < e * e; i++) /* 1 / sqrt(head), heads are of 16: */
        q[i] = (q[i] & 0x7f80) > 0x100 ? (uint16_t)(q[i] - 0x100) : q[i] & 0x8000; /* exact */
    c->q = q;
    c->kv = part(r, of, "kv", e, 2 * e);
    c->o = part(r, of, "o", e, e);
    c->up = part(r, of, "a", e, 2 * e);
    c->down = part(r, of, "b", 2 * e, e);
}

/* All tensors of the network. The names are those of tools/pretrain/net.py. */
static void take_all(reader *r)
{
    tab_pfn *w = r->w;
    size_t e = w->e, d = w->d;
    /* cells, column stages, row refinement and pooling */
    w->freq = take(r, "freq", 1, 12);
    w->in_w = matrix(r, "in.w", w->features, e);
    w->in_col = matrix(r, "in.col", w->code, e);
    w->in_gain = take(r, "in.n", 1, e);
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%d", i + 1);
        w->column[i].inducing = tensor(r, name, "ind", w->inducing, e);
        w->column[i].label = tensor(r, name, "lab", w->slots, e);
        snprintf(name, sizeof name, "c%d.up", i + 1);
        take_cross(r, &w->column[i].up, name);
        snprintf(name, sizeof name, "c%d.down", i + 1);
        take_cross(r, &w->column[i].down, name);
        snprintf(name, sizeof name, "row.g%d", i + 1);
        take_cross(r, &w->gather[i], name);
        snprintf(name, sizeof name, "row.b%d", i + 1);
        take_cross(r, &w->broadcast[i], name);
        snprintf(name, sizeof name, "pool.g%d", i + 1);
        take_cross(r, &w->pool[i], name);
    }
    w->row_token = take(r, "row.tok", w->tokens, e);
    w->pool_token = take(r, "pool.tok", w->tokens, e);
    /* rows: labels, registers, blocks */
    w->icl_label = take(r, "icl.lab", w->slots, d);
    w->icl_register = take(r, "icl.reg", w->registers, d);
    for (uint32_t i = 0; i < w->blocks; i++) {
        tab_pfn_block *b = &w->block[i];
        char name[32];
        snprintf(name, sizeof name, "icl.%u", i);
        b->q = part(r, name, "q", d, d);
        b->kv = part(r, name, "kv", d, 2 * d);
        b->kvq = part(r, name, "kvq", d, 2 * (d / w->heads));
        b->o = part(r, name, "o", d, d);
        b->scale = tensor(r, name, "s", 1, w->heads);
        b->up = part(r, name, "a", d, 2 * d);
        b->down = part(r, name, "b", 2 * d, d);
    }
    /* the vote of classes, and that of numbers where the file was trained for it */
    w->dec_q = matrix(r, "dec.q", d, d);
    w->dec_k = matrix(r, "dec.k", d, d);
    w->dec_scale = take(r, "dec.s", 1, 4);
    w->numeric = holds(r, "num.c1");
    if (w->numeric) {
        w->num_c[0] = matrix(r, "num.c1", TAB_PFN_TARGET, e);
        w->num_c[1] = matrix(r, "num.c2", TAB_PFN_TARGET, e);
        w->num_icl = matrix(r, "num.icl", TAB_PFN_TARGET, d);
        w->num_q = matrix(r, "num.q", d, d);
        w->num_k = matrix(r, "num.k", d, d);
        w->num_scale = take(r, "num.s", 1, 4);
    }
    if (r->status == TAB_OK && r->taken != r->tensors)
        refuse(r, "tensors that the network does not have", "");
}

/* Checks all but the tensors. *tensors: how many; *entries: where the directory begins. */
static tab_status check_head(tab_str b, tab_pfn *w, uint32_t *tensors, size_t *entries, tab_error *err)
{
    static const char magic[8] = { 'T', 'A', 'B', 'W', '\r', '\n', 0x1a, '\n' };
    if (b.n < HEAD + DIGEST || memcmp(b.p, magic, 8) != 0)
        return tab_fail(err, TAB_VALIDATION, "", "weights: not a weight file");
    if (b.n > MOST_BYTES)
        return tab_fail(err, TAB_VALIDATION, "", "weights: larger than the limit of 64 MB");
    if (u32_at(b.p + 8) != 1)
        return tab_fail(err, TAB_VALIDATION, "",
                        "weights: version %u is not supported; this program reads version 1",
                        u32_at(b.p + 8));
    unsigned char digest[DIGEST];
    crypto_hash_sha256(digest, (const unsigned char *)b.p, b.n - DIGEST);
    if (memcmp(digest, b.p + b.n - DIGEST, DIGEST) != 0)
        return tab_fail(err, TAB_VALIDATION, "", "weights: damaged or truncated (the digest does not match)");
    for (size_t i = 0; i < DIGEST / 2; i++)
        snprintf(w->digest + 2 * i, 3, "%02x", digest[i]);
    uint32_t *size[] = { &w->e,     &w->cell_heads, &w->inducing, &w->tokens,   &w->blocks,
                         &w->heads, &w->registers,  &w->slots,    &w->features, &w->code };
    for (size_t i = 0; i < 10; i++)
        *size[i] = u32_at(b.p + 16 + 4 * i);
    /* What the kernels of net.c can run: heads of 16 in the cells and of 32 in the rows. */
    if (w->e < 16 || w->e > 128 || w->e % 16 != 0 || w->cell_heads * 16 != w->e || w->inducing % 16 != 0 ||
        w->inducing < 16 || w->inducing > 64 || w->tokens != 4 || w->blocks < 1 ||
        w->blocks > TAB_PFN_BLOCKS || w->heads * 32 != 4 * w->e || w->registers > 64 ||
        w->slots != TAB_PFN_SLOTS || w->features != TAB_PFN_FEATURES || w->code != TAB_PFN_CODE)
        return tab_fail(err, TAB_VALIDATION, "", "weights: unsupported layer sizes");
    w->d = w->tokens * w->e;
    /* the note and the directory must lie within the file */
    size_t note = u32_at(b.p + 12), room = b.n - HEAD - DIGEST;
    *tensors = u32_at(b.p + 56);
    if (note % 64 != 0 || note > room || *tensors == 0 || *tensors > MOST_TENSORS ||
        (size_t)*tensors * ENTRY > room - note)
        return tab_fail(err, TAB_VALIDATION, "", "weights: the directory does not match the file");
    size_t keep = note < sizeof w->note - 1 ? note : sizeof w->note - 1;
    memcpy(w->note, b.p + HEAD, keep);
    *entries = HEAD + note;
    return TAB_OK;
}

tab_status tab_pfn_load(tab_str bytes, tab_pfn **ret, tab_error *err)
{
    TAB_AUTO(tab_pfn) *w = calloc(1, sizeof *w);
    if (w == NULL)
        return tab_no_memory(err);
    reader r = { .w = w, .err = err };
    size_t entries = 0;
    tab_status s = check_head(bytes, w, &r.tensors, &entries, err);
    if (s != TAB_OK)
        return s;
    /* names end within their field, so that they can be compared and printed */
    r.bytes = (tab_str){ bytes.p, bytes.n - DIGEST };
    r.entry = bytes.p + entries;
    for (uint32_t i = 0; i < r.tensors; i++)
        if (r.entry[(size_t)i * ENTRY + NAME - 1] != 0)
            return tab_fail(err, TAB_VALIDATION, "", "weights: a tensor's name is too long");
    size_t room = bytes.n / 2 + 16 * (size_t)r.tensors + 16; /* bf16 widens to twice its bytes */
    size_t halves = bytes.n / 2 + 32 * (size_t)r.tensors + 32;
    w->numbers = aligned_alloc(64, (room * sizeof(float) + 63) / 64 * 64);
    w->halves = aligned_alloc(64, (halves * sizeof(uint16_t) + 63) / 64 * 64);
    if (w->numbers == NULL || w->halves == NULL)
        return tab_no_memory(err);
    r.out = w->numbers;
    r.end = w->numbers + room;
    r.half = w->halves;
    r.half_end = w->halves + halves;
    take_all(&r);
    if (r.status == TAB_OK)
        *ret = tab_take(&w);
    return r.status;
}

void tab_pfn_free(tab_pfn *w)
{
    if (w != NULL) {
        free(w->numbers);
        free(w->halves);
    }
    free(w);
}

/* The map goes after loading: the weights are copied. */
tab_status tab_pfn_open(const char *path, tab_pfn **ret, tab_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return tab_fail(err, TAB_VALIDATION, "", "weights: cannot read %s%s%s", path, fd < 0 ? ": " : "",
                        fd < 0 ? strerror(why) : "");
    }
    size_t n = (size_t)st.st_size;
    char *map = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return tab_fail(err, TAB_INTERNAL, "", "weights: cannot map %s", path);
    tab_status s = tab_pfn_load((tab_str){ map, n }, ret, err);
    munmap(map, n);
    return s;
}

/* The shipped file, as bytes of the program itself: it cannot be mislaid or mismatched. */
__asm__(".section .rodata\n"
        ".balign 64\n"
        "tab_pfn_file:\n"
        ".incbin \"services/inference/engine/learn/weights/pfn.tabw\"\n"
        "tab_pfn_file_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char tab_pfn_file[] __attribute__((visibility("hidden")));
extern const char tab_pfn_file_end[] __attribute__((visibility("hidden")));

static struct {
    pthread_once_t once;
    tab_pfn *w;
    tab_error err;
} shared = { .once = PTHREAD_ONCE_INIT };

/* Once a process, on the first use by any thread. */
static void load_shared(void)
{
    const char *path = getenv("TAB_PFN_WEIGHTS");
    tab_str own = { tab_pfn_file, (size_t)(tab_pfn_file_end - tab_pfn_file) };
    tab_status s = path != NULL && path[0] != '\0' ? tab_pfn_open(path, &shared.w, &shared.err)
                                                   : tab_pfn_load(own, &shared.w, &shared.err);
    if (s != TAB_OK)
        shared.w = NULL;
}

const tab_pfn *tab_pfn_default(const char **why)
{
    pthread_once(&shared.once, load_shared);
    if (shared.w == NULL && why != NULL)
        *why = shared.err.message;
    return shared.w;
}
