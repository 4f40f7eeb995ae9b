"""Makes a failing program smaller: takes away steps and iterations as long as it still fails."""

import time
from collections.abc import Callable

import launch

REPEAT = 12  # graphs are built in the background: a failure need not come every time


class Shrinker:
    def __init__(self, launcher: launch.Launcher, program: int, settings: dict[str, str], schedule: int,
                 patience: float, more: list[str]) -> None:
        self.launcher, self.program, self.settings, self.schedule = launcher, program, settings, schedule
        self.more = more
        self.patience = min(patience, 30)

    def words(self, dropped: set[int], iterations: int | None) -> list[str]:
        words = ["--first", str(self.program), "--count", "1", "--repeat", str(REPEAT)]
        if dropped:
            words += ["--drop", ",".join(map(str, sorted(dropped)))]
        if iterations is not None:
            words += ["--iterations", str(iterations)]
        return words + self.more

    def fails(self, dropped: set[int], iterations: int | None, tries: int = 3) -> str | None:
        words = self.words(dropped, iterations)
        plain = self.launcher.run(words, None, self.schedule + 1, self.patience)
        if plain.problem():
            return None
        for i in range(tries):
            result = self.launcher.run(words, self.settings, self.schedule + i // 2, self.patience)
            problem = result.problem() or result.difference(plain)
            if problem:
                return problem
        return None

    def steps(self) -> tuple[list[int], int]:
        listing = self.launcher.run(["--first", str(self.program), "--count", "1", "--steps"], None, 0, self.patience)
        ids = [int(line.split()[1]) for line in listing.output.splitlines() if line.startswith("step ")]
        most = [int(line.split()[1]) for line in listing.output.splitlines() if line.startswith("iterations ")]
        return ids, most[0] if most else 1


def shrink(launcher: launch.Launcher, program: int, settings: dict[str, str], schedule: int, seconds: float,
           patience: float, more: list[str], say: Callable[[str], None]) -> None:
    """Says the smallest program found within `seconds`. `more`: of the command line."""
    end = time.monotonic() + seconds
    this = Shrinker(launcher, program, settings, schedule, patience, more)
    ids, iterations = this.steps()
    problem = this.fails(set(), None, 10)
    if problem is None:
        say("  it does not fail alone, in 10 processes: the programs before it in its batch matter")
        return
    dropped: set[int] = set()
    # Delta debugging: pieces of half the program, a quarter, and so on.
    size = max(len(ids) // 2, 1)
    while time.monotonic() < end:
        left = [each for each in ids if each not in dropped]
        smaller = False
        for begin in range(0, len(left), size):
            if time.monotonic() > end:
                break
            trial = dropped | set(left[begin:begin + size])
            if len(trial) < len(ids) and (found := this.fails(trial, None)):
                dropped, problem, smaller = trial, found, True
        if size == 1 and not smaller:
            break
        size = max(size // 2, 1)
    most: int | None = None
    while iterations > 1 and time.monotonic() < end:
        if found := this.fails(dropped, iterations // 2):
            most = iterations = iterations // 2
            problem = found
        else:
            break
    words = this.words(dropped, most)
    source = launcher.run([*words[:4], *words[6:], "--source"], None, 0, patience)
    say(f"  the smallest program found ({len(ids) - len(dropped)} of {len(ids)} steps): {problem}")
    say("  " + launcher.command_text(words, settings, schedule))
    say(source.output)
