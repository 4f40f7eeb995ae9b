"""Interleaved pairs of plain runs and runs under the layer with default settings: is anything slower?"""

import statistics

from launch import Launcher, SetupError
from programs import Program

LIMIT = 1.02  # promise 6 (docs/contract.md), and what a shared machine adds


def _ratios(launcher: Launcher, program: Program, settings, pairs: int, timeout: float) -> tuple[list, list, list]:
    """Wall ratios, CPU ratios and plain seconds. The order within a pair alternates, so that drift cancels."""
    wall, cpu, plain_seconds = [], [], []
    for number in range(pairs):
        order = [None, settings] if number % 2 == 0 else [settings, None]
        if settings is None:
            order = [None, None]
        runs = [launcher.run(program, f"gate{place}", one, timeout, reports=False)
                for place, one in enumerate(order)]
        for run in runs:
            if run.status != 0:
                raise SetupError(f"{program.name}: exit status {run.status} (None: it hung) in {run.folder}")
        plain, layered = runs if number % 2 == 0 else reversed(runs)
        wall.append(layered.seconds / plain.seconds)
        cpu.append(layered.cpu_seconds / plain.cpu_seconds)
        plain_seconds.append(plain.seconds)
    return wall, cpu, plain_seconds


def _warm_up(launcher: Launcher, program: Program, timeout: float, problems: list[str]) -> str:
    """One run each, not timed: caches fill, the layer is shown to be in, and the report explains itself."""
    plain = launcher.run(program, "gate-plain", None, timeout)
    layered = launcher.run(program, "gate-report", {}, timeout)
    if program.result(plain) != program.result(layered):
        problems.append(f"{program.name}, default settings: the output differs: "
                        + program.first_difference(program.result(plain), program.result(layered)))
    if len(layered.reports) < program.processes:
        problems.append(f"{program.name}, default settings: the layer was in {len(layered.reports)} processes, "
                        f"not in {program.processes} ({layered.folder})")
    graphs = [graph for report in layered.reports for graph in report.get("graphs", [])]
    for graph in graphs:
        if graph.get("state") == "declined" and not graph.get("reason"):
            problems.append(f"{program.name}: graph {graph.get('fingerprint')} was declined without a reason "
                            f"({layered.folder})")
    submissions = layered.total("submissions")
    share = 100 * layered.total("replayed") / submissions if submissions else 0
    declined = sum(graph.get("state") == "declined" for graph in graphs)
    return f"{submissions:>11} {share:>8.1f} % {len(graphs):>6} {declined:>8}"


def compare_speed(launcher: Launcher, programs: list[Program], pairs: int, control: bool) -> tuple[list[str], list[dict]]:
    """Prints the table; returns what is wrong, and the table's rows. With `control` both sides are plain, which
    shows how far the machine alone makes the ratio wander."""
    problems: list[str] = []
    rows: list[dict] = []
    what = "plain / plain (control)" if control else "default settings / plain"
    print(f"wall time, {what}: median of interleaved pairs, and the middle half of them")
    print(f"{'program':<22} {'submissions':>11} {'replayed':>10} {'graphs':>6} {'declined':>8} {'plain':>9} "
          f"{'pairs':>5} {'ratio':>7} {'middle half':>15} {'CPU':>7}")
    for program in programs:
        program.environment = program.environment | program.gate_environment
        timeout = program.timeout * 2
        facts = _warm_up(launcher, program, timeout, problems)
        settings = None if control else {}
        wall, cpu, plain = _ratios(launcher, program, settings, pairs, timeout)
        if statistics.median(wall) > LIMIT:  # look again before accusing: this time with three times the pairs
            for sample, more in zip((wall, cpu, plain), _ratios(launcher, program, settings, 2 * pairs, timeout)):
                sample.extend(more)
        ratio = statistics.median(wall)
        low, _, high = statistics.quantiles(wall, n=4)
        slow = ratio > LIMIT
        print(f"{program.name:<22} {facts} {statistics.median(plain):>7.2f} s {len(wall):>5} {ratio:>7.3f} "
              f"{low:>7.3f}-{high:.3f} {statistics.median(cpu):>8.3f}{'  SLOWER' if slow else ''}", flush=True)
        rows.append({"program": program.name, "pairs": len(wall), "plain_seconds": statistics.median(plain),
                     "ratio": ratio, "quartiles": [low, high], "cpu_ratio": statistics.median(cpu), "all": wall})
        if slow:
            problems.append(f"{program.name}: {100 * (ratio - 1):.1f} % slower than plain (limit "
                            f"{100 * (LIMIT - 1):.0f} %)")
    return problems, rows
