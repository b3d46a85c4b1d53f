"""The C prior (tools/pretrain/prior) as a stream of batches, drawn ahead by threads."""
import collections
import concurrent.futures
import ctypes
import glob
import os
import re
import subprocess
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAMILIES = ("graph", "net", "trees", "rules", "levels", "additive")
KINDS = FAMILIES + ("ordered",)  # what losses are told by: a table that drifts is no more of its family


class Shape(ctypes.Structure):
    _fields_ = [(k, ctypes.c_int32) for k in ("rows", "context", "cols", "regression", "easy")]


class Info(ctypes.Structure):
    _fields_ = [(k, ctypes.c_int32) for k in ("family", "classes", "attempts", "missing", "kept", "ordered")]


def load(root=ROOT, flags=("-O3", "-march=native")):
    """Compile the folder with the machine's own compiler and load it."""
    out = os.path.join(tempfile.mkdtemp(prefix="prior"), "libprior.so")
    src = sorted(glob.glob(os.path.join(root, "tools/pretrain/prior/*.c")))
    subprocess.run(
        [
            "cc",
            "-std=gnu17",
            *flags,
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-I" + root,
            *src,
            "-lm",
            "-o",
            out,
        ],
        check=True,
    )
    lib = ctypes.CDLL(out)
    u64, ptr = ctypes.c_uint64, ctypes.c_void_p
    lib.tab_prior_shape_of.argtypes = [u64, u64, ctypes.c_int, ctypes.c_int, ctypes.POINTER(Shape)]
    lib.tab_prior_batch.argtypes = [u64, u64, ctypes.c_int, ctypes.POINTER(Shape), ptr, ptr, ptr, ptr]
    return lib


def version(root=ROOT):
    """TAB_PRIOR_VERSION: which mixture of tables is drawn."""
    with open(os.path.join(root, "tools/pretrain/prior/prior.h")) as f:
        return int(re.search(r"TAB_PRIOR_VERSION (\d+)", f.read()).group(1))


def draw(lib, seed, first, count, shape):
    x = np.empty((count, shape.rows, shape.cols), np.float32)
    y = np.empty((count, shape.rows), np.float32)
    cat = np.empty((count, shape.cols), np.uint8)
    info = (Info * count)()
    if (
        lib.tab_prior_batch(
            seed,
            first,
            count,
            ctypes.byref(shape),
            x.ctypes.data,
            y.ctypes.data,
            cat.ctypes.data,
            ctypes.cast(info, ctypes.c_void_p),
        )
        != 0
    ):
        raise MemoryError("tab_prior_batch")
    kinds = [len(FAMILIES) if i.ordered else i.family for i in info]
    return shape, x, y, cat, kinds, [i.classes for i in info]


class Stream:
    """Batch k is a function of (seed, k) alone; threads draw `ahead` batches in advance. Worker `rank` of
    `workers` takes every workers-th batch; workers draw the same shape at the same step. A stream of numeric
    targets has the shapes of the stream of classes with the same seed, and tables of its own."""

    def __init__(
        self,
        lib,
        seed,
        first,
        count,
        low,
        high,
        cells,
        easy_until,
        threads,
        ahead,
        rank=0,
        workers=1,
        numeric=0,
    ):
        self.lib, self.seed, self.k, self.count = lib, seed, first, count
        self.low, self.high, self.cells, self.easy_until = low, high, cells, easy_until
        self.rank, self.workers, self.numeric = rank, workers, numeric
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.ahead, self.queue, self.waited = ahead, collections.deque(), 0
        self.submitted = first

    def _make(self, k):
        s = Shape()
        easy = k < self.easy_until
        self.lib.tab_prior_shape_of(
            self.seed, k, self.low, min(256, self.high) if easy else self.high, ctypes.byref(s)
        )
        s.regression = self.numeric
        if easy:
            s.easy, s.cols = 1, 2 + s.cols % 7
        if self.cells:
            s.cols = max(2, min(s.cols, self.cells // s.rows))
        return draw(
            self.lib,
            self.seed + 7919 * self.numeric,
            (k * self.workers + self.rank) * self.count,
            self.count,
            s,
        )

    def next(self):
        while len(self.queue) < self.ahead:
            self.queue.append(self.pool.submit(self._make, self.submitted))
            self.submitted += 1
        f = self.queue.popleft()
        self.waited += not f.done()
        self.k += 1
        return f.result()

    def close(self):
        for f in self.queue:
            f.cancel()
        self.pool.shutdown(wait=False)
