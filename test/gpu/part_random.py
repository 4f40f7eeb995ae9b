"""Random programs, plain against Refrain with the gate off; compute-sanitizer, which must find nothing new."""
import json
import os
import pathlib
import re
import shutil

import harness
from harness import BIN, DEFAULT, MODES

PROGRAM = BIN / "cuda" / "random_program"
SHARED = BIN / "cuda" / "random_program_shared"  # with the shared runtime, which launches that are predicted skip
RANGES = 4  # of programs; every other one is careful, and every other pair has the shared runtime
APART = 100000  # seeds between two ranges
# Programs with stream-ordered allocation (cudaMallocAsync, kind 14) now and then compute something else in two runs
# without Refrain, whichever ways of reuse the pool is allowed; without that kind none does. Why is not known, so they are only run: they must end, and without an error.
WITHOUT = 1 << 14
COMPARED = ["--without", str(WITHOUT), "--parts"]
GATES = 1 << 27 | 1 << 28  # kernels that wait for the host, or for one that comes later
CRASH_TRIES = 3
QUEUED = 3  # processes of queued_changes at once
EXPLAINED = 2  # programs of a range that differ
REPEATS = 6  # of a program that differs, plain and with Refrain
# What Worker::checksum() tells (random_worker.cu), in its order.
PARTS = ["what the host read", *(f"buffer {i}" for i in range(8)), *(f"pinned memory {i}" for i in range(3)), "late gates"]
VARIANTS = {"gate off": MODES["replay"], "gate off, small chunks": MODES["replay"] | {"CHUNK_FIRST": "2"},
            "default": DEFAULT}


def wrong_programs(results, expected, name, done):
    """How many of the programs that the simulated device computed, too (test/gpu/prepare), give something else here."""
    printed = {program: lines for program, lines in by_program(done).items() if program in expected}
    wrong = sorted(program for program, lines in printed.items() if lines != expected[program])
    for program in wrong:
        results.note(f"random program {program}, {name}: not what the simulated device computes")
    return len(wrong), len(printed)


def read_expected():
    file = harness.PREFIX / "random_expected.json"
    return json.loads(file.read_text()) if file.exists() else {}


def by_program(done):
    """What each program printed, by its seed."""
    found = {}
    for line in done.output.splitlines():
        found.setdefault(line.split()[1], []).append(line)
    return found


def different_parts(right, lines):
    """What the lines of one program differ in: for each thread the first checksum that shows it, and the parts there."""
    found = {}
    for a, b in zip(right, lines):
        words, others = a.split(), b.split()
        if a == b or words[4:5] != ["checksum"] or words[3] in found:
            continue
        names = [name for name, x, y in zip(PARTS, words[6:], others[6:]) if x != y]
        found[words[3]] = f"thread {words[3].rstrip(':')}, checksum {words[5].rstrip(':')}: {', '.join(names)}"
    return "; ".join(found.values()) or "no part of it"


def explain_difference(results, name, words, first, seed, settings, right, lines):
    """Says in which memory a program differs, and how often it does if the process repeats all that it did until then."""
    folder = os.environ.get("OUT")
    if folder:
        text = "\n".join(["plain:", *right, "with Refrain:", *lines])
        pathlib.Path(folder, f"random-{seed}-{os.getpid()}-{abs(hash(name)) % 10000}.txt").write_text(text)

    def differs(settings):
        again = harness.run([*words, "--programs", int(seed) - first + 1], settings, timeout=120, toolkit=True)
        return by_program(again).get(seed) != right

    plain, layered = (harness.together([lambda: differs(kind)] * REPEATS, 3) for kind in (None, settings))
    results.note(f"{name}, seed {seed}: {different_parts(right, lines)}; of {REPEATS} more runs each {sum(plain)} differ plain, "
                 f"{sum(layered)} with Refrain")


def explain_crash(results, name, command, settings, done):
    """Says where a program crashed (crash_trace.cpp), and under a debugger, if it does again; whole texts go to $OUT."""
    folder = os.environ.get("OUT")
    if folder:
        pathlib.Path(folder, f"crash-{os.getpid()}-{abs(hash(name)) % 10000}.txt").write_text(done.errors)
    frames = re.findall(r"^crash_trace: .*|^\S+\([^)]*\) ?\[0x.*", done.errors, re.MULTILINE)[:12]
    results.note(f"{name}: " + "; ".join(frames))
    debugger = shutil.which("cuda-gdb", path="/usr/local/cuda/bin") or shutil.which("gdb")
    if debugger is None:
        return
    words = ["-batch", "-ex", "set startup-with-shell off", "-ex", f"set env LD_PRELOAD {harness.LAYER}", "-ex", "run",
             "-ex", "thread apply all bt 40", "-ex", "info sharedlibrary", "--args", *command]
    for attempt in range(CRASH_TRIES):
        # Only the program gets the layer: the variables alone do nothing to the debugger.
        variables = {f"REFRAIN_{key}": value for key, value in settings.items()}
        done = harness.run([debugger, *words], timeout=90, **variables)
        if "received signal" in done.output:
            if folder:
                pathlib.Path(folder, f"debugger-{os.getpid()}-{attempt}.txt").write_text(done.output)
            frames = re.findall(r"^#\d+ .*", done.output, re.MULTILINE)[:6]
            results.note(f"{name} under the debugger, try {attempt + 1}: " + "; ".join(frames))
            return
    results.note(f"{name}: no crash in {CRASH_TRIES} tries under the debugger")


def one_range(results, seed, seconds, careful, program=PROGRAM):
    """Programs for `seconds` without Refrain, then the same number of them in every variant. `careful`: programs that wait
    before they use pageable memory again, which a driver might read late where the device can reach all memory."""
    words = [program, "--seed", seed, *COMPARED, *(["--careful"] if careful else [])]
    plain = harness.run([*words, "--seconds", seconds], timeout=seconds * 4 + 60, toolkit=True)
    if plain.status != 0:
        results.problem(f"random programs from {seed} without Refrain: {plain.why()}")
        return 0, 0, 0, {}
    count = len(by_program(plain))
    again = harness.run([*words, "--programs", count], timeout=seconds * 4 + 60, toolkit=True)
    first, second = by_program(plain), by_program(again)
    stable = {program for program, lines in first.items() if second.get(program) == lines}
    for program in sorted(first.keys() - stable):
        results.note(f"random program {program}{', careful' if careful else ''}, differs in two runs without Refrain and is not "
                     f"compared: {different_parts(first[program], second.get(program, []))}")

    def compared(done):
        return {program: lines for program, lines in by_program(done).items() if program in stable}

    submissions = replayed = 0
    told = [("plain", plain), ("plain again", again)]
    for mode, settings in (VARIANTS.items() if harness.LAYER.exists() else ()):
        layered = harness.run([*words, "--programs", count], settings, timeout=seconds * 8 + 120,
                              preload=harness.CRASH_TRACE, toolkit=True)
        told.append((mode, layered))
        if not harness.same(results, f"random programs from {seed}", plain, layered, mode, compared):
            others = compared(layered)
            differing = [program for program in sorted(stable & others.keys()) if others[program] != first[program]]
            for program in differing[:EXPLAINED]:
                explain_difference(results, f"random programs, {mode}", words, seed, program, settings, first[program],
                                   others[program])
        if layered.status is not None and layered.status < 0:
            explain_crash(results, f"random programs from {seed}, {mode}", [*words, "--programs", count], settings, layered)
        submissions += layered.report.get("submissions", 0)
        replayed += layered.report.get("replayed", 0)
    if harness.LAYER.exists():
        whole = harness.run([program, "--seed", seed, "--seconds", seconds / 2], MODES["replay"],
                            timeout=seconds * 4 + 60, toolkit=True)
        if whole.status != 0:
            results.problem(f"random programs from {seed} with stream-ordered allocation, gate off: {whole.why()}")
    expected = read_expected()
    return len(stable), submissions, replayed, {name: wrong_programs(results, expected, name, done) for name, done in told}


def check_queued_changes(results):
    """Whether launches that wait keep their parameters: of the driver alone, with other processes on the device."""
    program = BIN / "cuda" / "queued_changes"
    runs = harness.together([lambda: harness.run([program], timeout=120, toolkit=True)] * QUEUED, QUEUED)
    cases = [line for done in runs for line in done.lines()]
    launches = sum(case.get("launches", 0) for case in cases)
    wrong = [case for case in cases if any(case.get(kind, 0) for kind in ("kernels", "copies", "fills", "words", "changed"))]
    for case in wrong:
        results.problem(f"queued_changes, without Refrain: {json.dumps(case)}")
    for done in runs:
        if not any("late" in case for case in done.lines()):  # the last line
            results.problem(f"queued_changes: {done.why()}")
    late = sum(case.get("late", 0) for case in cases)
    results.row("random", f"launches that wait, {QUEUED} processes",
                f"{launches} launches, {len(wrong)} cases wrong, {late} gates opened by themselves", "keep their parameters",
                not wrong and launches > 0 and late == 0)


def run(results, options):
    check_queued_changes(results)
    # Every program runs five times: plain twice, and in three variants; and others half as long as one of these.
    seconds = max(2, round(options.random_seconds / (2.5 + len(VARIANTS))))
    outcomes = harness.together(
        [lambda number=number: one_range(results, options.seed + number * APART, seconds, careful=number % 2 != 0,
                                         program=SHARED if number // 2 % 2 != 0 and SHARED.exists() else PROGRAM)
         for number in range(RANGES)], RANGES)
    programs, submissions, replayed = (sum(column) for column in list(zip(*outcomes))[:3])
    results.row("random", f"{programs} programs, {len(VARIANTS)} variants",
                f"{100 * replayed / max(submissions, 1):.0f} % of {submissions} submissions replayed",
                "outputs identical", not any(text.startswith("random") for text in results.problems))
    results.value("same", "random programs", programs, "")
    results.value("same", "random programs: submissions replayed", 100 * replayed / max(submissions, 1), "%")
    names = list(outcomes[0][3])
    if read_expected():
        wrong = [f"{sum(outcome[3].get(name, (0, 0))[0] for outcome in outcomes)} of "
                 f"{sum(outcome[3].get(name, (0, 0))[1] for outcome in outcomes)}" for name in names]
        results.row("random", f"not as simulated: {', '.join(names)}", ", ".join(wrong), "as plain")


def run_sanitizer(results, options):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if tool is None:
        results.note("compute-sanitizer: left out, it is not here")
        return
    commands = {
        "heat": [BIN / "cuda" / "heat", "--iterations", "400", "--report-every", "20", "--size", "64"],
        "forkjoin": [BIN / "cuda" / "forkjoin", "--iterations", "30", "--kernels", "20"],
        "random_program": [PROGRAM, "--seed", "7", "--steps", "3", "--threads", "2"],
    }

    def found(command, settings):
        # Memory errors only: the driver refuses graphs of memory that the program has freed meanwhile, as it should, and
        # those stretches stay eager.
        done = harness.run([tool, "--tool", "memcheck", "--report-api-errors", "no", *command], settings, timeout=200)
        text = done.output + done.errors
        summary = re.search(r"ERROR SUMMARY: (\d+) error", text)
        return done, int(summary.group(1)) if summary else None

    def check(name):
        _, plain = found(commands[name], None)
        if not harness.LAYER.exists():
            return name, plain, None
        return name, plain, found(commands[name], MODES["replay"])

    for name, plain, layered in harness.together([lambda name=name: check(name) for name in commands], 3):
        if plain is None:
            results.note(f"compute-sanitizer, {name}: no summary without Refrain")
        elif layered is not None:
            done, count = layered
            if count is None:
                results.problem(f"compute-sanitizer, {name}, gate off: no summary: {done.why()}")
            if not done.report:
                results.problem(f"compute-sanitizer, {name}, gate off: no report: the layer was not in")
            results.row("sanitizer", f"{name}: errors plain, Refrain", f"{plain}, {count} "
                        f"({harness.share(done.report):.0f} % replayed)", "nothing new",
                        count is not None and count <= plain)
            if count is not None:
                results.value("same", f"compute-sanitizer, {name}: new errors", max(count - plain, 0), "", "<= 0")
        else:
            results.row("sanitizer", f"{name}: errors plain", f"{plain}")
