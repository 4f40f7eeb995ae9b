#!/usr/bin/env python3
"""CuPy programs, timed and with a hash of their outputs."""
import cupy
import numpy
from cupyx.scipy import sparse

import case_runner

CHECKED = 16


class Loop:
    """Feeds a state to a function again and again: the last state depends on every iteration."""

    def __init__(self, function, state):
        self.function, self.state = function, state

    def step(self):
        self.state = self.function(self.state)

    def check(self, digest):
        for _ in range(CHECKED):
            self.step()
            digest.add(cupy.asnumpy(self.state))


def values(count, seed):
    """From NumPy: the same on every machine."""
    return cupy.asarray(numpy.random.default_rng(seed).standard_normal(count, dtype=numpy.float32))


def elementwise():
    def function(state):
        for _ in range(25):
            state = state * 0.99 + 0.01
            state = cupy.tanh(state)
        return state

    return Loop(function, values(4096, 1))


def matmul():
    left = values(64 * 64, 2).reshape(64, 64) / 8

    def function(state):
        for _ in range(5):
            state = left @ state
            state = state / (1 + cupy.abs(state))
        return state

    return Loop(function, values(64 * 64, 3).reshape(64, 64))


def fft():
    filters = 1 / (1 + 1e-3 * cupy.arange(2048, dtype=cupy.float32))

    def function(state):
        return cupy.fft.ifft(cupy.fft.fft(state) * filters).astype(cupy.complex64)

    return Loop(function, values(8 * 2048, 4).reshape(8, 2048).astype(cupy.complex64))


def sparse_product():
    rows = 2048
    main, side = numpy.full(rows, 0.5, numpy.float32), numpy.full(rows, 0.2, numpy.float32)
    matrix = sparse.spdiags(cupy.asarray(numpy.stack([side, main, side])), cupy.asarray([-1, 0, 1]), rows, rows,
                            format="csr")

    def function(state):
        for _ in range(5):
            state = matrix @ state
            state = state + 0.01
        return state

    return Loop(function, values(rows, 5))


def norms():
    """The host reads a value and decides with it."""

    def function(state):
        norm = float(cupy.sqrt((state * state).sum()))
        return state * (0.9 if norm > 50 else 1.1)

    return Loop(function, values(4096, 6))


CASES = {"elementwise": elementwise, "matmul": matmul, "fft": fft, "sparse": sparse_product, "norms": norms}

if __name__ == "__main__":
    case_runner.main(__doc__, CASES, lambda: cupy.cuda.Device().synchronize())
