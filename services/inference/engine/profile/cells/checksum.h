/* Self-checking numbers and strict patterns. Each test is exact and comes with a chance: the share of
 * random strings of its shape that would pass. Confidence follows from the chance of so many accidents.
 * Chances of check digits are arithmetic (one in ten, one in 97); those of patterns are estimates by hand. */
#ifndef TAB_CHECKSUM_H
#define TAB_CHECKSUM_H

#include "common/base/base.h"

/* clang-format off */
#define TAB_CHECKS(X) /* name, role, chance of an accident among strings of the shape */             \
    X(EMAIL, EMAIL, 1e-3)        X(URL, URL, 1e-3)             X(DOMAIN, DOMAIN, 1e-2)             \
    X(UUID, UUID, 1e-9)          X(IPV4, IP_ADDRESS, 1e-2)     X(IPV6, IP_ADDRESS, 1e-6)           \
    X(MAC, MAC_ADDRESS, 1e-6)    X(HEX_DIGEST, HASH, 1e-6)     X(CARD, CREDIT_CARD, 3e-2)          \
    X(IMEI, IMEI, 1e-1)          X(IBAN, IBAN, 1e-2)           X(BIC, BIC, 1e-1)                   \
    X(ISBN, ISBN, 1e-1)          X(GTIN, GTIN, 1e-1)           X(VIN, VIN, 9e-2)                   \
    X(VIN_SHAPE, VIN, 3e-1)      X(LEI, LEI, 1e-2)             X(ISIN, ISIN, 3e-2)                 \
    X(DOI, DOI, 1e-4)            X(CRYPTO, CRYPTO_ADDRESS, 1e-6) X(SSN, NATIONAL_ID, 1e-1)         \
    X(NATIONAL, NATIONAL_ID, 6e-2) X(TAX, TAX_ID, 6e-2)        X(NPI, MEDICAL_CODE, 1e-1)          \
    X(LOINC, MEDICAL_CODE, 5e-2) X(ICD10, MEDICAL_CODE, 2e-1)  X(JSON, JSON, 1e-3)                 \
    X(GEO_PAIR, COORDINATES, 1e-2) X(PATH, FILE_PATH, 1e-2)    X(AGENT, USER_AGENT, 1e-4)          \
    X(PHONE, PHONE, 3e-1)        X(VERSION, VERSION, 2e-1)     X(HEX_COLOR, COLOR, 1e-2)           \
    X(NINO, NATIONAL_ID, 1e-1)   X(RANGE, RANGE, 2e-1)         X(PLATE, LICENSE_PLATE, 3e-1)       \
    X(IBAN_SHAPE, IBAN, 3e-2)    X(FISCAL, NATIONAL_ID, 1e-2)  X(STREET, ADDRESS, 3e-1)            \
    X(PLATE_FORM, LICENSE_PLATE, 2e-1) X(PHONE_NANP, PHONE, 6e-1) X(PHONE_MOBILE, PHONE, 4e-1)      \
    X(PHONE_TRUNK, PHONE, 9e-1)  X(PHONE_ABROAD, PHONE, 3e-1) X(SNOMED, MEDICAL_CODE, 3e-3)        \
    X(BNF, MEDICAL_CODE, 1e-2)   X(NAICS, INDUSTRY_CODE, 3e-1) X(ARRAY, LIST, 1e-3)
/* clang-format on */

typedef enum {
#define TAB_X(e, role, chance) TAB_CHECK_##e,
    TAB_CHECKS(TAB_X)
#undef TAB_X
        TAB_CHECK_COUNT
} tab_check;

/* The tests that the trimmed text passes, one bit each. Linear in its length. */
uint64_t tab_checks_of(tab_str s);

/* Whether Verhoeff's check digit is right over the n digits at d. */
bool tab_verhoeff(const char *d, size_t n);
#endif
