"""host_samples.cpp knows in which library a thread is, and whose call it is that copies."""
import ctypes
import sys
import time
import zlib

import case_runner

BLOCK = bytes(range(256)) * 4096
SECONDS = 0.5


def most_seen(samples, work):
    samples.start()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        work()
    seen = samples.stop()
    assert sum(seen.values()) > 100, seen
    return max(seen, key=seen.get)


def main():
    samples = case_runner.HostSamples(sys.argv[1])
    assert most_seen(samples, lambda: zlib.compress(BLOCK)).startswith("libz."), "compressing is the work of libz"
    to = ctypes.create_string_buffer(len(BLOCK))
    copier = most_seen(samples, lambda: ctypes.memmove(to, BLOCK, len(BLOCK)))
    assert not copier.startswith("libc."), f"{copier} is not who copies"
    interpreter = most_seen(samples, lambda: sum(number * number for number in range(1000)))
    assert interpreter.startswith(("program", "libpython")), f"{interpreter} is not the interpreter"


main()
