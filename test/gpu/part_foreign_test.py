#!/usr/bin/env python3
"""What part_foreign takes for the same, on outputs and on programs that are no more than scripts."""
import pathlib
import shutil
import tempfile
import time
import unittest

import harness
import part_foreign
from harness import Done, Results
from part_foreign import COMPARED, Expected, Program, Run


def run(output, status=0, files=None, **report):
    return Run(Done(status, output, "", {"submissions": 10, **report}, 0.0), files or {})


def difference(plains, layered, only_status=False):
    return Expected([run(plain) for plain in plains], only_status).difference(run(layered))


class Comparison(unittest.TestCase):
    def test_numbers_are_compared(self):
        self.assertEqual(difference(["sum: 1.5", "sum: 1.5"], "sum: 1.5"), "")
        self.assertIn("sum: 1.6", difference(["sum: 1.5", "sum: 1.5"], "sum: 1.6"))
        self.assertIn("nan", difference(["sum: 1.5", "sum: 1.5"], "sum: nan"))
        self.assertNotEqual(difference(["2 time steps: 7"] * 2, "2 time steps: 8"), "")
        self.assertNotEqual(difference(["result 3 items"] * 2, "result 4 items"), "")

    def test_times_are_not(self):
        for line in ("Time: 1.5 ms", "Elapsed 1.5", "it took 1.5", "bandwidth = 1.5 GB/s", "kernel (us): 1.5", "1.5 GFLOPS",
                     "1.5 s", "Average duration 1.5", "1.5 MOps/sec"):
            self.assertEqual(difference([line] * 2, line.replace("1.5", "27.25")), "", line)
            self.assertNotEqual(difference([line] * 2, "no " + line), "", line)

    def test_addresses_and_processes_are_not(self):
        self.assertEqual(difference(["at 0x7f0012345678, pid: 17"] * 2, "at 0x7f0087654321, pid: 18"), "")

    def test_what_plain_runs_differ_in(self):
        plains = ["guess 3\nsum 5", "guess 4\nsum 5"]
        self.assertEqual(difference(plains, "guess 9\nsum 5"), "")
        self.assertIn("sum 6", difference(plains, "guess 3\nsum 6"))
        self.assertNotEqual(difference(plains, "no guess\nsum 5"), "")

    def test_lines_in_any_order(self):
        plains = ["a\nb\nc", "b\na\nc\nd"]
        self.assertEqual(difference(plains, "c\nb\na"), "")
        self.assertIn("missing: b", difference(plains, "c\na"))
        self.assertIn("never so without Refrain: e", difference(plains, "c\nb\na\ne"))

    def test_lines_that_are_missing(self):
        self.assertNotEqual(difference(["a\nb"] * 2, "a"), "")
        self.assertNotEqual(difference(["a"] * 2, ""), "")

    def test_status_and_hangs(self):
        expected = Expected([run("a"), run("b c")], only_status=True)
        self.assertEqual(expected.difference(run("d")), "")
        self.assertIn("exit status 1", expected.difference(run("a", 1)))
        self.assertEqual(expected.difference(run("a", None)), "hangs")

    def test_files(self):
        expected = Expected([run("a", files={"same": 1, "own": 2}), run("a", files={"same": 1, "own": 3})])
        self.assertEqual(expected.difference(run("a", files={"same": 1})), "")
        self.assertIn("file same", expected.difference(run("a", files={"same": 2})))
        self.assertIn("file same", expected.difference(run("a")))


class Recheck(unittest.TestCase):
    """check(), with runs that are given: those of plain runs and of "gate off", in order; the last one is repeated."""

    def check(self, plain, layered):
        given = {None: list(plain), str(COMPARED["gate off"]): list(layered)}
        calm = list(plain)[:1]

        def started(settings):
            runs = given.get(None if settings is None else str(settings), calm)
            return runs.pop(0) if len(runs) > 1 else runs[0]

        self.results = Results()
        judged = part_foreign.check(self.results, Program("it", "", "", [], [], False), started)
        return judged and judged["gate off"][0]

    def test_always(self):
        self.assertTrue(self.check([run("1")], [run("1")]))
        self.assertFalse(self.check([run("1")], [run("2")]))
        self.assertEqual(len(self.results.problems), 1)

    def test_once(self):
        self.assertTrue(self.check([run("1")], [run("2"), run("1")]))
        self.assertEqual(len(self.results.notes), 1)

    def test_hangs_and_failures_count_once(self):
        self.assertFalse(self.check([run("1")], [run("", None), run("1")]))
        self.assertFalse(self.check([run("1")], [run("1", 139), run("1")]))

    def test_as_plain_runs_do(self):
        self.assertTrue(self.check([run("1"), run("1"), run("2")], [run("2")]))

    def test_differences_that_verify_finds(self):
        self.assertFalse(self.check([run("1")], [run("1", differences=1)]))

    def test_no_report(self):
        self.assertFalse(self.check([run("1")], [Run(Done(0, "1"))]))

    def test_fails_without_refrain(self):
        self.assertIsNone(self.check([run("1", 1)], [run("1")]))
        self.assertEqual(len(self.results.notes), 1)


class Programs(unittest.TestCase):
    def test_list(self):
        listed = part_foreign.programs()
        self.assertEqual(len({program.name for program in listed}), len(listed))
        self.assertLessEqual({program.source for program in listed}, {"cuda-samples", "HeCBench"})
        self.assertTrue(any(program.only_status for program in listed))
        names = {program.name: program for program in listed}
        self.assertEqual(names["simpleHyperQ_8"].binary, "simpleHyperQ")
        self.assertEqual(names["simpleHyperQ_ptds"].binary, "simpleHyperQ_ptds")

    def test_a_run(self):
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            for name in ("bin", "data", "inputs/script"):
                (place / name).mkdir(parents=True)
            (place / "data" / "shared").write_text("shared")
            (place / "inputs" / "script" / "given").write_text("given")
            script = place / "bin" / "script"
            script.write_text("#!/bin/sh\ncat given ../data/shared; echo $1 > written; exit 3\n")
            script.chmod(0o755)
            done = part_foreign.start(Program("it", "", "", [], ["word"], False, "script"), place)
        self.assertEqual((done.done.status, done.done.output, list(done.files)), (3, "givenshared", ["written"]))

    def test_what_a_program_started_is_ended_with_it(self):
        begin = time.monotonic()
        done = harness.run([shutil.which("sh"), "-c", "sleep 30 & sleep 30"], timeout=1)
        self.assertIsNone(done.status)
        self.assertLess(time.monotonic() - begin, 10)


if __name__ == "__main__":
    unittest.main()
