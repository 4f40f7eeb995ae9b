"""A file of docs/results: what test/performance makes docs/performance.md from."""
import json
import os
import pathlib
import re
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def row(table, name, value, unit, target=None, of=(), **more):
    """`value` is the median of `of`, if these are given. `target` is "<= 1.03" or ">= 3.30", and `more` is column (of the table) or
    error."""
    made = {"table": table, "name": name, "value": round(value, 4), "unit": unit}
    made |= {"target": target} if target else {}
    made |= {"n": len(of), "min": round(min(of), 4), "max": round(max(of), 4)} if of else {}
    return made | more


def commit():
    told = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=7", "--exclude", "*"], capture_output=True,
                          text=True, check=False)
    return told.stdout.strip() or "not recorded"


def described(command, card="none", driver="none", built=None):
    """Where and with what something was measured; what a machine does not tell is "not recorded". `built`: the commit, where this is
    no checkout."""
    models = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {"machine": f"{len(os.sched_getaffinity(0))} cores, {models[0] if models else 'processor not recorded'}", "card": card,
            "driver": driver, "commit": built or commit(), "date": time.strftime("%Y-%m-%d"), "command": command}


def write(file, head, rows):
    """A row a line, so that two files can be compared."""
    lines = ",\n  ".join(json.dumps(one) for one in rows)
    pathlib.Path(file).write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n  {lines}\n ]\n}}\n')
