/* See page.h. The template is read as it is filled: a block is gone through once for each item of its list,
 * and not at all where its condition does not hold. */
#include "common/bundle/page.h"

#include <ctype.h>
#include <string.h>

#include "common/bundle/page_values.h"

enum { NAMES = 128, DEEP = 64 };

typedef struct {
    tab_str name;
    page_value value;
} bound;

typedef struct {
    tab_out *o;
    tab_arena *a;
    const char *end; /* of the template */
    bound name[NAMES];
    size_t names;
    bool wrong; /* the template does not read */
    size_t deep;
} filler;

static void bind(filler *f, tab_str name, page_value value)
{
    size_t i = 0;
    while (i < f->names && !tab_str_eq(f->name[i].name, name))
        i++;
    if (i == NAMES) {
        f->wrong = true;
        return;
    }
    f->name[i] = (bound){ name, value };
    f->names = i < f->names ? f->names : i + 1;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* What is left of an expression. */
typedef struct {
    filler *f;
    const char *p, *end;
} reader;

static page_value expression(reader *r);

static void blanks(reader *r)
{
    while (r->p < r->end && isspace((unsigned char)*r->p))
        r->p++;
}

static tab_str word(reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && (isalnum((unsigned char)*r->p) || *r->p == '_'))
        r->p++;
    return (tab_str){ from, (size_t)(r->p - from) };
}

/* Takes the sign or the word, if it comes next. */
static bool take(reader *r, const char *what)
{
    size_t n = strlen(what);
    blanks(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, what, n) != 0)
        return false;
    if (isalpha((unsigned char)what[0]) && r->p + n < r->end &&
        (isalnum((unsigned char)r->p[n]) || r->p[n] == '_'))
        return false;
    r->p += n;
    return true;
}

static page_value literal(reader *r)
{
    double x = 0;
    if (r->p < r->end && *r->p == '\'') {
        const char *from = ++r->p;
        while (r->p < r->end && *r->p != '\'')
            r->p++;
        tab_str s = { from, (size_t)(r->p - from) };
        r->p += r->p < r->end;
        return (page_value){ .kind = PAGE_TEXT, .text = s };
    }
    double divisor = 1;
    for (; r->p < r->end && isdigit((unsigned char)*r->p); r->p++)
        x = 10 * x + (*r->p - '0');
    if (r->p + 1 < r->end && *r->p == '.' && isdigit((unsigned char)r->p[1]))
        for (r->p++; r->p < r->end && isdigit((unsigned char)*r->p); r->p++) {
            x = 10 * x + (*r->p - '0');
            divisor *= 10;
        }
    return page_number(x / divisor); /* both are whole and small: the nearest double */
}

static page_value named(reader *r)
{
    tab_str name = word(r);
    page_value x[PAGE_ARGUMENTS], value = { .kind = PAGE_NULL };
    size_t n = 0;
    if (tab_str_eq(name, TAB_S("null")))
        return value;
    if (tab_str_eq(name, TAB_S("true")) || tab_str_eq(name, TAB_S("false")))
        return (page_value){ .kind = PAGE_BOOL, .num = name.n == 4 };
    if (!take(r, "(")) {
        for (size_t i = 0; i < r->f->names; i++)
            if (tab_str_eq(r->f->name[i].name, name))
                return r->f->name[i].value;
        return value;
    }
    while (!take(r, ")")) {
        page_value given = expression(r);
        if (n == PAGE_ARGUMENTS || r->f->wrong || (r->p >= r->end)) {
            r->f->wrong = true;
            return value;
        }
        x[n++] = given;
        (void)take(r, ",");
    }
    if (!page_call(r->f->a, name, x, n, &value))
        r->f->wrong = true;
    return value;
}

static page_value primary(reader *r)
{
    blanks(r);
    if (take(r, "(")) {
        page_value inner = expression(r);
        r->f->wrong = !take(r, ")") || r->f->wrong;
        return inner;
    }
    if (r->p < r->end && (*r->p == '\'' || isdigit((unsigned char)*r->p)))
        return literal(r);
    if (r->p < r->end && (isalpha((unsigned char)*r->p) || *r->p == '_'))
        return named(r);
    r->f->wrong = true;
    return (page_value){ .kind = PAGE_NULL };
}

static page_value postfix(reader *r)
{
    page_value value = primary(r);
    for (;;) {
        if (take(r, ".")) {
            value = page_member(value, (page_value){ .kind = PAGE_TEXT, .text = word(r) });
        } else if (take(r, "[")) {
            value = page_member(value, expression(r));
            r->f->wrong = !take(r, "]") || r->f->wrong;
        } else {
            return value;
        }
    }
}

static page_value calculate(char op, page_value a, page_value b)
{
    if (!page_is_number(a) || !page_is_number(b) || (op == '/' && !(b.num < 0) && !(b.num > 0)))
        return (page_value){ .kind = PAGE_NULL };
    return page_number(op == '+'   ? a.num + b.num
                       : op == '-' ? a.num - b.num
                       : op == '*' ? a.num * b.num
                                   : a.num / b.num);
}

static page_value product(reader *r)
{
    page_value x = postfix(r);
    for (;;) {
        char op = take(r, "*") ? '*' : take(r, "/") ? '/' : 0;
        if (op == 0)
            return x;
        x = calculate(op, x, postfix(r));
    }
}

static page_value sum(reader *r)
{
    page_value x = product(r);
    for (;;) {
        char op = take(r, "+") ? '+' : take(r, "-") ? '-' : 0;
        if (op == 0)
            return x;
        x = calculate(op, x, product(r));
    }
}

static page_value yes_or_no(bool x)
{
    return (page_value){ .kind = PAGE_BOOL, .num = x };
}

static page_value comparison(reader *r)
{
    static const char *const signs[] = { "==", "!=", "<=", ">=", "<", ">" };
    page_value x = sum(r);
    for (;;) {
        size_t k = 0;
        while (k < 6 && !take(r, signs[k]))
            k++;
        if (k == 6)
            return x;
        page_value y = sum(r);
        bool both = page_is_number(x) && page_is_number(y);
        x = yes_or_no(k == 0   ? page_equal(x, y)
                      : k == 1 ? !page_equal(x, y)
                      : !both  ? false
                      : k == 2 ? x.num <= y.num
                      : k == 3 ? x.num >= y.num
                      : k == 4 ? x.num < y.num
                               : x.num > y.num);
    }
}

static page_value negation(reader *r)
{
    return take(r, "not") ? yes_or_no(!page_truth(negation(r))) : comparison(r);
}

static page_value conjunction(reader *r)
{
    page_value x = negation(r);
    while (take(r, "and")) {
        page_value y = negation(r);
        x = page_truth(x) ? y : x;
    }
    return x;
}

static page_value expression(reader *r)
{
    if (++r->f->deep > DEEP || r->f->wrong) {
        r->f->wrong = true;
        r->f->deep--;
        return (page_value){ .kind = PAGE_NULL };
    }
    page_value x = conjunction(r);
    while (take(r, "or")) {
        page_value y = conjunction(r);
        x = page_truth(x) ? x : y;
    }
    r->f->deep--;
    return x;
}

/* All of it. */
static page_value evaluate(filler *f, tab_str source)
{
    reader r = { f, source.p, source.p + source.n };
    page_value x = expression(&r);
    blanks(&r);
    f->wrong = f->wrong || r.p != r.end;
    return x;
}

/* ---- the template ---------------------------------------------------------------------------- */

static void escaped(tab_out *o, tab_str s)
{
    static const struct {
        char c;
        const char *as;
    } table[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } };
    for (size_t i = 0; i < s.n; i++) {
        const char *as = NULL;
        for (size_t k = 0; k < sizeof table / sizeof *table; k++)
            as = table[k].c == s.p[i] ? table[k].as : as;
        if (as == NULL && ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f))
            as = " ";
        if (as != NULL)
            tab_out_bytes(o, as, strlen(as));
        else
            tab_out_bytes(o, &s.p[i], 1);
    }
}

static tab_str stripped(tab_str s)
{
    while (s.n > 0 && isspace((unsigned char)s.p[0]))
        s.p++, s.n--;
    while (s.n > 0 && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

/* The text up to the next tag, and the tag; p moves behind it. False: there is no further one. */
static bool next_tag(const filler *f, const char **p, tab_str *ret_text, tab_str *ret_tag)
{
    const char *open = memmem(*p, (size_t)(f->end - *p), "{{", 2);
    const char *close = open == NULL ? NULL : memmem(open, (size_t)(f->end - open), "}}", 2);
    *ret_text = (tab_str){ *p, (size_t)((close != NULL ? open : f->end) - *p) };
    if (close == NULL) {
        *p = f->end;
        return false;
    }
    *ret_tag = stripped((tab_str){ open + 2, (size_t)(close - open - 2) });
    *p = close + 2;
    return true;
}

static bool begins(tab_str tag, const char *with)
{
    size_t n = strlen(with);
    return tag.n >= n && memcmp(tag.p, with, n) == 0 && (tag.n == n || isspace((unsigned char)tag.p[n]));
}

static const char *block(filler *f, const char *p, bool on, tab_str *ret_closing);

/* "x, i in E", and what it is done for. */
static const char *loop(filler *f, const char *p, tab_str tag, bool on)
{
    const char *in = memmem(tag.p, tag.n, " in ", 4), *end;
    tab_str closing;
    if (in == NULL) {
        f->wrong = true;
        return f->end;
    }
    tab_str names = { tag.p, (size_t)(in - tag.p) }, index = TAB_S("");
    const char *comma = memchr(names.p, ',', names.n);
    if (comma != NULL) {
        index = stripped((tab_str){ comma + 1, (size_t)(names.p + names.n - comma - 1) });
        names.n = (size_t)(comma - names.p);
    }
    page_value over = { .kind = PAGE_NULL };
    if (on)
        over = evaluate(f, (tab_str){ in + 4, (size_t)(tag.p + tag.n - in - 4) });
    end = block(f, p, false, &closing);
    const tab_json *item = over.kind == PAGE_LIST ? over.json : NULL;
    for (size_t i = 0; item != NULL && i < over.count && !f->wrong; i++, item = item->next) {
        bind(f, stripped(names), page_of_json(item));
        if (index.n > 0)
            bind(f, index, page_number((double)i));
        (void)block(f, p, true, &closing);
    }
    return end;
}

static const char *choice(filler *f, const char *p, tab_str condition, bool on)
{
    tab_str closing;
    bool yes = on && page_truth(evaluate(f, condition));
    p = block(f, p, yes, &closing);
    if (begins(closing, "else"))
        p = block(f, p, on && !yes, &closing);
    return p;
}

/* From p to the `else` or `end` that closes the block; gives the place behind it. */
static const char *block(filler *f, const char *p, bool on, tab_str *ret_closing)
{
    tab_str text, tag;
    *ret_closing = TAB_S("");
    if (++f->deep > DEEP)
        f->wrong = true;
    while (!f->wrong) {
        bool more = next_tag(f, &p, &text, &tag);
        if (on)
            tab_out_bytes(f->o, text.p, text.n);
        if (!more)
            break;
        if (begins(tag, "else") || begins(tag, "end")) {
            *ret_closing = tag;
            break;
        }
        if (begins(tag, "if")) {
            p = choice(f, p, (tab_str){ tag.p + 2, tag.n - 2 }, on);
        } else if (begins(tag, "for")) {
            p = loop(f, p, stripped((tab_str){ tag.p + 3, tag.n - 3 }), on);
        } else if (begins(tag, "let")) {
            const char *equals = memchr(tag.p, '=', tag.n);
            f->wrong = equals == NULL;
            if (on && equals != NULL)
                bind(f, stripped((tab_str){ tag.p + 3, (size_t)(equals - tag.p - 3) }),
                     evaluate(f, (tab_str){ equals + 1, (size_t)(tag.p + tag.n - equals - 1) }));
        } else if (on) {
            escaped(f->o, page_text(f->a, evaluate(f, tag)));
        }
    }
    f->deep--;
    return p;
}

bool tab_page_fill(tab_out *o, tab_arena *a, tab_str template, const tab_json *values)
{
    filler *f = tab_arena_new_of(a, filler, 1);
    tab_str closing;
    if (f == NULL)
        return false;
    *f = (filler){ .o = o, .a = a, .end = template.p + template.n };
    for (const tab_json *m = values->first; m != NULL; m = m->next)
        bind(f, m->key, page_of_json(m));
    const char *p = block(f, template.p, true, &closing);
    return !f->wrong && p == f->end && closing.n == 0 && !o->failed && !tab_arena_full(a);
}
