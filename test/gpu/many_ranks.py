"""Processes that work together, one for each device: started without torchrun, followed line by line, and all ended when one
fails, when none goes on, or when the time is over."""
import contextlib
import dataclasses
import json
import os
import queue
import signal
import socket
import subprocess
import tempfile
import threading
import time

import harness

IDLE = 10**9  # the step of a rank that has nothing to do in a case


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
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, errors="replace", process_group=0,
                                        env=harness.variables(self.folder.name, settings, **more))
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

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def close(self):
        report = harness.read_reports(self.folder.name)
        self.errors.close()
        self.folder.cleanup()
        return report


def where(lines):
    """Case and step that a rank told of last; nothing yet: ("start", -1)."""
    return next(((line["case"], line.get("at", 0)) for line in reversed(lines) if "case" in line), ("start", -1))


def behind(lines, cases):
    """The ranks that are furthest behind, and where: others may be waiting for them."""
    order = {case: number for number, case in enumerate(["start", *cases])}
    places = [(order.get(where(said)[0], 0), where(said)[1]) for said in lines]
    last = min(places)
    return [rank for rank, place in enumerate(places) if place == last], where(lines[places.index(last)])


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
                late, (case, step) = behind(lines, cases)
                everywhere = ", ".join(f"rank {rank} in {where(said)[0]} at {where(said)[1]}" for rank, said in enumerate(lines))
                if all(any("end" in line for line in said) for said in lines):
                    problem = f"rank {', '.join(map(str, sorted(running)))} does not end"
                    case = None
                else:
                    problem = (f"hangs: {'rank' if len(late) == 1 else 'ranks'} {', '.join(map(str, late))} in {case} at step {step}"
                               f" ({everywhere})")
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
            case, step = where(lines[number])
            problem = f"rank {number} ended in {case} at step {step}: {last_said(ranks[number], status)}"
    for rank in ranks:
        rank.kill()
    outcome = Outcome(lines, [rank.process.returncode for rank in ranks], [rank.said() for rank in ranks],
                      [rank.close() for rank in ranks], problem, case, time.monotonic() - start)
    return outcome


def last_said(rank, status):
    return harness.Done(status, "", rank.said()).why()
