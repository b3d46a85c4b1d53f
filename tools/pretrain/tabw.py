"""Weight files (services/inference/engine/learn/pfn/weights.h): writing from a training state, reading
back."""
import hashlib
import json
import struct

import numpy as np
import torch

import net

MAGIC = b"TABW\r\n\x1a\n"
SIZES = ("e", "cell_heads", "inducing", "tokens", "blocks", "heads", "registers")


def fold(P, c):
    """Norm gains into the matrices that follow them: name -> tensor, without the gains."""
    P = {k: v.detach().float().cpu() for k, v in P.items()}
    out = {}
    for k, v in P.items():
        stem, _, last = k.rpartition(".")
        if k.startswith("icl.") and last in ("q", "kv", "kvq"):
            v = v * P[stem + ".n"][:, None]
        elif k in ("dec.q", "dec.k", "num.q", "num.k"):
            v = v * P[stem + ".n"][:, None]
        elif last == "a":
            v = v * P[stem + ".nm"][:, None]
        elif last == "q":
            v = v * P[stem + ".nq"][:, None]
        elif last == "kv":
            v = v * P[stem + ".nk"][:, None]
        if last in ("nq", "nk", "nm") or (last == "n" and k != "in.n"):
            continue
        out[k] = v
    return out


def bf16_bits(a):
    """Nearest, ties to even."""
    u = a.astype("<f4").view("<u4").astype(np.uint64)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype("<u2")


def write(path, P, c, note):
    tensors = fold(P, c)
    text = json.dumps(note, sort_keys=True).encode()
    text += b" " * (-len(text) % 64)
    head = (
        MAGIC
        + struct.pack("<II", 1, len(text))
        + struct.pack("<10I", *[c[k] for k in SIZES], net.SLOTS, net.FEATURES, net.COLUMN_CODE)
    )
    head += struct.pack("<II", len(tensors), 0) + text
    at, entries, data = len(head) + 64 * len(tensors), b"", b""
    for name, v in tensors.items():
        a = v.numpy()
        rows, cols = (1, a.shape[0]) if a.ndim == 1 else a.shape
        kind = 0 if a.ndim == 1 else 1
        raw = a.astype("<f4").tobytes() if kind == 0 else bf16_bits(a).tobytes()
        entries += name.encode().ljust(40, b"\0") + struct.pack("<IIIIQ", kind, rows, cols, 0, at + len(data))
        data += raw + b"\0" * (-len(raw) % 64)
    body = head + entries + data
    with open(path, "wb") as f:
        f.write(body + hashlib.sha256(body).digest())


def read(path):
    """-> (tensors with gains of one, sizes, note)"""
    b = open(path, "rb").read()
    if b[:8] != MAGIC or hashlib.sha256(b[:-32]).digest() != b[-32:]:
        raise ValueError("%s: not a weight file, or damaged" % path)
    n_note = struct.unpack_from("<I", b, 12)[0]
    sizes = struct.unpack_from("<10I", b, 16)
    c = dict(zip(SIZES, sizes))
    count = struct.unpack_from("<I", b, 56)[0]
    P = {}
    for i in range(count):
        e = 64 + n_note + 64 * i
        name = b[e : e + 40].rstrip(b"\0").decode()
        kind, rows, cols, _, at = struct.unpack_from("<IIIIQ", b, e + 40)
        if kind == 0:
            a = np.frombuffer(b, "<f4", rows * cols, at)
        else:
            a = (np.frombuffer(b, "<u2", rows * cols, at).astype("<u4") << 16).view("<f4")
        P[name] = torch.from_numpy(a.reshape(rows, cols).copy())
    for name, (shape, sd) in net.shapes(c).items():
        if name.startswith("num.") and "num.c1" not in P:  # trained on classes alone
            continue
        if name not in P:
            P[name] = torch.ones(shape)
        P[name] = P[name].reshape(shape)
    return P, c, json.loads(b[64 : 64 + n_note])
