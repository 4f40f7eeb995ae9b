#!/usr/bin/env python3
"""Holds real output against the schemas in docs/schema: reports of several modes, dump --json, bench --json. Members that a schema
does not name are refused. Pictures of bench have to be XML. Skipped (status 77) without Python's jsonschema (Debian: python3-jsonschema).
Usage: schema_test.py REFRAIN SOURCE_FOLDER PROGRAM [ARGUMENT...]: an OpenCL program that ends soon"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

failures = 0


def hold(what: str, text: str, schema: dict) -> dict:
    global failures
    import jsonschema

    value = json.loads(text)
    for problem in list(jsonschema.Draft202012Validator(schema).iter_errors(value))[:5]:
        failures += 1
        print(f"FAILED: {what}: {'/'.join(map(str, problem.absolute_path))}: {problem.message[:200]}")
    return value


def undescribed(schema: dict, where: str) -> list[str]:
    """Members without a description, and objects that would take anything."""
    wrong = []
    for name, member in schema.get("properties", {}).items():
        wrong += [] if member.get("description") else [f"{where}/{name} has no description"]
        wrong += undescribed(member, f"{where}/{name}")
    if schema.get("type") == "object" and "additionalProperties" not in schema:
        wrong.append(f"{where} takes any member")
    return wrong + (undescribed(schema["items"], f"{where}[]") if "items" in schema else [])


def main() -> int:
    global failures
    try:
        import jsonschema  # noqa: F401
    except ImportError:
        print("skipped: there is no jsonschema for Python here (Debian: python3-jsonschema)")
        return 77
    refrain, source, program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    schemas = {name: json.loads((source / f"docs/schema/{name}.json").read_text()) for name in ("report", "dump", "bench")}
    for name, schema in schemas.items():
        for problem in undescribed(schema, name):
            failures += 1
            print(f"FAILED: {problem}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REFRAIN_") and name != "OPENCL_LAYERS"}
    environment |= {"REFRAIN_CONFIG": "/dev/null", "REFRAIN_CUDA": "off", "REFRAIN_HIP": "off", "REFRAIN_LEVEL_ZERO": "off"}

    def output(*command: str | pathlib.Path) -> str:
        # bench ends with 1 if results differ by rounding; its output is what is looked at here.
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout

    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for mode in (["--gate", "off"], ["--verify", "--gate", "off"], ["--observe"]):
            file = work / f"{len(mode)}-{mode[0].strip('-')}.json"
            output(refrain, "run", *mode, "--timeline", "1000", "--report-file", file, "--", *program)
            report = hold(f"report {' '.join(mode)}", file.read_text(), schemas["report"])
            if mode[0] == "--gate" and not report["graphs"]:
                failures += 1
                print("FAILED: the report has no graph: nothing was shown of them")
            if mode[0] != "--observe" and not report["timeline"]:
                failures += 1
                print("FAILED: the report has no timeline: nothing was shown of it")
        capture = work / "app.rfn"
        output(refrain, "run", "-o", capture, "--portable", "--", *program)
        hold("dump", output(refrain, "dump", "--json", capture), schemas["dump"])
        # On the device that is here, which is the captured one.
        told = json.loads(output(refrain, "dump", "--json", capture))
        here = json.loads(output(refrain, "dump", "--json", "--device", told["devices"][0]["name"], capture))
        nowhere = subprocess.run([refrain, "dump", "--device", "no such device", capture], env=environment, capture_output=True, text=True, check=False)
        if here["explain"] != told["explain"] or here["devices"][0]["name"] != told["devices"][0]["name"]:
            failures += 1
            print(f"FAILED: dump --device: {here['devices']} instead of {told['devices']}, or it explains otherwise")
        if nowhere.returncode != 1 or "'no such device'" not in nowhere.stderr:
            failures += 1
            print(f"FAILED: dump --device of what is not here: {nowhere}")
        # Of the graph that came most often, by itself.
        part = work / "part.rfn"
        graphs = json.loads(output(refrain, "dump", "--json", capture))["graphs"]
        most = max(range(len(graphs)), key=lambda graph: graphs[graph]["occurrences"] * len(graphs[graph]["nodes"]))
        output(refrain, "extract", "--graph", str(most), "-o", part, capture)
        run = json.loads(output(refrain, "bench", "--json", "--quiet", "--repetitions", "3", part))
        hold("dump of what was extracted", output(refrain, "dump", "--json", part), schemas["dump"])
        if len(run["results"]) + len(run["skipped"]) != 1 or part.stat().st_size > capture.stat().st_size:
            failures += 1
            print(f"FAILED: extract: {part.stat().st_size} of {capture.stat().st_size} bytes, bench says {run}")
        bench = [refrain, "bench", "--json", "--quiet", "--repetitions", "8"]
        baseline = work / "baseline.json"
        baseline.write_text(output(*bench, capture))
        old = hold("bench", baseline.read_text(), schemas["bench"])
        now = hold("bench --sweep --baseline", output(*bench, "--sweep", "--baseline", baseline, capture), schemas["bench"])
        picture = work / "bench.svg"
        output(*bench, "--plot", picture, capture)
        for drawn in (picture.read_text(), output(refrain, "bench", "--quiet", "--repetitions", "3", "--plot", "-", capture)):
            if not xml.etree.ElementTree.fromstring(drawn).tag.endswith("}svg"):
                failures += 1
                print(f"FAILED: bench --plot wrote {drawn[:200]}")
        alike = {(row["fingerprint"], row["chunk"]) for row in old["results"]}
        if alike != {(row["fingerprint"], row["chunk"]) for row in now["baseline"]["compared"]} or now["baseline"]["only_in_baseline"]:
            failures += 1
            print(f"FAILED: bench --baseline: {alike} are in both, but {now['baseline']}")
    print("all as expected" if not failures else f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
