#!/bin/bash
# `refrain ctl` and a running program, on the simulated device.
# Usage: control_test.sh REFRAIN PROGRAM SIM_FOLDER      PROGRAM works until its standard input ends.
set -u
refrain=$1
program=$2
export LD_LIBRARY_PATH=$3
unset OPENCL_LAYERS LD_PRELOAD "${!REFRAIN_@}"
export REFRAIN_CONFIG=/dev/null REFRAIN_OPENCL=off REFRAIN_LEVEL_ZERO=off REFRAIN_HIP=off REFRAIN_GATE=off
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_RUNTIME_DIR=$scratch
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}
expect() {  # STATUS PATTERN COMMAND...
  local wanted=$1 pattern=$2 output status
  shift 2
  output=$("$@" 2>&1)
  status=$?
  # shellcheck disable=SC2053
  if [ "$status" != "$wanted" ] || [[ $output != $pattern ]]; then fail "$* ended with $status: $output"; fi
}
# begin OPTION...: the program runs, with its input at the descriptor `input` and its number in `process`.
begin() {
  rm -f "$scratch/output"  # the one before was at work as well
  exec {input}> >(exec "$refrain" run "$@" -- "$program" until_told >"$scratch/output" 2>"$scratch/errors")
  process=$!
  for ((i = 0; i < 600; i++)); do
    grep -q working "$scratch/output" 2>/dev/null && return
    sleep 0.1
  done
  fail "the program does not get to work: $(cat "$scratch/output" "$scratch/errors")"
}
finish() {
  exec {input}>&-
  wait "$process" || fail "the program ended with $?: $(tail -5 "$scratch/output" "$scratch/errors")"
}
ctl() { "$refrain" ctl "$@"; }
# Others' tests may run beside this one.
not_listed() { if ctl | grep -q "^ *$process "; then fail "a process that ended is listed: $(ctl)"; fi; }
replayed() { ctl "$process" report --json | sed -n 's/^  "replayed": \([0-9]*\),$/\1/p'; }

expect 1 '*there is no process 4000000' ctl 4000000
expect 1 "*process $$ can't be reached*" ctl $$ stop
expect 2 "*nearest is 'stop'*" ctl $$ stopp
expect 2 "*'all' is not the number of a process*" ctl all stop
expect 2 '*capture needs a number of seconds*' ctl $$ capture
expect 2 '*--json goes with report*' ctl $$ stop --json

begin
expect 0 "*PID*$process  cuda*at work*until_told*" ctl
expect 0 "*\"process\": $process*\"state\": \"at work\"*" ctl --json
expect 0 'cuda: at work*' ctl "$process"
expect 0 'cuda: report*step/forward *entered*replayed*' ctl "$process" report
expect 0 'cuda: stopped*' ctl "$process" stop
sleep 0.2  # a step that was being held
before=$(replayed)
sleep 0.5
after=$(replayed)
if [ "$before" = 0 ] || [ "$before" != "$after" ]; then fail "replayed $before, and $after while it was stopped"; fi
expect 0 'cuda: at work*' ctl "$process" start
for ((i = 0; i < 100; i++)); do
  [ "$(replayed)" -gt "$before" ] && break
  sleep 0.1
done
[ "$(replayed)" -gt "$before" ] || fail 'nothing is replayed after start'
expect 1 '*not started to be captured*' ctl "$process" capture 1
expect 1 '*capture takes a number of seconds*' ctl "$process" capture 100000
expect 1 '*has not used hip, but other APIs*' ctl --api hip "$process"
[ "$(stat -c %a "$scratch/refrain")" = 700 ] || fail "others may look into $scratch/refrain"
finish
grep -q 'while Refrain was stopped' "$scratch/errors" || fail 'the report does not tell that it was stopped'
not_listed

# Captured while it runs.
begin --capture --start off --capture-file "$scratch/part.rfn"
expect 0 'cuda: stopped*' ctl "$process"
expect 0 "*captured 1 s to $scratch/part.rfn*" ctl "$process" capture 1
expect 0 'cuda: stopped*' ctl "$process"
expect 0 '*submissions in*Regions that the program named*step/forward*' "$refrain" dump "$scratch/part.rfn"
finish

# Out of reach, where the user wants that; a killed one leaves nothing behind that matters.
begin --no-control
expect 1 "*can't be reached*" ctl "$process" stop
finish
begin
kill -KILL "$process"
wait "$process" 2>/dev/null
exec {input}>&-
not_listed
[ -z "$(ls "$scratch/refrain")" ] || fail "left behind: $(ls "$scratch/refrain")"

[ "$failures" = 0 ] && echo 'all as expected'
exit $((failures > 0))
