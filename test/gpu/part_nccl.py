"""Several devices that work together: the same outputs on every rank, and how long steps take where one rank waits for others."""
import subprocess
import sys
import time

import harness
import many_ranks
from harness import BIN, DEFAULT, HERE, MODES
from part_samples import program

GATE_OFF = MODES["replay"]
LEFT_OUT = 2  # of a mode's cases so many may hang or fail before the rest of them is left out
STALL, LIMIT, PROGRAM_LIMIT = 40, 150, 60  # seconds: without a word, of a mode's processes, of a CUDA program by itself
# Multicast can put the GPUs of a shared host out of service. A fixed algorithm adds up in a fixed order.
SETTINGS = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1", "NCCL_ALGO": "Ring",
            "NCCL_PROTO": "Simple", "CUBLAS_WORKSPACE_CONFIG": ":4096:8", "OMP_NUM_THREADS": "2", "MASTER_ADDR": "127.0.0.1"}
# Of CUDA programs: name → program and its arguments.
PROGRAMS = {
    "nccl_one_thread": ("nccl_allreduce", "--sync-every", "1"),
    "nccl_one_thread_batched": ("nccl_allreduce", "--sync-every", "8"),
    "nccl_threads": ("nccl_allreduce", "--sync-every", "1", "--threads"),
    "nccl_threads_skewed": ("nccl_allreduce", "--sync-every", "1", "--threads", "--skew"),
    "copies_one_thread": ("peer_loops",),
    "copies_threads": ("peer_loops", "--threads"),
    "signals_one_thread": ("peer_loops", "--signals"),
    "signals_threads": ("peer_loops", "--signals", "--threads"),
    "signals_threads_skewed": ("peer_loops", "--signals", "--threads", "--skew"),
}


def devices():
    try:
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60).stdout.count("GPU ")
    except (OSError, subprocess.TimeoutExpired):
        return 0


def modes(options):
    """Plain twice: what differs then is not compared."""
    layered = {"default": DEFAULT | options.settings, "gate off": GATE_OFF} if harness.LAYER.exists() else {}
    return {"plain": None} | ({} if options.quick else {"again": None}) | layered


def run(results, options):
    found = devices()
    count = min(found, options.devices or found)
    if count == 0:
        results.note("nccl: left out, nvidia-smi lists no GPU")
        return
    end = time.monotonic() + options.nccl_seconds
    run_ranks(results, options, count, end)
    run_programs(results, options, count, end)


def started(names, count, settings, steps, end, more=()):
    """The ranks with these cases, all of one mode: a list of outcomes, as behind a case that hangs the others are begun anew."""
    outcomes = []
    names = list(names)
    while names and len(outcomes) <= LEFT_OUT and time.monotonic() < end:
        port = many_ranks.free_port()
        commands = [[sys.executable, HERE / "many_cases.py", "--rank", rank, "--ranks", count, "--port", port, "--steps", steps,
                     "--cases", ",".join(names), *more] for rank in range(count)]
        place = {"MASTER_PORT": str(port), "WORLD_SIZE": str(count)} | SETTINGS
        outcome = many_ranks.run(commands, names, settings, STALL, min(LIMIT, end - time.monotonic()),
                                 more=lambda rank: place | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
        outcomes.append(outcome)
        if outcome.problem is None or outcome.case not in names:
            break
        names = names[names.index(outcome.case) + 1:]
    return outcomes


def ended(outcomes):
    """case → rank → what it said at the end of it."""
    found = {}
    for outcome in outcomes:
        for rank, lines in enumerate(outcome.lines):
            for line in lines:
                if "sha256" in line or "missing" in line:
                    found.setdefault(line["case"], {})[rank] = line
    return found


def last_frames(errors):
    """Where Python was, if the process said so: the innermost calls of its threads."""
    found = []
    for thread in errors.split("most recent call first")[1:]:
        frames = [line.strip() for line in thread.splitlines() if line.strip().startswith("File ")]
        found += frames[:1] + [frame for frame in frames[1:] if "many_" in frame][:1]
    return "; ".join(found)[-400:]


def run_ranks(results, options, count, end, more=()):
    listed = harness.run([sys.executable, HERE / "many_cases.py", "--list"], timeout=120)
    names = listed.output.split()
    if listed.status != 0 or not names:
        results.problem(f"many_cases.py: {listed.why()}")
        return
    if options.nccl_cases:
        names = [name for name in names if name in options.nccl_cases.split(",")]
    steps = 220 if options.quick else 300
    told = {}
    wanted = names
    for mode, settings in modes(options).items():
        outcomes = started(wanted, count, settings, steps, end, more)
        told[mode] = ended(outcomes)
        if mode == "plain":  # with nothing to compare with it need not be waited for
            wanted = [name for name in names if any("sha256" in line for line in told[mode].get(name, {}).values())]
        if not outcomes and wanted:
            results.problem(f"{count} ranks, {mode}: not run, the time is over")
        harness.say(f"{count} ranks, {mode}: {', '.join(f'{outcome.seconds:.0f}' for outcome in outcomes)} s")
        reports = [report for outcome in outcomes for report in outcome.reports]
        results.figure("nccl", f"{count} ranks, {mode}", {
            "cases": told[mode], "reports": reports, "seconds": [outcome.seconds for outcome in outcomes],
            "errors": [text[-1500:] for outcome in outcomes for text in outcome.errors]})
        for outcome in outcomes:
            if outcome.problem:
                places = [last_frames(text) for text in outcome.errors]
                results.problem(f"{count} ranks, {mode}: {outcome.problem}"
                                + "".join(f"\n  rank {rank}: {place}" for rank, place in enumerate(places) if place))
        if settings is not None and not all(reports) and not any(outcome.problem for outcome in outcomes):
            results.problem(f"{count} ranks, {mode}: a rank has no report: the layer was not in")
        shares = [harness.share(report) for report in reports]
        if settings is not None and shares:
            results.row("nccl", f"{count} ranks, {mode}: submissions replayed", f"{min(shares):.0f} to {max(shares):.0f} %")
    for name in names:
        compare(results, f"{name}, {count} devices", count, {mode: cases.get(name, {}) for mode, cases in told.items()})


def compare(results, name, count, told):
    """One case: `told` is mode → rank → its last line."""
    plain, again = told["plain"], told.get("again", told["plain"])
    missing = next((line["missing"] for line in plain.values() if "missing" in line), None)
    if missing:
        results.note(f"{name}: left out, it needs {missing}")
        return
    hashes = {mode: {rank: line.get("sha256") for rank, line in lines.items()} for mode, lines in told.items()}
    if not plain:
        results.note(f"{name}: nothing to compare with, the plain ranks did not end it")
        return
    stable = {rank for rank, value in hashes["plain"].items() if again.get(rank, {}).get("sha256") == value}
    unstable = set(hashes["plain"]) - stable
    if unstable:
        results.note(f"{name}: two plain runs differ on ranks {sorted(unstable)}, not compared there")
    for mode in [mode for mode in told if mode not in ("plain", "again")]:
        wrong = [rank for rank in sorted(stable) if hashes[mode].get(rank) not in (None, hashes["plain"][rank])]
        lost = [rank for rank in sorted(stable) if hashes[mode].get(rank) is None]
        if wrong:
            results.problem(f"{name}, {mode}: output differs on ranks {wrong}")
        if lost:
            results.problem(f"{name}, {mode}: no output of ranks {lost}")
        show_times(results, f"{name}, {mode}", plain.get(0), told[mode].get(0), again.get(0), mode, not wrong and not lost)


def show_times(results, name, plain, layered, again, mode, good):
    """Rank 0's steps: the others wait with it. "plain → Refrain", medians and 99th percentiles."""
    if not plain or not layered or "p50_us" not in plain or "p50_us" not in layered:
        results.row("nccl", name, "no times", "outputs identical", good)
        return
    # Of two plain runs the slower tail: what they differ by cannot be told from nothing.
    twice = bool(again) and again is not plain and "p50_us" in again
    tail = max(plain["p99_us"], again["p99_us"]) if twice else plain["p99_us"]
    results.row("nccl", name, f"{plain['p50_us']:.0f} → {layered['p50_us']:.0f} us, "
                f"p99 {tail:.0f} → {layered['p99_us']:.0f}", "outputs identical", good)
    ratio = layered["p50_us"] / plain["p50_us"]
    if mode == "default":
        more = {"error": round(abs(plain["p50_us"] - again["p50_us"]) / plain["p50_us"], 4)} if twice else {}
        results.value("many", name.removesuffix(", default"), ratio, "x", "<= 1.01", column="step, median", **more)
        results.value("many", name.removesuffix(", default"), layered["p99_us"] / tail, "x", column="step, p99")
    results.figure("nccl", f"{name}, times", {"plain": plain, "refrain": layered, "again": again})


def program_lines(done):
    """The one line of times that a CUDA program prints, as a rank's line: "elapsed-step-us P50 P99 STEPS_PER_S"."""
    for line in done.output.splitlines():
        if line.startswith("elapsed-step-us"):
            p50, p99, speed = (float(word) for word in line.split()[1:4])
            return {"p50_us": p50, "p99_us": p99, "steps_per_s": speed}
    return {}


def steps_for(command, seconds):
    """The arguments with which a CUDA program takes about so long without Refrain: all its modes have them, and so equal outputs."""
    if not seconds:
        return []
    first = harness.run(command, None, PROGRAM_LIMIT, toolkit=True, **SETTINGS)
    speed = program_lines(first).get("steps_per_s", 0)
    return ["--steps", max(1, round(seconds * speed))] if speed else []


def run_programs(results, options, count, end):
    for name, (file, *arguments) in PROGRAMS.items():
        if options.nccl_cases and name not in options.nccl_cases.split(","):
            continue
        if not (BIN / "cuda" / file).exists():
            results.note(f"{name}: left out, {file} is not built")
            continue
        if time.monotonic() > end:
            results.problem(f"{name}: not run, the time is over")
            continue
        command = [program(file), "--devices", count, *arguments]
        command += steps_for(command, options.nccl_program_seconds)
        limit = PROGRAM_LIMIT + 3 * options.nccl_program_seconds
        runs = {mode: harness.run(command, settings, limit, toolkit=True, **SETTINGS)
                for mode, settings in modes(options).items()}
        plain, again = runs.pop("plain"), runs.pop("again", None)
        name = f"{name}, {count} devices"
        if plain.status != 0:
            results.problem(f"{name} without Refrain: {plain.why()}")
            continue
        if plain.output.startswith("missing"):
            results.note(f"{name}: left out, {plain.output.strip()}")
            continue
        if again is not None and harness.comparable(again) != harness.comparable(plain):
            results.note(f"{name}: two plain runs differ, not compared")
            continue
        for mode, done in runs.items():
            good = harness.same(results, name, plain, done, mode)
            results.figure("nccl", f"{name}, report, {mode}", done.report)
            show_times(results, f"{name}, {mode}", program_lines(plain), program_lines(done), program_lines(again) if again else None,
                       mode, good)
