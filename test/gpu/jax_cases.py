#!/usr/bin/env python3
"""JAX programs, timed and with a hash of their outputs. JAX records command buffers of its own where it sees fit."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# Without these two the choice of algorithms, and with it the last bits, differs from run to run.
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "")
                           + " --xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0").strip()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402

import case_runner  # noqa: E402

CHECKED = 16
pending = []


def wait():
    """Waits for the last state of every case."""
    jax.block_until_ready([case.state for case in pending])


class Loop:
    def __init__(self, function, state):
        self.function, self.state = function, state
        pending[:] = [self]

    def step(self):
        self.state = self.function(self.state)

    def check(self, digest):
        for _ in range(CHECKED):
            self.step()
            for leaf in jax.tree_util.tree_leaves(self.state):
                digest.add(numpy.asarray(leaf))


def values(shape, seed):
    return jnp.asarray(numpy.random.default_rng(seed).standard_normal(shape, dtype=numpy.float32))


def training():
    inputs, targets = values((64, 64), 1), values((64, 16), 2)
    weights = [values((64, 128), 3) / 8, values((128, 128), 4) / 11, values((128, 16), 5) / 11]

    def loss(parameters):
        hidden = inputs
        for weight in parameters[:-1]:
            hidden = jnp.tanh(hidden @ weight)
        return jnp.mean((hidden @ parameters[-1] - targets) ** 2)

    @jax.jit
    def step(parameters):
        gradients = jax.grad(loss)(parameters)
        return [parameter - 0.05 * gradient for parameter, gradient in zip(parameters, gradients)]

    return Loop(step, weights)


def small_calls():
    """Many small compiled functions, one after the other."""
    scale = jax.jit(lambda state: state * 0.99 + 0.01)
    bend = jax.jit(jnp.tanh)

    def step(state):
        for _ in range(10):
            state = bend(scale(state))
        return state

    return Loop(step, values((4096,), 6))


CASES = {"training": training, "small_calls": small_calls}

if __name__ == "__main__":
    case_runner.main(__doc__, CASES, wait)
