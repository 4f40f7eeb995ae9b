"""Runs the program of one API, plain or under the layer, as a process of its own."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

# Which variables say what the simulated device does (test/sim/core/settings.h).
SCHEDULE = ("SIM_SEED",)
LAZY = "SIM_LAZY"
LINGER = "SIM_LINGER"
WORKERS = "SIM_WORKERS"
POOL = "SIM_POOL"
FAIL_AT = ("SIM_FAIL_AT",)
COUNT = ("SIM_COUNT",)
VIOLATION = re.compile(r"violation|\[refrain\] error|Sanitizer|runtime error:|terminate called", re.IGNORECASE)


def paths(build: pathlib.Path) -> dict:
    file = build / "property.json"
    return json.loads(file.read_text()) if file.exists() else {}


def built_apis(build: pathlib.Path) -> list[str]:
    return [api for api, entry in paths(build).items() if pathlib.Path(entry["program"]).exists()]


class Result:
    """What a process printed. `programs`: (seed, memory and values) in order; `running`: begun and not ended."""

    def __init__(self, code: int | None, output: str, errors: str, report: dict) -> None:
        self.code, self.errors, self.output = code, errors, output
        self.programs: list[tuple[int, str]] = []
        self.running: int | None = None
        self.calls = 0
        self.late = False  # a gate stayed closed too long
        for line in output.splitlines():
            words = line.split(None, 2)
            if line.startswith("program ") and not line.endswith(" late 0"):
                self.late = True
            if line.startswith("begin "):
                self.running = int(words[1])
            elif line.startswith("program "):
                self.programs.append((int(words[1]), words[2]))
                self.running = None
            elif line.startswith("calls: "):
                self.calls = int(words[1])
        self.submissions = report.get("submissions", 0)
        self.replayed = report.get("replayed", 0)
        self.reported = bool(report)

    def problem(self) -> str | None:
        """What is wrong with it, whatever others computed."""
        if self.code is None:
            return "hangs"
        found = VIOLATION.search(self.errors)
        if found:
            line = next(each for each in self.errors.splitlines() if VIOLATION.search(each))
            return f"breaks a rule: {line.strip()}"
        if self.code != 0:
            tail = self.output.strip().splitlines()[-1:] or [""]
            return f"ended with {self.code}: {tail[0]}"
        return None

    def first_difference(self, other: "Result") -> int | None:
        for mine, others in zip(self.programs, other.programs):
            if mine != others:
                return mine[0]
        return None

    def difference(self, plain: "Result") -> str | None:
        for mine, others in zip(self.programs, plain.programs):
            if mine != others:
                return f"computes {mine[1]}, plain {others[1]}"
        if len(self.programs) != len(plain.programs):
            return f"ran {len(self.programs)} programs, plain {len(plain.programs)}"
        return None


class Launcher:
    def __init__(self, api: str, build: pathlib.Path) -> None:
        entry = paths(build)[api]
        self.api = api
        self.program = entry["program"]
        self.plain = entry["plain"]  # variables
        self.layer = entry["layer"]
        self.sanitized = entry["sanitized"]
        self.refrain = entry["refrain"]
        self.simulated = entry["simulated"]
        self.scratch = tempfile.TemporaryDirectory(prefix="refrain-property-")

    def file(self, name: str) -> str:
        return str(pathlib.Path(self.scratch.name) / name)

    def variables(self, words: list[str], settings: dict[str, str] | None, schedule: int) -> dict[str, str]:
        """`settings` None: plain."""
        variables = dict(self.plain if settings is None else self.layer)
        if "--all-kinds" in words:  # each queue may have a kernel that waits
            variables[WORKERS] = "16"
        variables.update({name: str(schedule) for name in SCHEDULE})
        if schedule % 5 == 3:  # slow: one in five, of all orders (the seed modulo 3)
            variables[LAZY] = "1"
        if self.api in ("cuda", "hip") and schedule % 3 == 1:  # little more than all that a program has at once
            variables[POOL] = "20480"
        if schedule % 4 == 1:  # threads get between each other's calls
            variables[LINGER] = "1"
        if settings is not None:
            variables.setdefault("REFRAIN_CAPTURE_FILE", self.file("capture.rfn"))
            variables["REFRAIN_REPORT_FILE"] = self.file("report.json")
            variables.update(settings)
        return variables

    def command_text(self, words: list[str], settings: dict[str, str] | None, schedule: int) -> str:
        """For a shell."""
        variables = self.variables(words, settings, schedule)
        shown = " ".join(f"{name}={value}" for name, value in variables.items()
                         if name not in ("REFRAIN_REPORT_FILE", "REFRAIN_CAPTURE_FILE"))
        return f"{shown} {self.program} {' '.join(words)}"

    def run(self, words: list[str], settings: dict[str, str] | None, schedule: int, patience: float,
            more: dict[str, str] | None = None) -> Result:
        report = pathlib.Path(self.file("report.json"))
        report.unlink(missing_ok=True)
        pathlib.Path(self.file("capture.rfn")).unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("REFRAIN_", "FAKE_CUDA_", "SIM_"))
                       and name not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "OPENCL_LAYERS")}
        environment["REFRAIN_CONFIG"] = os.devnull  # not this machine's
        environment.update(self.variables(words, settings, schedule))
        environment.update(more or {})
        with open(self.file("output"), "w+", errors="replace") as output, open(self.file("errors"), "w+",
                                                                               errors="replace") as errors:
            try:
                done = subprocess.run([self.program, *words], env=environment, stdout=output, stderr=errors,
                                      timeout=patience, check=False)
                code: int | None = done.returncode
            except subprocess.TimeoutExpired:
                code = None
            output.seek(0)
            errors.seek(0)
            text, complaints = output.read(), errors.read()
        try:
            parsed = json.loads(report.read_text())
        except (OSError, ValueError):
            parsed = {}
        return Result(code, text, complaints, parsed)
