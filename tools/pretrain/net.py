"""The in-context transformer, as plain functions over a dictionary of named tensors.

The C forward pass (services/inference/engine/learn/pfn) mirrors this file name by name; docs/pretraining.md
draws the network. Shapes: B tasks, m columns, n rows of which the first nc are the labelled context,
e cell width, d = 4 e row width. Runs on PyTorch 1.13 (CPU) and 2.x (CUDA)."""
import math

import torch
import torch.nn.functional as F

import kernels

SLOTS = 10  # label slots: classes of one pass
TARGET = 16  # features of a numeric target
CLIP = 5.0  # of a numeric target, in standard deviations of the context's
FEATURES = 48
COLUMN_CODE = 16  # the pseudo-random vector that tells columns apart
FLOOR = 1e-5  # of the vote, before the logarithm
SIZES = {
    "M": dict(e=64, cell_heads=4, inducing=32, tokens=4, blocks=6, heads=8, registers=16),
    "T": dict(e=16, cell_heads=1, inducing=16, tokens=4, blocks=2, heads=2, registers=8),  # for tests
    "S": dict(e=32, cell_heads=2, inducing=16, tokens=4, blocks=4, heads=4, registers=16),
}


# ---- parameters -----------------------------------------------------------------------------------
def shapes(c):
    """name -> (shape, standard deviation or None for gains of one)"""
    e, k, t = c["e"], c["inducing"], c["tokens"]
    d = t * e
    p = {
        "freq": ((12,), 3.0),
        "in.w": ((FEATURES, e), 0.3),
        "in.col": ((COLUMN_CODE, e), 0.1),
        "in.n": ((e,), None),
    }

    def mat(name, i, o, out=False):
        p[name] = ((i, o), (0.5 if out else 1.0) / math.sqrt(i))

    def mlp(name, w):
        p[name + ".nm"] = ((w,), None)
        mat(name + ".a", w, 2 * w)
        mat(name + ".b", 2 * w, w, True)

    def cross(name):  # queries of one set, keys and values of another, then an MLP on the first
        p[name + ".nq"] = ((e,), None)
        p[name + ".nk"] = ((e,), None)
        mat(name + ".q", e, e)
        mat(name + ".kv", e, 2 * e)
        mat(name + ".o", e, e, True)
        mlp(name, e)

    for s in ("c1", "c2"):  # column stages
        p[s + ".ind"] = ((k, e), 1.0)
        p[s + ".lab"] = ((SLOTS, e), 1.0)
        cross(s + ".up")  # inducing rows read the context cells
        cross(s + ".down")  # all cells read the inducing rows
    p["row.tok"] = ((t, e), 1.0)
    for i in (1, 2):  # row refinement
        cross("row.g%d" % i)
        cross("row.b%d" % i)
    p["pool.tok"] = ((t, e), 1.0)
    for i in (1, 2):
        cross("pool.g%d" % i)
    p["icl.lab"] = ((SLOTS, d), 1.0)
    p["icl.reg"] = ((c["registers"], d), 1.0)
    for i in range(c["blocks"]):
        b = "icl.%d" % i
        p[b + ".n"] = ((d,), None)
        mat(b + ".q", d, d)
        mat(b + ".kv", d, 2 * d)
        mat(b + ".kvq", d, 2 * (d // c["heads"]))  # the one key/value head that queries share
        mat(b + ".o", d, d, True)
        p[b + ".s"] = ((c["heads"],), 0.0)
        mlp(b, d)
    p["dec.n"] = ((d,), None)
    mat("dec.q", d, d)
    mat("dec.k", d, d)
    p["dec.s"] = ((4,), 0.0)
    # numeric targets: their embeddings in place of the slots' and a vote of their own
    p["num.c1"], p["num.c2"], p["num.icl"] = ((TARGET, e), 0.5), ((TARGET, e), 0.5), ((TARGET, d), 0.5)
    p["num.n"] = ((d,), None)
    mat("num.q", d, d)
    mat("num.k", d, d)
    p["num.s"] = ((4,), 0.0)
    return p


def init(c, seed=0, device="cpu"):
    g = torch.Generator().manual_seed(seed)
    out = {}
    for name, (shape, sd) in shapes(c).items():
        w = torch.ones(shape) if sd is None else torch.randn(shape, generator=g) * sd
        out[name] = w.to(device).requires_grad_(True)
    return out


# ---- cell features ----------------------------------------------------------------------------------
def cell_features(x, y, cat, ln):
    """x (B, m, n) with NaN where missing, y (B, nc), cat (B, m) bool -> fixed features (B, m, n, 24).
    All statistics are of the first nc rows; ln is log(1 + nc) as a tensor."""
    B, m, n = x.shape
    nc = y.shape[1]
    miss = torch.isnan(x)
    ctx = x[:, :, :nc]
    seen = ~miss[:, :, :nc]
    have = seen.sum(2, keepdim=True).clamp(min=1).float()
    x0 = torch.where(miss, torch.zeros_like(x), x)
    mean = torch.where(seen, ctx, torch.zeros_like(ctx)).double().sum(2, keepdim=True) / have
    dev = torch.where(seen, ctx - mean, torch.zeros_like(mean))
    sd = ((dev * dev).sum(2, keepdim=True) / have).sqrt()
    z = ((x0 - mean) / (sd + 1e-12)).clamp(-1e4, 1e4).float()
    z = torch.where(miss, torch.zeros_like(z), z)
    inf = torch.full_like(ctx, float("inf"))
    order = torch.sort(torch.where(seen, ctx, inf), dim=2)[0].contiguous()
    lo = torch.searchsorted(order, x0.contiguous()).float()
    hi = torch.searchsorted(order, x0.contiguous(), right=True).float()
    lo = torch.minimum(lo, have)
    hi = torch.minimum(hi, have)
    rank = torch.where(miss, torch.full_like(z, 0.5), 0.5 * (lo + hi) / have)
    c = cat[:, :, None].float().expand(B, m, n)
    unseen = (cat[:, :, None] & (hi == lo)) | miss  # a level the context does not have
    rank = torch.where(unseen, torch.full_like(rank, 0.5), rank)
    z = torch.where(unseen, torch.zeros_like(z), z)
    count = torch.where(unseen, torch.zeros_like(z), torch.log1p(hi - lo) / ln)
    first = torch.ones_like(seen)
    first[:, :, 1:] = order[:, :, 1:] != order[:, :, :-1]
    at = torch.arange(nc, device=x.device)[None, None, :]
    distinct = (first & (at < seen.sum(2, keepdim=True))).sum(2, keepdim=True).float()
    distinct = (torch.log1p(distinct) / ln).expand(B, m, n)
    fixed = [5.0 * torch.tanh(z / 5.0), rank - 0.5, unseen.float(), c, count, distinct, torch.ones_like(z)]
    for k in range(6):
        a = math.pi * (2.0**k) * rank
        fixed += [torch.sin(a), torch.cos(a)]
    fixed += [torch.zeros_like(z)] * 5
    return torch.stack(fixed, 3)


def cells(x, y, cat, code, ln, p):
    """-> (B, m, n, e), normed"""
    fixed = cell_features(x, y, cat, ln)
    a = fixed[..., :1] * p[0].float()  # of the squashed z: bounded arguments
    dt = p[1].dtype
    f = torch.cat([fixed, torch.sin(a), torch.cos(a)], 3).to(dt)
    return norm(f @ p[1] + (code.to(dt) @ p[2])[:, :, None], p[3])


# ---- pieces -------------------------------------------------------------------------------------------
def norm(x, g):
    if kernels.lib is not None:
        return kernels.Norm.apply(x, g)
    y = x.float()
    y = y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-6)
    return y.to(g.dtype) * g


def project(x, g, w):
    return kernels.Project.apply(x, g, w) if kernels.lib is not None else norm(x, g) @ w


def mlp(x, g, a, b):
    if kernels.lib is not None:
        return kernels.Mlp.apply(x, g, a, b)
    return x + F.gelu(norm(x, g) @ a, approximate="tanh") @ b


def added(x, o, w):
    """x + o w, in one pass where the types allow it (rows stay float32 on a GPU, where the rest is bf16)"""
    if x.dtype != w.dtype:
        return x + o @ w
    if kernels.lib is not None:
        return kernels.Add.apply(x, o, w)
    return torch.addmm(x.reshape(-1, w.shape[1]), o.reshape(-1, w.shape[0]), w).view(x.shape)


def attend(q, kv, heads, scale=None):
    """softmax(q k' / sqrt(D)) v by head: q (N, L, heads D); kv (N, K, keys then values, of all heads or of
    one that all share); scale (heads,) multiplies q. -> (N, L, heads D)"""
    N, L, e = q.shape
    D = e // heads
    if scale is not None:
        q = (q.view(N, L, heads, D) * scale[:, None]).view(N, L, e)
    if kernels.lib is not None:
        return kernels.Attend.apply(q, kv, heads)
    k, v = (split(t, t.shape[2] // D).expand(N, heads, kv.shape[1], D) for t in kv.chunk(2, 2))
    q = split(q, heads)
    if hasattr(F, "scaled_dot_product_attention"):
        return merge(F.scaled_dot_product_attention(q, k, v))
    w = torch.softmax((q @ k.transpose(-1, -2)) / math.sqrt(D), -1)
    return merge(w @ v)


def split(x, heads):  # (N, L, e) -> (N, heads, L, e / heads)
    N, L, e = x.shape
    return x.view(N, L, heads, e // heads).transpose(1, 2)


def merge(x):
    N, h, L, k = x.shape
    return x.transpose(1, 2).reshape(N, L, h * k)


def column_stage(x, lab, ind, u, w, heads):
    """x (B, m, n, e), lab (B, nc, e) the labels' embeddings; u, w the tensors of the two crossings"""
    B, m, n, e = x.shape
    nc, k = lab.shape[1], ind.shape[0]
    kv = project(x[:, :, :nc] + lab[:, None], u[1], u[3]).view(B * m, nc, 2 * e)
    q = project(ind, u[0], u[2]).expand(B * m, k, e)
    h = mlp(ind + attend(q, kv, heads) @ u[4], u[5], u[6], u[7])
    q = project(x, w[0], w[2]).view(B * m, n, e)
    o = attend(q, project(h, w[1], w[3]), heads)
    return mlp(added(x, o, w[4]), w[5], w[6], w[7])


def cross_rows(t, x, p, heads):
    """Within each row, t (B, a, n, e) reads x (B, b, n, e); a or b is small."""
    B, a, n, e = t.shape
    b = x.shape[1]
    q = project(t, p[0], p[2]).view(B, a, n, heads, e // heads)
    kv = project(x, p[1], p[3])
    if kernels.lib is not None:
        t = added(t, kernels.Rows.apply(q.view(B, a, n, e), kv, heads), p[4])
        return mlp(t, p[5], p[6], p[7])
    k = kv[..., :e].view(B, b, n, heads, e // heads)
    v = kv[..., e:].view(B, b, n, heads, e // heads)
    s = (q[:, :, None] * k[:, None]).sum(-1, dtype=torch.float32) / math.sqrt(e // heads)
    w = torch.softmax(s, 2).to(v.dtype)  # (B, a, b, n, heads)
    o = (w[..., None] * v[:, None]).sum(2, dtype=torch.float32)
    t = t + o.to(v.dtype).reshape(B, a, n, e) @ p[4]
    return mlp(t, p[5], p[6], p[7])


def icl_block(r, y, registers, p, heads, ln):
    """r (B, registers + n, d); registers and context, its first rows, are what all rows read"""
    B, L, d = r.shape
    nk = registers + y.shape[1]
    z = norm(r, p[0])
    q = z @ p[1]
    known = z[:, :nk]
    s = torch.exp(p[5].float() * ln).to(q.dtype)
    a = attend(q[:, :nk], known @ p[2], heads, s)
    b = attend(q[:, nk:], known @ p[3], heads, s)
    r = added(r, torch.cat([a, b], 1), p[4])
    return mlp(r, p[6], p[7], p[8])


def vote(r, nc, registers, p, ln):
    """-> (B, 4, queries, nc): how much each query hears each context row, by head"""
    z = norm(r, p[0])
    q = split(z[:, registers + nc :] @ p[1], 4)
    k = split(z[:, registers : registers + nc] @ p[2], 4)
    s = (torch.exp(p[3].float() * ln) / math.sqrt(q.shape[-1])).to(q.dtype)
    return torch.softmax(((q * s[:, None, None]) @ k.transpose(-1, -2)).float(), -1)


def decode(r, y, registers, p, ln):
    """Classes: -> log p (B, queries, SLOTS), slots absent from the context at log FLOOR. A numeric target:
    its distribution as weights of the context's values (B, queries, nc)."""
    w = vote(r, y.shape[1], registers, p, ln)
    if y.is_floating_point():
        return w.mean(1)
    hot = F.one_hot(y, SLOTS).to(w.dtype)
    return torch.log((w @ hot[:, None]).mean(1) + FLOOR)


def target_features(y):
    """y (B, nc) standardised and clipped -> (B, nc, 16): the value, its mid-rank, sin and cos of 2^k pi
    rank"""
    nc = y.shape[1]
    order = torch.sort(y, dim=1)[0]
    rank = 0.5 * (torch.searchsorted(order, y) + torch.searchsorted(order, y, right=True)).float() / nc
    out = [y, rank - 0.5]
    for k in range(6):
        a = math.pi * (2.0**k) * rank
        out += [torch.sin(a), torch.cos(a)]
    return torch.stack(out + [torch.ones_like(y), torch.zeros_like(y)], 2)


def labels(P, y, dt):
    """What the context's labels add: to cells in the two column stages, to rows before the blocks."""
    if y.is_floating_point():
        f = target_features(y).to(dt)
        return [f @ P["num." + k] for k in ("c1", "c2", "icl")]
    hot = F.one_hot(y, SLOTS).to(dt)
    return [hot @ P[k + ".lab"] for k in ("c1", "c2", "icl")]


CROSS = ("nq", "nk", "q", "kv", "o", "nm", "a", "b")
fast = dict(cells=cells, column_stage=column_stage, cross_rows=cross_rows, icl_block=icl_block, decode=decode)
compiled = False


def compile_pieces():
    """Fuse the pieces with torch.compile, rows and columns symbolic, so that each compiles once."""
    global compiled
    compiled = True
    for k in list(fast):
        fast[k] = torch.compile(globals()[k])


def dyn(t, *dims):
    if compiled:
        for i in dims:
            torch._dynamo.maybe_mark_dynamic(t, i)
    return t


def forward(P, c, x, y, cat, code, taps=None):
    """x (B, m, n) raw values, y (B, nc) slots or standardised targets, cat (B, m) bool, code (B, m, 16)
    -> log p (B, n - nc, SLOTS) before masking of absent slots, or the weights of the context's targets"""
    B, m, n = x.shape
    nc = y.shape[1]
    dt = P["in.w"].dtype
    h = fast["cells"](
        dyn(x, 1, 2),
        dyn(y, 1),
        dyn(cat, 1),
        dyn(code, 1),
        torch.tensor(math.log(1.0 + nc), device=x.device),
        tuple(P[k] for k in ("freq", "in.w", "in.col", "in.n")),
    )
    tap = (
        (lambda name, t: taps.__setitem__(name, t.detach().clone()))
        if taps is not None
        else (lambda *_: None)
    )

    def cross(name):
        return tuple(P[name + "." + s] for s in CROSS)

    hc = c["cell_heads"]
    known = labels(P, y, dt)
    tap("cells", h)
    h = fast["column_stage"](
        dyn(h, 1, 2), dyn(known[0], 1), P["c1.ind"], cross("c1.up"), cross("c1.down"), hc
    )
    tap("column1", h)
    t = P["row.tok"][None, :, None].expand(B, -1, n, -1)
    for i in (1, 2):
        t = fast["cross_rows"](dyn(t, 2), dyn(h, 1, 2), cross("row.g%d" % i), hc)
        h = fast["cross_rows"](dyn(h, 1, 2), dyn(t, 2), cross("row.b%d" % i), hc)
    tap("rows", h)
    h = fast["column_stage"](
        dyn(h, 1, 2), dyn(known[1], 1), P["c2.ind"], cross("c2.up"), cross("c2.down"), hc
    )
    tap("column2", h)
    t = P["pool.tok"][None, :, None].expand(B, -1, n, -1)
    for i in (1, 2):
        t = fast["cross_rows"](dyn(t, 2), dyn(h, 1, 2), cross("pool.g%d" % i), hc)
    d = c["tokens"] * c["e"]
    r = t.permute(0, 2, 1, 3).reshape(B, n, d).float()
    tap("pool", r)
    r = torch.cat([P["icl.reg"].float()[None].expand(B, -1, -1), r[:, :nc] + known[2].float(), r[:, nc:]], 1)
    ln = torch.tensor(math.log(nc / 512.0), device=r.device)
    for i in range(c["blocks"]):
        b = "icl.%d." % i
        p = tuple(P[b + s] for s in ("n", "q", "kv", "kvq", "o", "s", "nm", "a", "b"))
        r = fast["icl_block"](dyn(r, 1), y, c["registers"], p, c["heads"], ln)
    tap("icl", r)
    p = tuple(P[("num." if y.is_floating_point() else "dec.") + s] for s in ("n", "q", "k", "s"))
    return fast["decode"](dyn(r, 1), y, c["registers"], p, ln)


def present(y):
    """(B, SLOTS) bool: slots that the context holds"""
    return F.one_hot(y, SLOTS).any(1)


def loss_of(logp, y, target):
    """Mean cross-entropy over query rows, slots absent from the context's labels y masked; (B,)"""
    logits = logp.masked_fill(~present(y)[:, None], -1e9)
    nll = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return nll.view(target.shape).mean(1)


def crps(w, y, target):
    """Continuous ranked probability score (Gneiting & Raftery 2007) of the context's values y (B, nc) with
    weights w (B, queries, nc) or (B, 1, nc): integral of (F(z) - [target <= z])^2; -> (B,)"""
    ys, order = torch.sort(y, dim=1)
    F_ = torch.cumsum(torch.gather(w, 2, order[:, None].expand_as(w)), 2)[..., :-1]
    step = (ys[:, 1:] - ys[:, :-1])[:, None]
    below = torch.minimum(
        (target[..., None] - ys[:, None, :-1]).clamp(min=0), step
    )  # the target's side of each step
    inside = (F_**2 * below + (1 - F_) ** 2 * (step - below)).sum(2)
    outside = (target - ys[:, -1:]).clamp(min=0) + (ys[:, :1] - target).clamp(min=0)
    return (inside + outside).mean(1)
