"""Runs the cases of torch_cases.py, cupy_cases.py, jax_cases.py, torch_applications.py and python_applications.py and prints
a line of JSON for each."""
import argparse
import ctypes
import faulthandler
import hashlib
import json
import os
import statistics
import sys
import time

BATCH = 10  # iterations between two waits when not every iteration is waited for


class Digest:
    """A sha256 over everything that was added, bytes, shape and type."""

    def __init__(self):
        self._hash = hashlib.sha256()

    def add(self, array):
        """Takes a NumPy array."""
        self._hash.update(f"{array.dtype}{array.shape}".encode())
        self._hash.update(array.tobytes())

    def text(self):
        return self._hash.hexdigest()


def measure(step, wait, count, synchronous):
    """Microseconds per iteration: of each one if all are waited for, else the means of batches."""
    batch = 1 if synchronous else BATCH
    times = []
    for _ in range(max(1, count // batch)):
        start = time.perf_counter()
        for _ in range(batch):
            step()
        wait()
        times.append((time.perf_counter() - start) * 1e6 / batch)
    return times


def run(case, name, wait, options):
    """A case has step() and check(digest); check() runs a few more iterations and adds their outputs."""
    modes = {"yes": [True], "no": [False], "both": [True, False]}[options.sync]
    for synchronous in modes:
        measure(case.step, wait, options.warmup, synchronous)
        start = time.perf_counter()
        times = measure(case.step, wait, options.iterations, synchronous)
        seconds = time.perf_counter() - start
        digest = Digest()
        if not options.no_check:
            case.check(digest)
        wait()
        print(json.dumps({"case": name, "sync": synchronous, "median_us": round(statistics.median(times), 2),
                          "min_us": round(min(times), 2), "total_s": round(seconds, 3), "samples": len(times),
                          "sha256": digest.text()}), flush=True)


class HostSamples:
    """Where this thread's time goes (host_samples.cpp)."""

    def __init__(self, library):
        self._library = ctypes.CDLL(library)
        self._library.host_samples_stop.restype = ctypes.c_char_p

    def start(self):
        if self._library.host_samples_start() != 0:
            sys.exit("there is no thread to look where this one is")

    def stop(self):
        """How often it was seen in each library."""
        lines = self._library.host_samples_stop().decode().splitlines()
        return {name: int(times) for times, name in (line.split(maxsplit=1) for line in lines)}


def in_turns(case, name, wait, options):
    """For a program that compares ways of submitting: a line of standard input, such as "layer sync 3", asks for that many
    iterations by that route (routes.cpp), "sync" or, waiting after each tenth only, "batch"; each is answered by a line of
    JSON. One iteration, or batch, goes first and is not counted: the caches have seen something else meanwhile. With --cpu the
    thread stays on one processor. Where HOST_SAMPLES names a library, "seen" says in which libraries the thread was."""
    for synchronous in (True, False):  # the latter has fewer waits, and so fewer intervals that Refrain's gate can compare
        measure(case.step, wait, options.warmup * (1 if synchronous else 2), synchronous)
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})  # this thread's: the others were started before
    routes = getattr(ctypes.CDLL(None), "routes_use", None)
    samples = HostSamples(os.environ["HOST_SAMPLES"]) if "HOST_SAMPLES" in os.environ else None
    print(json.dumps({"case": name, "ready": True}), flush=True)
    for line in sys.stdin:
        route, kind, count = line.split()
        if routes is not None and routes(route.encode()) != 0:
            sys.exit(f"no route {route}")
        synchronous = kind == "sync"
        measure(case.step, wait, 1, synchronous)
        if samples is not None:
            samples.start()
        answer = {"us": statistics.median(measure(case.step, wait, int(count), synchronous))}
        if samples is not None:
            answer["seen"] = samples.stop()
        print(json.dumps(answer), flush=True)


def at_first(case, name, wait, count):
    """For a program whose beginning is of interest: says that it is ready, waits for a line of standard input, and answers with
    the microseconds of each of its first `count` iterations."""
    wait()
    print(json.dumps({"case": name, "ready": True}), flush=True)
    sys.stdin.readline()
    print(json.dumps({"us": measure(case.step, wait, count, True)}), flush=True)


def main(description, cases, wait, extra=None):
    """`cases`: name → function that makes the case. `extra` adds options of its own, and gets to see them."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--case", action="append", choices=sorted(cases), help="only this one; may be repeated")
    parser.add_argument("--list", action="store_true", help="print the cases' names, and do nothing")
    parser.add_argument("--iterations", type=int, default=200, help="measured iterations (default: 200)")
    parser.add_argument("--warmup", type=int, default=300, help="iterations before that (default: 300)")
    parser.add_argument("--sync", choices=["yes", "no", "both"], default="both",
                        help="wait after every iteration, after every tenth, or first the one and then the other")
    parser.add_argument("--no-check", action="store_true", help="outputs are of no interest")
    parser.add_argument("--turns", action="store_true", help="measure when told to on standard input (one --case)")
    parser.add_argument("--first", type=int, help="measure so many iterations from the first one on, when a line comes on "
                        "standard input (one --case)")
    parser.add_argument("--at-most", type=float, help="after so many seconds say where all threads are, and fail")
    parser.add_argument("--cpu", type=int, help="with --turns: the processor to stay on")
    if extra:
        extra(parser, None)
    options = parser.parse_args()
    if extra:
        extra(None, options)
    if options.at_most:
        faulthandler.dump_traceback_later(options.at_most, exit=True)
    if options.list:
        print("\n".join(cases))
        return
    if options.first:
        name, = options.case
        at_first(cases[name](), name, wait, options.first)
        return
    if options.turns:
        name, = options.case
        in_turns(cases[name](), name, wait, options)
        return
    for name in options.case or cases:
        try:
            case = cases[name]()
        except ModuleNotFoundError as error:
            print(json.dumps({"case": name, "missing": error.name}), flush=True)
            continue
        run(case, name, wait, options)
