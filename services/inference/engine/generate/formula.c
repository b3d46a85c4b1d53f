/* Formulas of a plan: read once into steps of a stack machine (Dijkstra's shunting, by recursive
 * descent), then run for each row. Booleans are 0 and 1; times are seconds since 1970. */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "services/inference/engine/generate/plan.h"

enum op {
    OP_NUMBER,
    OP_COLUMN,
    OP_INDEX,
    OP_STEP,
    OP_LINE,
    OP_COUNT,
    OP_ASKED,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_EQ,
    OP_NE,
    OP_AND,
    OP_OR,
    OP_NEG,
    OP_NOT,
    OP_PART,
    OP_WHEN,
    OP_ANYWHEN, /* those above are written apart; functions follow */
    OP_NORMAL,
    OP_UNIFORM,
    OP_LOGNORMAL,
    OP_PARETO,
    OP_POISSON,
    OP_EXPO,
    OP_CHANCE,
    OP_GAMMA,
    OP_FLOOR,
    OP_ROUND,
    OP_MIN,
    OP_MAX,
    OP_CLAMP,
    OP_ABS,
    OP_SQRT,
    OP_LOG,
    OP_EXP,
    OP_POW,
    OP_SIN,
    OP_LOGISTIC,
    OP_MAP,
    OP_IF,
    OP_DAYS,
    OP_HOUR,
    OP_MONTH,
    OP_WEEKDAY,
    OP_YEARDAY,
    OP_YEAR,
    OP_DAY,
    OP_WORKDAY,
    OP_TRADEDAY,
    OP_DATE,
    OP_WALK,
    OP_SMOOTH,
    OP_WAVE
};
enum { NODES = 200 };

static const struct {
    const char *name;
    uint8_t op, least, most;
} functions[] = {
    { "normal", OP_NORMAL, 2, 2 },
    { "uniform", OP_UNIFORM, 2, 2 },
    { "lognormal", OP_LOGNORMAL, 2, 2 },
    { "pareto", OP_PARETO, 2, 2 },
    { "poisson", OP_POISSON, 1, 1 },
    { "expo", OP_EXPO, 1, 1 },
    { "chance", OP_CHANCE, 1, 1 },
    { "gamma", OP_GAMMA, 2, 2 },
    { "floor", OP_FLOOR, 1, 1 },
    { "round", OP_ROUND, 2, 2 },
    { "min", OP_MIN, 2, 2 },
    { "max", OP_MAX, 2, 2 },
    { "clamp", OP_CLAMP, 3, 3 },
    { "abs", OP_ABS, 1, 1 },
    { "sqrt", OP_SQRT, 1, 1 },
    { "log", OP_LOG, 1, 1 },
    { "exp", OP_EXP, 1, 1 },
    { "pow", OP_POW, 2, 2 },
    { "sin", OP_SIN, 1, 1 },
    { "logistic", OP_LOGISTIC, 1, 1 },
    { "map", OP_MAP, 2, 20 },
    { "if", OP_IF, 3, 3 },
    { "days", OP_DAYS, 1, 1 },
    { "hour", OP_HOUR, 1, 1 },
    { "month", OP_MONTH, 1, 1 },
    { "weekday", OP_WEEKDAY, 1, 1 },
    { "yearday", OP_YEARDAY, 1, 1 },
    { "year", OP_YEAR, 1, 1 },
    { "day", OP_DAY, 1, 1 },
    { "workday", OP_WORKDAY, 1, 1 },
    { "tradeday", OP_TRADEDAY, 2, 2 },
    { "date", OP_DATE, 3, 3 },
    { "walk", OP_WALK, 3, 3 },
    { "smooth", OP_SMOOTH, 3, 3 },
    { "wave", OP_WAVE, 2, 2 },
};

typedef struct {
    tab_generator *g;
    size_t t, cols, n, draws, depth;
    uint64_t key;
    const char *p, *end;
    step out[NODES];
    tab_error *err;
} reader;

static tab_status wrong(const reader *r, const char *what)
{
    return tab_fail(r->err, TAB_INTERNAL, "sector", "table %.*s: %s at `%.40s`",
                    TAB_STR(r->g->table[r->t].name), what, r->p < r->end ? r->p : "the end");
}

static void blanks(reader *r)
{
    while (r->p < r->end && *r->p == ' ')
        r->p++;
}

static bool take(reader *r, const char *s)
{
    size_t n = strlen(s);
    blanks(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, s, n) != 0)
        return false;
    r->p += n;
    return true;
}

static tab_str word(reader *r)
{
    blanks(r);
    const char *from = r->p;
    while (r->p < r->end && (isalnum((unsigned char)*r->p) || *r->p == '_'))
        r->p++;
    return (tab_str){ from, (size_t)(r->p - from) };
}

static step *put(reader *r, int op, int args)
{
    static step none;
    if (r->n == NODES) {
        r->p = r->end;
        return &none;
    }
    r->out[r->n] = (step){ .op = (uint8_t)op, .args = (uint8_t)args };
    return &r->out[r->n++];
}

static tab_status sum(reader *r);

/* when(profile, year, year): a calendar of the plan */
static tab_status read_when(reader *r, int op)
{
    tab_generator *g = r->g;
    tab_str name = word(r);
    calendar c = { .profile = generate_profile(name) };
    double year[2];
    if (c.profile < 0)
        return wrong(r, "no such profile");
    for (int i = 0; i < 2; i++) {
        char *end;
        if (!take(r, ","))
            return wrong(r, "when(profile, year, year)");
        year[i] = strtod(r->p, &end);
        r->p = end;
    }
    if (!take(r, ")") || year[1] <= year[0] || year[0] < 1900 || year[1] > 2100)
        return wrong(r, "when(profile, year, year)");
    c.from = generate_days((int)year[0], 1, 1) + floor((year[0] - floor(year[0])) * 365);
    c.days = generate_days((int)year[1], 1, 1) + floor((year[1] - floor(year[1])) * 365) - c.from;
    size_t i = 0;
    while (i < g->calendars && (g->calendar[i].profile != c.profile || g->calendar[i].from != c.from ||
                                g->calendar[i].days != c.days))
        i++;
    if (i == sizeof g->calendar / sizeof *g->calendar)
        return wrong(r, "too many calendars");
    if (i == g->calendars) {
        if (!generate_calendar(g->a, &c))
            return tab_no_memory(r->err);
        g->calendar[g->calendars++] = c;
    }
    step *s = put(r, op, 0);
    s->a = (uint16_t)i;
    s->key = generate_key(r->key, TAB_S("when"), r->draws++);
    return TAB_OK;
}

static tab_status read_call(reader *r, tab_str name)
{
    if (tab_str_eq(name, TAB_S("when")))
        return read_when(r, OP_WHEN);
    if (tab_str_eq(name, TAB_S("anywhen")))
        return read_when(r, OP_ANYWHEN);
    size_t f = 0, args = 0;
    while (f < sizeof functions / sizeof *functions && !tab_str_eq(name, tab_str_of(functions[f].name)))
        f++;
    if (f == sizeof functions / sizeof *functions)
        return wrong(r, "no such function");
    if (!take(r, ")"))
        do
            TAB_TRY(sum(r));
        while (args++ < 32 && take(r, ","));
    if (args > 0 && !take(r, ")"))
        return wrong(r, "a closing bracket is missing");
    if (args < functions[f].least || args > functions[f].most)
        return wrong(r, "another number of arguments");
    step *s = put(r, functions[f].op, (int)args);
    bool shared = s->op == OP_WALK || s->op == OP_SMOOTH; /* one course, wherever it is read */
    s->key = shared ? generate_key(r->g->table[r->t].key, TAB_S("course"), 0)
                    : generate_key(r->key, name, r->draws++);
    return TAB_OK;
}

/* A label in quotes stands for its number among those of the column just read. */
static tab_status label(reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && *r->p != '\'')
        r->p++;
    tab_str s = { from, (size_t)(r->p - from) };
    if (!take(r, "'") || r->n == 0)
        return wrong(r, "a label has no end");
    for (size_t back = r->n; back-- > 0;) {
        const step *at = &r->out[back];
        if (at->op != OP_COLUMN)
            continue;
        const table *t = &r->g->table[at->a == 0 ? r->t : r->g->table[r->t].parent[at->a - 1].table];
        const column *c = &t->col[at->b];
        while (c->kind == KIND_COPY) {
            t = &r->g->table[t->parent[c->of_parent - 1].table];
            c = &t->col[c->of_col];
        }
        for (size_t i = 0; i < c->labels; i++)
            if (tab_str_eq(c->label[i], s)) {
                put(r, OP_NUMBER, 0)->x = (double)i;
                return TAB_OK;
            }
        size_t field = c->kind == KIND_PART ? (size_t)c->field : 0;
        if (c->kind == KIND_PART && c->of_parent == 0)
            c = &t->col[c->of_col];
        for (size_t i = 0; c->kind == KIND_FROM && c->lists == 1 && i < c->list[0]->n; i++)
            if (tab_str_eq(c->list[0]->text[i * c->list[0]->fields + field], s)) {
                put(r, OP_NUMBER, 0)->x = (double)i;
                return TAB_OK;
            }
        break;
    }
    return wrong(r, "no such label");
}

static tab_status name(reader *r)
{
    tab_str w = word(r);
    const table *t = &r->g->table[r->t];
    if (w.n == 0)
        return wrong(r, "something is missing");
    if (r->p < r->end && *r->p == '(') {
        r->p++;
        if (!tab_str_eq(w, TAB_S("part")))
            return read_call(r, w);
        tab_str c = word(r);
        int at = plan_column(t, r->cols, c);
        if (at < 0 || t->col[at].kind != KIND_FROM || !take(r, ","))
            return wrong(r, "part(column of records, field)");
        blanks(r);
        step *s = put(r, OP_PART, 0);
        s->b = (uint16_t)at;
        s->a = (uint16_t)strtol(r->p, NULL, 10);
        (void)word(r);
        if (!take(r, ")") || s->a >= t->col[at].list[0]->fields)
            return wrong(r, "no such field");
        return TAB_OK;
    }
    if (r->p < r->end && *r->p == '.') {
        r->p++;
        int parent_at = plan_parent(r->g, r->t, w);
        tab_str c = word(r);
        if (parent_at < 0)
            return wrong(r, "no such table above");
        const table *above = &r->g->table[t->parent[parent_at].table];
        if (tab_str_eq(c, TAB_S("index"))) {
            put(r, OP_INDEX, 0)->a = (uint16_t)(parent_at + 1);
            return TAB_OK;
        }
        int at = plan_column(above, above->cols, c);
        if (at < 0)
            return wrong(r, "no such column above");
        step *s = put(r, OP_COLUMN, 0);
        s->a = (uint16_t)(parent_at + 1);
        s->b = (uint16_t)at;
        return TAB_OK;
    }
    int at = plan_column(t, r->cols, w);
    if (at >= 0)
        put(r, OP_COLUMN, 0)->b = (uint16_t)at;
    else if (tab_str_eq(w, TAB_S("index")))
        put(r, OP_INDEX, 0);
    else if (tab_str_eq(w, TAB_S("step")))
        put(r, OP_STEP, 0);
    else if (tab_str_eq(w, TAB_S("line")))
        put(r, OP_LINE, 0);
    else if (tab_str_eq(w, TAB_S("n")))
        put(r, OP_ASKED, 0);
    else
        return wrong(r, "no such column");
    return TAB_OK;
}

static tab_status unit(reader *r)
{
    blanks(r);
    if (++r->depth > 60)
        return wrong(r, "too deep");
    tab_status s;
    if (take(r, "-")) {
        s = unit(r);
        put(r, OP_NEG, 1);
    } else if (take(r, "!")) {
        s = unit(r);
        put(r, OP_NOT, 1);
    } else if (take(r, "(")) {
        s = sum(r);
        if (s == TAB_OK && !take(r, ")"))
            s = wrong(r, "a closing bracket is missing");
    } else if (take(r, "'")) {
        s = label(r);
    } else if (r->p < r->end && (isdigit((unsigned char)*r->p) || *r->p == '.')) {
        char *end;
        put(r, OP_NUMBER, 0)->x = strtod(r->p, &end);
        r->p = end;
        s = TAB_OK;
    } else {
        s = name(r);
    }
    r->depth--;
    return s;
}

/* Binding: * / before + - before comparisons before & before |. */
static const struct {
    const char *sign;
    uint8_t op, level;
} signs[] = {
    { "*", OP_MUL, 4 }, { "/", OP_DIV, 4 }, { "+", OP_ADD, 3 }, { "-", OP_SUB, 3 },
    { "<=", OP_LE, 2 }, { ">=", OP_GE, 2 }, { "!=", OP_NE, 2 }, { "<", OP_LT, 2 },
    { ">", OP_GT, 2 },  { "=", OP_EQ, 2 },  { "&", OP_AND, 1 }, { "|", OP_OR, 0 },
};

static tab_status binary(reader *r, int level)
{
    if (level > 4)
        return unit(r);
    TAB_TRY(binary(r, level + 1));
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < sizeof signs / sizeof *signs && !more; i++)
            if (signs[i].level == level && take(r, signs[i].sign)) {
                TAB_TRY(binary(r, level + 1));
                put(r, signs[i].op, 2);
                more = true;
            }
    }
    return TAB_OK;
}

static tab_status sum(reader *r)
{
    return binary(r, 0);
}

tab_status formula_read(tab_generator *g, size_t t, size_t cols, tab_str text, uint64_t key, formula *ret,
                        tab_error *err)
{
    reader r = { .g = g, .t = t, .cols = cols, .key = key, .p = text.p, .end = text.p + text.n, .err = err };
    TAB_TRY(sum(&r));
    blanks(&r);
    if (r.p != r.end || r.n == NODES)
        return wrong(&r, "a formula ends too early");
    size_t deep = 0, most = 0;
    for (size_t i = 0; i < r.n; i++) {
        deep = deep + 1 - r.out[i].args;
        most = deep > most ? deep : most;
    }
    if (most > STACK)
        return wrong(&r, "a formula is too deep");
    ret->s = tab_arena_new_of(g->a, step, r.n);
    if (ret->s == NULL)
        return tab_no_memory(err);
    memcpy(ret->s, r.out, r.n * sizeof *r.out);
    ret->n = r.n;
    return TAB_OK;
}

bool formula_moves(const formula *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->s[i].op == OP_WHEN || f->s[i].op == OP_STEP)
            return true;
    return false;
}

/* ---- running ---------------------------------------------------------------------------------- */

static double course(uint64_t key, const double *x, bool walk)
{
    uint64_t k = generate_hash(key + (uint64_t)(int64_t)x[2], (uint64_t)(int64_t)x[0]);
    return walk ? generate_walk(k, x[1]) : generate_smooth(k, x[1]);
}

/* Marsaglia & Tsang would reject; Wilson & Hilferty's cube root (1931) takes one draw and is near enough from
 * shape 1 on. */
static double gamma_of(uint64_t key, uint64_t row, double shape, double scale)
{
    double z = generate_quantile(generate_unit(key, row));
    double c = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));
    return c <= 0 ? 0 : shape * scale * c * c * c;
}

static double civil(double seconds, int op)
{
    int y, m, d;
    double days = floor(seconds / GENERATE_DAY);
    if (op == OP_HOUR)
        return floor((seconds - days * GENERATE_DAY) / 3600);
    if (op == OP_WEEKDAY)
        return fmod(days + 3, 7);
    if (op == OP_DAY)
        return days * GENERATE_DAY;
    if (op == OP_WORKDAY)
        return seconds + (fmod(days + 3, 7) > 4.5 ? (7 - fmod(days + 3, 7)) * GENERATE_DAY : 0);
    generate_civil(days, &y, &m, &d);
    return op == OP_MONTH ? m : op == OP_YEAR ? y : days - generate_days(y, 1, 1) + 1;
}

static double function(const step *s, const double *x, uint64_t row)
{
    double u = s->op >= OP_NORMAL && s->op <= OP_CHANCE ? generate_unit(s->key, row) : 0;
    switch (s->op) {
    case OP_NORMAL:
        return x[0] + x[1] * generate_quantile(u);
    case OP_UNIFORM:
        return x[0] + (x[1] - x[0]) * u;
    case OP_LOGNORMAL:
        return x[0] * exp(x[1] * generate_quantile(u));
    case OP_PARETO:
        return x[0] * pow(u, -1 / x[1]);
    case OP_POISSON:
        return generate_poisson(s->key, row, x[0]);
    case OP_EXPO:
        return -x[0] * log(u);
    case OP_CHANCE:
        return u < x[0];
    case OP_GAMMA:
        return gamma_of(s->key, row, x[0], x[1]);
    case OP_FLOOR:
        return floor(x[0]);
    case OP_ROUND: {
        double p = pow(10, x[1]);
        return round(x[0] * p) / p;
    }
    case OP_MIN:
        return fmin(x[0], x[1]);
    case OP_MAX:
        return fmax(x[0], x[1]);
    case OP_CLAMP:
        return fmin(fmax(x[0], x[1]), x[2]);
    case OP_ABS:
        return fabs(x[0]);
    case OP_SQRT:
        return sqrt(fmax(0, x[0]));
    case OP_LOG:
        return log(fmax(1e-12, x[0]));
    case OP_EXP:
        return exp(fmin(700, x[0]));
    case OP_POW:
        return pow(x[0], x[1]);
    case OP_SIN:
        return sin(x[0]);
    case OP_LOGISTIC:
        return 1 / (1 + exp(-x[0]));
    case OP_MAP: {
        int k = (int)x[0];
        return x[k < 0 ? 1 : k + 1 < s->args ? k + 1 : s->args - 1];
    }
    case OP_IF:
        return x[0] != 0 ? x[1] : x[2];
    case OP_DAYS:
        return x[0] * GENERATE_DAY;
    case OP_TRADEDAY: /* so many working days after a Monday */
        return x[0] + (floor(x[1] / 5) * 7 + fmod(x[1], 5)) * GENERATE_DAY;
    case OP_DATE:
        return generate_days((int)x[0], (int)x[1], (int)x[2]) * GENERATE_DAY;
    case OP_WALK:
    case OP_SMOOTH:
        return course(s->key, x, s->op == OP_WALK);
    case OP_WAVE: /* of the year: 1 at that day, -1 half a year from it */
        return cos((civil(x[0], OP_YEARDAY) - x[1]) * (2 * 3.14159265358979 / 365.25));
    default:
        return civil(x[0], s->op);
    }
}

/* Of values on the stack, the deepest first. */
static double operation(const step *s, const double *x, uint64_t row)
{
    switch (s->op) {
    case OP_ADD:
        return x[0] + x[1];
    case OP_SUB:
        return x[0] - x[1];
    case OP_MUL:
        return x[0] * x[1];
    case OP_DIV:
        return x[1] == 0 ? 0 : x[0] / x[1];
    case OP_LT:
        return x[0] < x[1];
    case OP_LE:
        return x[0] <= x[1];
    case OP_GT:
        return x[0] > x[1];
    case OP_GE:
        return x[0] >= x[1];
    case OP_EQ:
        return x[0] == x[1];
    case OP_NE:
        return x[0] != x[1];
    case OP_AND:
        return x[0] != 0 && x[1] != 0;
    case OP_OR:
        return x[0] != 0 || x[1] != 0;
    case OP_NEG:
        return -x[0];
    case OP_NOT:
        return x[0] == 0;
    default:
        return function(s, x, row);
    }
}

double rows_formula(tab_generate_reader *r, context *c, const formula *f, bool own)
{
    double st[STACK + 1];
    size_t n = 0;
    const tab_generator *g = r->g;
    uint64_t row = own ? c->row : c->src;
    for (const step *s = f->s, *end = s + f->n; s < end; s++) {
        double *x = &st[n - s->args];
        switch (s->op) {
        case OP_NUMBER:
            st[n++] = s->x;
            continue;
        case OP_COLUMN:
            st[n++] = r->value(r, s->a == 0 ? c : rows_parent(r, c, s->a - 1U), s->b)->x;
            continue;
        case OP_PART: {
            const list *l;
            size_t at = rows_record(&c->t->col[s->b], r->value(r, c, s->b)->x, s->a, &l);
            st[n++] = l->num[at];
            continue;
        }
        case OP_INDEX:
            st[n++] = (double)(s->a == 0 ? c->row : rows_parent(r, c, s->a - 1U)->row);
            continue;
        case OP_STEP:
            st[n++] = (double)(c->row / g->table[c->t->parent[0].table].rows);
            continue;
        case OP_LINE: {
            uint64_t line = 0;
            (void)rows_line_of(r, (size_t)(c->t - g->table), c->row, &line);
            st[n++] = (double)line;
            continue;
        }
        case OP_ASKED:
            st[n++] = (double)g->rows;
            continue;
        case OP_WHEN: {
            double u = c->row == 0 ? 0 : generate_unit(s->key, c->row);
            st[n++] = generate_when(&g->calendar[s->a], ((double)c->row + u) / (double)c->t->rows, -1);
            continue;
        }
        case OP_ANYWHEN:
            st[n++] =
                generate_when(&g->calendar[s->a], generate_unit(s->key, row), generate_unit(s->key + 1, row));
            continue;
        default:
            x[0] = operation(s, x, row);
        }
        n -= s->args - 1U;
    }
    assert(n == 1); /* formula_read has counted, up to STACK on the way */
    return st[0];
}
