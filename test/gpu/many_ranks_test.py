#!/usr/bin/env python3
"""Ranks that are no more than scripts: what many_ranks.run() makes of those that end, fail, hang, and do not end."""
import sys
import unittest

import many_ranks

SCRIPT = """
import json, os, struct, sys, time
def say(**line): print(json.dumps(line), flush=True)
rank, does = int(sys.argv[1]), sys.argv[2]
print("no line of ours")
say(case="one", at=0)
say(case="one", at=50)
if rank == 1 and does == "fail":
    sys.exit("it went wrong")
if rank == 1 and does == "hang":
    with open(os.environ["MANY_PLACE"], "r+b") as file:
        file.write(struct.pack("qq", 57, 1))
    time.sleep(100)
say(case="one", at=100, sha256="0")
say(case="two", at=0)
if does in ("hang", "fail"):
    time.sleep(100)
say(end=True)
if rank == 0 and does == "stay":
    time.sleep(100)
"""


def ranks(does, count=3, **more):
    more = {"stall": 2, "limit": 20, "grace": 2} | more
    return many_ranks.run([[sys.executable, "-c", SCRIPT, rank, does] for rank in range(count)], ["one", "two"], **more)


class ManyRanks(unittest.TestCase):
    def test_all_end(self):
        done = ranks("end")
        self.assertIsNone(done.problem)
        self.assertEqual(done.statuses, [0, 0, 0])
        self.assertEqual([lines[-1] for lines in done.lines], [{"end": True}] * 3)

    def test_one_hangs(self):
        done = ranks("hang")
        self.assertIn("hangs: rank 1 furthest behind; rank 0: two, step 0; rank 1: one, step 57, waiting; rank 2: two", done.problem)
        self.assertEqual(done.case, "one")
        self.assertLess(done.seconds, 10)

    def test_one_fails(self):
        done = ranks("fail", stall=60)
        self.assertEqual(done.problem, "rank 1 ended in one, step 50: exit status 1: it went wrong")
        self.assertEqual(done.case, "one")
        self.assertLess(done.seconds, 15)

    def test_the_time_is_over(self):
        done = ranks("hang", stall=60, limit=2)
        self.assertIn("hangs: rank 1", done.problem)

    def test_one_does_not_end(self):
        done = ranks("stay", stall=60)
        self.assertEqual(done.problem, "rank 0 does not end")
        self.assertIsNone(done.case)


if __name__ == "__main__":
    unittest.main()
