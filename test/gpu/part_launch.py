"""Loops bound by submission: Refrain against eager and against the hand-made graph, and the cost of single calls."""
import harness
from harness import BIN, DEFAULT

# name, arguments, least gain over eager, most of the hand-made graph's time. "shared" is no argument: the program is the
# one with the shared runtime.
CASES = [
    ("1000 kernels", ["--kernels", "1000"], 3.3, 1.03),
    ("100 kernels", ["--kernels", "100"], 3.0, 1.03),
    ("100 kernels, driver API", ["--kernels", "100", "--driver-api"], 3.0, 1.03),
    ("100 kernels, shared runtime", ["shared", "--kernels", "100"], 3.0, 1.03),
    ("1000 kernels, 0.5 us host work", ["--kernels", "1000", "--host-us", "0.5"], 2.8, None),
    ("1000 kernels, 2 us host work", ["--kernels", "1000", "--host-us", "2"], 2.0, None),
    ("1000 kernels, the thread's default stream", ["--kernels", "1000", "--own-stream"], 3.3, None),
    ("1000 kernels, a scalar changes", ["--scalar", "1000"], 1.8, None),
    ("200 kernels, more blocks each time", ["--growing", "200"], 2.0, None),
    ("1000 kernels that may begin early", ["--early", "1000"], 2.0, 1.02),
    ("fork-join, 4 x 100 kernels", ["--fork"], None, 1.05),
    ("fork-join, driver API", ["--fork", "--driver-api"], None, 1.05),
    ("fork-join, shared runtime", ["shared", "--fork"], None, 1.05),
    ("memset, kernel, 8 bytes back", ["--ops3"], 1 / 1.02, None),
    ("1000 kernels, no sync", ["--kernels", "1000", "--no-sync"], None, None),
    ("100 kernels, no sync", ["--kernels", "100", "--no-sync"], None, None),
    ("fork-join, no sync", ["--fork", "--no-sync"], None, None),
]
QUICK = len(CASES) - 3  # so many of them, without those that do not wait

MORE_ROUNDS = 5  # of the program's own graph, see own_graph()


def measure(results, name, arguments, settings):
    shared = arguments[0] == "shared"
    program = BIN / "cuda" / ("launch_bound_shared" if shared else "launch_bound")
    done = harness.run([program, "--compare", *arguments[shared:]], settings, toolkit=shared)
    lines = done.lines()
    if done.status != 0 or not lines:
        results.problem(f"launch_bound, {name}: {done.why()}")
        return None
    if settings is not None and not done.report:
        results.problem(f"launch_bound, {name}: no report: the layer was not in")
    return lines[-1] | {"replayed": harness.share(done.report), "report": done.report}


def run_case(results, options, name, arguments, gain, against_graph):
    actions = [lambda: measure(results, name, arguments, None)]
    if harness.LAYER.exists():
        actions.append(lambda: measure(results, name, arguments, DEFAULT))
    runs = harness.interleaved(options.rounds, *actions)
    if any(entry is None for column in runs for entry in column):
        return
    results.figure("launch", name, {"plain": runs[0], "refrain": runs[1:]})
    eager = harness.median([entry["eager_us"]["median"] for entry in runs[0]])
    if len(runs) == 1:
        graph = harness.median([entry["graph_us"]["median"] for entry in runs[0]])
        results.row("launch", name, f"eager {eager:.1f} us, graph {graph:.1f} us ({eager / graph:.2f}x)")
        return
    if len({entry["checksum"] for column in runs for entry in column}) != 1:
        results.problem(f"launch_bound, {name}: checksums differ")
    layered = harness.median([entry["eager_us"]["median"] for entry in runs[1]])
    # The application's own graph, in the same process: Refrain leaves it alone.
    beside = harness.median([entry["graph_us"]["median"] for entry in runs[1]])
    replayed = harness.median([entry["replayed"] for entry in runs[1]])
    submit = harness.median([entry["submit_us"]["median"] for entry in runs[1]])
    for column, entries, key in (("eager", runs[0], "eager_us"), ("Refrain", runs[1], "eager_us"), ("graph", runs[1], "graph_us")):
        times = [entry[key]["median"] for entry in entries]
        results.value("launch_times", name, harness.median(times), "us", of=times, column=column)
    results.row("launch", f"{name}: eager, Refrain, graph (replayed)",
                f"{eager:.1f}, {layered:.1f} ({submit:.1f} host), {beside:.1f} us ({replayed:.0f} %)")
    if gain is not None:
        results.row("launch", "  eager / Refrain", f"{eager / layered:.2f}", f">= {gain:.2f}", eager / layered >= gain)
        of = [one["eager_us"]["median"] / other["eager_us"]["median"] for one, other in zip(*runs)]
        results.value("launch", f"{name}: eager / Refrain", eager / layered, "x", f">= {gain:.2f}", of)
    if against_graph is not None:
        # Both of one process: from one to the next the GPU's and the processor's clocks may differ.
        of = [entry["eager_us"]["median"] / entry["graph_us"]["median"] for entry in runs[1]]
        ratio = harness.median(of)
        results.row("launch", "  Refrain / hand-made graph", f"{ratio:.3f}", f"<= {against_graph:.2f}",
                    ratio <= against_graph)
        results.value("launch", f"{name}: Refrain / hand-made graph", ratio, "x", f"<= {against_graph:.2f}", of)
    ratio, of = own_graph(actions, runs)
    results.row("launch", "  own graph: Refrain / plain", f"{ratio:.3f}", "<= 1.02", ratio <= 1.02)
    results.value("launch_own_graph", name, ratio, "x", "<= 1.02", of)


def own_graph(actions, runs):
    """The fastest run with Refrain over the fastest without, and this for each pair of runs. A machine's processors may change between
    two speeds within seconds: where the ratio is above 1.02 there are more runs, as many of each kind, until both had the same."""
    times = [[entry["graph_us"]["median"] for entry in column] for column in runs]
    for _ in range(MORE_ROUNDS):
        if min(times[1]) <= 1.02 * min(times[0]):
            break
        more = harness.interleaved(1, *actions)
        if any(entry is None for column in more for entry in column):
            break
        for column, entries in zip(times, more):
            column += [entry["graph_us"]["median"] for entry in entries]
    return min(times[1]) / min(times[0]), [layered / plain for plain, layered in zip(*times)]


def run_threads(results, options):
    """Threads with streams of their own: each waits for its own work, which must not end what the others hold."""
    def measure(name, arguments, settings):
        # All of a program counts, from its beginning on: how soon graphs take over is part of it.
        done = harness.run([BIN / "cuda" / "thread_loops", "--warmup", 0, "--iterations", 1000, *arguments], settings)
        lines = done.lines()
        if done.status != 0 or not lines:
            results.problem(f"thread_loops, {name}: {done.why()}")
            return None
        return lines[-1] | {"replayed": harness.share(done.report)}

    if not harness.LAYER.exists():
        return
    for threads, streams in ((2, None), (8, None), (8, "blocking"), (8, "per-thread"), (16, None)):
        name = f"{threads} threads" + (f", {streams}" if streams else "")
        arguments = ["--threads", threads, *([f"--{streams}"] if streams else [])]
        plain, layered = harness.interleaved(options.rounds, lambda: measure(name, arguments, None),
                                             lambda: measure(name, arguments, DEFAULT))
        if None in plain or None in layered:
            continue
        results.figure("launch", name, {"plain": plain, "refrain": layered})
        if len({entry["checksum"] for entry in plain + layered}) != 1:
            results.problem(f"thread_loops, {name}: checksums differ")
        before, after = (harness.median([entry["iteration_us"] for entry in column]) for column in (plain, layered))
        replayed = harness.median([entry["replayed"] for entry in layered])
        results.row("launch", f"{name} x 100 kernels: plain, Refrain (replayed)",
                    f"{before:.1f}, {after:.1f} us ({replayed:.0f} %)")
        results.row("launch", "  plain / Refrain", f"{before / after:.2f}", ">= 0.99", before / after >= 0.99)
        results.value("launch_threads", f"{name}: plain / Refrain", before / after, "x", ">= 0.99",
                      [one["iteration_us"] / other["iteration_us"] for one, other in zip(plain, layered)])


def run_allocations(results, options):
    """Tasks with memory of their own in stream order, by the same call and free again and again."""
    def measure(settings, *arguments):
        done = harness.run([BIN / "cuda" / "allocation_loop", *arguments], settings)
        lines = done.lines()
        if done.status != 0 or not lines:
            results.problem(f"allocation_loop: {done.why()}")
            return None
        return lines[-1] | {"replayed": harness.share(done.report)}

    if not harness.LAYER.exists():
        return
    for name, arguments, least in (("10 tasks that allocate and free", [], 2.2),
                                   ("10 tasks that allocate and free, nothing kept in the pool", ["--kept-mb", 0], 0.99)):
        plain, layered = harness.interleaved(options.rounds, lambda: measure(None, *arguments),
                                             lambda: measure(DEFAULT, *arguments))
        if None in plain or None in layered:
            continue
        results.figure("launch", name, {"plain": plain, "refrain": layered})
        if len({entry["checksum"] for entry in plain + layered}) != 1:
            results.problem(f"allocation_loop, {name}: checksums differ")
        before, after = (harness.median([entry["iteration_us"] for entry in column]) for column in (plain, layered))
        replayed = harness.median([entry["replayed"] for entry in layered])
        by_hand = harness.median([entry["graph_us"] for entry in plain])
        results.row("launch", f"{name}: plain, Refrain, by hand (replayed)",
                    f"{before:.1f}, {after:.1f}, {by_hand:.1f} us ({replayed:.0f} %)", ">= 95 %", replayed >= 95)
        results.row("launch", "  plain / Refrain", f"{before / after:.2f}", f">= {least:.2f}", before / after >= least)
        results.value("launch", f"{name}: plain / Refrain", before / after, "x", f">= {least:.2f}",
                      [one["iteration_us"] / other["iteration_us"] for one, other in zip(plain, layered)])


def run_host_functions(results, options):
    """Kernels and a host function, again and again: what the host may wait for without a call is never held."""
    def measure(name, arguments, settings):
        done = harness.run([BIN / "cuda" / "host_function_loop", *arguments], settings)
        lines = done.lines()
        if done.status != 0 or not lines:
            results.problem(f"host_function_loop, {name}: {done.why()}")
            return None
        return lines[-1] | {"replayed": harness.share(done.report)}

    if not harness.LAYER.exists():
        return
    for name, arguments in (("4 kernels, a host function", []), ("with data of its own", ["--data"]),
                            ("awaited in memory", ["--spin"]), ("16 kernels, a host function", ["--kernels", 16]),
                            ("4 kernels, a value", ["--value"]), ("a value awaited in memory", ["--value", "--spin"])):
        columns = harness.interleaved(options.rounds, lambda: measure(name, arguments, None),
                                      lambda: measure(name, arguments, DEFAULT),
                                      lambda: measure(name, arguments, DEFAULT | {"GATE": "0"}))
        if any(None in column for column in columns):
            continue
        plain, layered, ungated = columns
        results.figure("launch", name, {"plain": plain, "refrain": layered, "without the gate": ungated})
        if len({entry["checksum"] for column in columns for entry in column}) != 1:
            results.problem(f"host_function_loop, {name}: checksums differ")
        before, after, always = (harness.median([entry["round_us"] for entry in column]) for column in columns)
        replayed, most = (harness.median([entry["replayed"] for entry in column]) for column in columns[1:])
        results.row("launch", f"{name}: plain, Refrain, without the gate (replayed)",
                    f"{before:.1f}, {after:.1f} ({replayed:.0f} %), {always:.1f} us ({most:.0f} %)", "without: >= 90 %",
                    most >= 90)
        results.row("launch", "  plain / Refrain", f"{before / after:.2f}", ">= 0.97", before / after >= 0.97)
        results.value("launch_host", f"{name}: plain / Refrain", before / after, "x", ">= 0.97",
                      [one["round_us"] / other["round_us"] for one, other in zip(plain, layered)])
        if "--spin" in arguments:
            eager, held = (harness.median([entry["longest_us"] for entry in column]) for column in (plain, ungated))
            results.row("launch", "  longest look at memory: plain, without the gate", f"{eager:.0f}, {held:.0f} us",
                        "<= plain + 1000", held - eager <= 1000)


def run_uploads(results, options):
    """What backends/cuda/graph_uploader.h works around on this driver, and whether that helps. Nothing of Refrain takes part."""
    done = harness.run([BIN / "cuda" / "graph_uploads"])
    steps = {line["when"]: line for line in done.lines()}
    if done.status != 0 or not steps:
        results.problem(f"graph_uploads: {done.why()}")
        return
    results.figure("launch", "graph_uploads", steps)
    for name, key in [("in a graph", "graph_us"), ("queued", "queued_us")]:
        alone, slow, *behind = (steps[when][key] for when in ("nothing uploaded", "uploaded",
                                                              "uploaded behind one that is launched",
                                                              "the same while four streams launch"))
        results.row("launch", f"1000 kernels {name}: alone, upload, stand-in, busy",
                    ", ".join(f"{us:.0f}" for us in (alone, slow, *behind)) + " us",
                    "<= 1.02 alone", max(behind) / alone <= 1.02)


def run_delays(results, options):
    """How late single launches are, from the program's start on, while stretches are recorded and graphs are built."""
    if not harness.LAYER.exists():
        return

    def delays(settings):
        done = harness.run([BIN / "cuda" / "launch_bound", "--kernels", "1000", "--delays"], settings)
        lines = done.lines()
        if not lines:
            results.problem(f"launch_bound --delays: {done.why()}")
        return lines[-1]["delays_us"] | {"report": done.report} if lines else None

    plain, layered = harness.interleaved(max(options.rounds, 3), lambda: delays(None), lambda: delays(DEFAULT))
    if None in plain or None in layered:
        return
    results.figure("launch", "delays", {"plain": plain, "refrain": layered})
    for name, key in [("99.99 % of launches within", "p9999"), ("longest launch", "longest")]:
        before, after = (harness.median([entry[key] for entry in column]) for column in (plain, layered))
        results.row("launch", f"{name}: plain, Refrain", f"{before:.0f}, {after:.0f} us", "<= plain + 200",
                    after - before <= 200)
        results.value("launch", f"{name}: Refrain - plain", after - before, "us", "<= 200",
                      [other[key] - one[key] for one, other in zip(plain, layered)])


def run_costs(results, options):
    """What the layer adds to a call that it passes through. A launch itself takes longer and varies by more than that,
    so it is looked at once more over a driver whose launches do nothing."""
    driver = harness.driver_path()

    def costs(settings, bare=False):
        more = {}
        if bare:
            more |= {"ROUTES_DRIVER": driver, "ROUTES_FIRST": "noop"}
            if settings is None:
                more["preload"] = str(harness.ROUTES)
            else:
                settings = settings | {"CUDA_DRIVER": str(harness.ROUTES)}
        words = [] if bare else ["--driver", driver]
        done = harness.run([BIN / "cuda" / "call_cost", *words], settings, **more)
        lines = done.lines()
        if not lines:
            results.problem(f"call_cost: {done.why()}")
        return lines[-1] if lines else None

    if not harness.LAYER.exists():
        return
    observing = {"MODE": "observe"}
    runs = harness.interleaved(max(options.rounds, 3), lambda: costs(None), lambda: costs(observing),
                               lambda: costs(None, bare=True), lambda: costs(observing, bare=True))
    if any(None in column for column in runs):
        return
    plain, observe, bare, observe_bare = runs
    results.figure("launch", "call_cost", {"plain": plain, "observe": observe, "no-op": bare,
                                           "observe no-op": observe_bare})
    for name, call, most in [("neutral call", "cuCtxGetDevice", 3), ("neutral call", "cuCtxGetCurrent", 3),
                             ("launch, observe", "cuLaunchKernel", 60)]:
        # Each run compares with the driver's own function in the same process; plain ones show how well that can be done.
        control, more = (harness.median([entry[f"{call}_more_ns"] for entry in column]) for column in (plain, observe))
        results.row("launch", f"{name}: {call}, without Refrain, with", f"{control:+.1f}, {more:+.1f} ns",
                    f"<= +{most} ns", more <= most)
        results.value("launch", f"{name}: {call}, added", more, "ns", f"<= {most}", [entry[f"{call}_more_ns"] for entry in observe])
    control, more = (harness.median([entry["each_cuLaunchKernel_more_ns"] for entry in column]) for column in (plain, observe))
    results.row("launch", "launch, observe: median of single calls", f"{control:+.1f}, {more:+.1f} ns", "<= +60 ns", more <= 60)
    results.value("launch", "launch, observe: median of single calls, added", more, "ns", "<= 60",
                  [entry["each_cuLaunchKernel_more_ns"] for entry in observe])
    # The least of all runs: some run on a processor that is slower by half for a while.
    before, after = (min(entry["cuLaunchKernel_ns"] for entry in column) for column in (bare, observe_bare))
    results.row("launch", "no-op launch, observe: cuLaunchKernel",
                f"{before:.1f} -> {after:.1f} ns ({after - before:+.1f})", "<= +60 ns", after - before <= 60)


def run(results, options):
    for name, arguments, gain, against_graph in CASES[:QUICK] if options.quick else CASES:
        run_case(results, options, name, arguments, gain, against_graph)
    run_allocations(results, options)
    run_threads(results, options)
    run_host_functions(results, options)
    run_uploads(results, options)
    run_delays(results, options)
    run_costs(results, options)
