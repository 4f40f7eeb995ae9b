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
APPLICATIONS = ("torch_applications.py", "torch_features.py", "python_applications.py")
APPLICATIONS_AT_ONCE = 12  # most of a process's time is its start, on one processor
APPLICATION_SECONDS = 80
TIMED_APPLICATIONS = ("amp_training", "lstm_training", "cnn_training", "streams", "threads", "spectrograms",
                      "compiled", "compiled_graphs", "bert_inference", "equivariant", "triton_kernel", "gpt_generate",
                      "graph_network", "distributed", "lightning_training")
SHOWN = {"outputs": "PyTorch", "cupy": "CuPy", "jax": "JAX"}
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
        results.value("same", f"{SHOWN[name]}, {len(stable)} cases, {mode}: replayed", harness.share(done.report), "%")


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


def start_torch(case, arguments=(), script="torch_cases.py", pinned=True, **more):
    cpu = ["--cpu", max(os.sched_getaffinity(0))] if pinned else []
    return turns.Turns([sys.executable, HERE / script, "--turns", "--warmup", "100", *cpu, "--case", case, *arguments], **more)


def take_turns(process, measured, synchronous, seconds, iterations=None, seen=None):
    """Each turn's microseconds, for each of `measured`: name → route; after the warm-up, rounds for so long. None if the
    process ended. `iterations`: of a turn. `seen`: a dictionary that is given Turns.seen of each turn, by name."""
    iterations = iterations or TURN_ITERATIONS[synchronous]
    found = {name: [] for name in measured}
    end = time.monotonic() + (WARM_UP_SECONDS if seconds != 0 else 0)
    while "layer" in measured.values() and time.monotonic() < end:
        if process.measure("layer", synchronous, iterations) is None:
            return None
    end = time.monotonic() + seconds
    number = 0
    while number < LEAST_ROUNDS or time.monotonic() < end:
        names = list(measured)
        names = names[number % len(names):] + names[:number % len(names)]  # nobody always follows the same one
        for name in names if number % 2 == 0 else reversed(names):
            us = process.measure(measured[name], synchronous, iterations)
            if us is None:
                return None
            found[name].append(us)
            if seen is not None:
                seen.setdefault(name, []).append(process.seen)
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
    way = "sync" if synchronous else "no sync"
    name = f"{case}, {way}"
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
        results.value("torch", case, 100 * (1 - refrain) / saved, "%", ">= 80", column=f"share of the gain, {way}")
        results.value("torch", case, 100 * saved, "%", column=f"to gain, {way}")
    results.row("torch", "  Refrain / plain (quartiles; error)", f"{refrain:.3f} ({low:.3f} to {high:.3f}; {error:.3f})",
                "<= 1.01", refrain <= 1.01)
    results.value("torch", case, refrain, "x", "<= 1.01", [a / b for a, b in zip(times["refrain"], times["plain"])],
                  column=f"Refrain / plain, {way}", error=round(error, 4))
    results.row("torch", "  plain again / plain, observe / plain", f"{ratios(times, 'again', 'plain')[0]:.3f}, "
                f"{ratios(times, 'observe', 'plain, observe')[0]:.3f}")


def application(script, name):
    """The command. Each case is a program of its own, as what one library does to a process must not hide what another
    one does."""
    return [sys.executable, HERE / script, "--case", name, "--iterations", "20", "--warmup", "30", "--at-most",
            str(APPLICATION_SECONDS)]


def application_names(results, options):
    """Pairs of script and name."""
    listed = {script: harness.run([sys.executable, HERE / script, "--list"], timeout=120) for script in APPLICATIONS}
    for script, done in listed.items():
        if done.status != 0:
            results.problem(f"{script}: {done.why()}")
    harness.say(f"listed in {', '.join(f'{done.seconds:.0f} s' for done in listed.values())}")
    names = [(script, name) for script, done in listed.items() for name in done.output.split()]
    if options.applications:
        names = [(script, name) for script, name in names if name in options.applications.split(",")]
    return names


def run_applications(results, options):
    names = application_names(results, options)
    end = time.monotonic() + options.application_seconds

    def check(script, name):
        if time.monotonic() > end:
            results.problem(f"{name}: not run, the time is over")
        else:
            check_application(results, script, name)

    harness.together([lambda script=script, name=name: check(script, name) for script, name in names],
                     APPLICATIONS_AT_ONCE)


def check_application(results, script, name):
    """Plain twice, with the gate off, and as a user switches it on. Times are no more than hints: others run beside."""
    def started(settings=None):
        return harness.run(application(script, name), settings, timeout=300)

    plain, again = started(), started()
    harness.say(f"{name}: plain {plain.seconds:.0f}, {again.seconds:.0f} s, status {plain.status}")
    if plain.status != 0:
        results.problem(f"{name} without Refrain: {plain.why()}")
        results.figure("applications", f"{name}, plain", {"errors": plain.errors[-4000:]})
        return
    missing = [line["missing"] for line in plain.lines() if "missing" in line]
    if missing:
        results.note(f"{name}: left out, this machine has no {missing[0]}")
        return
    stable = {key for key, value in hashes(plain).items() if hashes(again).get(key) == value}
    shares, times = {}, {}
    good = True
    for mode, settings in {"gate off": GATE_OFF, "default": DEFAULT}.items():
        done = started(settings)
        harness.say(f"{name}, {mode}: {done.seconds:.0f} s, {harness.share(done.report):.0f} % replayed")
        good = harness.same(results, name, plain, done, mode, lambda run: {key: hashes(run).get(key) for key in stable}
                            ) and good
        shares[mode] = harness.share(done.report)
        times[mode] = [line.get("median_us", float("nan")) for line in done.lines()]
        results.figure("applications", f"{name}, {mode}", {"report": done.report, "output": done.output[-8000:],
                                                           "errors": done.errors[-4000:]})
    if not stable:
        results.note(f"{name}: two plain runs differ, outputs not compared")
    plain_us = [line.get("median_us", float("nan")) for line in plain.lines()]
    results.figure("applications", f"{name}, plain", {"us": plain_us, "again": again.output[-2000:], "seconds": plain.seconds})
    ratio = ", ".join(f"{us / before:.2f}" for us, before in zip(times["default"], plain_us))
    results.row("apps", f"{name}: replayed gate off, default; time", f"{shares['gate off']:.0f}, {shares['default']:.0f} %; {ratio} "
                f"of {harness.median(plain_us):.0f} us", "outputs identical" if stable else "", good)


def run_application_times(results, options):
    """Plain and with Refrain in turn, in one process each; of these only one works at a time."""
    driver = harness.driver_path()
    if driver is None or not harness.LAYER.exists():
        results.problem("apptimes: the driver or the layer was not found")
        return
    names = options.applications.split(",") if options.applications else TIMED_APPLICATIONS
    started = {name: start_torch(name, ["--warmup", "40"], "torch_applications.py", pinned=False,
                                 **routed(driver, DEFAULT | options.settings)) for name in names}
    ready = {name: process for name, process in started.items() if process.answer(timeout=120) is not None}
    for name in set(started) - set(ready):
        results.problem(f"apptimes {name}: {started[name].why()}")
    for name, process in ready.items():
        found = []
        for synchronous in (True, False):
            times = take_turns(process, {"plain": "driver", "refrain": "layer"}, synchronous, options.torch_seconds / 2)
            if times is None:
                results.problem(f"apptimes {name}: a process ended")
                break
            ratio, low, high, error = ratios(times, "refrain", "plain")
            found.append(f"{ratio:.3f} ({error:.3f})")
            results.row("apptimes", f"{name}, {'sync' if synchronous else 'no sync'}: Refrain / plain (error)",
                        f"{ratio:.3f} ({error:.3f}) of {harness.median(times['plain']):.0f} us", "<= 1.01", ratio <= 1.01)
            results.value("apptimes", name, ratio, "x", "<= 1.01", [a / b for a, b in zip(times["refrain"], times["plain"])],
                          column="sync" if synchronous else "no sync", error=round(error, 4))
        harness.say(f"{name}: {', '.join(found)}")
        process.close()
        results.figure("apptimes", name, {"times": times, "report": process.report})


def run_cupy(results, options):
    identical(results, "cupy", "cupy_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})


def run_jax(results, options):
    identical(results, "jax", "jax_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})
