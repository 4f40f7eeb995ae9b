"""Processes that work together, one for each device: started without torchrun, followed line by line, and all ended when one
fails, when none goes on, or when the time is over."""
import contextlib
import dataclasses
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import harness

IDLE = 10**9  # the step of a rank that has nothing to do in a case
PLACE = struct.Struct("qq")  # step, and 1 if it waits: what a rank keeps in the file of this name, as lines would take time
PLACE_NAME = "MANY_PLACE"


@dataclasses.dataclass
class Outcome:
    """What the ranks said, each a list of dictionaries. `problem` says which rank did not go on, and where it was."""
    lines: list
    statuses: list
    errors: list
    reports: list
    problem: str | None = None
    case: str | None = None  # where they were when they had to be ended
    seconds: float = 0.0


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Rank:
    """One process. What it says goes to `lines` as (rank, dictionary), and (rank, None) at its end."""

    def __init__(self, number, command, settings, lines, **more):
        self.number = number
        self.folder = tempfile.TemporaryDirectory()
        self.place = f"{self.folder.name}/place"
        with open(self.place, "wb") as file:
            file.write(PLACE.pack(0, 0))
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, errors="replace", process_group=0,
                                        env=harness.variables(self.folder.name, settings, **{PLACE_NAME: self.place}, **more))
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines):
        with self.process.stdout as said:
            for line in said:
                if line.startswith("{"):
                    with contextlib.suppress(ValueError):
                        lines.put((self.number, json.loads(line)))
        lines.put((self.number, None))

    def kill(self):
        # With what it started itself. A session of its own it is not: that would outlive the whole run.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def step(self):
        """Its step, and whether it waits for it."""
        with open(self.place, "rb") as file:
            return PLACE.unpack(file.read(PLACE.size))

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def close(self):
        report = harness.read_reports(self.folder.name)
        self.errors.close()
        self.folder.cleanup()
        return report


def where(lines, place=(0, 0)):
    """Case, step, and whether it waits for that: of what a rank told last, and has in its file. Nothing yet: ("start", -1, 0)."""
    case, step = next(((line["case"], line.get("at", 0)) for line in reversed(lines) if "case" in line), ("start", -1))
    return (case, step, 0) if place[0] < step else (case, *place)


def shown(place):
    case, step, waits = place
    return f"{case}, {'idle' if step == IDLE else f'step {step}'}{', waiting' if waits else ''}"


def behind(places, cases):
    """The ranks that are furthest behind: others may be waiting for them."""
    order = {case: number for number, case in enumerate(["start", *cases])}
    ranked = [(order.get(case, 0), step, waits) for case, step, waits in places]
    return [rank for rank, place in enumerate(ranked) if place == min(ranked)]


def run(commands, cases, settings=None, stall=40, limit=150, grace=30, more=lambda rank: {}):
    """Runs a command for each rank until all have ended. `stall`: nobody says anything for so long; `grace`: for the rest, when
    one has failed or all have told {"end": true}. `more(rank)`: of the environment."""
    start = time.monotonic()
    told = queue.Queue()
    ranks = [Rank(number, command, settings, told, **more(number)) for number, command in enumerate(commands)]
    lines = [[] for _ in ranks]
    running = set(range(len(ranks)))
    problem, case = None, None
    heard = start
    end = start + limit
    failed = False
    while running:
        patience = min(heard + stall, end) - time.monotonic()
        try:
            number, line = told.get(timeout=max(patience, 0.01))
        except queue.Empty:
            if time.monotonic() < min(heard + stall, end):
                continue
            if not failed:
                places = [where(said, rank.step()) for rank, said in zip(ranks, lines)]
                late = behind(places, cases)
                case = places[late[0]][0]
                if all(any("end" in line for line in said) for said in lines):
                    problem = f"rank {', '.join(map(str, sorted(running)))} does not end"
                    case = None
                else:
                    problem = (f"hangs: {'rank' if len(late) == 1 else 'ranks'} {', '.join(map(str, late))} furthest behind; "
                               + "; ".join(f"rank {rank}: {shown(place)}" for rank, place in enumerate(places)))
            break
        heard = time.monotonic()
        if line is not None:
            lines[number].append(line)
            if all(any("end" in line for line in said) for said in lines):
                end = min(end, heard + grace)
            continue
        running.discard(number)
        try:
            status = ranks[number].process.wait(timeout=grace)
        except subprocess.TimeoutExpired:  # it closed its output, no more
            status = None
        if status != 0 and not failed:
            failed = True
            end = min(end, heard + 5)  # for what the others still say: they cannot go on without it
            place = where(lines[number], ranks[number].step())
            case = place[0]
            problem = f"rank {number} ended in {shown(place)}: {last_said(ranks[number], status)}"
    for rank in ranks:
        rank.kill()
    outcome = Outcome(lines, [rank.process.returncode for rank in ranks], [rank.said() for rank in ranks],
                      [rank.close() for rank in ranks], problem, case, time.monotonic() - start)
    return outcome


def last_said(rank, status):
    return harness.Done(status, "", rank.said()).why()
