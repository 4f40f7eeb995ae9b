"""Models that are split over several devices, for many_cases.py: by rows of data, by parameters, by layers."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

WIDTH, LAYERS, ROWS = 256, 8, 32


class Missing(Exception):
    """This machine's PyTorch, or the number of devices, does not allow the case."""


class Case:
    """step(pause) does one step and calls pause() in its middle; results() are what is compared."""

    def __init__(self, world):
        self.world = world

    def wait(self):
        self.world.wait()

    def close(self):
        """Gives the memory back."""
        self.__dict__.clear()


def perceptron():
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS)])


class Training(Case):
    """One rank's rows each; the gradients are put together by whoever wraps the model."""

    def __init__(self, world):
        super().__init__(world)
        self.model = self.wrapped(perceptron().to(world.device))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        generator = torch.Generator().manual_seed(100 + world.rank)
        self.inputs, self.targets = (torch.randn(ROWS, WIDTH, generator=generator).to(world.device) for _ in range(2))
        self.loss = None

    def step(self, pause):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss = functional.mse_loss(self.model(self.inputs), self.targets)
        pause()
        self.loss.backward()
        self.optimizer.step()

    def results(self):
        parameters = [p.to_local() if hasattr(p, "to_local") else p for p in self.model.parameters()]
        return [self.loss, *parameters]


class Replicated(Training):
    """DistributedDataParallel: buckets that are small enough that there are several."""

    def wrapped(self, model):
        ids = [self.world.device.index] if self.world.cuda else None
        return nn.parallel.DistributedDataParallel(model, device_ids=ids, bucket_cap_mb=1)


class Sharded(Training):
    """FullyShardedDataParallel, a unit for each layer."""

    def wrapped(self, model):
        if not self.world.cuda:
            raise Missing("a GPU for FSDP")
        from torch.distributed.fsdp import FullyShardedDataParallel
        kind = {"device_id": self.world.device, "use_orig_params": True}
        for number, layer in enumerate(model):
            model[number] = FullyShardedDataParallel(layer, **kind)
        return FullyShardedDataParallel(model, **kind)


class ShardedInPlace(Training):
    """fully_shard, the newer one."""

    def wrapped(self, model):
        if not self.world.cuda:
            raise Missing("a GPU for fully_shard")
        try:
            from torch.distributed.fsdp import fully_shard
        except ImportError as error:
            raise Missing("fully_shard") from error
        for layer in model:
            fully_shard(layer)
        return fully_shard(model)


class TensorParallel(Case):
    """Inference with each layer's columns, then rows, split over the ranks: an all-reduce in every layer."""

    def __init__(self, world):
        super().__init__(world)
        share = max(1, 2 * WIDTH // world.size)
        scale = (2 * WIDTH) ** -0.5
        make = lambda *shape: torch.randn(*shape).mul_(scale).to(world.device)  # noqa: E731
        self.columns = [make(WIDTH, share) for _ in range(LAYERS)]
        self.rows = [make(share, WIDTH) for _ in range(LAYERS)]
        generator = torch.Generator().manual_seed(1)  # the same on all ranks
        self.inputs = torch.randn(ROWS, WIDTH, generator=generator).to(world.device)
        self.state = self.inputs.clone()

    @torch.no_grad()
    def step(self, pause):
        state = self.state
        for number, (columns, rows) in enumerate(zip(self.columns, self.rows)):
            part = functional.gelu(state @ columns) @ rows
            if number == LAYERS // 2:
                pause()
            dist.all_reduce(part)
            state = functional.layer_norm(state + part, (WIDTH,))
        self.state.copy_(state)
        self.state.add_(self.inputs, alpha=0.01)

    def results(self):
        return [self.state]


class Overlapped(TensorParallel):
    """The sum of one layer is under way while the next one computes."""

    @torch.no_grad()
    def step(self, pause):
        state, before = self.state, None
        for number, (columns, rows) in enumerate(zip(self.columns, self.rows)):
            part = functional.gelu(state @ columns) @ rows
            if number == LAYERS // 2:
                pause()
            work = dist.all_reduce(part, async_op=True)
            if before is not None:
                before[1].wait()
                state = functional.layer_norm(state + before[0], (WIDTH,))
            before = (part, work)
        before[1].wait()
        self.state.copy_(functional.layer_norm(state + before[0], (WIDTH,)))
        self.state.add_(self.inputs, alpha=0.01)


class Experts(Case):
    """Rows go to the ranks of their experts and come back: two all-to-all in each layer."""

    def __init__(self, world):
        super().__init__(world)
        self.experts = [torch.randn(WIDTH, WIDTH).mul_(WIDTH ** -0.5).to(world.device) for _ in range(LAYERS // 2)]
        self.inputs = torch.randn(ROWS * world.size, WIDTH).to(world.device)
        self.state = self.inputs.clone()

    @torch.no_grad()
    def step(self, pause):
        state = self.state
        for number, expert in enumerate(self.experts):
            sent, back = torch.empty_like(state), torch.empty_like(state)
            dist.all_to_all_single(sent, state.contiguous())
            if number == 1:
                pause()
            dist.all_to_all_single(back, functional.gelu(sent @ expert))
            state = functional.layer_norm(state + back, (WIDTH,))
        self.state.copy_(state)
        self.state.add_(self.inputs, alpha=0.01)

    def results(self):
        return [self.state]


class Pipeline(Case):
    """A rank's layers take what the rank before sends, and send on: several parts of a batch, one behind the other."""
    PARTS = 4

    def __init__(self, world):
        super().__init__(world)
        self.layers = [torch.randn(WIDTH, WIDTH).mul_(WIDTH ** -0.5).to(world.device) for _ in range(LAYERS // 2)]
        self.inputs = torch.randn(self.PARTS, ROWS, WIDTH).to(world.device)
        self.outputs = torch.zeros_like(self.inputs)
        self.received = torch.empty(ROWS, WIDTH, device=world.device)

    def send(self, operation, tensor, to):
        for work in dist.batch_isend_irecv([dist.P2POp(operation, tensor, to)]):
            work.wait()

    @torch.no_grad()
    def step(self, pause):
        world = self.world
        for number in range(self.PARTS):
            state = self.inputs[number]
            if world.rank > 0:
                self.send(dist.irecv, self.received, world.rank - 1)
                state = state + self.received
            if number == self.PARTS // 2:
                pause()
            for layer in self.layers:
                state = functional.layer_norm(functional.gelu(state @ layer) + state, (WIDTH,))
            if world.rank + 1 < world.size:
                self.send(dist.isend, state.contiguous(), world.rank + 1)
            self.outputs[number].copy_(state)
        self.inputs.add_(self.outputs, alpha=1e-3)

    def results(self):
        return [self.inputs, self.outputs]
