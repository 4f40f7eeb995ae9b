"""PyTorch, CuPy and JAX, unmodified: the same outputs, and for PyTorch the share of the possible gain."""
import os
import sys
import time

import harness
import turns
from harness import DEFAULT, HERE, MODES

GATE_OFF = MODES["replay"]
TORCH_CASES = ("encoder", "mlp", "elementwise", "adam")
# A turn is so short because the machine's speed changes by half within a second: iterations that wait, and one batch.
TURN_ITERATIONS = {True: 3, False: 10}
LEAST_ROUNDS = 5
# Before anything is compared Refrain alone has so many seconds to find what repeats, to build graphs and to try them.
WARM_UP_SECONDS = 3
# What is compared, round by round: the process's routes. "again" shows what cannot be told apart.
COMPARED = {"plain": "driver", "refrain": "layer", "no-op": "noop", "again": "driver"}
OBSERVED = {"plain, observe": "driver", "observe": "layer"}
LEAST_GAIN = 0.02  # of plain: less than that cannot be told from nothing


def cases(script, settings=None, arguments=(), **more):
    return harness.run([sys.executable, HERE / script, *arguments], settings, timeout=300, **more)


def hashes(done):
    return {(line["case"], line["sync"]): line["sha256"] for line in done.lines()}


def identical(results, name, script, arguments, modes):
    """Plain twice, which shows that the program itself gives the same bits every time, and in every mode."""
    arguments = ["--iterations", "40", "--warmup", "60", *arguments]
    runs = [lambda: cases(script, None, arguments), lambda: cases(script, None, arguments)]
    if harness.LAYER.exists():
        runs += [lambda settings=settings: cases(script, settings, arguments) for settings in modes.values()]
    plain, again, *layered = harness.together(runs, workers=3)
    if plain.status != 0:
        results.problem(f"{name} without Refrain: {plain.why()}")
        return
    unstable = {key for key, value in hashes(plain).items() if hashes(again).get(key) != value}
    for case, synchronous in sorted(unstable):
        results.note(f"{name} {case}, {'sync' if synchronous else 'no sync'}: two plain runs differ, not compared")
    good = True
    for mode, done in zip(modes, layered):
        # Each program prints one line per case; the rest of its output is its own business.
        stable = {key: value for key, value in hashes(plain).items() if key not in unstable}
        good = harness.same(results, name, plain, done, mode, lambda run: {key: hashes(run).get(key) for key in stable}
                            ) and good
        results.figure(name, f"report, {mode}", done.report)
        results.row(name, f"{len(stable)} cases, {mode}", f"{harness.share(done.report):.0f} % of "
                    f"{done.report.get('submissions', 0)} submissions replayed", "outputs identical", good)


def run_outputs(results, options):
    identical(results, "outputs", "torch_cases.py", [],
              {"gate off": GATE_OFF, "default": DEFAULT} | ({} if options.quick else {"verify": MODES["verify"]}))


def run_torch(results, options):
    driver = harness.driver_path()
    if driver is None:
        results.problem("torch: the driver was not found")
        return
    if not harness.LAYER.exists():
        return
    # Of one process the routes are compared (routes.cpp): two differ by more than what is looked for, in memory alone.
    kinds = {"default": routed(driver, DEFAULT | options.settings), "observe": routed(driver, {"MODE": "observe"}),
             "graph": {"arguments": ["--graph"]}}
    for case in options.torch_cases.split(",") if options.torch_cases else TORCH_CASES:
        if options.logs and os.environ.get("OUT"):
            kinds["default"] |= {"REFRAIN_LOG_LEVEL": "debug", "REFRAIN_LOG_FILE": f"{os.environ['OUT']}/{case}.log"}
        processes = {kind: start_torch(case, **more) for kind, more in kinds.items()}
        for kind, process in processes.items():
            if process.answer(timeout=240) is None:
                results.problem(f"torch {case}, {kind}: {process.why()}")
        for synchronous in (True, False):
            seconds = options.torch_seconds
            times = take_turns(processes["default"], COMPARED, synchronous, seconds)
            observed = take_turns(processes["observe"], OBSERVED, synchronous, seconds / 4)
            graph = take_turns(processes["graph"], {"graph": "driver"}, synchronous, 0)
            if None in (times, observed, graph):
                results.problem(f"torch {case}: a process ended")
                break
            show_gain(results, case, synchronous, times | observed | graph)
        for kind, process in processes.items():
            process.close()
            if process.report:
                results.figure("torch", f"report, {case}, {kind}", process.report)


def routed(driver, settings):
    """For start_torch(): a program that can go by three routes."""
    return {"preload": harness.ROUTES, "ROUTES_DRIVER": driver, "ROUTES_LAYER": str(harness.LAYER),
            "REFRAIN_CUDA_DRIVER": driver, **{f"REFRAIN_{name}": value for name, value in settings.items()}}


def start_torch(case, arguments=(), **more):
    return turns.Turns([sys.executable, HERE / "torch_cases.py", "--turns", "--warmup", "100", "--cpu",
                        max(os.sched_getaffinity(0)), "--case", case, *arguments], **more)


def take_turns(process, measured, synchronous, seconds):
    """Each turn's microseconds, for each of `measured`: name → route; after the warm-up, rounds for so long. None if the
    process ended."""
    found = {name: [] for name in measured}
    end = time.monotonic() + (WARM_UP_SECONDS if seconds != 0 else 0)
    while "layer" in measured.values() and time.monotonic() < end:
        if process.measure("layer", synchronous, TURN_ITERATIONS[synchronous]) is None:
            return None
    end = time.monotonic() + seconds
    number = 0
    while number < LEAST_ROUNDS or time.monotonic() < end:
        names = list(measured)
        names = names[number % len(names):] + names[:number % len(names)]  # nobody always follows the same one
        for name in names if number % 2 == 0 else reversed(names):
            us = process.measure(measured[name], synchronous, TURN_ITERATIONS[synchronous])
            if us is None:
                return None
            found[name].append(us)
        number += 1
    return found


def ratios(times, one, other):
    """How much `one` is of `other`, round by round: the median, the quartiles, and how far the median may be off (its standard
    error, were the rounds independent)."""
    values = sorted(a / b for a, b in zip(times[one], times[other]))
    median, low, high = (values[round(part * (len(values) - 1))] for part in (0.5, 0.25, 0.75))
    return median, low, high, 1.253 * (high - low) / 1.349 / len(values) ** 0.5


def show_gain(results, case, synchronous, times):
    """Ratios are medians over the rounds, in each of which everybody had a turn."""
    name = f"{case}, {'sync' if synchronous else 'no sync'}"
    results.figure("torch", name, {kind: [round(us, 1) for us in column] for kind, column in times.items()})
    kinds = ("plain", "refrain", "no-op", "graph")
    results.row("torch", f"{name}: {', '.join(kinds)} ({len(times['plain'])} rounds)",
                f"{', '.join(f'{harness.median(times[kind]):.0f}' for kind in kinds)} us")
    refrain, low, high, error = ratios(times, "refrain", "plain")
    saved = 1 - ratios(times, "no-op", "plain")[0]
    if saved < LEAST_GAIN:
        results.row("torch", "  share of (plain - no-op)", f"nothing to gain ({100 * saved:.1f} % of plain)")
    else:
        results.row("torch", "  share of (plain - no-op)", f"{100 * (1 - refrain) / saved:.0f} % of {100 * saved:.1f} %",
                    ">= 80 %", (1 - refrain) / saved >= 0.8)
    results.row("torch", "  Refrain / plain (quartiles; error)", f"{refrain:.3f} ({low:.3f} to {high:.3f}; {error:.3f})",
                "<= 1.01", refrain <= 1.01)
    results.row("torch", "  plain again / plain, observe / plain", f"{ratios(times, 'again', 'plain')[0]:.3f}, "
                f"{ratios(times, 'observe', 'plain, observe')[0]:.3f}")


def run_cupy(results, options):
    identical(results, "cupy", "cupy_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})


def run_jax(results, options):
    identical(results, "jax", "jax_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})
