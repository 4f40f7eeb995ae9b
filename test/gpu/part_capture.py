"""CUDA captures: the samples are captured, read and benched without the program, on the GPU they came from."""
import json
import pathlib
import tempfile

import harness
from harness import BIN

SAMPLES = {
    "heat_driver": ["--iterations", "2000", "--report-every", "50"],
    "heat": ["--iterations", "2000", "--report-every", "50"],
    "cg": ["--solves", "3", "--size", "64"],
    "forkjoin": ["--iterations", "50"],
    "scalar": ["--iterations", "20"],
}


def refrain(*words):
    return harness.run([BIN / "refrain", *words], toolkit=True)


def capture(results, name, folder, portable):
    """The file, and what `refrain dump --json` says of it; nothing if the capture went wrong."""
    file = pathlib.Path(folder) / f"{name}-{portable}.rfn"
    command = [BIN / "cuda" / name, *SAMPLES[name]]
    plain = harness.run(command, toolkit=True)
    settings = {"MODE": "capture", "CAPTURE_FILE": str(file), "PORTABLE": portable}
    if not harness.same(results, name, plain, harness.run(command, settings, toolkit=True), "capture"):
        return None
    dumped = refrain("dump", "--json", file)
    if dumped.status != 0:
        results.problem(f"{name}: refrain dump: {dumped.why()}")
        return None
    return file, json.loads(dumped.output)


def bench(results, name, portable, file, dumped):
    label = f"{name}{', portable' if portable == 'on' else ''}"
    told = {code["id"] for code in dumped["code"]}
    unknown = [function["name"] for function in dumped["functions"] if function["code"] not in told]
    if unknown:
        results.problem(f"{label}: the code of {', '.join(unknown[:5])} is not in the capture")
    done = refrain("bench", "--json", "--quiet", "--repetitions", "20", file)
    if done.status not in (0, 1, 3) or not done.output.startswith("{"):
        results.problem(f"{label}: refrain bench: {done.why()}")
        return
    found = json.loads(done.output)
    for problem in found["failed"]:
        results.problem(f"{label}: graph {problem['graph']}: {problem['reason']}")
    for reason in sorted({skipped["reason"] for skipped in found["skipped"]}):
        results.note(f"{label}: not benched: {reason}")
    # The graph that the program spends its time in.
    rows = sorted(found["results"], key=lambda row: row["occurrences"] * row["nodes"])
    if not rows:
        results.problem(f"{label}: no graph could be benched")
        return
    most = rows[-1]
    lacking = portable == "on" and any(row["buffers_without_contents"] for row in rows)
    results.row("capture", f"{label}: {len(rows)} graphs, {file.stat().st_size >> 10} KiB",
                f"{most['nodes']} nodes: {most['eager_us']['median']:.0f} -> {most['native_us']['median']:.0f} us, "
                f"{most['ratio']:.2f}x", "equal memory", not found["failed"] and not unknown and not lacking)
    if portable == "on":
        results.value("samples", f"capture of {name}: eager / graph", most["ratio"], "x")
    results.figure("capture", label, rows)


def run(results, options):
    if not harness.LAYER.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in SAMPLES:
            files = {portable: capture(results, name, folder, portable) for portable in ("on", "off")}
            for portable, captured in files.items():
                if captured and (portable == "on" or not options.quick):
                    bench(results, name, portable, *captured)
            if all(files.values()):
                ids = [{function["id"] for function in dumped["functions"]} for _, dumped in files.values()]
                if ids[0] != ids[1]:
                    results.problem(f"{name}: two captures have different identities for the same kernels")
