"""Processes that are measured in turn, by one route after the other: a machine that is slower for a while is so for all."""
import json
import queue
import subprocess
import tempfile
import threading

import harness


class Turns:
    """A program of case_runner.py with --turns, started at once and waiting for its turn afterwards. To be closed."""

    def __init__(self, command, **more):
        self._folder = tempfile.TemporaryDirectory()
        self._errors = tempfile.TemporaryFile("w+")
        self.report = {}
        self.seen = {}  # where the thread was in the last turn, if HOST_SAMPLES is given: library → how often
        report = f"{self._folder.name}/report.%p.json"  # of whatever way Refrain is in by
        self._process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors, text=True,
                                         env=harness.variables(self._folder.name, REFRAIN_REPORT_FILE=report, **more))
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            if line.startswith("{"):
                self._lines.put(json.loads(line))
        self._lines.put(None)

    def answer(self, timeout):
        """The next line of JSON; None if the program ended, or said nothing in time."""
        try:
            return self._lines.get(timeout=timeout)
        except queue.Empty:
            return None

    def measure(self, route, synchronous, iterations):
        """Microseconds of one iteration; None if the program ended."""
        return self.ask(f"{route} {'sync' if synchronous else 'batch'} {iterations}")

    def ask(self, line):
        """What it measures when told `line`; None if it ended."""
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        answer = self.answer(timeout=60)
        self.seen = {} if answer is None else answer.get("seen", {})
        return None if answer is None else answer["us"]

    def why(self):
        """What it said last on standard error."""
        self._errors.seek(0)
        said = [line for line in self._errors.read().splitlines() if line.strip()]
        return f"exit status {self._process.poll()}" + (f": {said[-1][:200]}" if said else "")

    def close(self):
        try:
            self._process.stdin.close()
            self._process.wait(timeout=60)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self.report = harness.read_reports(self._folder.name)
        self._folder.cleanup()
