"""Verify mode on what others wrote: outputs as without Refrain, no difference, and how many replays could be compared."""
import harness
import part_python
import part_samples
from harness import BIN

SETTINGS = {"MODE": "verify", "GATE": "0"}
# Of each graph one in so many, so that short programs are compared often enough, and long ones end in time.
EVERY, EVERY_OF_APPLICATIONS = 20, 200
CASES = {"PyTorch": "torch_cases.py", "CuPy": "cupy_cases.py", "JAX": "jax_cases.py"}
HIDDEN = ("variables", "heap", "print")
# Memory that nobody can put back, and kernels that work together with other devices.
LEFT_ALONE = ("hidden state: heap", "hidden state: print", "distributed")
LEAST_CHECKED = 95  # of 100


def sampled(results, name, command, every=EVERY, **more):
    plain = harness.run(command, timeout=300, **more)
    if plain.status != 0:
        results.problem(f"verify, {name} without Refrain: {plain.why()}")
        return
    missing = [line["missing"] for line in plain.lines() if "missing" in line]
    if missing:
        results.note(f"verify, {name}: left out, this machine has no {missing[0]}")
        return
    hashes = part_python.hashes(plain) if plain.lines() else None
    again = harness.run(command, timeout=300, **more) if hashes else plain
    stable = {key for key, value in (hashes or {}).items() if part_python.hashes(again).get(key) == value}

    def output(done):
        return {key: part_python.hashes(done).get(key) for key in stable} if hashes else harness.comparable(done)

    done = harness.run(command, SETTINGS | {"VERIFY_EVERY": str(every)}, timeout=300, **more)
    good = harness.same(results, name, plain, done, "verify", output)
    checked, unchecked = done.report.get("verified", 0), done.report.get("unchecked", {})
    results.figure("verify", name, {"report": done.report, "seconds": [plain.seconds, done.seconds],
                                    "errors": done.errors[-2000:]})
    if checked == 0 and not unchecked and good:
        results.row("verify", name, "nothing was replayed", "outputs identical", True)
        return
    share = 100 * checked / max(checked + sum(unchecked.values()), 1)
    most = max(unchecked, key=unchecked.get, default="")
    target, reached = ("0 %", checked == 0) if name in LEFT_ALONE else (f">= {LEAST_CHECKED} %", share >= LEAST_CHECKED)
    results.row("verify", f"{name}: {checked} compared, {sum(unchecked.values())} not", f"{share:.0f} %; {most}"[:90],
                target, good and reached)


def run(results, options):
    if not harness.LAYER.exists():
        return
    iterations = ["--iterations", "40", "--warmup", "60"]
    commands = {f"hidden state: {kind}": [BIN / "cuda" / "hidden_state", kind] for kind in HIDDEN}
    commands |= {name: [part_samples.program(name), *arguments[0]] for name, arguments in part_samples.SAMPLES.items()}
    commands |= {name: [part_samples.program(name), "--iterations", "300"] for name in part_samples.LIBRARIES}
    commands |= {name: ["python3", harness.HERE / script, *iterations] for name, script in CASES.items()}
    harness.together([lambda name=name, command=command: sampled(results, name, command, toolkit=str(command[0]) != "python3")
                      for name, command in commands.items()], workers=3)
    if options.quick:
        return
    names = part_python.application_names(results, options)
    harness.together([lambda script=script, name=name: sampled(results, name, part_python.application(script, name),
                                                                   EVERY_OF_APPLICATIONS)
                      for script, name in names], part_python.APPLICATIONS_AT_ONCE)
