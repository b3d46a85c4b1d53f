/* The 25 sectors, and the posterior over them for a table from its values alone. */
#ifndef TAB_SECTORS_H
#define TAB_SECTORS_H

#include "common/base/base.h"

/* clang-format off */
#define TAB_SECTOR_LIST(X)                                                  \
    X("agriculture",      "Agriculture, Forestry & Fishing")                \
    X("energy-utilities", "Energy & Utilities")                             \
    X("manufacturing",    "Manufacturing & Materials")                      \
    X("automotive",       "Automotive")                                     \
    X("real-estate",      "Real Estate & Construction")                     \
    X("retail",           "Retail & E-commerce")                            \
    X("food-beverage",    "Food, Beverage & Restaurants")                   \
    X("transportation",   "Transportation & Logistics")                     \
    X("hospitality",      "Hospitality & Travel")                           \
    X("banking",          "Banking & Lending")                              \
    X("capital-markets",  "Capital Markets & Investing")                    \
    X("insurance",        "Insurance")                                      \
    X("healthcare",       "Healthcare")                                     \
    X("life-sciences",    "Pharma, Biotech & Life Sciences")                \
    X("education",        "Education")                                      \
    X("government",       "Government & Public Administration")             \
    X("public-safety",    "Public Safety & Justice")                        \
    X("nonprofit",        "Nonprofit & Social Services")                    \
    X("media",            "Media, Entertainment & Culture")                 \
    X("sports",           "Sports & Recreation")                            \
    X("telecom",          "Telecommunications")                             \
    X("technology",       "Software & IT Services")                         \
    X("marketing",        "Marketing & Advertising")                        \
    X("human-resources",  "Human Resources & Workforce")                    \
    X("environment",      "Environment & Earth Science")
/* clang-format on */

#define TAB_SECTORS 25

typedef struct {
    const char *slug, *name;
} tab_sector;

extern const tab_sector tab_sectors[TAB_SECTORS];

int tab_sector_of(tab_str slug_or_name); /* -1 when there is no such sector */
#endif
