#!/usr/bin/env python3
"""PyTorch programs as people write them, eager and deterministic, timed and with a hash of their outputs."""
import os

# Has to be set before CUDA starts.
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"

import torch  # noqa: E402
from torch import nn  # noqa: E402

import case_runner  # noqa: E402

CHECKED = 24  # iterations whose outputs are hashed
as_graph = False


def add(digest, tensor):
    with torch.inference_mode():
        digest.add(tensor.float().cpu().numpy())


class Inference:
    """Calls a function of one tensor; the input stays where it is and gets new values for every checked iteration."""

    def __init__(self, function, value):
        self.function, self.value = function, value
        self.start = value.clone()
        self.output = None
        self.graph = None
        if as_graph:
            self.record()

    def call(self):
        with torch.inference_mode():
            self.output = self.function(self.value)

    def record(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.call()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.call()

    def step(self):
        if self.graph is not None:
            self.graph.replay()
        else:
            self.call()

    def check(self, digest):
        add(digest, self.output)  # of the last measured iteration
        for number in range(CHECKED):
            self.value.copy_(self.start * (1 + number / 16))
            self.step()
            # Most are read one after the other, as programs do; some only after the next one has begun.
            if number % 4 != 3:
                add(digest, self.output)
        add(digest, self.output)
        self.value.copy_(self.start)


def encoder():
    """12 layers, batch 1, 16 tokens, half precision."""
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(d_model=512, nhead=8, dim_feedforward=2048, batch_first=True)
    model = nn.TransformerEncoder(layer, num_layers=12).cuda().half().eval()
    return Inference(model, torch.randn(1, 16, 512, device="cuda", dtype=torch.half))


def mlp():
    """50 layers with a ReLU behind each."""
    torch.manual_seed(2)
    layers = []
    for _ in range(50):
        layers += [nn.Linear(512, 512), nn.ReLU()]
    model = nn.Sequential(*layers).cuda().eval()
    return Inference(model, torch.randn(16, 512, device="cuda"))


def elementwise():
    """200 operations, each of which makes a new tensor."""

    def function(value):
        for _ in range(100):
            value = value * 1.0009765625
            value = value + 0.001
        return value

    torch.manual_seed(3)
    return Inference(function, torch.randn(4096, device="cuda"))


class Adam:
    """Training steps of a small network."""

    def __init__(self):
        torch.manual_seed(4)
        self.model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                                   nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)).cuda()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, capturable=as_graph)
        self.inputs = torch.randn(64, 128, device="cuda")
        self.targets = torch.randn(64, 64, device="cuda")
        self.loss = None
        self.graph = None
        if as_graph:
            self.record()

    def call(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss = nn.functional.mse_loss(self.model(self.inputs), self.targets)
        self.loss.backward()
        self.optimizer.step()

    record = Inference.record
    step = Inference.step

    def check(self, digest):
        for _ in range(CHECKED):
            self.step()
            digest.add(self.loss.detach().cpu().numpy())
        for parameter in self.model.parameters():
            add(digest, parameter)


class Lengths:
    """An encoder of which each call has another length, so that hardly anything is the same twice."""

    def __init__(self):
        torch.manual_seed(5)
        layer = nn.TransformerEncoderLayer(d_model=256, nhead=4, dim_feedforward=512, batch_first=True)
        self.model = nn.TransformerEncoder(layer, num_layers=8, enable_nested_tensor=False).cuda().half().eval()
        self.value = torch.randn(1, 512, 256, device="cuda", dtype=torch.half)
        self.calls, self.output = 0, None

    def step(self):
        self.calls += 1
        with torch.inference_mode():
            self.output = self.model(self.value[:, :17 + self.calls * 37 % 491])

    def check(self, digest):
        for _ in range(CHECKED):
            self.step()
            add(digest, self.output)


CASES = {"encoder": encoder, "mlp": mlp, "elementwise": elementwise, "adam": Adam, "lengths": Lengths}


def extra(parser, options):
    global as_graph
    if parser:
        parser.add_argument("--graph", action="store_true", help="each iteration as one hand-made CUDA graph")
    else:
        as_graph = options.graph


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    # Would add a kernel to every allocation, which no program of anybody's does.
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    case_runner.main(__doc__, CASES, torch.cuda.synchronize, extra)
