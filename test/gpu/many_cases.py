"""PyTorch over several devices, one process for each: training and inference that is split over them, as users write it. Each
case runs the same steps on all ranks, waits after each, and prints what it computed. Followed by many_ranks.py."""
import argparse
import datetime
import faulthandler
import gc
import json
import math
import mmap
import os
import sys
import time
import traceback

import torch
import torch.distributed as dist

import many_devices
import many_models
from case_runner import Digest
from many_ranks import IDLE, PLACE, PLACE_NAME

STEPS, COUNTED, TELL_EVERY, SKEW_EVERY, SKEW_SECONDS = 300, 200, 50, 50, 0.01
PATIENCE = 25  # after so many seconds without progress a rank says where its threads are


def say(**line):
    print(json.dumps(line), flush=True)
    faulthandler.dump_traceback_later(PATIENCE)


def place_file():
    """Where the step is kept, for whoever wants to know where this rank hangs."""
    if PLACE_NAME not in os.environ:
        return bytearray(PLACE.size)
    with open(os.environ[PLACE_NAME], "r+b") as file:
        return mmap.mmap(file.fileno(), PLACE.size)


class World:
    """What a case may use. The store is beside the devices: who waits there keeps none of them busy."""

    def __init__(self, options):
        self.rank, self.size, self.cuda = options.rank, options.ranks, options.device == "cuda"
        self.devices = max(1, min(options.ranks, torch.cuda.device_count())) if self.cuda else options.ranks
        self.device = torch.device("cuda", options.rank % self.devices) if self.cuda else torch.device("cpu")
        self.place = place_file()
        self.store = dist.TCPStore("127.0.0.1", options.port, options.ranks, options.rank == 0,
                                   timeout=datetime.timedelta(seconds=120))
        more = {"device_id": self.device} if self.cuda else {}
        if self.cuda:
            torch.cuda.set_device(self.device)
        dist.init_process_group("nccl" if self.cuda else "gloo", store=self.store, rank=self.rank, world_size=self.size, **more)

    def nth(self, number):
        """A device of this process by number."""
        return torch.device("cuda", number % self.devices) if self.cuda else torch.device("cpu")

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize(self.device)

    def meet(self, place, good=True):
        """All ranks meet; whether it is good for all of them."""
        self.store.add(f"{place}/wrong", 0 if good else 1)
        if self.store.add(f"{place}/here", 1) == self.size:
            self.store.set(f"{place}/all", "yes")
        self.store.wait([f"{place}/all"], datetime.timedelta(seconds=120))
        return self.store.add(f"{place}/wrong", 0) == 0

    def leave(self):
        """The last one to go is the one that has the store."""
        left = self.store.add("left", 1)
        end = time.monotonic() + 60
        while self.rank == 0 and left < self.size and time.monotonic() < end:
            time.sleep(0.01)
            left = self.store.add("left", 0)


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(part * len(values)) - 1)]


def steps(world, name, case, skewed, count):
    """Microseconds of each step, its wait included."""
    late = skewed and world.rank == world.size - 1
    times = []
    for number in range(count):
        if number % TELL_EVERY == 0:
            say(case=name, at=number)
        pause = (lambda: time.sleep(SKEW_SECONDS)) if late and number % SKEW_EVERY == SKEW_EVERY - 1 else (lambda: None)
        start = time.perf_counter()
        PLACE.pack_into(world.place, 0, number, 0)
        case.step(pause)
        PLACE.pack_into(world.place, 0, number, 1)
        case.wait()
        times.append((time.perf_counter() - start) * 1e6)
    return times


def run(world, name, count):
    make, skewed, alone = CASES[name]
    PLACE.pack_into(world.place, 0, 0, 0)
    if alone and world.rank != 0:
        say(case=name, at=IDLE)
        world.meet(f"{name}/made")
        world.meet(f"{name}/done")
        return
    say(case=name, at=0)
    torch.manual_seed(7 + (0 if name.startswith(("ddp", "fsdp")) else world.rank))
    case, missing = None, None
    try:
        case = make(world)
    except (many_models.Missing, ImportError) as error:
        missing = str(error)
    if not world.meet(f"{name}/made", missing is None):
        say(case=name, at=0, missing=missing or "missing on another rank")
        if alone:
            world.meet(f"{name}/done")
        return
    gc.collect()
    gc.disable()  # it would be in the way of some steps
    times = steps(world, name, case, skewed, count)
    gc.enable()
    digest = Digest()
    for tensor in case.results():
        digest.add(tensor.detach().cpu().double().numpy() if tensor.dtype == torch.bfloat16 else tensor.detach().cpu().numpy())
    counted = times[-COUNTED:]
    say(case=name, at=count, sha256=digest.text(), p50_us=round(percentile(counted, 0.5), 1),
        p99_us=round(percentile(counted, 0.99), 1), steps_per_s=round(1e6 * len(counted) / sum(counted), 1))
    # Nobody takes his memory away, or begins something else, while others are in the middle of it.
    world.meet(f"{name}/done")
    case.close()


# Name → what makes it, whether one rank is late now and then, whether rank 0 does it alone.
CASES = {
    "ddp": (many_models.Replicated, False, False),
    "ddp_skewed": (many_models.Replicated, True, False),
    "fsdp": (many_models.Sharded, False, False),
    "fsdp2": (many_models.ShardedInPlace, False, False),
    "tensor_parallel": (many_models.TensorParallel, False, False),
    "tensor_parallel_skewed": (many_models.TensorParallel, True, False),
    "overlapped": (many_models.Overlapped, False, False),
    "all_to_all": (many_models.Experts, False, False),
    "pipeline": (many_models.Pipeline, False, False),
    "pipeline_skewed": (many_models.Pipeline, True, False),
    "one_thread": (many_devices.OneThread, False, True),
    "threads": (many_devices.Threads, False, True),
    "symmetric": (many_devices.Symmetric, False, False),
    "symmetric_skewed": (many_devices.Symmetric, True, False),
    "signals": (many_devices.Signals, False, False),
    "signals_skewed": (many_devices.Signals, True, False),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--port", type=int, default=29500)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to try this program without a GPU")
    parser.add_argument("--cases", help="only these, separated by commas")
    parser.add_argument("--list", action="store_true", help="print the cases' names, and do nothing")
    return parser.parse_args()


def main():
    options = parse()
    names = options.cases.split(",") if options.cases else list(CASES)
    if options.list:
        print("\n".join(names))
        return
    faulthandler.enable()
    say(started=True)
    torch.use_deterministic_algorithms(True, warn_only=True)
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False
    torch.backends.cudnn.benchmark = False
    world = World(options)
    for name in names:
        run(world, name, options.steps)
    say(end=True)
    world.meet("end")
    dist.destroy_process_group()
    world.leave()
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    try:
        main()
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        # The others may be in the middle of an operation with this rank, for which an orderly end would wait.
        os._exit(1)
