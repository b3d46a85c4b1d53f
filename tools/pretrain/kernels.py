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
    subprocess.run(["cc", "-std=gnu17", "-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-shared", "-fPIC",
                    os.path.join(here, "kernels.c"), "-lm", "-o", out], check=True)
    lib = ctypes.CDLL(out)


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


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        _call(lib.gelu_forward, x.numel(), x, y)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensors
        dy, dx = dy.contiguous(), torch.empty_like(x)
        _call(lib.gelu_backward, x.numel(), x, dy, dx)
        return dx


class Rows(torch.autograd.Function):
    """q (B, a, n, e), kv (B, b, n, 2 e) -> (B, a, n, e)"""

    @staticmethod
    def forward(ctx, q, kv, heads):
        q, kv = q.contiguous(), kv.contiguous()
        B, a, n, e = q.shape
        b = kv.shape[1]
        if b > 256:
            raise ValueError("at most 256 columns")
        size = (B, a, b, n, heads, e // heads)
        out, w = torch.empty_like(q), torch.empty(B, n, a, heads, b)
        _call(lib.rows_forward, *size, q, kv, out, w)
        ctx.save_for_backward(q, kv, w)
        ctx.size = size
        return out

    @staticmethod
    def backward(ctx, dout):
        q, kv, w = ctx.saved_tensors
        dout, dq, dkv = dout.contiguous(), torch.zeros_like(q), torch.zeros_like(kv)
        _call(lib.rows_backward, *ctx.size, q, kv, w, dout, dq, dkv)
        return dq, dkv, None
