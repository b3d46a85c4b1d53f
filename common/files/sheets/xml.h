/* XML parts of office files, streamed through expat: what all of them share.
 *
 * A document type is refused: no such file has one, and entities are how small XML grows large or reads
 * files. Depth is bounded. A handler ends the reading by failing. */
#ifndef TAB_FILES_XML_H
#define TAB_FILES_XML_H

#include <expat.h>

#include "common/files/unpack.h"

typedef struct tab_xml tab_xml;
struct tab_xml {
    XML_Parser parser;
    /* name is local: what stands behind the last colon */
    void (*start)(tab_xml *x, const char *name, const char **attributes);
    void (*end)(tab_xml *x, const char *name);
    void *arg;
    bool take;      /* text comes into `text` */
    tab_grown text; /* of the element whose text is taken; a handler empties it */
    size_t depth;
    tab_status status; /* what a handler failed with */
    tab_error *err;
};

/* Reads one entry of the archive. */
tab_status tab_xml_read(const tab_zip *z, const tab_zip_entry *e, uint64_t most, tab_xml *x,
                        tab_error *err) TAB_CHECKED;
/* The same of a text. */
tab_status tab_xml_read_text(tab_str text, tab_xml *x, tab_error *err) TAB_CHECKED;
/* The value of an attribute, by local name; "" where it is absent. */
const char *tab_xml_attribute(const char **attributes, const char *name);
/* From a handler: the reading ends with this status. */
void tab_xml_fail(tab_xml *x, tab_status s);

#endif
