"""kernels.c as differentiable operations, for training on a CPU; `load` once before use."""
import ctypes
import os
import subprocess
import tempfile

import torch

lib = None


def load():
    global lib
    here = os.path.dirname(os.path.abspath(__file__))
    out = os.path.join(tempfile.mkdtemp(prefix="kernels"), "libkernels.so")
    subprocess.run(
        [
            "cc",
            "-std=gnu17",
            "-O3",
            "-march=native",
            "-mprefer-vector-width=512",
            "-ffast-math",
            "-shared",
            "-fPIC",
            os.path.join(here, "kernels.c"),
            "-lopenblas",
            "-lm",
            "-o",
            out,
        ],
        check=True,
    )
    lib = ctypes.CDLL(out)
    lib.openblas_set_num_threads(1)


def _call(f, *args):
    f(*[ctypes.c_void_p(a.data_ptr()) if torch.is_tensor(a) else ctypes.c_size_t(a) for a in args])


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, g):
        x, w = x.contiguous(), x.shape[-1]
        rows = x.numel() // w
        y, r = torch.empty_like(x), torch.empty(rows)
        _call(lib.norm_forward, rows, w, x, g, y, r)
        ctx.save_for_backward(x, g, r)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, g, r = ctx.saved_tensors
        dy, dx, dg = dy.contiguous(), torch.empty_like(x), torch.zeros_like(g)
        _call(lib.norm_backward, r.numel(), x.shape[-1], x, g, r, dy, dx, dg)
        return dx, dg


class Project(torch.autograd.Function):
    """norm(x, g) @ W"""

    @staticmethod
    def forward(ctx, x, g, W):
        x, (w, o) = x.contiguous(), W.shape
        y = torch.empty(*x.shape[:-1], o)
        _call(lib.project_forward, x.numel() // w, w, o, x, g, W, y)
        ctx.save_for_backward(x, g, W)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, g, W = ctx.saved_tensors
        dy, dx, dg, dW = dy.contiguous(), torch.empty_like(x), torch.zeros_like(g), torch.zeros_like(W)
        _call(lib.project_backward, x.numel() // W.shape[0], *W.shape, x, g, W, dy, dx, dg, dW)
        return dx, dg, dW


class Mlp(torch.autograd.Function):
    """x + gelu(norm(x, g) @ a) @ b"""

    @staticmethod
    def forward(ctx, x, g, a, b):
        x = x.contiguous()
        y = torch.empty_like(x)
        _call(lib.mlp_forward, x.numel() // a.shape[0], *a.shape, x, g, a, b, y)
        ctx.save_for_backward(x, g, a, b)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, g, a, b = ctx.saved_tensors
        dy, dx, dg, da, db = dy.contiguous(), torch.empty_like(x), *(torch.zeros_like(t) for t in (g, a, b))
        _call(lib.mlp_backward, x.numel() // a.shape[0], *a.shape, x, g, a, b, dy, dx, dg, da, db)
        return dx, dg, da, db


class Attend(torch.autograd.Function):
    """softmax(q k' / sqrt(D)) v by head: q (N, L, heads D), kv (N, K, keys then values, of all heads or of
    one that all share) -> (N, L, heads D)"""

    @staticmethod
    def forward(ctx, q, kv, heads):
        kv, (N, L, e), half = kv.contiguous(), q.shape, kv.shape[2] // 2
        D = e // heads
        q = (q * D**-0.5).contiguous()
        out = torch.empty_like(q)
        size = (N, L, kv.shape[1], heads, D, 2 * half, D if half == e else 0)
        _call(lib.attend_forward, *size, q, kv, kv.data_ptr() + 4 * half, out)
        ctx.save_for_backward(q, kv, out)
        ctx.size, ctx.half = size, half
        return out

    @staticmethod
    def backward(ctx, dout):
        q, kv, out = ctx.saved_tensors
        dout, dq, dkv = dout.contiguous(), torch.empty_like(q), torch.zeros_like(kv)
        step = 4 * ctx.half
        _call(
            lib.attend_backward,
            *ctx.size,
            q,
            kv,
            kv.data_ptr() + step,
            out,
            dout,
            dq,
            dkv,
            dkv.data_ptr() + step
        )
        return dq.mul_(ctx.size[4] ** -0.5), dkv, None


class Add(torch.autograd.Function):
    """x + o @ W"""

    @staticmethod
    def forward(ctx, x, o, W):
        x, o, W = x.contiguous(), o.contiguous(), W.contiguous()
        y = torch.empty_like(x)
        _call(lib.add_forward, o.numel() // W.shape[0], *W.shape, x, o, W, y)
        ctx.save_for_backward(o, W)
        return y

    @staticmethod
    def backward(ctx, dy):
        o, W = ctx.saved_tensors
        dy, d_o, dW = dy.contiguous(), torch.empty_like(o), torch.zeros_like(W)
        _call(lib.add_backward, o.numel() // W.shape[0], *W.shape, o, W, dy, d_o, dW)
        return dy, d_o, dW


class Rows(torch.autograd.Function):
    """q (B, a, n, e), kv (B, b, n, 2 e) -> (B, a, n, e); a or b is 4, heads are of 16 numbers"""

    @staticmethod
    def forward(ctx, q, kv, heads):
        q, kv = q.contiguous(), kv.contiguous()
        B, a, n, e = q.shape
        b = kv.shape[1]
        assert 4 in (a, b) and e == 16 * heads
        size = (B, a, b, n, heads)
        out, w = torch.empty_like(q), torch.empty(B, b if a == 4 else a, n, heads, 4)
        _call(lib.rows_forward, *size, q, kv, out, w)
        ctx.save_for_backward(q, kv, w)
        ctx.size = size
        return out

    @staticmethod
    def backward(ctx, dout):
        q, kv, w = ctx.saved_tensors
        dout, dq, dkv = dout.contiguous(), torch.empty_like(q), torch.empty_like(kv)
        _call(lib.rows_backward, *ctx.size, q, kv, w, dout, dq, dkv)
        return dq, dkv, None
