#!/usr/bin/env python3
"""Features of PyTorch that change how work is submitted, or whose memory it works on; timed and with a hash of their outputs."""
import os
import sys

# Has to be set before PyTorch is loaded.
if "expandable_segments" in sys.argv:
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import threading  # noqa: E402

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import torch_applications as applications  # noqa: E402
from torch_applications import Loop, Training, perceptron  # noqa: E402


def expandable_segments():
    """Memory is mapped and unmapped behind addresses that stay, as sizes change and the cache is emptied."""
    weights, found, state = torch.randn(256, 256, device="cuda") / 16, [], {"step": 0}

    def step():
        state["step"] += 1
        value = torch.ones(64 + 64 * (state["step"] % 5), 256, device="cuda")
        for _ in range(10):
            value = torch.tanh(value @ weights)
        found[:] = [value]
        if state["step"] % 7 == 0:
            torch.cuda.empty_cache()

    return Loop(step, lambda: found)


def emptied_cache():
    """All memory that is not in use goes back to the driver, and comes back, perhaps elsewhere."""
    model, found, inputs = perceptron().eval(), [], torch.randn(16, 128, device="cuda")

    def step():
        with torch.inference_mode():
            for _ in range(4):
                found[:] = [model(inputs)]
            torch.cuda.empty_cache()

    return Loop(step, lambda: found)


def dropout():
    """Random numbers: the generator's offset is an argument that changes with each launch."""
    model = nn.Sequential(nn.Linear(128, 128), nn.Dropout(0.3), nn.GELU(), nn.Linear(128, 128), nn.Dropout(0.3)).cuda()
    inputs, targets = torch.randn(32, 128, device="cuda"), torch.randn(32, 128, device="cuda")
    return Training(model, torch.optim.SGD(model.parameters(), lr=0.01),
                    lambda: functional.mse_loss(model(inputs + 0.01 * torch.randn_like(inputs)), targets))


def own_graph():
    """The program captures a graph itself, replays it, and works eagerly beside it on the same memory."""
    model, value = perceptron().eval(), torch.randn(16, 128, device="cuda")
    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(value)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = model(value)

    def step():
        with torch.inference_mode():
            for _ in range(3):
                graph.replay()
                for _ in range(5):
                    found.mul_(0.9).add_(0.01)
                value.copy_(torch.tanh(found))

    return Loop(step, lambda: [value, found])


def late_capture():
    """A graph that is captured in each step, while Refrain holds and replays what comes before and after."""
    model, value = perceptron(layers=2).eval(), torch.randn(16, 128, device="cuda")
    stream, found = torch.cuda.Stream(), []
    torch.cuda.synchronize()

    def step():
        with torch.inference_mode(), torch.cuda.stream(stream):
            before = model(value)
            for _ in range(10):
                before = before * 0.99 + 0.01
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                inside = before * 2 + 1
            graph.replay()
            for _ in range(10):
                inside = inside * 0.5 + 0.1
            found[:] = [inside.clone()]
            stream.synchronize()

    return Loop(step, lambda: found)


def linear_algebra():
    """cuSOLVER and MAGMA: handles with streams and work areas of their own, and results that the host looks at."""
    matrix = torch.randn(24, 24, device="cuda")
    matrix, found = matrix @ matrix.T + 24 * torch.eye(24, device="cuda"), []

    def step():
        factor = torch.linalg.cholesky(matrix)
        found[:] = [factor, torch.linalg.eigvalsh(matrix), torch.linalg.solve(matrix, factor), torch.linalg.qr(matrix)[1]]

    return Loop(step, lambda: found)


def selections():
    """Sizes that the device computes and the host reads: masks, unique values, sorting; sparse matrices."""
    values, found = torch.randn(2000, device="cuda"), []

    def step():
        positive = values[values > 0]
        order = torch.sort(positive).values
        kinds = torch.unique((order * 4).to(torch.int32))
        rows = torch.arange(100, device="cuda").repeat(3)
        matrix = torch.sparse_coo_tensor(torch.stack([rows, rows.roll(7)]), torch.ones(300, device="cuda"), (100, 100))
        found[:] = [order, kinds, torch.topk(values, 9).values, torch.sparse.mm(matrix.coalesce().to_sparse_csr(),
                                                                                order[:100, None])]

    return Loop(step, lambda: found)


def checkpoints():
    """The forward pass runs once more in the thread that goes backward."""
    from torch.utils.checkpoint import checkpoint
    blocks = nn.ModuleList([nn.Sequential(nn.Linear(128, 128), nn.GELU(), nn.Dropout(0.1)) for _ in range(4)]).cuda()
    inputs = torch.randn(32, 128, device="cuda", requires_grad=True)

    def loss():
        value = inputs
        for block in blocks:
            value = checkpoint(block, value, use_reentrant=False)
        return value.square().mean()

    return Training(blocks, torch.optim.NAdam(blocks.parameters()), loss)


def attention():
    """Each of the kernels for attention that PyTorch has, forward and backward."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    query = torch.randn(2, 4, 64, 32, device="cuda", dtype=torch.half, requires_grad=True)
    found = []

    def step():
        found.clear()
        for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
            with sdpa_kernel(backend):
                value = functional.scaled_dot_product_attention(query, query * 0.5, query * 2, is_causal=True)
                found.extend([value, torch.autograd.grad(value.float().sum(), query)[0]])

    return Loop(step, lambda: found)


def copies():
    """Pageable and pinned memory, both ways, rows and whole tensors, with and without waiting."""
    device, host = torch.randn(64, 96, device="cuda"), torch.randn(64, 96)
    pinned, found = torch.randn(64, 96).pin_memory(), torch.empty(64, 96).pin_memory()

    def step():
        device.add_(host.cuda()).mul_(0.5)
        device[:, ::2].copy_(pinned.cuda(non_blocking=True)[:, 1::2])
        device[:32].copy_(pinned[32:], non_blocking=True)
        host.copy_(device)
        found.copy_(device.T.contiguous().T, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        pinned.copy_(found.roll(1, 0))

    return Loop(step, lambda: [device, host, pinned])


class BackwardThreads:
    """Two threads train a network each, whose backward passes share PyTorch's one thread for that."""

    def __init__(self):
        self.jobs = []
        for _ in range(2):
            model = perceptron(layers=2)
            inputs = torch.randn(16, 128, device="cuda")
            stream = torch.cuda.Stream()
            self.jobs.append((model, torch.optim.SGD(model.parameters(), lr=0.01), inputs, stream))
        torch.cuda.synchronize()

    @staticmethod
    def work(model, optimizer, inputs, stream):
        with torch.cuda.stream(stream):
            for _ in range(3):
                optimizer.zero_grad(set_to_none=True)
                model(inputs).square().mean().backward()
                optimizer.step()
            stream.synchronize()

    def step(self):
        threads = [threading.Thread(target=self.work, args=job) for job in self.jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def check(self, digest):
        for _ in range(applications.CHECKED):
            self.step()
        for model, *_ in self.jobs:
            for parameter in model.parameters():
                applications.add(digest, parameter)


def _consume(inputs, outputs):
    """Another process: maps the tensors that it gets, and sends results back."""
    while (value := inputs.get()) is not None:
        for _ in range(5):
            value = torch.tanh(value * 1.1)
        torch.cuda.synchronize()
        outputs.put(value.cpu())


def shared_tensors():
    """Memory of one process, used by another one, which has Refrain, too."""
    context = torch.multiprocessing.get_context("spawn")
    inputs, outputs = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=_consume, args=(inputs, outputs), daemon=True)
    process.start()
    value, found = torch.randn(4096, device="cuda"), []

    def step():
        for _ in range(5):
            value.mul_(0.99).add_(0.01)
        torch.cuda.synchronize()
        inputs.put(value)
        found[:] = [outputs.get()]

    return Loop(step, lambda: [value, *found])


def transforms():
    """Functions of functions: batched gradients and products with them, on half-sized numbers of the newer kind."""
    model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)).cuda().bfloat16()
    parameters = dict(model.named_parameters())
    inputs = torch.randn(16, 32, device="cuda", dtype=torch.bfloat16)

    def value(weights, one):
        return torch.func.functional_call(model, weights, (one[None],)).sum()

    found = []

    def step():
        gradients = torch.func.vmap(torch.func.grad(value), in_dims=(None, 0))(
            {name: weight.detach() for name, weight in parameters.items()}, inputs)
        found[:] = list(gradients.values())

    return Loop(step, lambda: found)


CASES = {function.__name__: function for function in (
    expandable_segments, emptied_cache, dropout, own_graph, late_capture, linear_algebra, selections, checkpoints, attention,
    copies, shared_tensors, transforms)}
CASES |= {"backward_threads": BackwardThreads}

if __name__ == "__main__":
    applications.main(__doc__, CASES)
