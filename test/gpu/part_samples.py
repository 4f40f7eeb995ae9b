"""The CUDA samples and the programs over CUDA's libraries: identical in every mode, and the samples' times."""
import harness
from harness import BIN, DEFAULT, MODES

# Arguments for a run that shows that the results are right, and for one that is timed.
SAMPLES = {
    "heat": (["--iterations", "9950", "--report-every", "50"], ["--iterations", "100000"]),
    "heat_odd": (["--iterations", "3000", "--report-every", "7", "--size", "67"], None),
    "heat_shared": (["--iterations", "9950", "--report-every", "50"], None),
    "heat_driver": (["--iterations", "9950", "--report-every", "50"], ["--iterations", "100000"]),
    "cg": (["--solves", "20", "--size", "64"], []),
    "forkjoin": (["--iterations", "200"], []),
    "scalar": (["--iterations", "300"], []),
}
LIBRARIES = ["library_blas", "library_sparse", "library_fft"]


def program(name):
    return BIN / "cuda" / name.removesuffix("_odd")


def check(results, name, command, graph=False):
    """Plain against every mode; the hand-written graph, which Refrain leaves alone, counts as one more."""
    plain = harness.run(command, toolkit=True)
    if plain.status != 0:
        results.problem(f"{name} without Refrain: {plain.why()}")
        return None
    again = harness.run(command, toolkit=True)
    if harness.comparable(again) != harness.comparable(plain):
        results.problem(f"{name}: two runs without Refrain differ")
        return None
    good = True
    if graph:
        by_hand = harness.run([*command, "--graph"], toolkit=True)
        if harness.comparable(by_hand) != harness.comparable(plain):
            results.problem(f"{name} --graph without Refrain differs from eager: {by_hand.why()}")
            good = False
    if not harness.LAYER.exists():
        return good, 0.0, 0.0
    seen = {}
    for mode, settings in (MODES | {"default": DEFAULT}).items():
        seen[mode] = harness.run(command, settings, toolkit=True)
        good = harness.same(results, name, plain, seen[mode], mode) and good
    if graph:
        layered = harness.run([*command, "--graph"], {"MODE": "replay", "GATE": "0"}, toolkit=True)
        good = harness.same(results, f"{name} --graph", plain, layered, "replay") and good
    return good, harness.share(seen["replay"].report), harness.share(seen["default"].report)


def show(results, part, names, checked):
    for name, outcome in zip(names, checked):
        good, gate_off, default = outcome or (False, 0.0, 0.0)
        results.row(part, name, f"replayed: gate off {gate_off:.0f} %, default {default:.0f} %", "outputs identical",
                    good)
        results.value("same", f"{name}: replayed, gate off", gate_off, "%")


def run(results, options):
    names = list(SAMPLES)
    checked = harness.together(
        [lambda name=name: check(results, name, [program(name), *SAMPLES[name][0]], graph=True) for name in names])
    show(results, "samples", names, checked)
    if options.quick:
        return
    for name, (_, timed) in SAMPLES.items():
        if timed is None:
            continue
        command = [program(name), *timed]
        actions = [lambda: harness.run(command).elapsed(), lambda: harness.run([*command, "--graph"]).elapsed()]
        if harness.LAYER.exists():
            actions.append(lambda: harness.run(command, DEFAULT).elapsed())
        times = harness.interleaved(options.rounds, *actions)
        plain, graph = harness.median(times[0]), harness.median(times[1])
        layered = harness.median(times[2]) if len(times) > 2 else float("nan")
        # Not an acceptance point of its own, except that Refrain must never be slower.
        results.row("samples", f"{name}: plain, by hand, Refrain",
                    f"{plain:.3f} s, {graph:.3f} s, {layered:.3f} s ({plain / layered:.2f}x)", ">= 0.98x",
                    None if layered != layered else plain / layered >= 0.98)
        if layered == layered:
            results.value("samples", f"{name}: eager / Refrain", plain / layered, "x", ">= 0.98",
                          [one / other for one, other in zip(times[0], times[2])])
        results.figure("samples", name, {"plain_s": times[0], "graph_s": times[1], "refrain_s": times[2:]})


def run_command(results, _options):
    """The way of users: the command sets the route up, and tells of it."""
    if not harness.LAYER.exists():
        return
    refrain = BIN / "refrain"
    told = harness.run([refrain, "doctor"])
    cuda = told.output.partition("\nCUDA\n")[2].partition("\nHIP\n")[0]
    hooked = next((line.split(None, 1)[1] for line in cuda.splitlines() if line.split()[:1] == ["hooked"]), "not told")
    if not hooked.startswith("yes"):
        results.problem(f"refrain doctor, CUDA: {hooked}")
    results.row("command", "refrain doctor", hooked[:38], "hooked: yes", hooked.startswith("yes"))
    command = [program("heat"), "--iterations", "9950", "--report-every", "50"]
    plain = harness.run(command)
    layered = harness.run([refrain, "run", "--", *command])
    good = plain.status == layered.status == 0 and harness.comparable(plain) == harness.comparable(layered)
    if not good:
        results.problem(f"refrain run -- heat: output differs, or {layered.why()}")
    share = next((line for line in layered.errors.splitlines() if "replayed" in line), "no report")
    results.row("command", "refrain run -- heat", share.rpartition("info:")[2].strip()[:38], "outputs identical", good)


def run_libraries(results, options):
    names = [name for name in LIBRARIES if (BIN / "cuda" / name).exists()]
    size = ["--iterations", "300" if options.quick else "1000"]
    # One after the other: cuBLAS does not give the same bits each time while other processes use the GPU.
    checked = [check(results, name, [program(name), *size]) for name in names]
    show(results, "libraries", names, checked)


def check_page_numbers(results):
    """Refrain's own kernel, with which verify mode compares memory, on a GiB of it."""
    done = harness.run([program("page_numbers"), "30"])
    good = done.status == 0
    if not good:
        results.problem(f"page_numbers: {done.why()} {done.output}")
    speeds = [line.split()[1] for line in done.output.splitlines() if line.startswith("elapsed-")]
    results.row("rules", "numbers of pages, copies", f"{', '.join(speeds)} GB/s", "none wrong", good)


def run_rules(results, _options):
    """What the driver's rules are said to be. Which device is the thread's, asked in every way: what Refrain answers is
    what the runtime says."""
    check_page_numbers(results)
    command = [program("device_rules")]
    plain = harness.run(command, toolkit=True)
    if plain.status != 0:
        results.problem(f"device_rules: {plain.why()}")
        return
    if not harness.LAYER.exists():
        return
    layered = harness.run(command, DEFAULT, toolkit=True)
    good = harness.same(results, "device_rules", plain, layered, "default")
    devices = next((line for line in plain.output.splitlines() if line.endswith(" devices")), "devices not told")

    def question(done):
        return next((float(line.split()[1]) for line in done.output.splitlines()
                     if line.startswith("elapsed-get-device-ns")), float("nan"))

    results.row("rules", f"cudaGetDevice(), {devices}: plain, Refrain",
                f"{question(plain):.0f}, {question(layered):.0f} ns", "outputs identical", good)
