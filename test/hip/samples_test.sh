#!/bin/bash
# The HIP samples on the simulated device: the same results plain and in every mode of Refrain, and something replayed.
# Usage: samples_test.sh REFRAIN SAMPLES_FOLDER CODE_OBJECT KERNEL_LIBRARIES SIMULATED_RUNTIME_FOLDER
set -u
refrain=$1
samples=$2
code=$3
export SIM_KERNELS=$4 LD_LIBRARY_PATH=$5 REFRAIN_CUDA=off
unset LD_PRELOAD
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
# What is printed but the time that it took.
results() { grep -v '^time' "$1"; }

check() {  # NAME ARGUMENTS...
  local name=$1
  shift
  "$samples/$name" --code "$code" "$@" >"$work/plain" 2>"$work/errors" || fail "$name plain: $(cat "$work/errors")"
  grep -q ok "$work/plain" || fail "$name computes the wrong result: $(cat "$work/plain")"
  for mode in observe capture replay verify; do
    "$refrain" run --mode "$mode" --no-gate --capture-file "$work/$mode.rfn" --report-file "$work/report.json" -- \
      "$samples/$name" --code "$code" "$@" >"$work/hooked" 2>"$work/errors" || fail "$name $mode: $(cat "$work/errors")"
    diff <(results "$work/plain") <(results "$work/hooked") || fail "$name $mode prints something else"
    grep -q violation "$work/errors" && fail "$name $mode: $(cat "$work/errors")"
    if [ "$mode" = replay ] && ! grep -qE '"replayed": *[1-9]' "$work/report.json"; then
      fail "$name: nothing was replayed: $(cat "$work/errors")"
    fi
  done
  "$refrain" dump "$work/capture.rfn" >"$work/dump" || fail "$name: its capture cannot be read"
}

check heat --size 32 --iterations 4000 --report-every 40
check scalar --springs 64 --steps 8000 --sync-every 40
grep -q swing "$work/dump" || fail "the dump does not name the kernel: $(cat "$work/dump")"
"$refrain" doctor -- "$samples/heat" --code "$code" --size 8 --iterations 10 >"$work/doctor"
grep -q 'route *LD_PRELOAD, .*librefrain_hip5.so' "$work/doctor" || fail "doctor: $(cat "$work/doctor")"
[ "$failures" = 0 ] && echo 'all as expected'
