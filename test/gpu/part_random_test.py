#!/usr/bin/env python3
"""What part_random says of a program that differs, on outputs and on programs that are no more than scripts."""
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import harness
import part_random
from harness import Results


def lines(**changed):
    """What a program with two threads and two checksums prints; `changed`: the words of a thread's last checksum."""
    result = []
    for thread in range(2):
        parts = [["0"] * len(part_random.PARTS), ["0"] * len(part_random.PARTS)]
        for index in changed.get(f"thread{thread}", []):
            parts[1][index] = "f"
        sums = " ".join("".join(words) for words in parts)
        result.append(f"seed 7 thread {thread}: {sums}")
        result += [f"seed 7 thread {thread} checksum {number}: {' '.join(words)}" for number, words in enumerate(parts)]
    return result


SCRIPT = """#!/bin/sh
# It computes something else with Refrain, and in every second run without.
if [ -n "$REFRAIN_GATE" ]; then exec cat {folder}/other; fi
if mkdir {folder}/first 2>/dev/null; then exec cat {folder}/right; fi
rmdir {folder}/first
exec cat {folder}/{second}
"""


class Difference(unittest.TestCase):
    def test_parts_are_named_where_they_differ_first(self):
        self.assertEqual(part_random.different_parts(lines(), lines()), "no part of it")
        self.assertEqual(part_random.different_parts(lines(), lines(thread1=[0, 2])),
                         "thread 1, checksum 1: what the host read, buffer 1")
        self.assertEqual(part_random.different_parts(lines(), lines(thread0=[9], thread1=[12])),
                         "thread 0, checksum 1: pinned memory 0; thread 1, checksum 1: late gates")

    def explained(self, second):
        """The note about a program that is wrong with Refrain; `second`: what each other plain run computes."""
        results = Results()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "right").write_text("\n".join(lines()) + "\n")
            (folder / "other").write_text("\n".join(lines(thread0=[3])) + "\n")
            program = folder / "program"
            program.write_text(SCRIPT.format(folder=folder, second=second))
            program.chmod(0o755)
            # One at a time, so that the script can count; without a layer, which this machine need not have.
            with mock.patch.object(harness, "together", lambda actions, workers: [action() for action in actions]), \
                    mock.patch.object(harness, "LAYER", ""), mock.patch.dict(os.environ, {"OUT": name}):
                part_random.explain_difference(results, "random programs", [program], 7, "7", {"GATE": "0"}, lines(),
                                               lines(thread0=[3]))
            self.assertEqual(len(list(folder.glob("random-7-*.txt"))), 1)
        return results.notes

    def test_repeats_are_counted(self):
        many = part_random.REPEATS
        said = "random programs, seed 7: thread 0, checksum 1: buffer 2; of {} more runs each {} differ plain, {} with Refrain"
        self.assertEqual(self.explained("right"), [said.format(many, 0, many)])
        self.assertEqual(self.explained("other"), [said.format(many, many // 2, many)])


if __name__ == "__main__":
    unittest.main()
