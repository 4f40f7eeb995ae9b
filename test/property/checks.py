"""What else must hold for any program: an error at any call is told or made good, a kill leaves a readable capture."""

import argparse
import json
import pathlib
import random
import subprocess
import time

import launch


def count_of(launcher: launch.Launcher) -> int:
    for name in ("count", "count2"):
        file = pathlib.Path(launcher.file(name))
        if file.exists() and file.read_text().strip():
            return int(file.read_text().split()[0])
    return 0


def errors(launcher: launch.Launcher, arguments: argparse.Namespace, seconds: float | None) -> bool:
    """One call of the driver after the other fails. The program is told of it, or computes what it always does."""
    if not launcher.simulated:
        print(f"{launcher.api}: errors are injected by the simulated device only (OpenCL: test/opencl/error_test.cpp)")
        return True
    chance = random.Random(arguments.seed)
    end = None if seconds is None else time.monotonic() + seconds
    told = made_good = 0
    number = 0
    while True:
        program = 1 + number if number < 3 else chance.randrange(1, 1 << 40)
        number += 1
        words = ["--first", str(program), "--count", "1", "--iterations", "6"]
        settings = {"REFRAIN_GATE": "0", "REFRAIN_CHUNK_FIRST": chance.choice(["2", "8"]), "REFRAIN_MIN_GRAPH": "1"}
        if launcher.api == "level_zero":
            settings["SIM_ZE_EXTENSIONS"] = chance.choice(["", "append", "mutable", "append,mutable"])
        count = {name: launcher.file(file) for name, file in zip(launch.COUNT, ("count", "count2"))}
        schedule = chance.randrange(1000)
        good = launcher.run(words, settings, schedule, arguments.patience, count)
        calls = count_of(launcher)
        if good.problem() or calls == 0:
            print(f"{launcher.api}: program {program}: {good.problem() or 'no calls were counted'}")
            return False
        for call in range(1, calls + 1):
            if end is not None and time.monotonic() > end:
                print(f"{launcher.api}: errors at {told + made_good} calls of {number} programs: {told} told, "
                      f"{made_good} made good; stopped at call {call} of {calls}")
                return True
            fail = {name: str(call) for name in launch.FAIL_AT}
            result = launcher.run(words, settings, schedule, arguments.patience, fail)
            wrong = None
            if launch.VIOLATION.search(result.errors) or result.code is None or result.code < 0:
                wrong = result.problem()
            elif result.code == 0:
                wrong = result.difference(good)
                made_good += 1
            elif result.output.find("error ") < 0:
                wrong = result.problem()
            else:
                told += 1
            if wrong:
                print(f"{launcher.api}: program {program}, an error at call {call}: {wrong}")
                print("  " + " ".join(f"{k}={v}" for k, v in fail.items()) + " "
                      + launcher.command_text(words, settings, schedule))
                return False
        if end is None and number >= 3:
            print(f"{launcher.api}: errors at every call of {number} programs: {told} told, {made_good} made good")
            return True


def kills(launcher: launch.Launcher, arguments: argparse.Namespace, seconds: float | None) -> bool:
    """Killed before one call after the other, while it is captured: `refrain dump` reads the file to the last record."""
    chance = random.Random(arguments.seed)
    end = time.monotonic() + (seconds or 60)
    killed = cut = empty = 0
    while time.monotonic() < end:
        program = chance.randrange(1, 1 << 40)
        words = ["--first", str(program), "--count", "1"]
        file = pathlib.Path(launcher.file("killed.rfn"))
        settings = {"REFRAIN_MODE": "capture", "REFRAIN_CAPTURE_FILE": str(file),
                    "REFRAIN_PORTABLE": chance.choice(["0", "1"])}
        file.unlink(missing_ok=True)
        whole = launcher.run(words, settings, 1, arguments.patience)
        if whole.problem():
            print(f"{launcher.api}: program {program}: {whole.problem()}")
            return False
        points = sorted(chance.randrange(1, max(whole.calls, 2)) for _ in range(12))
        for call in points:
            file.unlink(missing_ok=True)
            result = launcher.run([*words, "--kill-before", str(call)], settings, 1, arguments.patience)
            if result.code != -9:
                continue  # setting up counts as well: there are fewer calls after it
            killed += 1
            if not file.exists() or file.stat().st_size == 0:
                empty += 1
                continue
            dump = subprocess.run([launcher.refrain, "dump", "--json", str(file)], capture_output=True, text=True,
                                  check=False)
            if dump.returncode != 0:
                print(f"{launcher.api}: program {program} killed before call {call}: {dump.stderr.strip()}")
                return False
            cut += bool(json.loads(dump.stdout or "{}").get("cut_short"))
    print(f"{launcher.api}: killed {killed} times during a capture: every file was readable ({cut} ended within a "
          f"record, {empty} times nothing had been written yet)")
    return killed > 0
