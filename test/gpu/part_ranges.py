"""Regions: PyTorch's own ranges in report and capture, and outputs that are the same with them."""
import json
import pathlib
import tempfile

import harness
from harness import BIN, HERE

STEPS = 40


def ranged(options, folder):
    """Runs as a user does: by `refrain run`, which sets what NVTX looks for. The report is REPORT in `folder`."""
    report = pathlib.Path(folder) / "report.json"
    command = [BIN / "refrain", "run", "--report-file", report, *options, "--", "python3", HERE / "torch_ranges.py", STEPS]
    done = harness.run(command)
    if report.exists():
        done.report = json.loads(report.read_text())
        report.unlink()
    return done


def run(results, options):
    if not (BIN / "refrain").exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "torch.rfn"
        plain = harness.run(["python3", HERE / "torch_ranges.py", STEPS])
        kinds = {"capture": ["-o", file], "observe": ["--observe"], "replay": ["--ranges", "on", "--gate", "off"]}
        for kind, words in kinds.items():
            done = ranged(words, folder)
            if not harness.same(results, "torch_ranges", plain, done, kind):
                continue
            regions = {region["name"]: region for region in done.report.get("regions", [])}
            named = all(regions.get(name, {}).get("entered") == STEPS and regions[name]["submissions"] > STEPS
                        for name in ("step", "step/forward"))
            if not named:
                results.problem(f"torch_ranges, {kind}: the report's regions are {sorted(regions)}")
                continue
            cost = [line.split()[1] for line in done.errors.splitlines() if line.startswith("elapsed")]
            results.row("ranges", f"PyTorch's NVTX ranges, {kind}",
                        f"{regions['step']['submissions']} submissions, {regions['step']['replayed']} replayed; "
                        f"{cost[-1] if cost else '?'} us a range", "as entered", True)
        if file.exists():
            dumped = harness.run([BIN / "refrain", "dump", "--json", file])
            names = [region["name"] for region in json.loads(dumped.output)["regions"]] if dumped.status == 0 else []
            if "step/forward" not in names:
                results.problem(f"torch_ranges: the capture's regions are {names}")
        cost = [line.split()[1] for line in plain.errors.splitlines() if line.startswith("elapsed")]
        results.note(f"a range of PyTorch's costs {cost[-1] if cost else '?'} us without Refrain")
