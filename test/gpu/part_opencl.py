"""OpenCL: every sample and every program of the contract tests, plain and in every mode, then the samples' times."""
import harness
from harness import BIN, MODES

SAMPLES = ["heat", "cg", "pipeline"]
PROGRAMS = ["loop", "arguments", "releases", "freed", "commands", "images", "host_work", "rebuild", "short_mix",
            "event_info", "poll", "callbacks", "user_events", "profiling", "spin", "out_of_order", "two_queues",
            "handover", "foreign_release", "leave", "forks", "own_command_buffer", "svm", "contexts", "hopeless",
            "random_calls 11 8 60"]


def check(command, results):
    name = " ".join(command[1:]) or command[0].name
    plain = harness.run(command, opencl=True)
    if plain.status is None:
        results.problem(f"OpenCL {name} hangs without Refrain")
        return 0, 0
    if plain.status != 0:
        results.note(f"OpenCL {name}: {plain.why()} without Refrain")
    replay = {}
    for mode, settings in MODES.items():
        layered = harness.run(command, settings, opencl=True)
        harness.same(results, f"OpenCL {name}", plain, layered, mode)
        replay = layered.report if mode == "replay" else replay
    return replay.get("submissions", 0), replay.get("replayed", 0)


def run(results, options):
    commands = [[BIN / sample] for sample in SAMPLES]
    commands += [[BIN / "opencl_programs", *program.split()] for program in PROGRAMS]
    known = len(results.problems)
    counts = harness.together([lambda command=command: check(command, results) for command in commands])
    submissions, replayed = (sum(column) for column in zip(*counts))
    good = len(results.problems) == known
    results.row("opencl", f"{len(commands)} programs, 3 modes", f"{submissions} submissions, {replayed} replayed",
                "outputs identical", good)
    if options.quick:
        return
    for sample in SAMPLES:
        plain, layered = harness.interleaved(
            options.pairs, lambda: harness.run([BIN / sample], opencl=True).seconds,
            lambda: harness.run([BIN / sample], {}, opencl=True).seconds)
        ratio = harness.median([b / a for a, b in zip(plain, layered)])
        results.row("opencl", f"{sample}: Refrain / plain", f"{ratio:.3f} (plain {harness.median(plain):.2f} s)")
        results.value("same", f"OpenCL, {sample}: Refrain / plain", ratio, "x", of=[b / a for a, b in zip(plain, layered)])
        results.figure("opencl", sample, {"plain_s": plain, "refrain_s": layered})
