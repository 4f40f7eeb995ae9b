"""CUDA programs that others wrote (foreign_programs.txt), unmodified: in every mode they return, say and write the same."""
import dataclasses
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import tarfile
import tempfile
import time

import harness
from harness import DEFAULT, MODES

LIST = harness.HERE / "foreign_programs.txt"
ARCHIVE = harness.PREFIX.parent / "gpu_extra" / "foreign" / "programs.tar.xz"  # made by build_foreign
COMPARED = {"default": DEFAULT, "gate off": MODES["replay"], "verify": MODES["verify"]}
TIMEOUT = 60
RECHECKS = 2  # further runs, plain and with Refrain, where the output differs

NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{8,16}\b")
PROCESS = re.compile(r"(?i)\b(pids?|process(?: id)?|thread id|tid)(\W{1,3})\d+")
# Lines that tell a time, or what is computed from one, or how much memory others leave free.
TIMED = re.compile(
    r"(?i)\btim(?:e[sd]?|ing)\b(?!\s*-?\s*steps?\b)|elapsed|throughput|bandwidth|speed-?\s?up|latenc|duration|took\b|performance|"
    r"\bm?sec(?:ond)?s?\b|\d\s*(?:[mun]s|s)\b|\((?:[mun]?s|m?sec\w*)\)|[GMKT]i?B/s|flops?|[GM]op|/s(?:ec)?\b|per sec|fps\b|"
    r"cycles|clock|\brate\b|\bFOM\b|free memory|memory (?:free|used)|\bavg\b|overhead|Lookups|Ops/|elements/|interactions")
DATED = re.compile(r"(?i)log|oclTridiagonal")  # files that say when they were written


@dataclasses.dataclass
class Program:
    """A line of the list. Programs of one folder and with the same flags are one file, `binary`."""
    name: str
    source: str  # the repository, and the folder there
    folder: str
    flags: list
    arguments: list
    only_status: bool
    binary: str = ""


@dataclasses.dataclass
class Run:
    done: harness.Done
    files: dict = dataclasses.field(default_factory=dict)  # what it wrote: name → hash


def programs():
    found, binaries = [], {}
    for line in LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            name, where, flags, arguments, mark = [word.strip() for word in [*line.split("|"), "", "", ""][:5]]
            source, folder = where.split("/", 1)
            binary = binaries.setdefault((where, flags), name)
            found.append(Program(name, source, folder, flags.split(), shlex.split(arguments), mark == "status", binary))
    return found


def start(program, place, settings=None):
    """One run, in a folder of its own with the program's inputs; what all of them share is beside it."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder, "run")
        work.mkdir()
        if (place / "inputs" / program.binary).is_dir():
            shutil.copytree(place / "inputs" / program.binary, work, dirs_exist_ok=True)
        pathlib.Path(folder, "data").symlink_to(place / "data")
        before = {path: path.stat().st_mtime_ns for path in work.rglob("*")}
        done = harness.run([place / "bin" / program.binary, *program.arguments], settings, TIMEOUT, work,
                           LD_LIBRARY_PATH=f"{place / 'lib'}:{harness.PREFIX / 'lib'}", OMP_NUM_THREADS="4")
        written = {str(path.relative_to(work)): hashlib.sha256(path.read_bytes()).hexdigest() for path in work.rglob("*")
                   if path.is_file() and before.get(path) != path.stat().st_mtime_ns and not DATED.search(path.name)}
        return Run(done, written)


def masked(line):
    """The line without its numbers."""
    return NUMBER.sub("#", line)


def normal(line):
    """What of a line is compared: no addresses, no processes, and no times."""
    line = " ".join(PROCESS.sub(r"\1\2#", ADDRESS.sub("@", line)).split())
    return masked(line) if TIMED.search(line) else line


class Expected:
    """What runs without Refrain agree on. A line is compared in full if they all have it; if its numbers differ among them,
    without numbers; and if they have not even the same lines, only that those which all have are there, and no new ones."""

    def __init__(self, runs, only_status=False):
        self.only_status = only_status
        self.statuses = {run.done.status for run in runs}
        self.files = {name: what for name, what in runs[0].files.items() if all(run.files.get(name) == what for run in runs)}
        texts = [self.text(run) for run in runs]
        shapes = [[masked(line) for line in text] for text in texts]
        self.in_order = all(shape == shapes[0] for shape in shapes)
        self.lines = [same[0] if len(set(same)) == 1 else masked(same[0]) for same in zip(*texts)]
        self.always = set.intersection(*map(set, shapes))
        self.sometimes = set.union(*map(set, shapes))

    @staticmethod
    def text(run):
        return [normal(line) for line in run.done.output.splitlines()]

    def difference(self, run):
        """The first thing that is not as expected; empty if all is."""
        if run.done.status is None:
            return "hangs"
        if run.done.status not in self.statuses:
            return run.done.why()
        if self.only_status:
            return ""
        text = self.text(run)
        return (self.first_line(text) if self.in_order else self.missing_line(text)) or next(
            (f"file {name} differs" for name, what in self.files.items() if run.files.get(name) != what), "")

    def first_line(self, text):
        if len(text) != len(self.lines):
            return f"{len(text)} lines instead of {len(self.lines)}, the last one {text[-1:]}"
        return next((f"plain: {plain[:120]}, with Refrain: {line[:120]}" for plain, line in zip(self.lines, text)
                     if plain not in (line, masked(line))), "")

    def missing_line(self, text):
        shape = {masked(line) for line in text}
        return next((f"missing: {line[:120]}" for line in sorted(self.always - shape)), "") or next(
            (f"never so without Refrain: {line[:120]}" for line in sorted(shape - self.sometimes)), "")


def same(results, program, mode, run, plains, started):
    """Whether a run with Refrain did what plain ones do. What differs is looked at again, as some programs' own runs differ
    now and then; a hang or another exit status need not come twice."""
    where = f"{program.name}, {mode}"
    difference = Expected(plains, program.only_status).difference(run)
    if difference and run.done.status is not None:
        expected = Expected(plains + [started(None) for _ in range(RECHECKS)], program.only_status)
        again = [bool(expected.difference(started(COMPARED[mode]))) for _ in range(RECHECKS)]
        still = expected.difference(run)
        if not any(again) and (not still or run.done.status in expected.statuses):
            results.note(f"{where}: differed once{', as plain runs do' if not still else ''}: {difference}")
            difference = ""
        elif any(again):
            difference += f" (again in {sum(again)} of {RECHECKS} runs)"
    if difference:
        results.problem(f"{where}: {difference}")
    elif not run.done.report:
        difference = "no report: the layer was not in"
        results.problem(f"{where}: {difference}")
    found = run.done.report.get("differences", 0)
    if found:
        results.problem(f"{where}: verify found {found} differences")
    return not difference and not found


def check(results, program, started):
    """For each mode whether the program did the same, and its report; None if it fails without Refrain.
    `started(settings)` runs it."""
    plains = [started(None), started(None)]
    failed = next((run for run in plains if run.done.status != 0), None)
    if failed:
        results.note(f"{program.name} fails without Refrain: {failed.done.why()}")
        return None
    runs = {mode: started(settings) for mode, settings in COMPARED.items()}
    judged = {mode: (same(results, program, mode, run, plains, started), run.done.report) for mode, run in runs.items()}
    results.figure("foreign", program.name, {
        "seconds": [round(run.done.seconds, 2) for run in [*plains, *runs.values()]],
        **{mode: {"same": good, "report": report} for mode, (good, report) in judged.items()}})
    return judged


def show(results, checked):
    judged = [outcome for outcome in checked if outcome is not None]
    results.row("foreign", f"programs of others; fail without Refrain: {len(checked) - len(judged)}", str(len(judged)))
    for mode in COMPARED:
        good = sum(outcome[mode][0] for outcome in judged)
        shares = [harness.share(outcome[mode][1]) for outcome in judged if outcome[mode][1].get("replayed", 0)]
        replayed = f"; {harness.median(shares):.0f} % replayed in {len(shares)}" if shares else ""
        results.row("foreign", f"the same, {mode}", f"{good}{replayed}", f"{len(judged)}", good == len(judged))


def run(results, options):
    if not ARCHIVE.exists():
        results.problem(f"foreign: {ARCHIVE} is missing: see test/gpu/build_foreign")
        return
    if not harness.LAYER.exists():
        return
    wanted = options.foreign_programs.split(",") if options.foreign_programs else None
    end = time.monotonic() + options.foreign_seconds
    late = []
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(place)
        listed = [program for program in programs() if wanted is None or program.name in wanted]
        there = [program for program in listed if os.access(place / "bin" / program.binary, os.X_OK)]

        def checked(program):
            if time.monotonic() > end:
                late.append(program.name)
                return None
            outcome = check(results, program, lambda settings: start(program, place, settings))
            harness.say(f"{program.name}: " + ("fails" if outcome is None else ", ".join(
                f"{mode} {'same' if good else 'NOT THE SAME'}" for mode, (good, _) in outcome.items())))
            return outcome

        outcomes = harness.together([lambda program=program: checked(program) for program in there], options.foreign_jobs)
    if len(there) < len(listed):
        results.note(f"foreign: {len(listed) - len(there)} programs of the list are not in the archive")
    if late:
        results.problem(f"foreign: not run, the time is over: {', '.join(late)}")
    show(results, [outcome for program, outcome in zip(there, outcomes) if program.name not in late])
