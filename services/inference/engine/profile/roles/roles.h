/* Every role a column can have, with what follows from it: one table, written here and nowhere else.
 *
 * X(ENUM, "name", FAMILY, TYPE, pii, identifying)
 *   FAMILY  a confusion inside a family costs a user little; figures are given strictly and by family
 *   TYPE    NUM numeric, TIME datetime, BOOL boolean, CAT closed vocabulary, TEXT free or identifying
 *           text, RATIO categorical when at most half of the non-missing values are distinct, else text
 *   pii     the value reaches or singles out a natural person by itself
 *   ident.  the value names one row's entity: a missing one is never imputed, it is no target */
#ifndef TAB_ROLES_H
#define TAB_ROLES_H

#include "services/inference/engine/profile/profile.h"

/* clang-format off */
#define TAB_ROLE_LIST(X)                                              \
    X(NAME,            "name",            PERSON,     TEXT,  1, 1)    \
    X(FIRST_NAME,      "first_name",      PERSON,     TEXT,  1, 1)    \
    X(LAST_NAME,       "last_name",       PERSON,     TEXT,  1, 1)    \
    X(USERNAME,        "username",        PERSON,     TEXT,  1, 1)    \
    X(EMAIL,           "email",           CONTACT,    TEXT,  1, 1)    \
    X(PHONE,           "phone",           CONTACT,    TEXT,  1, 1)    \
    X(ADDRESS,         "address",         CONTACT,    TEXT,  1, 1)    \
    X(BIRTH_DATE,      "birth_date",      TIME,       TIME,  1, 1)    \
    X(NATIONAL_ID,     "national_id",     IDENTIFIER, TEXT,  1, 1)    \
    X(TAX_ID,          "tax_id",          IDENTIFIER, TEXT,  1, 1)    \
    X(PASSPORT,        "passport",        IDENTIFIER, TEXT,  1, 1)    \
    X(DRIVER_LICENSE,  "driver_license",  IDENTIFIER, TEXT,  1, 1)    \
    X(AGE,             "age",             QUANTITY,   NUM,   0, 0)    \
    X(GENDER,          "gender",          CATEGORY,   CAT,   0, 0)    \
    X(MARITAL_STATUS,  "marital_status",  CATEGORY,   CAT,   0, 0)    \
    X(EDUCATION_LEVEL, "education_level", CATEGORY,   CAT,   0, 0)    \
    X(ETHNICITY,       "ethnicity",       CATEGORY,   CAT,   0, 0)    \
    X(RELIGION,        "religion",        CATEGORY,   CAT,   0, 0)    \
    X(NATIONALITY,     "nationality",     PLACE,      CAT,   0, 0)    \
    X(JOB_TITLE,       "job_title",       THING,      RATIO, 0, 0)    \
    X(CREDIT_CARD,     "credit_card",     IDENTIFIER, TEXT,  1, 1)    \
    X(IBAN,            "iban",            IDENTIFIER, TEXT,  1, 1)    \
    X(BIC,             "bic",             IDENTIFIER, TEXT,  0, 0)    \
    X(ACCOUNT_NUMBER,  "account_number",  IDENTIFIER, TEXT,  1, 1)    \
    X(CRYPTO_ADDRESS,  "crypto_address",  IDENTIFIER, TEXT,  0, 1)    \
    X(IP_ADDRESS,      "ip_address",      CONTACT,    TEXT,  1, 1)    \
    X(MAC_ADDRESS,     "mac_address",     CONTACT,    TEXT,  1, 1)    \
    X(IMEI,            "imei",            IDENTIFIER, TEXT,  1, 1)    \
    X(VIN,             "vin",             IDENTIFIER, TEXT,  1, 1)    \
    X(LICENSE_PLATE,   "license_plate",   IDENTIFIER, TEXT,  1, 1)    \
    X(PASSWORD,        "password",        IDENTIFIER, TEXT,  1, 1)    \
    X(ID,              "id",              IDENTIFIER, RATIO, 0, 1)    \
    X(UUID,            "uuid",            IDENTIFIER, TEXT,  0, 1)    \
    X(HASH,            "hash",            IDENTIFIER, TEXT,  0, 1)    \
    X(CODE,            "code",            IDENTIFIER, RATIO, 0, 0)    \
    X(ISBN,            "isbn",            IDENTIFIER, TEXT,  0, 1)    \
    X(GTIN,            "gtin",            IDENTIFIER, TEXT,  0, 1)    \
    X(DOI,             "doi",             IDENTIFIER, RATIO, 0, 0)    \
    X(LEI,             "lei",             IDENTIFIER, RATIO, 0, 0)    \
    X(ISIN,            "isin",            IDENTIFIER, RATIO, 0, 0)    \
    X(TICKER,          "ticker",          IDENTIFIER, RATIO, 0, 0)    \
    X(MEDICAL_CODE,    "medical_code",    IDENTIFIER, RATIO, 0, 0)    \
    X(INDUSTRY_CODE,   "industry_code",   IDENTIFIER, RATIO, 0, 0)    \
    X(AIRPORT_CODE,    "airport_code",    IDENTIFIER, RATIO, 0, 0)    \
    X(COUNTRY_CODE,    "country_code",    PLACE,      CAT,   0, 0)    \
    X(CURRENCY_CODE,   "currency_code",   VOCABULARY, CAT,   0, 0)    \
    X(LANGUAGE,        "language",        VOCABULARY, CAT,   0, 0)    \
    X(VERSION,         "version",         IDENTIFIER, RATIO, 0, 0)    \
    X(COUNTRY,         "country",         PLACE,      CAT,   0, 0)    \
    X(REGION,          "region",          PLACE,      CAT,   0, 0)    \
    X(CITY,            "city",            PLACE,      RATIO, 0, 0)    \
    X(POSTAL_CODE,     "postal_code",     PLACE,      RATIO, 0, 0)    \
    X(PLACE,           "place",           PLACE,      RATIO, 0, 0)    \
    X(LATITUDE,        "latitude",        GEO,        NUM,   0, 0)    \
    X(LONGITUDE,       "longitude",       GEO,        NUM,   0, 0)    \
    X(COORDINATES,     "coordinates",     GEO,        TEXT,  0, 0)    \
    X(TIMEZONE,        "timezone",        VOCABULARY, CAT,   0, 0)    \
    X(ORGANIZATION,    "organization",    THING,      RATIO, 0, 1)    \
    X(PRODUCT,         "product",         THING,      RATIO, 0, 0)    \
    X(SPECIES,         "species",         THING,      RATIO, 0, 0)    \
    X(TITLE,           "title",           THING,      RATIO, 0, 1)    \
    X(LABEL,           "label",           THING,      RATIO, 0, 1)    \
    X(URL,             "url",             CONTACT,    TEXT,  0, 1)    \
    X(DOMAIN,          "domain",          CONTACT,    TEXT,  0, 1)    \
    X(FILE_PATH,       "file_path",       VOCABULARY, TEXT,  0, 1)    \
    X(USER_AGENT,      "user_agent",      VOCABULARY, TEXT,  0, 1)    \
    X(DATE,            "date",            TIME,       TIME,  0, 0)    \
    X(DATETIME,        "datetime",        TIME,       TIME,  0, 0)    \
    X(TIME,            "time",            TIME,       TIME,  0, 0)    \
    X(PERIOD,          "period",          TIME,       TIME,  0, 0)    \
    X(YEAR,            "year",            TIMEPART,   NUM,   0, 0)    \
    X(MONTH,           "month",           TIMEPART,   CAT,   0, 0)    \
    X(WEEKDAY,         "weekday",         TIMEPART,   CAT,   0, 0)    \
    X(DATE_PART,       "date_part",       TIMEPART,   NUM,   0, 0)    \
    X(DURATION,        "duration",        QUANTITY,   NUM,   0, 0)    \
    X(MEASURE,         "measure",         QUANTITY,   NUM,   0, 0)    \
    X(COUNT,           "count",           QUANTITY,   NUM,   0, 0)    \
    X(AMOUNT,          "amount",          QUANTITY,   NUM,   0, 0)    \
    X(PERCENTAGE,      "percentage",      QUANTITY,   NUM,   0, 0)    \
    X(RATING,          "rating",          QUANTITY,   NUM,   0, 0)    \
    X(RANK,            "rank",            QUANTITY,   NUM,   0, 0)    \
    X(FLAG,            "flag",            FLAG,       BOOL,  0, 0)    \
    X(CATEGORY,        "category",        CATEGORY,   CAT,   0, 0)    \
    X(STATUS,          "status",          CATEGORY,   CAT,   0, 0)    \
    X(RANGE,           "range",           CATEGORY,   CAT,   0, 0)    \
    X(COLOR,           "color",           CATEGORY,   CAT,   0, 0)    \
    X(UNIT,            "unit",            CATEGORY,   CAT,   0, 0)    \
    X(TEXT,            "text",            TEXT,       TEXT,  0, 0)    \
    X(LIST,            "list",            TEXT,       TEXT,  0, 0)    \
    X(JSON,            "json",            TEXT,       TEXT,  0, 0)    \
    X(EMPTY,           "empty",           TEXT,       TEXT,  0, 0)
/* clang-format on */

typedef enum {
#define TAB_X(e, name, family, type, pii, ident) TAB_ROLE_##e,
    TAB_ROLE_LIST(TAB_X)
#undef TAB_X
        TAB_ROLES
} tab_role;

typedef enum {
    TAB_FAMILY_PERSON,
    TAB_FAMILY_CONTACT,
    TAB_FAMILY_IDENTIFIER,
    TAB_FAMILY_QUANTITY,
    TAB_FAMILY_CATEGORY,
    TAB_FAMILY_FLAG,
    TAB_FAMILY_PLACE,
    TAB_FAMILY_GEO,
    TAB_FAMILY_THING,
    TAB_FAMILY_TIME,
    TAB_FAMILY_TIMEPART,
    TAB_FAMILY_TEXT,
    TAB_FAMILY_VOCABULARY,
    TAB_FAMILIES
} tab_family;

typedef enum {
    TAB_KIND_NUM,
    TAB_KIND_TIME,
    TAB_KIND_BOOL,
    TAB_KIND_CAT,
    TAB_KIND_TEXT,
    TAB_KIND_RATIO
} tab_role_kind;

extern const char *const tab_role_names[TAB_ROLES];
extern const uint8_t tab_role_family[TAB_ROLES];      /* a tab_family */
extern const uint8_t tab_role_kinds[TAB_ROLES];       /* a tab_role_kind */
extern const uint8_t tab_role_pii[TAB_ROLES];         /* 0 or 1 */
extern const uint8_t tab_role_identifying[TAB_ROLES]; /* 0 or 1 */

int tab_role_of(tab_str name); /* -1 when there is no such role */

/* What is said of a role's probability p (decision 0772): where people's labels differ, as between a measure
 * and a count, less than what the models say. 1, which a caller gave, stays. */
double tab_told_role(int role, double p);

/* The type that follows from a role; `distinct` of `present` decides where the role alone does not. */
tab_type tab_role_type(int role, size_t distinct, size_t present);
#endif
