#!/usr/bin/env python3
"""Programs in Python that reach CUDA by other ways than PyTorch and CuPy: Numba, NVIDIA's own bindings, and libraries over
JAX; timed and with a hash of their outputs."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "")
                           + " --xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0").strip()

import numpy  # noqa: E402

import case_runner  # noqa: E402

CHECKED = 8
waits = []  # how the case that runs waits


class Loop:
    """Calls a function; `outputs` gives arrays to be hashed; `wait` waits for the device."""

    def __init__(self, step, outputs, wait):
        self.step, self.outputs = step, outputs
        waits[:] = [wait]

    def check(self, digest):
        for _ in range(CHECKED):
            self.step()
            waits[0]()
            for array in self.outputs():
                digest.add(numpy.asarray(array))


def numba_kernels():
    """Kernels in two streams, copies through pinned memory."""
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack  # this Numba is older than this NumPy
    from numba import cuda

    @cuda.jit
    def relax(now, then, factor):
        i = cuda.grid(1)
        if 0 < i < now.size - 1:
            then[i] = now[i] + factor * (now[i - 1] - 2 * now[i] + now[i + 1])

    host = cuda.pinned_array(4096, dtype=numpy.float32)
    host[:] = numpy.sin(numpy.arange(4096, dtype=numpy.float32))
    first, second = cuda.stream(), cuda.stream()
    fields = [cuda.to_device(host, stream=first), cuda.to_device(host, stream=first)]
    first.synchronize()
    ready = cuda.event(timing=False)

    def step():
        for number in range(10):
            relax[32, 128, first](fields[0], fields[1], numpy.float32(0.1 + number / 100))
            relax[32, 128, first](fields[1], fields[0], numpy.float32(0.2))
        ready.record(first)
        ready.wait(second)
        fields[0].copy_to_host(host, stream=second)
        second.synchronize()

    return Loop(step, lambda: [host.copy()], cuda.synchronize)


def cuda_bindings():
    """The driver API, called from Python, a kernel of NVRTC's, memory in stream order."""
    from cuda.bindings import driver, nvrtc

    def checked(result):
        assert int(result[0]) == 0, result[0]
        return result[1] if len(result) == 2 else result[1:]

    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    context = checked(driver.cuDevicePrimaryCtxRetain(device))
    checked(driver.cuCtxSetCurrent(context))
    source = b'extern "C" __global__ void add(float* a, float b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; ' \
             b'if (i < n) a[i] = a[i] * 0.99f + b; }'
    program = checked(nvrtc.nvrtcCreateProgram(source, b"add.cu", 0, [], []))
    options = [b"--gpu-architecture=sm_90"]
    checked(nvrtc.nvrtcCompileProgram(program, len(options), options))
    image = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, image))
    library = checked(driver.cuLibraryLoadData(image, [], [], 0, [], [], 0))
    kernel = checked(driver.cuLibraryGetKernel(library, b"add"))
    function = driver.CUfunction(int(kernel))
    stream = checked(driver.cuStreamCreate(1))
    field = checked(driver.cuMemAlloc(4 * 4096))
    checked(driver.cuMemsetD32(field, 0, 4096))
    found = numpy.zeros(4096, dtype=numpy.float32)
    import ctypes

    def launch(address, value):
        arguments = ((address, ctypes.c_float(value), 4096), (None, ctypes.c_float, ctypes.c_int))
        checked(driver.cuLaunchKernel(function, 16, 1, 1, 256, 1, 1, 0, stream, arguments, 0))

    def step():
        scratch = checked(driver.cuMemAllocAsync(4 * 4096, stream))
        checked(driver.cuMemcpyDtoDAsync(scratch, field, 4 * 4096, stream))
        for number in range(20):
            launch(field if number % 2 else scratch, number / 10)
        checked(driver.cuMemcpyDtoDAsync(field, scratch, 2 * 4096, stream))
        checked(driver.cuMemFreeAsync(scratch, stream))
        checked(driver.cuMemcpyDtoHAsync(found.ctypes.data, field, 4 * 4096, stream))
        checked(driver.cuStreamSynchronize(stream))

    return Loop(step, lambda: [found], lambda: checked(driver.cuCtxSynchronize()))


def jax_loop(function, state):
    import jax
    kept = [state]

    def step():
        kept[0] = function(kept[0])

    return Loop(step, lambda: jax.tree_util.tree_leaves(kept[0]), lambda: jax.block_until_ready(kept[0]))


def optax_training():
    """A network of Flax, trained with Optax' Adam."""
    import flax.linen
    import jax
    import optax

    class Network(flax.linen.Module):
        @flax.linen.compact
        def __call__(self, value):
            for _ in range(3):
                value = flax.linen.gelu(flax.linen.Dense(64)(value))
            return value

    network, optimizer = Network(), optax.adam(1e-3)
    inputs = jax.random.normal(jax.random.key(1), (32, 64))
    parameters = network.init(jax.random.key(2), inputs)

    @jax.jit
    def step(state):
        parameters, moments = state
        gradients = jax.grad(lambda p: ((network.apply(p, inputs) - 1) ** 2).mean())(parameters)
        updates, moments = optimizer.update(gradients, moments)
        return optax.apply_updates(parameters, updates), moments

    return jax_loop(step, (parameters, optimizer.init(parameters)))


def diffrax_solver():
    """A loop on the device, whose condition XLA's host code reads."""
    import diffrax
    import jax
    import jax.numpy as jnp

    @jax.jit
    def solve(state):
        term = diffrax.ODETerm(lambda t, y, _: -0.5 * y + jnp.sin(3 * t))
        solution = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 0.5, 0.05, state,
                                       stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6))
        return solution.ys[-1]

    return jax_loop(solve, jnp.linspace(0.0, 1.0, 256))


CASES = {function.__name__: function for function in (numba_kernels, cuda_bindings, optax_training, diffrax_solver)}

if __name__ == "__main__":
    case_runner.main(__doc__, CASES, lambda: waits[0]())
