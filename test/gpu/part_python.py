"""PyTorch, CuPy and JAX, unmodified: the same outputs, and for PyTorch the share of the possible gain."""
import sys

import harness
from harness import DEFAULT, HERE, MODES

GATE_OFF = MODES["replay"]


def cases(script, settings=None, arguments=(), **more):
    return harness.run([sys.executable, HERE / script, *arguments], settings, timeout=300, **more)


def hashes(done):
    return {(line["case"], line["sync"]): line["sha256"] for line in done.lines()}


def times(done):
    return {(line["case"], line["sync"]): line["median_us"] for line in done.lines()}


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
        results.row(name, f"{len(stable)} cases, {mode}", f"{harness.share(done.report):.0f} % of "
                    f"{done.report.get('submissions', 0)} submissions replayed", "outputs identical", good)


def run_torch(results, options):
    identical(results, "torch", "torch_cases.py", [],
              {"gate off": GATE_OFF} if options.quick else {"gate off": GATE_OFF, "verify": MODES["verify"]})
    driver = harness.driver_path()
    if driver is None:
        results.problem("torch: the driver was not found")
        return
    arguments = ["--iterations", "100" if options.quick else "200"]
    actions = [lambda: cases("torch_cases.py", None, arguments)]
    if harness.LAYER.exists():
        actions.append(lambda: cases("torch_cases.py", DEFAULT, arguments))
    rounds = harness.interleaved(options.torch_rounds, *actions)
    bare = cases("torch_cases.py", None, [*arguments, "--no-check"], preload=str(harness.NOOP),
                 NOOP_LAUNCHES_DRIVER=driver)
    graph = cases("torch_cases.py", None, [*arguments, "--no-check", "--graph"])
    for name, done in [("with launches as no-ops", bare), ("as graphs", graph)]:
        if done.status != 0:
            results.problem(f"torch {name}: {done.why()}")
    plain = rounds[0]
    for done in plain:
        if done.status != 0:
            results.problem(f"torch without Refrain: {done.why()}")
            return
    layered = rounds[1] if len(rounds) > 1 else []
    for done in layered:
        harness.same(results, "torch", plain[0], done, "default", hashes)
    for key in times(plain[0]):
        show_gain(results, key, [times(done).get(key) for done in plain], [times(done).get(key) for done in layered],
                  times(bare).get(key), times(graph).get(key))


def show_gain(results, key, plain_times, layered_times, limit, graph):
    case, synchronous = key
    name = f"{case}, {'sync' if synchronous else 'no sync'}"
    plain, layered = harness.median(plain_times), harness.median(layered_times)
    results.figure("torch", name, {"plain_us": plain_times, "refrain_us": layered_times, "noop_us": limit,
                                   "graph_us": graph})
    values = (plain, layered, limit, graph)
    shown = [f"{value:.0f}" if value is not None and value == value else "-" for value in values]
    results.row("torch", f"{name}: plain, Refrain, no-op, graph", f"{', '.join(shown)} us")
    if not layered_times or layered != layered or limit is None:
        return
    # No way of submitting beats the host's own time, nor the device's.
    reachable = max(limit, graph) if graph is not None else limit
    gain = (plain - layered) / (plain - limit) if plain > limit else float("nan")
    results.row("torch", "  share of (plain - no-op)", f"{100 * gain:.0f} %", ">= 80 %", gain >= 0.8)
    if reachable > limit and plain > reachable:
        results.row("torch", "  share of (plain - larger of both)",
                    f"{100 * (plain - layered) / (plain - reachable):.0f} %")
    results.row("torch", "  Refrain / plain", f"{layered / plain:.3f}", "<= 1.01", layered / plain <= 1.01)


def run_cupy(results, options):
    identical(results, "cupy", "cupy_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})


def run_jax(results, options):
    identical(results, "jax", "jax_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})
