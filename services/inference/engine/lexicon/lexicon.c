/* See lexicon.h. Open addressing with linear probing. A slot holds 32 bits of the hash instead of the
 * term, so that 137,000 terms take 2 MiB. */
#include "services/inference/engine/lexicon/lexicon.h"

#include "services/inference/engine/lexicon/fold_text.h"

/* The compiled table (tools/module.mk makes it), aligned as its widest member asks. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".global tab_lexicon_data\n"
        ".hidden tab_lexicon_data\n"
        "tab_lexicon_data:\n"
        ".incbin \"build/gen/lexicon.bin\"\n"
        ".previous\n");
extern const char tab_lexicon_data[] __attribute__((visibility("hidden")));

/* The seed 7 is the compiler's too (tools/compile_lexicon.c). About half of the slots are free, so a
 * look-up ends. */
const tab_lexeme *tab_lexicon_find(tab_str term)
{
    const tab_lexicon_header *h = (const tab_lexicon_header *)tab_lexicon_data;
    const tab_lexicon_slot *slot = (const tab_lexicon_slot *)(h + 1);
    const tab_lexeme *set = (const tab_lexeme *)(slot + h->slots);
    uint64_t hash = tab_wyhash(term.p, term.n, 7);
    uint32_t f = tab_lexicon_fingerprint(hash);
    for (uint32_t i = (uint32_t)hash & (h->slots - 1); slot[i].fingerprint != 0; i = (i + 1) & (h->slots - 1))
        if (slot[i].fingerprint == f)
            return &set[slot[i].set];
    return NULL;
}
