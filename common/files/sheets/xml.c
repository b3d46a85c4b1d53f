/* See xml.h. */
#include "common/files/sheets/xml.h"

#include <stdlib.h>

enum { DEPTH = 64, TEXT_MOST = 1 << 20 };

static const char *local(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon != NULL ? colon + 1 : name;
}

const char *tab_xml_attribute(const char **attributes, const char *name)
{
    for (; *attributes != NULL; attributes += 2)
        if (strcmp(local(attributes[0]), name) == 0)
            return attributes[1];
    return "";
}

void tab_xml_fail(tab_xml *x, tab_status s)
{
    if (x->status == TAB_OK)
        x->status = s;
    XML_StopParser(x->parser, XML_FALSE);
}

static void XMLCALL on_start(void *arg, const char *name, const char **attributes)
{
    tab_xml *x = arg;
    if (++x->depth > DEPTH)
        tab_xml_fail(x, tab_fail(x->err, TAB_VALIDATION, "", "its XML is nested deeper than %d", DEPTH));
    else
        x->start(x, local(name), attributes);
}

static void XMLCALL on_end(void *arg, const char *name)
{
    tab_xml *x = arg;
    x->depth--;
    x->end(x, local(name));
}

static void XMLCALL on_text(void *arg, const char *p, int n)
{
    tab_xml *x = arg;
    if (!x->take || x->status != TAB_OK)
        return;
    if (x->text.n + (size_t)n > TEXT_MOST)
        tab_xml_fail(x, tab_fail(x->err, TAB_VALIDATION, "", "a cell is longer than %d bytes", TEXT_MOST));
    else if (tab_grown_add(&x->text, p, (size_t)n, x->err) != TAB_OK)
        tab_xml_fail(x, TAB_INTERNAL);
}

static void XMLCALL on_doctype(void *arg, const char *name, const char *system, const char *public, int inner)
{
    (void)name, (void)system, (void)public, (void)inner;
    tab_xml *x = arg;
    tab_xml_fail(
        x, tab_fail(x->err, TAB_VALIDATION, "", "its XML declares a document type, which is not allowed"));
}

static tab_status feed(void *arg, const char *p, size_t n, tab_error *err)
{
    tab_xml *x = arg;
    if (XML_Parse(x->parser, p, (int)n, 0) == XML_STATUS_OK)
        return TAB_OK;
    return x->status != TAB_OK ? x->status
                               : tab_fail(err, TAB_VALIDATION, "", "its XML is damaged: %s",
                                          XML_ErrorString(XML_GetErrorCode(x->parser)));
}

static bool begin(tab_xml *x, tab_error *err)
{
    x->err = err;
    x->parser = XML_ParserCreate(NULL);
    if (x->parser == NULL)
        return false;
    XML_SetUserData(x->parser, x);
    XML_SetElementHandler(x->parser, on_start, on_end);
    XML_SetCharacterDataHandler(x->parser, on_text);
    XML_SetStartDoctypeDeclHandler(x->parser, on_doctype);
    return true;
}

static tab_status finish(tab_xml *x, tab_status s, tab_error *err)
{
    if (s == TAB_OK && XML_Parse(x->parser, "", 0, 1) != XML_STATUS_OK)
        s = tab_fail(err, TAB_VALIDATION, "", "its XML is truncated");
    XML_ParserFree(x->parser);
    free(x->text.p);
    x->text = (tab_grown){ 0 };
    return s;
}

tab_status tab_xml_read(const tab_zip *z, const tab_zip_entry *e, uint64_t most, tab_xml *x, tab_error *err)
{
    if (!begin(x, err))
        return tab_no_memory(err);
    return finish(x, tab_zip_read(z, e, most, feed, x, err), err);
}

tab_status tab_xml_read_text(tab_str text, tab_xml *x, tab_error *err)
{
    if (!begin(x, err))
        return tab_no_memory(err);
    tab_status s = text.n > INT32_MAX ? tab_fail(err, TAB_VALIDATION, "", "its XML is too large")
                                      : feed(x, text.p, text.n, err);
    return finish(x, s, err);
}
