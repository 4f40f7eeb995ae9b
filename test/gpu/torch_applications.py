#!/usr/bin/env python3
"""What people build on PyTorch: other libraries' models, training as it is done, streams, threads, compilers, profilers; timed
and with a hash of their outputs. A case whose library is missing says so."""
import collections
import os
import sys
import threading

# Have to be set before CUDA starts.
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # others run beside
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
if "malloc_async" in sys.argv:
    os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import case_runner  # noqa: E402

CHECKED = 8  # iterations whose outputs are hashed


def add(digest, tensor):
    digest.add(tensor.detach().float().cpu().numpy())


class Loop:
    """Calls a function; `outputs` gives the tensors to be hashed."""

    def __init__(self, step, outputs):
        self.step, self.outputs = step, outputs

    def check(self, digest):
        for _ in range(CHECKED):
            self.step()
            for tensor in self.outputs():
                add(digest, tensor)


class Training(Loop):
    """`loss` is called without arguments."""

    def __init__(self, model, optimizer, loss):
        self.optimizer, self.loss = optimizer, loss
        self.last = None
        super().__init__(self.train, lambda: [self.last, *model.parameters()])

    def train(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.last = self.loss()
        self.last.backward()
        self.optimizer.step()


def inference(model, *inputs):
    model = model.cuda().eval()
    found = []

    def step():
        with torch.inference_mode():
            found[:] = [model(*inputs)]

    def tensors():
        return [tensor for tensor in torch.utils._pytree.tree_leaves(found) if isinstance(tensor, torch.Tensor)]

    return Loop(step, tensors)


def perceptron(width=128, layers=4):
    stack = []
    for _ in range(layers):
        stack += [nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*stack).cuda()


def cnn_training():
    """ResNet-18 of torchvision, SGD with momentum."""
    import torchvision
    model = torchvision.models.resnet18(num_classes=10).cuda()
    images, labels = torch.randn(8, 3, 64, 64, device="cuda"), torch.arange(8, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return Training(model, optimizer, lambda: functional.cross_entropy(model(images), labels))


def amp_training():
    """Mixed precision: the scaler reads a flag back in each step, as clipping does with the norm."""
    model = perceptron()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**20, growth_interval=5)
    inputs, targets = torch.randn(32, 128, device="cuda"), torch.randn(32, 128, device="cuda")
    norms = []

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norms[:] = [torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)]
        scaler.step(optimizer)
        scaler.update()

    return Loop(step, lambda: [*norms, *model.parameters()])


def lstm_training():
    """cuDNN's recurrent networks work in streams of their own."""
    embedding, lstm = nn.Embedding(64, 64).cuda(), nn.LSTM(64, 64, 2, bidirectional=True, batch_first=True).cuda()
    head = nn.Linear(128, 64).cuda()
    model = nn.ModuleList([embedding, lstm, head])
    text = torch.randint(64, (8, 33), device="cuda")

    def loss():
        found = head(lstm(embedding(text[:, :-1]))[0])
        return functional.cross_entropy(found.flatten(0, 1), text[:, 1:].flatten())

    return Training(model, torch.optim.Adam(model.parameters(), foreach=False), loss)


def gpt_generate():
    """Greedy generation with a cache of keys and values: shapes and addresses change with each token."""
    import transformers
    config = transformers.GPT2Config(n_layer=4, n_embd=128, n_head=4, vocab_size=256, n_positions=64, bos_token_id=0,
                                     eos_token_id=None, pad_token_id=0)
    model = transformers.GPT2LMHeadModel(config).cuda().eval()
    prompt = torch.arange(8, device="cuda")[None]
    found = []

    def step():
        with torch.inference_mode():
            found[:] = [model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, do_sample=False)]

    return Loop(step, lambda: found)


def lora_training():
    """A small Llama with adapters of peft, AdamW fused."""
    import peft
    import transformers
    config = transformers.LlamaConfig(hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4,
                                      num_key_value_heads=2, vocab_size=256, max_position_embeddings=64)
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config),
                                peft.LoraConfig(target_modules=["q_proj", "v_proj"], lora_dropout=0.0)).cuda()
    text = torch.randint(256, (4, 32), device="cuda")
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3, fused=True)
    return Training(model, optimizer, lambda: model(input_ids=text, labels=text).loss)


def timm_inference():
    import timm
    model = timm.create_model("mobilenetv3_small_100", pretrained=False).to(memory_format=torch.channels_last)
    return inference(model, torch.randn(1, 3, 64, 64, device="cuda").to(memory_format=torch.channels_last))


def bert_inference():
    import transformers
    config = transformers.BertConfig(hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=256,
                                     vocab_size=256)
    return inference(transformers.BertModel(config), torch.arange(32, device="cuda")[None])


def data_loader():
    """Batches from two worker processes by way of pinned memory, copied without waiting."""
    data = torch.utils.data.TensorDataset(torch.randn(256, 128), torch.randn(256, 128))
    loader = torch.utils.data.DataLoader(data, batch_size=16, num_workers=2, pin_memory=True, persistent_workers=True)
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    state = {"batches": iter(loader)}

    def loss():
        batch = next(state["batches"], None)
        if batch is None:
            state["batches"] = iter(loader)
            batch = next(state["batches"])
        inputs, targets = (part.cuda(non_blocking=True) for part in batch)
        return functional.mse_loss(model(inputs), targets)

    return Training(model, optimizer, loss)


def compiled():
    """torch.compile: kernels of Triton, launched by code that it made."""
    model = perceptron()
    return inference(torch.compile(model), torch.randn(16, 128, device="cuda"))


def compiled_graphs():
    """torch.compile with CUDA graphs of its own, work beside them."""
    model = torch.compile(perceptron(), mode="reduce-overhead")
    inputs, found = torch.randn(16, 128, device="cuda"), []

    def step():
        with torch.inference_mode():
            value = model(inputs).clone()
            for _ in range(8):
                value = torch.tanh(value * 1.01 + 0.1)
            found[:] = [value]

    return Loop(step, lambda: found)


def streams():
    """Work in two streams, copies in a third one to pinned memory, events between them, and times taken with events."""
    compute, other, copies = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    value, host = torch.randn(4096, device="cuda"), torch.zeros(4096).pin_memory()
    found = [value.clone()]
    torch.cuda.synchronize()

    def step():
        start.record(compute)
        with torch.cuda.stream(compute):
            left = found[0]
            for _ in range(8):
                left = left * 0.999 + 0.01
            forked = compute.record_event()
        with torch.cuda.stream(other):
            other.wait_event(forked)
            right = value
            for _ in range(8):
                right = torch.sin(right + left)
            left.record_stream(other)
            joined = other.record_event()
        with torch.cuda.stream(compute):
            compute.wait_event(joined)
            found[0] = left + 0.1 * right
            right.record_stream(compute)
        copies.wait_stream(compute)
        with torch.cuda.stream(copies):
            host.copy_(found[0], non_blocking=True)
            found[0].record_stream(copies)
        end.record(copies)
        end.synchronize()
        assert start.elapsed_time(end) > 0 and bool(torch.isfinite(host).all())

    return Loop(step, lambda: [found[0], host])


def malloc_async():
    """The caching allocator left out: memory is allocated and freed in stream order."""
    assert torch.cuda.get_allocator_backend() == "cudaMallocAsync"
    model = perceptron()
    inputs, targets = torch.randn(32, 128, device="cuda"), torch.randn(32, 128, device="cuda")
    return Training(model, torch.optim.Adam(model.parameters()), lambda: functional.mse_loss(model(inputs), targets))


class Profiled:
    """The profiler sees the kernels that the program launches, no other ones, whoever launches them."""

    def __init__(self):
        self.model, self.inputs = perceptron(), torch.randn(16, 128, device="cuda")
        self.kernels = collections.Counter()
        self.output = None
        for _ in range(300):
            self.call()
        torch.cuda.synchronize()

    def call(self):
        with torch.inference_mode():
            self.output = self.model(self.inputs)

    def step(self):
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds) as profile:
            for _ in range(20):
                self.call()
            torch.cuda.synchronize()
        self.kernels = collections.Counter(
            event.name for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA)

    def check(self, digest):
        for _ in range(3):
            self.step()
            add(digest, self.output)
            for name, count in sorted(self.kernels.items()):
                if "Activity Buffer" not in name:
                    print(f"kernel {count} {name[:100]}")
                    digest.add(torch.frombuffer(bytearray(f"{name} {count}".encode()), dtype=torch.uint8).numpy())


class Threads:
    """Four threads with a stream each."""

    def __init__(self):
        self.model = perceptron().eval()
        self.inputs = [torch.randn(16, 128, device="cuda") for _ in range(4)]
        self.streams = [torch.cuda.Stream() for _ in range(4)]
        self.found = [None] * 4
        torch.cuda.synchronize()

    def work(self, number):
        with torch.inference_mode(), torch.cuda.stream(self.streams[number]):
            for _ in range(5):
                self.found[number] = self.model(self.inputs[number])
            self.streams[number].synchronize()

    def step(self):
        threads = [threading.Thread(target=self.work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def check(self, digest):
        for _ in range(CHECKED):
            self.step()
            for tensor in self.found:
                add(digest, tensor)


def graph_network():
    import torch_geometric
    first, second = torch_geometric.nn.GCNConv(32, 64).cuda(), torch_geometric.nn.GCNConv(64, 8).cuda()
    model = nn.ModuleList([first, second])
    features, edges = torch.randn(200, 32, device="cuda"), torch.randint(200, (2, 800), device="cuda")
    labels = torch.randint(8, (200,), device="cuda")

    def loss():
        return functional.cross_entropy(second(functional.relu(first(features, edges)), edges), labels)

    return Training(model, torch.optim.Adam(model.parameters()), loss)


def gaussian_process():
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, inputs, targets, likelihood):
            super().__init__(inputs, targets, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, inputs):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(inputs), self.covar_module(inputs))

    inputs = torch.linspace(0, 1, 100, device="cuda")
    targets = torch.sin(inputs * 6)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Model(inputs, targets, likelihood).cuda().train()
    likelihood.train()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    return Training(model, torch.optim.Adam(model.parameters(), lr=0.05), lambda: -marginal(model(inputs), targets))


def differential_equation():
    """An adaptive solver: reads its error estimate back in each step."""
    import torchdiffeq
    model = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2)).cuda()
    start, times = torch.randn(16, 2, device="cuda"), torch.linspace(0, 1, 2, device="cuda")
    target = torch.randn(2, 16, 2, device="cuda")

    def loss():
        found = torchdiffeq.odeint(lambda _, value: model(value), start, times, method="dopri5", rtol=1e-3, atol=1e-3)
        return functional.mse_loss(found, target)

    return Training(model, torch.optim.RMSprop(model.parameters()), loss)


def detection():
    """Boxes are selected by conditions: the host waits for their number again and again."""
    import torchvision
    model = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return inference(model, [torch.rand(3, 96, 96, device="cuda")])


def spectrograms():
    import torchaudio
    model = nn.Sequential(torchaudio.transforms.MelSpectrogram(n_fft=256, n_mels=32),
                          torchaudio.transforms.AmplitudeToDB(), nn.Conv1d(32, 16, 3))
    return inference(model, torch.randn(2, 4000, device="cuda"))


def distributed():
    """DistributedDataParallel with NCCL, which has streams and threads of its own; one process."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), NCCL_NVLS_ENABLE="0")
    torch.distributed.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda:0"))
    model = nn.parallel.DistributedDataParallel(perceptron(), device_ids=[0])
    inputs, targets = torch.randn(32, 128, device="cuda"), torch.randn(32, 128, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return Training(model, optimizer, lambda: functional.mse_loss(model(inputs), targets))


def lightning_training():
    """Lightning's loop, by hand: Fabric."""
    import lightning
    fabric = lightning.Fabric(accelerator="cuda", devices=1, precision="bf16-mixed")
    model = perceptron()
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    inputs, targets = torch.randn(32, 128, device="cuda"), torch.randn(32, 128, device="cuda")
    found = []

    def step():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(inputs), targets)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        found[:] = [loss]

    return Loop(step, lambda: [*found, *model.parameters()])


def equivariant():
    import e3nn.o3
    irreps = e3nn.o3.Irreps("16x0e + 16x1o + 8x2e")
    product = e3nn.o3.FullyConnectedTensorProduct(irreps, irreps, irreps)
    return inference(product, irreps.randn(32, -1).cuda(), irreps.randn(32, -1).cuda())


def triton_kernel():
    """A kernel of the program's own, whose scalar changes with each launch."""
    import triton
    import triton.language as tl
    global scaled  # the kernel's source is read from this file

    @triton.jit
    def scaled(pointer, count, factor, size: tl.constexpr):
        offsets = tl.program_id(0) * size + tl.arange(0, size)
        values = tl.load(pointer + offsets, mask=offsets < count)
        tl.store(pointer + offsets, values * factor + 0.001, mask=offsets < count)

    value = torch.randn(1000, device="cuda")

    def step():
        for number in range(50):
            scaled[(4,)](value, 1000, 1.0 - number / 1000, size=256)

    return Loop(step, lambda: [value])


CASES = {function.__name__: function for function in (
    cnn_training, amp_training, lstm_training, gpt_generate, lora_training, timm_inference, bert_inference, data_loader,
    compiled, compiled_graphs, streams, malloc_async, graph_network, gaussian_process, differential_equation, detection,
    spectrograms, distributed, lightning_training, equivariant, triton_kernel)}
CASES |= {"profiled": Profiled, "threads": Threads}


def main(description, cases):
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    case_runner.main(description, cases, torch.cuda.synchronize)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(__doc__, CASES)
