"""What Refrain costs while it learns: the first iterations of PyTorch programs, each of a process of its own."""
import statistics
import sys

import harness
import turns
from harness import DEFAULT, HERE

ITERATIONS = 30
AT_ONCE = 4  # pairs of processes that start together, and are measured one after the other
BATCHES = 3
# name, script, case, the most of plain's time
CASES = (("encoder", "torch_cases.py", "encoder", 1.03),
         ("adam", "torch_cases.py", "adam", 1.03),
         ("timm_inference", "torch_applications.py", "timm_inference", 1.03),
         ("lengths, hardly ever replayed", "torch_cases.py", "lengths", 1.01))


def started(script, case, settings):
    preload = {} if settings is None else {"LD_PRELOAD": str(harness.LAYER)}
    preload |= {f"REFRAIN_{name}": value for name, value in (settings or {}).items()}
    return turns.Turns([sys.executable, HERE / script, "--case", case, "--first", ITERATIONS], **preload)


def batch(results, name, script, case):
    """Times of as many plain runs and runs with Refrain, in turn; None if a process ended."""
    processes = [started(script, case, settings) for _ in range(AT_ONCE) for settings in (None, DEFAULT)]
    try:
        for process in processes:
            if process.answer(timeout=120) is None:
                results.problem(f"learning, {name}: {process.why()}")
                return None
        times = [process.ask("go") for process in processes]
    finally:
        for process in processes:
            process.close()
    if None in times:
        results.problem(f"learning, {name}: a process ended")
        return None
    return times[::2], times[1::2]


def run(results, options):
    if not harness.LAYER.exists():
        return
    for name, script, case, most in CASES:
        plain, layered = [], []
        for _ in range(1 if options.quick else BATCHES):
            found = batch(results, name, script, case)
            if found is None:
                break
            plain += found[0]
            layered += found[1]
        if not plain:
            continue
        results.figure("learning", name, {"plain": plain, "refrain": layered})
        # The first iteration loads code, which takes a hundred times as long and differs by more than what is looked for.
        for what, first in (("all", 0), ("without the first", 1)):
            sums = [[sum(times[first:]) / 1000 for times in runs] for runs in (plain, layered)]
            before, after = map(statistics.median, sums)
            results.row("learning", f"{name}, {what}: plain, Refrain", f"{before:.1f}, {after:.1f} ms")
            results.row("learning", "  Refrain / plain", f"{after / before:.3f}", f"<= {most:.2f}", after / before <= most)
            results.value("learning", f"{name}, {what}: Refrain / plain", after / before, "x", f"<= {most:.2f}",
                          [one / other for one, other in zip(sums[1], sums[0])])
