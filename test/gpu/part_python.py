"""PyTorch, CuPy and JAX, unmodified: the same outputs, and for PyTorch the share of the possible gain."""
import os
import sys

import harness
import turns
from harness import DEFAULT, HERE, MODES

GATE_OFF = MODES["replay"]
TORCH_CASES = ("encoder", "mlp", "elementwise", "adam")
TURN_SECONDS = 0.06
# What is shown: the process, and the route that it goes by. "again" shows what cannot be told apart.
MEASURED = {"plain": ("default", "driver"), "refrain": ("default", "layer"), "again": ("default", "driver"),
            "no-op": ("default", "noop"), "plain, observe": ("observe", "driver"), "observe": ("observe", "layer"),
            "graph": ("graph", "driver")}
GRAPH_ROUNDS = 3  # the hand-made graph is shown, and compared with nothing
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


def run_torch(results, options):
    identical(results, "torch", "torch_cases.py", [],
              {"gate off": GATE_OFF, "default": DEFAULT} |
              ({} if options.quick else {"verify": MODES["verify"]}))
    driver = harness.driver_path()
    if driver is None:
        results.problem("torch: the driver was not found")
        return
    if not harness.LAYER.exists():
        return
    # Of one process the routes are compared (routes.cpp): two differ by more than what is looked for, in memory alone.
    kinds = {"default": routed(driver, DEFAULT), "observe": routed(driver, {"MODE": "observe"}),
             "graph": {"arguments": ["--graph"]}}
    for case in TORCH_CASES:
        processes = {kind: start_torch(case, **more) for kind, more in kinds.items()}
        for kind, process in processes.items():
            if process.answer(timeout=240) is None:
                results.problem(f"torch {case}, {kind}: {process.why()}")
        for synchronous in (True, False):
            times = take_turns(processes, MEASURED, synchronous, options.torch_rounds)
            if times is None:
                results.problem(f"torch {case}: a process ended")
                break
            show_gain(results, case, synchronous, times)
        for kind, process in processes.items():
            process.close()
            if process.report:
                results.figure("torch", f"report, {case}, {kind}", process.report)


def routed(driver, settings):
    """For start_torch(): a program that can go by three routes."""
    return {"preload": harness.ROUTES, "ROUTES_DRIVER": driver, "ROUTES_LAYER": str(harness.LAYER),
            "REFRAIN_CUDA_DRIVER": driver, **{f"REFRAIN_{name}": value for name, value in settings.items()}}


def start_torch(case, arguments=(), **more):
    return turns.Turns([sys.executable, HERE / "torch_cases.py", "--turns", "--cpu", max(os.sched_getaffinity(0)), "--case",
                        case, *arguments], **more)


def take_turns(processes, measured, synchronous, rounds):
    """Each turn's answer (case_runner.py), for each of `measured`: name → (process, route). None if a process ended."""
    found = {name: [] for name in measured}
    for number in range(rounds):
        names = list(measured)
        names = names[number % len(names):] + names[:number % len(names)]  # nobody always follows the same one
        for name in names if number % 2 == 0 else reversed(names):
            kind, route = measured[name]
            if kind == "graph" and number >= GRAPH_ROUNDS:
                continue
            answer = processes[kind].measure(route, synchronous, TURN_SECONDS)
            if answer is None:
                return None
            found[name].append(answer)
    return found


def ratios(times, one, other, of="median_us"):
    """How much `one` is of `other`, round by round: the median, and the quartiles."""
    values = sorted(a[of] / b[of] for a, b in zip(times[one], times[other]))
    return tuple(values[round(part * (len(values) - 1))] for part in (0.5, 0.25, 0.75))


def middle(turns):
    return harness.median([turn["median_us"] for turn in turns])


def show_gain(results, case, synchronous, times):
    """Ratios are medians over the rounds, in each of which everybody had a turn."""
    name = f"{case}, {'sync' if synchronous else 'no sync'}"
    for of in ("median_us", "low_us"):
        results.figure("torch", f"{name}, {of}", {kind: [round(turn[of], 1) for turn in column]
                                                  for kind, column in times.items()})
    kinds = ("plain", "refrain", "no-op", "graph")
    results.row("torch", f"{name}: {', '.join(kinds)}",
                f"{', '.join(f'{middle(times[kind]):.0f}' for kind in kinds)} us")
    refrain, low, high = ratios(times, "refrain", "plain")
    saved = 1 - ratios(times, "no-op", "plain")[0]
    if saved < LEAST_GAIN:
        results.row("torch", "  share of (plain - no-op)", f"nothing to gain ({100 * saved:.1f} % of plain)")
    else:
        results.row("torch", "  share of (plain - no-op)", f"{100 * (1 - refrain) / saved:.0f} % of {100 * saved:.1f} %",
                    ">= 80 %", (1 - refrain) / saved >= 0.8)
    results.row("torch", "  Refrain / plain (quartiles)", f"{refrain:.3f} ({low:.3f} to {high:.3f})", "<= 1.01", refrain <= 1.01)
    # A turn's lower quartile: what disturbs the machine for a moment is not in it.
    results.row("torch", "  the same of each turn's fastest quarter, again / plain",
                f"{ratios(times, 'refrain', 'plain', 'low_us')[0]:.3f}, {ratios(times, 'again', 'plain', 'low_us')[0]:.3f}")
    results.row("torch", "  plain again / plain, observe / plain", f"{ratios(times, 'again', 'plain')[0]:.3f}, "
                f"{ratios(times, 'observe', 'plain, observe')[0]:.3f}")


def run_cupy(results, options):
    identical(results, "cupy", "cupy_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})


def run_jax(results, options):
    identical(results, "jax", "jax_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})
