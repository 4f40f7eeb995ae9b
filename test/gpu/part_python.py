"""PyTorch, CuPy and JAX, unmodified: the same outputs, and for PyTorch the share of the possible gain."""
import sys

import harness
import turns
from harness import DEFAULT, HERE, MODES

GATE_OFF = MODES["replay"]
TORCH_CASES = ("encoder", "mlp", "elementwise", "adam")
TURN_SECONDS = 0.2
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
    # "again" is plain once more: what it differs by from plain is what cannot be told apart.
    kinds = {"plain": {}, "again": {}, "no-op": {"preload": harness.NOOP, "NOOP_LAUNCHES_DRIVER": driver},
             "graph": {"arguments": ["--graph"]}}
    if harness.LAYER.exists():
        kinds |= {"refrain": {"settings": DEFAULT}, "observe": {"settings": {"MODE": "observe"}}}
    keys = [(case, kind) for case in TORCH_CASES for kind in kinds]
    processes = dict(zip(keys, [start_torch(case, **kinds[kind]) for case, kind in keys]))
    ready = {key: process.answer(timeout=240) for key, process in processes.items()}
    for (case, kind), answer in ready.items():
        if answer is None:
            results.problem(f"torch {case}, {kind}: {processes[case, kind].why()}")
    if None not in ready.values():
        for case in TORCH_CASES:
            for synchronous in (True, False):
                found = take_turns({kind: processes[case, kind] for kind in kinds}, synchronous, options.torch_rounds)
                if None in found.values():
                    results.problem(f"torch {case}: a process ended: "
                                    f"{[kind for kind, times in found.items() if times is None]}")
                else:
                    show_gain(results, case, synchronous, found)
    for process in processes.values():
        process.close()
    results.figure("torch", "reports", {f"{case}, {kind}": process.report for (case, kind), process in processes.items()
                                        if process.report})


def start_torch(case, settings=None, arguments=(), **more):
    return turns.Turns([sys.executable, HERE / "torch_cases.py", "--turns", "--case", case, *arguments], settings, **more)


def take_turns(processes, synchronous, rounds):
    """Medians of each turn, in microseconds per iteration, for each of `processes`; None where one ended."""
    found = {kind: [] for kind in processes}
    for number in range(rounds):
        kinds = list(processes)
        # Nobody always follows the same one.
        kinds = kinds[number % len(kinds):] + kinds[:number % len(kinds)]
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            answer = processes[kind].measure(synchronous, TURN_SECONDS)
            if answer is None:
                return found | {kind: None}
            found[kind].append(answer["median_us"])
    return found


def show_gain(results, case, synchronous, times):
    """Ratios are medians over the rounds, in each of which everybody had a turn."""
    name = f"{case}, {'sync' if synchronous else 'no sync'}"
    results.figure("torch", name, {f"{kind}_us": [round(value, 1) for value in column] for kind, column in times.items()})
    kinds = [kind for kind in ("plain", "refrain", "observe", "no-op", "graph") if kind in times]
    results.row("torch", f"{name}: {', '.join(kinds)}",
                f"{', '.join(f'{harness.median(times[kind]):.0f}' for kind in kinds)} us")

    def ratio(kind):
        return harness.median([value / plain for value, plain in zip(times[kind], times["plain"])])

    if "refrain" not in times:
        return
    shares = [(plain - layered) / (plain - limit)
              for plain, layered, limit in zip(times["plain"], times["refrain"], times["no-op"]) if plain > limit]
    saved = 1 - ratio("no-op")
    if saved < LEAST_GAIN:
        results.row("torch", "  share of (plain - no-op)", f"nothing to gain ({100 * saved:.1f} % of plain)")
    else:
        results.row("torch", "  share of (plain - no-op)", f"{100 * harness.median(shares):.0f} % of {100 * saved:.0f} %",
                    ">= 80 %", harness.median(shares) >= 0.8)
    # No way of submitting beats the host's own time, nor the device's.
    reachable = [max(both) for both in zip(times["no-op"], times["graph"])]
    if harness.median(reachable) > harness.median(times["no-op"]):
        shares = [(plain - layered) / (plain - limit)
                  for plain, layered, limit in zip(times["plain"], times["refrain"], reachable) if plain > limit]
        results.row("torch", "  share of (plain - larger of no-op and graph)", f"{100 * harness.median(shares):.0f} %")
    results.row("torch", "  Refrain / plain (again / plain, observe / plain)",
                f"{ratio('refrain'):.3f} ({ratio('again'):.3f}, {ratio('observe'):.3f})", "<= 1.01",
                ratio("refrain") <= 1.01)


def run_cupy(results, options):
    identical(results, "cupy", "cupy_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})


def run_jax(results, options):
    identical(results, "jax", "jax_cases.py", [], {"default": DEFAULT, "gate off": GATE_OFF})
