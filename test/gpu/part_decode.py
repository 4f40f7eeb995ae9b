"""Language models that write tokens one by one: how much is replayed, in each of two runs, and how near that comes to launches
that do nothing."""
import sys

import harness
import part_python
from harness import DEFAULT, HERE, MODES

SCRIPT = "decode_cases.py"
CASES = ("gpt2", "llama")
SUBMITTING = ("libcuda", "librefrain", "libroutes")  # the driver, its runtime, Refrain, and who leads to one of them
ANSWERS = ["--sync", "yes", "--warmup", "5", "--iterations", "5"]  # of 64 tokens each


def answers(case, settings):
    return harness.run([sys.executable, HERE / SCRIPT, "--case", case, *ANSWERS], settings, timeout=200)


def run(results, options):
    driver = harness.driver_path()
    if driver is None or not harness.LAYER.exists():
        results.problem("decode: the driver or the layer was not found")
        return
    for case in CASES:
        if options.torch_cases and case not in options.torch_cases.split(","):
            continue
        run_shares(results, options, case)
        run_times(results, options, f"{case}_loop", driver)


def run_shares(results, options, case):
    default = DEFAULT | options.settings
    plain, gate_off = harness.together([lambda settings=settings: answers(case, settings)
                                        for settings in (None, MODES["replay"])], workers=2)
    defaults = [answers(case, default) for _ in range(2)]  # alone: what pays depends on times
    if plain.status != 0:
        results.problem(f"decode {case} without Refrain: {plain.why()}")
        return
    for mode, done in (("gate off", gate_off), ("default", defaults[0]), ("default again", defaults[1])):
        harness.same(results, f"decode {case}", plain, done, mode, part_python.hashes)
        results.figure("decode", f"{case}, {mode}", {"report": done.report, "lines": done.lines(), "errors": done.errors[-3000:]})
    results.figure("decode", f"{case}, plain", plain.lines())
    least, most = sorted(harness.share(done.report) for done in defaults)
    results.row("decode", f"{case}: replayed, gate off and two default runs",
                f"{harness.share(gate_off.report):.0f}, {least:.0f}, {most:.0f} %", ">= 80 %, 5 apart", least >= 80 and most - least <= 5)
    results.value("torch", f"decode, {case}", least, "%", ">= 80", column="replayed, sync")


def submitting_ms(times, seen):
    """Of an answer: what the thread spends on submitting, waits included. The rest is the same by each route but for the caches, and
    most of the noise."""
    shares = [sum(count for name, count in one.items() if name.startswith(SUBMITTING)) / sum(one.values()) for one in seen]
    return sum(share * us for share, us in zip(shares, times)) / len(times) / 1000


def run_times(results, options, case, driver):
    process = part_python.start_torch(case, ["--warmup", "2"], SCRIPT, HOST_SAMPLES=str(harness.HOST_SAMPLES),
                                      **part_python.routed(driver, DEFAULT | options.settings))
    if process.answer(timeout=240) is None:
        results.problem(f"decode {case}: {process.why()}")
        return
    seen = {}
    times = part_python.take_turns(process, part_python.COMPARED, True, options.torch_seconds, iterations=1, seen=seen)
    process.close()
    if times is None:
        results.problem(f"decode {case}: a process ended")
        return
    results.figure("decode", f"{case}, times", {"us": times, "seen": seen, "report": process.report})
    refrain, *quartiles, error = part_python.ratios(times, "refrain", "plain")
    results.row("decode", f"{case}: Refrain / plain (quartiles)", f"{refrain:.3f} ({quartiles[0]:.3f} to {quartiles[1]:.3f})", "<= 1.01",
                refrain <= 1.01)
    over, low, high, _ = part_python.ratios(times, "refrain", "no-op")
    shown = ", ".join(f"{harness.median(times[kind]) / 1000:.1f}" for kind in ("plain", "refrain", "no-op"))
    results.row("decode", f"  plain, refrain, no-op ({len(times['plain'])} rounds)", f"{shown} ms")
    results.row("decode", "  Refrain / no-op (quartiles)", f"{over:.3f} ({low:.3f} to {high:.3f})", "<= 1.05", over <= 1.05)
    submitting = ", ".join(f"{submitting_ms(times[kind], seen[kind]):.1f}" for kind in ("plain", "refrain", "no-op"))
    results.row("decode", "  in the driver, the runtime and Refrain", f"{submitting} ms")
    results.value("torch", f"decode, {case}", refrain, "x", "<= 1.01", [a / b for a, b in zip(times["refrain"], times["plain"])],
                  column="Refrain / plain, sync", error=round(error, 4))
