"""The programs: three samples, four applications of ../shared/apps, and pyopencl's own tests."""

import dataclasses
import os
import pathlib
import subprocess
import xml.etree.ElementTree

from launch import Launcher, Run, SetupError

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PYOPENCL = "pyopencl-2022.3.1"
PYTHON = os.environ.get("REFRAIN_PYTHON", "/usr/bin/python3")  # the one Debian's packages are for


@dataclasses.dataclass
class Program:
    """A program whose output (stdout) is compared bit by bit."""

    name: str
    command: list[str]
    processes: int = 1  # how many of its processes use OpenCL: so many reports must come
    replays: bool = True  # whether it repeats itself exactly, so that something must be replayed
    timeout: float = 120  # seconds, plain
    quick: bool = False
    gate: bool = True
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    gate_environment: dict[str, str] = dataclasses.field(default_factory=dict)
    cwd: pathlib.Path | None = None

    def argv(self, launcher: Launcher, folder: pathlib.Path) -> list[str]:
        return self.command

    def check(self, launcher: Launcher) -> None:
        """Raises SetupError if the program can't be run here."""
        for path in self.command:
            if path.startswith("/") and not os.path.exists(path):
                raise SetupError(f"{self.name}: there is no {path}")

    def result(self, run: Run) -> object:
        """What is compared between runs."""
        return run.stdout

    def describe(self, result: object) -> str:
        return f"{len(result.splitlines())} lines"

    def first_difference(self, expected: object, found: object) -> str:
        pairs = zip(expected.splitlines() + [b"(end)"], found.splitlines() + [b"(end)"])
        for number, (one, other) in enumerate(pairs, 1):
            if one != other:
                return f"line {number}: {one[:160].decode(errors='replace')!r} became {other[:160].decode(errors='replace')!r}"
        return f"{len(expected)} bytes became {len(found)}"


@dataclasses.dataclass
class Application(Program):
    """One of ../shared/apps; its setup.sh was run."""

    def check(self, launcher: Launcher) -> None:
        super().check(launcher)
        if not (launcher.work / "wl").exists():
            raise SetupError(f"{self.name}: nothing is set up in {launcher.work}; run {apps_folder()}/setup.sh "
                             "(REFRAIN_APPS_WORK names another folder)")


@dataclasses.dataclass
class PyTest(Program):
    """One file of pyopencl's tests; compared is the list of tests and how each ended."""

    replays: bool = False
    timeout: float = 900
    gate: bool = False

    def argv(self, launcher: Launcher, folder: pathlib.Path) -> list[str]:
        file = tests_folder(launcher) / self.command[0]
        return [PYTHON, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-o", f"faulthandler_timeout={self.timeout}",
                f"--junitxml={folder / 'junit.xml'}", f"--basetemp={folder / 'tmp'}", str(file)]

    def check(self, launcher: Launcher) -> None:
        tests_folder(launcher)
        probe = subprocess.run([PYTHON, "-c", "import pyopencl, pytest, mako"], capture_output=True, text=True)
        if probe.returncode != 0:
            reason = (probe.stderr.strip().splitlines() or ["no message"])[-1]
            raise SetupError(f"{self.name}: {PYTHON} lacks a module ({reason}); "
                             "apt-get install python3-pyopencl python3-pytest python3-mako")

    def result(self, run: Run) -> object:
        path = run.folder / "junit.xml"
        if not path.exists():  # pytest itself died: keep how far it came
            lines = [line for line in run.stdout.decode(errors="replace").splitlines() if "::" in line]
            return {"pytest": "died at " + (lines[-1] if lines else "its start")}
        outcomes = {}
        for case in xml.etree.ElementTree.parse(path).iter("testcase"):
            kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
            name = f"{case.get('classname')}::{case.get('name')}"
            outcomes[name] = "+".join(sorted(kinds)) or "passed"
        return outcomes

    def describe(self, result: object) -> str:
        values = list(result.values())
        return ", ".join(f"{values.count(kind)} {kind}" for kind in sorted(set(values)))

    def first_difference(self, expected: object, found: object) -> str:
        if "pytest" in found:
            return f"pytest {found['pytest']}"
        changes = [f"{name}: {expected.get(name, 'absent')} became {found.get(name, 'absent')}"
                   for name in sorted(expected.keys() | found.keys()) if expected.get(name) != found.get(name)]
        return f"{len(changes)} tests ended differently: " + "; ".join(changes[:8])


def apps_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("REFRAIN_APPS", REPOSITORY.parent / "shared" / "apps")).resolve()


def tests_folder(launcher: Launcher) -> pathlib.Path:
    """pyopencl's tests: from REFRAIN_PYOPENCL_TESTS, or Debian's source package, fetched once."""
    given = os.environ.get("REFRAIN_PYOPENCL_TESTS")
    folder = pathlib.Path(given) if given else launcher.work / "pyopencl" / PYOPENCL / "test"
    if not folder.is_dir() and not given:
        _fetch_source(launcher.work / "pyopencl")
    if not (folder / "test_wrapper.py").is_file():
        raise SetupError(f"pyopencl: its tests are not in {folder}; get the source package (apt-get source pyopencl) "
                         "and name its test folder in REFRAIN_PYOPENCL_TESTS")
    return folder.resolve()


def _fetch_source(folder: pathlib.Path) -> None:
    """`apt-get source` with a configuration of its own: the system's stays as it is."""
    for name in ("lists/partial", "archives/partial"):
        (folder / "apt" / name).mkdir(parents=True, exist_ok=True)
    (folder / "apt" / "sources.list").write_text(
        "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n")
    options = [f"-oDir::Etc::sourcelist={folder}/apt/sources.list", "-oDir::Etc::sourceparts=/dev/null",
               f"-oDir::State::lists={folder}/apt/lists", f"-oDir::Cache={folder}/apt"]
    for command in (["update"], ["source", "pyopencl"]):
        done = subprocess.run(["apt-get", *options, *command], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise SetupError(f"pyopencl: apt-get {' '.join(command)} failed: {lines[0] if lines else 'no message'}; get "
                             "the tests otherwise and name their folder in REFRAIN_PYOPENCL_TESTS")


def all_programs(build: pathlib.Path) -> list[Program]:
    samples = build.resolve() / "bin" / "samples"
    apps = apps_folder()

    def app(name: str, **options) -> Application:
        return Application(name, ["/bin/bash", str(apps / f"app_{name}.sh")], **options)

    # The others take less than a second, which is mostly Python's start.
    tests = [PyTest(f"pyopencl/{name}", [f"test_{name}.py"], quick=name == "wrapper",
                    gate=name in ("wrapper", "array", "algorithm", "clmath"))
             for name in ("wrapper", "array", "algorithm", "clmath", "clrandom", "enqueue_copy", "arrays_in_structs")]
    return [
        Program("heat", [str(samples / "heat")], quick=True),
        Program("cg", [str(samples / "cg")], quick=True),
        Program("pipeline", [str(samples / "pipeline"), "--check"], quick=True),
        app("ffmpeg_nlmeans", quick=True, gate_environment={"DUR": "8"}),
        app("openmm", processes=4, timeout=300),
        # The shape of its iterations repeats, their scalar arguments do not: PoCL can't replay those.
        app("viennacl", processes=7, replays=False, timeout=300),
        # It profiles the event of every kernel and waits for it: hardly two submissions stand together.
        app("hashcat", processes=2, replays=False, timeout=600),
        *tests,
    ]
