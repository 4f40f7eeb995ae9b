"""Devices that read each other's memory and wait for each other, for many_cases.py: symmetric memory and signals between
processes, and one process that has all devices."""
import threading

import torch
import torch.distributed as dist
from torch.nn import functional

from many_models import LAYERS, ROWS, WIDTH, Case, Missing

DEVICE_PATIENCE_MS = 15000  # a kernel that waits longer for another device ends its process


class Symmetric(Case):
    """Each rank's rows in memory that all others read; barriers between devices, no call of NCCL's."""

    def __init__(self, world):
        super().__init__(world)
        if not world.cuda or world.size < 2:
            raise Missing("two GPUs for symmetric memory")
        try:
            import torch.distributed._symmetric_memory as symmetric
            empty, rendezvous = symmetric.empty, symmetric.rendezvous
        except (ImportError, AttributeError) as error:
            raise Missing("symmetric memory") from error
        group = dist.group.WORLD
        try:
            self.own = empty(ROWS, WIDTH, dtype=torch.float32, device=world.device)
            self.handle = rendezvous(self.own, group.group_name)
        except Exception as error:  # of whatever kind: another PyTorch, no access from device to device
            raise Missing(f"symmetric memory: {type(error).__name__}: {str(error)[:100]}") from error
        self.others = [self.handle.get_buffer(rank, (ROWS, WIDTH), torch.float32) for rank in range(world.size)]
        self.weight = torch.randn(WIDTH, WIDTH).mul_(WIDTH ** -0.5).to(world.device)
        self.state = torch.randn(ROWS, WIDTH).to(world.device)

    @torch.no_grad()
    def step(self, pause):
        for number in range(LAYERS // 2):
            self.own.copy_(functional.gelu(self.state @ self.weight))
            if number == 1:
                pause()
            self.handle.barrier(channel=0, timeout_ms=DEVICE_PATIENCE_MS)
            total = self.others[0].clone()
            for other in self.others[1:]:
                total.add_(other)
            self.handle.barrier(channel=1, timeout_ms=DEVICE_PATIENCE_MS)  # before anybody writes again
            self.state = functional.layer_norm(self.state + total, (WIDTH,))

    def results(self):
        return [self.state]


class Signals(Symmetric):
    """From device to device in a ring: each waits for the one before it, reads what that has, and tells it so."""

    @torch.no_grad()
    def step(self, pause):
        world = self.world
        before, after = (world.rank - 1) % world.size, (world.rank + 1) % world.size
        for number in range(LAYERS // 2):
            self.own.copy_(functional.gelu(self.state @ self.weight))
            if number == 1:
                pause()
            self.handle.put_signal(after, channel=0, timeout_ms=DEVICE_PATIENCE_MS)
            self.handle.wait_signal(before, channel=0, timeout_ms=DEVICE_PATIENCE_MS)
            got = self.others[before].clone()
            self.handle.put_signal(before, channel=1, timeout_ms=DEVICE_PATIENCE_MS)
            self.handle.wait_signal(after, channel=1, timeout_ms=DEVICE_PATIENCE_MS)
            self.state = functional.layer_norm(self.state + got, (WIDTH,))


class OneThread(Case):
    """Layers on all devices of one process, and a training step through them: copies between devices there and back."""

    def __init__(self, world):
        super().__init__(world)
        self.places = [world.nth(number) for number in range(max(2, world.devices))]
        self.layers = [torch.nn.Linear(WIDTH, WIDTH).to(place) for place in self.places]
        self.optimizer = torch.optim.SGD([p for layer in self.layers for p in layer.parameters()], lr=1e-2, momentum=0.9)
        self.inputs, self.targets = (torch.randn(ROWS, WIDTH).to(self.places[0]) for _ in range(2))
        self.loss = None

    def wait(self):
        for place in self.places if self.world.cuda else []:
            torch.cuda.synchronize(place)

    def step(self, pause):
        self.optimizer.zero_grad(set_to_none=True)
        state = self.inputs
        for layer, place in zip(self.layers, self.places):
            state = functional.gelu(layer(state.to(place, non_blocking=True)))
        self.loss = functional.mse_loss(state.to(self.places[0], non_blocking=True), self.targets)
        self.loss.backward()
        self.optimizer.step()

    def results(self):
        return [self.loss, *[p for layer in self.layers for p in layer.parameters()]]


class Threads(Case):
    """A thread for each device of one process; between two steps each takes what its neighbour has."""

    def __init__(self, world):
        super().__init__(world)
        self.places = [world.nth(number) for number in range(max(2, world.devices))]
        self.weights = [torch.randn(WIDTH, WIDTH).mul_(WIDTH ** -0.5).to(place) for place in self.places]
        self.states = [torch.randn(ROWS, WIDTH).to(place) for place in self.places]
        self.taken = [state.clone() for state in self.states]
        self.barrier = threading.Barrier(len(self.places) + 1)
        self.stopped, self.error = False, None
        self.threads = [threading.Thread(target=self.work, args=(number,), daemon=True) for number in range(len(self.places))]
        for thread in self.threads:
            thread.start()

    def work(self, number):
        try:
            if self.world.cuda:
                torch.cuda.set_device(self.places[number])
            with torch.no_grad():
                while True:
                    self.barrier.wait()
                    if self.stopped:
                        return
                    self.one_step(number)
        except threading.BrokenBarrierError:
            pass  # another thread has ended
        except BaseException as error:  # told by the main thread, at its next wait
            self.error = error
            self.barrier.abort()

    def one_step(self, number):
        state = self.states[number]
        for _ in range(LAYERS):
            state = functional.layer_norm(functional.gelu(state @ self.weights[number]) + self.taken[number], (WIDTH,))
        self.states[number].copy_(state)
        self.wait_own(number)
        self.barrier.wait()
        self.taken[number].copy_(self.states[(number + 1) % len(self.places)], non_blocking=True)
        self.wait_own(number)
        self.barrier.wait()

    def wait_own(self, number):
        if self.world.cuda:
            torch.cuda.synchronize(self.places[number])

    def step(self, pause):
        try:
            for _ in range(3):
                self.barrier.wait()
        except threading.BrokenBarrierError:
            raise self.error or RuntimeError("a thread ended") from None

    def wait(self):
        pass

    def results(self):
        return self.states

    def close(self):
        self.stopped = True
        self.barrier.wait()
        for thread in self.threads:
            thread.join()
        super().close()
