"""Starts programs plain or under the layer, with everything else equal, and collects what they leave."""

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

# What must not differ between compared runs, and must not come from the caller's shell.
FOREIGN_VARIABLES = ("REFRAIN_", "OPENCL_LAYERS", "XDG_CACHE_HOME", "POCL_")


class SetupError(Exception):
    """Something that the user has to put right first; the message says what."""


@dataclasses.dataclass
class Run:
    """One finished run."""

    status: int | None  # exit status, negative: signal, None: stopped because it hung
    seconds: float
    cpu_seconds: float
    stdout: bytes
    folder: pathlib.Path
    reports: list[dict]

    def total(self, key: str) -> int:
        return sum(report.get(key, 0) for report in self.reports)


class Launcher:
    """Knows the build, the work folder and the environment that all compared runs share."""

    def __init__(self, build: pathlib.Path, work: pathlib.Path, output: pathlib.Path, threads: int):
        self.build = build.resolve()
        self.work = work.resolve()
        self.output = output.resolve()
        self.refrain = self.build / "bin" / "refrain"
        for name in ("home", "poclcache"):
            (self.work / name).mkdir(parents=True, exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN_VARIABLES)}
        environment.update(
            HOME=str(self.work / "home"),
            POCL_CACHE_DIR=str(self.work / "poclcache"),
            POCL_MAX_PTHREAD_COUNT=str(threads),  # OpenMM's energies depend on it
            REFRAIN_APPS_WORK=str(self.work),
            REFRAIN_CONFIG=os.devnull,  # not this machine's
            PYTHONHASHSEED="0",
            PYTHONDONTWRITEBYTECODE="1",
            LC_ALL="C.UTF-8",
        )
        self.environment = environment

    def activate(self, argv: list[str], settings: dict[str, str] | None) -> tuple[list[str], dict[str, str]]:
        """The only place that knows how a program gets under the layer; settings None: plain."""
        if settings is None:
            return argv, self.environment
        if not self.refrain.is_file():
            raise SetupError(f"there is no {self.refrain}: build first, or name the build folder with --build")
        variables = {"REFRAIN_" + name.upper(): value for name, value in settings.items()}
        return [str(self.refrain), "run", "--", *argv], self.environment | variables

    def run(self, program, label: str, settings: dict[str, str] | None, timeout: float, reports: bool = True) -> Run:
        """Runs `program`, keeping output and reports in a folder of its own under `label`."""
        folder = self.output / program.name.replace("/", "_") / label
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if settings is not None and reports:
            settings = settings | {
                "report_file": str(folder / "report.%p.json"),
                "log_file": str(folder / "log.%p.txt"),
                "capture_file": str(folder / "capture.%p.rfn"),
            }
        argv, environment = self.activate(program.argv(self, folder), settings)
        environment = environment | program.environment
        with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
            start = time.perf_counter()
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                       cwd=program.cwd or folder, start_new_session=True)
            usage, status = _wait(process, timeout, folder)
            seconds = time.perf_counter() - start
        found = []
        for path in sorted(folder.glob("report.*.json")):
            try:
                found.append(json.loads(path.read_text()))
            except ValueError as error:
                raise SetupError(f"{path}: the report is not JSON: {error}") from None
        return Run(status, seconds, usage, (folder / "stdout").read_bytes(), folder, found)


def _wait(process: subprocess.Popen, timeout: float, folder: pathlib.Path) -> tuple[float, int | None]:
    """Waits for the process; one that hangs is described in `folder`/stacks and killed with its children."""
    deadline = time.monotonic() + timeout
    delay = 0.0005
    while True:
        pid, code, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            break
        if time.monotonic() > deadline:
            _write_stacks(process.pid, folder / "stacks")
            os.killpg(process.pid, signal.SIGKILL)
            _, code, usage = os.wait4(process.pid, 0)
            process.returncode = -signal.SIGKILL
            return usage.ru_utime + usage.ru_stime, None
        time.sleep(delay)
        delay = min(delay * 1.5, 0.005)
    process.returncode = os.waitstatus_to_exitcode(code)
    return usage.ru_utime + usage.ru_stime, process.returncode


def _write_stacks(group: int, path: pathlib.Path) -> None:
    """Stacks of all threads of a process group that hangs, if gdb is there."""
    if shutil.which("gdb") is None:
        return
    with open(path, "wb") as out:
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                in_group = os.getpgid(int(entry.name)) == group
            except OSError:
                continue
            if in_group:
                out.write(f"=== process {entry.name}\n".encode())
                out.flush()
                try:
                    subprocess.run(["gdb", "-q", "-batch", "-ex", "thread apply all bt", "-p", entry.name],
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, timeout=60)
                except subprocess.TimeoutExpired:
                    out.write(b"gdb did not come back\n")
