"""What Refrain costs while it learns: the first iterations of PyTorch programs, each of a process of its own."""
import statistics
import sys

import harness
import turns
from harness import DEFAULT, HERE

ITERATIONS = 30
AT_ONCE = 8  # pairs of processes that start together, and are measured one after the other
BATCHES = 2
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
    """Times of as many plain runs and runs with Refrain, in turn, and the graphs that were built in each; None if a process ended."""
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
    return times[::2], times[1::2], [builds(process.report) for process in processes[1::2]]


def builds(report):
    return sum(graph["builds"] for graph in report.get("graphs", []))


def undisturbed(runs, first):
    """Milliseconds of the iterations from `first` on, each by the process that was fastest in it: a process is half as fast again as
    another, or not, for hundreds of milliseconds, with Refrain and without, and no median of a few gets rid of that."""
    return sum(min(times) for times in list(zip(*runs))[first:]) / 1000


def medians(runs, first):
    return statistics.median(sum(times[first:]) / 1000 for times in runs)


def run(results, options):
    if not harness.LAYER.exists():
        return
    for name, script, case, most in CASES:
        batches = []
        for _ in range(1 if options.quick else BATCHES):
            found = batch(results, name, script, case)
            if found is None:
                break
            batches.append(found)
        if not batches:
            continue
        plain, layered, built = (sum(kinds, []) for kinds in zip(*batches))
        results.figure("learning", name, {"plain": plain, "refrain": layered, "builds": built})
        # The first iteration loads code, which takes a hundred times as long and differs by more than what is looked for.
        for what, first in (("all", 0), ("without the first", 1)):
            before, after = undisturbed(plain, first), undisturbed(layered, first)
            results.row("learning", f"{name}, {what}: plain, Refrain", f"{before:.1f}, {after:.1f} ms")
            results.row("learning", "  Refrain / plain", f"{after / before:.3f}", f"<= {most:.2f}", after / before <= most)
            results.row("learning", "  medians of whole runs: plain, Refrain", f"{medians(plain, first):.1f}, {medians(layered, first):.1f} ms")
            results.value("learning", f"{name}, {what}: Refrain / plain", after / before, "x", f"<= {most:.2f}",
                          [undisturbed(kinds[1], first) / undisturbed(kinds[0], first) for kinds in batches])
        results.row("learning", "  graphs built", f"{statistics.median(built):.0f} ({min(built)} to {max(built)})")
