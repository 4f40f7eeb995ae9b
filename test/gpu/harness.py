"""What the parts of test/gpu/run share: running programs plain and with Refrain, and the table of results."""
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import zip_longest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import results_file

PREFIX = pathlib.Path(__file__).resolve().parents[2] / "build" / "gpu"
BIN = PREFIX / "bin"
HERE = pathlib.Path(__file__).resolve().parent
LAYER = PREFIX / "lib" / "librefrain_cuda.so"
CRASH_TRACE = PREFIX / "lib" / "libcrash_trace.so"
ROUTES = PREFIX / "lib" / "libroutes.so"
HOST_SAMPLES = PREFIX / "lib" / "libhost_samples.so"
DEFAULT = {}  # Refrain as a user switches it on
MODES = {"observe": {"MODE": "observe"}, "replay": {"MODE": "replay", "GATE": "0"}, "verify": {"MODE": "verify"}}
TIMED = ("elapsed",)  # lines that tell a time differ by nature


@dataclasses.dataclass
class Done:
    """One run of a program. `status` is None if it had to be ended."""
    status: int | None
    output: str = ""
    errors: str = ""
    report: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0

    def elapsed(self):
        """What the program itself says it took."""
        times = [float(line.split()[1]) for line in (self.output + "\n" + self.errors).splitlines()
                 if line.startswith("elapsed")]
        return sum(times) if times else self.seconds

    def lines(self):
        """The lines of JSON on standard output."""
        found = []
        for line in self.output.splitlines():
            if line.startswith("{"):
                try:
                    found.append(json.loads(line))
                except ValueError:
                    pass
        return found

    def why(self):
        """The last thing it said itself, for a problem's text."""
        said = [line for line in self.errors.splitlines() if line.strip() and not line.startswith("[refrain] info:")]
        return f"exit status {self.status}" + (f": {said[-1][:200]}" if said else "")


class Results:
    """Rows of the table, problems (wrong results, hangs) and notes; `values` are what docs/performance.md is made from."""

    def __init__(self):
        self.rows, self.problems, self.notes, self.figures, self.values = [], [], [], {}, []

    def row(self, part, what, figure, target="", good=None):
        self.rows.append((part, what, figure, target, "" if good is None else ("ok" if good else "MISSED")))

    def value(self, table, name, value, unit, target=None, of=(), **more):
        """A figure for the page; see results_file.row()."""
        self.values.append(results_file.row(table, name, value, unit, target, of, **more))

    def problem(self, text):
        print(f"PROBLEM: {text}", file=sys.stderr, flush=True)
        self.problems.append(text)

    def note(self, text):
        self.notes.append(text)

    def figure(self, part, name, value):
        self.figures.setdefault(part, {})[name] = value

    def sort(self, parts):
        """Parts that ran side by side have mixed their rows."""
        self.rows.sort(key=lambda row: parts.index(row[0]))
        self.values.sort(key=lambda row: row["table"])

    def print(self):
        print(f"{'part':<10} {'what':<52} {'figure':<38} {'target':<17}")
        for part, what, figure, target, verdict in self.rows:
            print(f"{part:<10} {what:<52} {figure:<38} {target:<17} {verdict}".rstrip())
        for text in self.notes:
            print(f"note: {text}")
        for text in self.problems:
            print(f"PROBLEM: {text}")
        missed = sum(row[4] == "MISSED" for row in self.rows)
        print(f"{len(self.rows)} rows, {missed} targets missed, {len(self.problems)} problems")


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def toolkit_folders():
    """Where shared libraries of the CUDA toolkit are on this machine: the toolkit's own, and Python packages."""
    folders = [pathlib.Path("/usr/local/cuda/lib64")]
    for entry in sys.path:
        folders += sorted(pathlib.Path(entry).glob("nvidia/*/lib")) if entry else []
    return [str(folder) for folder in folders if folder.is_dir()]


def environment(toolkit=False, **more):
    """Of a program without Refrain. PREFIX/lib has what Refrain needs and this machine may lack; it is there in plain
    runs, too, so that nothing but Refrain differs."""
    result = {k: v for k, v in os.environ.items() if not k.startswith(("REFRAIN_", "OPENCL_LAYERS", "LD_PRELOAD"))}
    folders = toolkit_folders() if toolkit else []
    result["LD_LIBRARY_PATH"] = ":".join([*folders, str(PREFIX / "lib"), result.get("LD_LIBRARY_PATH", "")]).rstrip(":")
    result["PYTHONUNBUFFERED"] = "1"
    result["REFRAIN_CONFIG"] = os.devnull  # not this machine's
    return result | more


def variables(folder, settings=None, toolkit=False, preload=None, opencl=False, **more):
    """The environment of a program: plain, or with Refrain, reporting into `folder`, if `settings` (names without REFRAIN_)
    are given."""
    result = environment(toolkit, **more)
    if opencl:
        result["OCL_ICD_VENDORS"] = str(PREFIX / "icd")
    if settings is not None:
        if opencl:
            result["OPENCL_LAYERS"] = str(PREFIX / "lib" / "librefrain_opencl.so")
        else:
            preload = f"{LAYER}:{preload}" if preload else str(LAYER)
        # Processes that the program starts report, too.
        result["REFRAIN_REPORT_FILE"] = f"{folder}/report.%p.json"
        result |= {"REFRAIN_" + name: value for name, value in settings.items()}
    if preload:
        result["LD_PRELOAD"] = str(preload)
    return result


def run(command, settings=None, timeout=120, cwd=None, **more):
    """Runs `command` in the folder `cwd` to its end; with Refrain if `settings` are given. `more`: see variables()."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], env=variables(folder, settings, **more), cwd=cwd,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", start_new_session=True)
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)  # also what it has started, which holds its output
            errors = process.communicate()[1]
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return Done(None, "", f"{errors}\nit was ended after {timeout} s", {}, timeout)
        seconds = time.perf_counter() - start
        return Done(process.returncode, output, errors, read_reports(folder), seconds)


def read_reports(folder):
    """The report of the process that submitted most, with the differences that any of them found."""
    reports = []
    for path in pathlib.Path(folder).glob("report.*.json"):
        try:
            reports.append(json.loads(path.read_text()))
        except ValueError:
            pass
    if not reports:
        return {}
    most = max(reports, key=lambda report: report.get("submissions", 0))
    return most | {"differences": sum(report.get("differences", 0) for report in reports)}


def comparable(done):
    return "\n".join(line for line in done.output.splitlines() if not line.startswith(TIMED))


def first_difference(plain, layered):
    """The first line of output that two runs do not share."""
    lines = zip_longest(comparable(plain).splitlines(), comparable(layered).splitlines(), fillvalue="nothing")
    return next((f"plain: {one[:120]}, with Refrain: {other[:120]}" for one, other in lines if one != other),
                "the same output")


def same(results, name, plain, layered, mode, output=comparable):
    """Whether a run with Refrain did what the plain run did; says what differs if not."""
    good = True
    if layered.status is None:
        results.problem(f"{name}, {mode}: hangs")
        return False
    if layered.status != plain.status:
        results.problem(f"{name}, {mode}: {layered.why()} instead of {plain.status}; {first_difference(plain, layered)}")
        good = False
    elif output(plain) != output(layered):
        results.problem(f"{name}, {mode}: output differs; {first_difference(plain, layered)}")
        good = False
    if not layered.report:
        results.problem(f"{name}, {mode}: no report: the layer was not in")
        good = False
    if layered.report.get("differences", 0):
        results.problem(f"{name}, {mode}: verify found {layered.report['differences']} differences")
        good = False
    return good


def share(report):
    return 100 * report.get("replayed", 0) / max(report.get("submissions", 0), 1)


def interleaved(rounds, *actions):
    """Runs each of the actions `rounds` times, in turn and in changing order; a list of results for each."""
    found = [[] for _ in actions]
    for number in range(rounds):
        order = range(len(actions)) if number % 2 == 0 else reversed(range(len(actions)))
        for index in order:
            found[index].append(actions[index]())
    return found


def together(actions, workers=4):
    """Runs what is not timed side by side."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda action: action(), actions))


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else float("nan")


def described(command):
    """The head of a file of results."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        told = []
    card, _, driver = told[0].partition(", ") if told else ("not recorded", "", "not recorded")
    built = PREFIX / "commit"  # written by test/gpu/prepare: here there may be no Git
    return results_file.described(command, f"{len(told)} x {card}" if len(told) > 1 else card, driver,
                                  built.read_text().strip() if built.exists() else None)


def driver_path():
    """The file of the real driver, as the loader finds it."""
    script = ("import ctypes\nctypes.CDLL('libcuda.so.1')\n"
              "print(next(line.split()[-1] for line in open('/proc/self/maps') if 'libcuda.so' in line))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment())
    return done.stdout.strip() or None
