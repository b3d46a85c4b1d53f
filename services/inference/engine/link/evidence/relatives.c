/* Twins share family name, birth date and address, and are two. A model of pairs sees one column of many
 * differ, as where a cell is outdated; but hardly anybody's given name becomes another. As many pairs of
 * other given names are one person as the pairs of the same given name explain. */
#include <stdlib.h>

#include "services/inference/engine/link/evidence/contradictions.h"
#include "services/inference/engine/link/evidence/person_names.h"

bool tab_relatives_doubt(const tab_views *v, size_t ta, size_t tb, size_t n, const uint32_t *a,
                         const uint32_t *b, const bool *kept, float *p)
{
    static const float LIKELY = 0.5f, ASKED = 0.05f;
    /* Of people who were written down twice so many, in parts of the others, are called otherwise with no
     * likeness: a second given name, another's. */
    static const double RENAMED = 0.05;
    tab_naming who[2];
    if (!tab_naming_find(v, ta, &who[0]) || !tab_naming_find(v, tb, &who[1]))
        return true;
    tab_nicknames *k = tab_nicknames_new();
    uint8_t *kin = calloc(n + 1, sizeof *kin);
    double same = 1, relatives = 0; /* one more than is seen: of few nothing is certain */
    bool ok = k != NULL && kin != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        if (p[i] < ASKED || (kept != NULL && !kept[i]))
            continue;
        kin[i] = tab_kinship_of(v, k, who, a[i], b[i]);
        same += (kin[i] == TAB_KIN_SAME || kin[i] == TAB_KIN_PERSON) && p[i] >= LIKELY ? (double)p[i] : 0;
        relatives += kin[i] == TAB_KIN_RELATIVES && p[i] >= LIKELY ? (double)p[i] : 0;
    }
    float left = relatives > RENAMED * same ? (float)(RENAMED * same / relatives) : 1;
    for (size_t i = 0; ok && i < n; i++)
        if (kin[i] == TAB_KIN_RELATIVES)
            p[i] *= left;
    tab_nicknames_free(k);
    free(kin);
    return ok;
}
