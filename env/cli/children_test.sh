#!/bin/bash
# What the children of an application inherit, with the real loader and layer.
# shellcheck disable=SC2016
# Usage: children_test.sh REFRAIN SPAWNING_PROGRAM SAMPLE
set -u
refrain=$1
spawn=$2
sample=$3
unset OPENCL_LAYERS LD_PRELOAD "${!REFRAIN_@}"
export REFRAIN_CONFIG=/dev/null  # not this machine's
export REFRAIN_CUDA=off REFRAIN_HIP=off REFRAIN_LEVEL_ZERO=off  # have tests of their own, and not every machine has a driver
export REFRAIN_REPORT=off
failures=0

expect() {  # WANTED COMMAND...
  local wanted=$1 actual
  shift
  actual=$("$@" 2>&1)
  if [ "$actual" != "$wanted" ]; then
    printf 'FAILED: %s\n  wanted: %s\n  got:    %s\n' "$*" "$wanted" "$actual"
    failures=$((failures + 1))
  fi
}

layer=$("$refrain" run -- sh -c 'echo "$OPENCL_LAYERS"')
hooks=$("$refrain" run -- sh -c 'echo "${LD_PRELOAD-unset}"')  # sanitized builds have none
show='echo "${OPENCL_LAYERS-unset} ${LD_PRELOAD-unset}"'
# Followed: the whole list, though the loader cut it; also one generation further down.
expect "$layer $hooks" "$refrain" run -- "$spawn" sh -c "$show"
expect "/a.so:/b.so:$layer $hooks" env OPENCL_LAYERS=/a.so:/b.so "$refrain" run -- "$spawn" sh -c "$show"
expect "/a.so:/b.so:$layer $hooks" env OPENCL_LAYERS=/a.so:/b.so "$refrain" run -- "$spawn" "$spawn" sh -c "$show"
# Not followed: exactly what was there before.
expect 'unset unset' "$refrain" run --no-follow-children -- "$spawn" sh -c "$show"
expect '/a.so:/b.so unset' env OPENCL_LAYERS=/a.so:/b.so "$refrain" run --no-follow-children -- "$spawn" sh -c "$show"
expect '/a.so ' env OPENCL_LAYERS=/a.so LD_PRELOAD= "$refrain" run --no-follow-children -- "$spawn" sh -c "$show"
expect 'REFRAIN_FOLLOW_CHILDREN=off' "$refrain" run --no-follow-children -- "$spawn" \
  sh -c 'env | grep REFRAIN_ | grep -vE "CONFIG|REPORT|ROOT_PID|CUDA|HIP|LEVEL_ZERO"'

# Where Refrain is active shows in its report at exit.
count_reports() { grep -c '^\[refrain\] info: report'; }
export REFRAIN_REPORT=on
alone=$("$refrain" run --no-follow-children -- "$sample" --steps 10 2>&1 | count_reports)
child=$("$refrain" run --no-follow-children -- sh -c "\"$sample\" --steps 10; true" 2>&1 | count_reports)
followed=$("$refrain" run -- sh -c "\"$sample\" --steps 10; true" 2>&1 | count_reports)
if [ "$alone $child $followed" != '1 0 1' ]; then
  echo "FAILED: reports (alone, child, followed child) are $alone $child $followed, not 1 0 1"
  failures=$((failures + 1))
fi

[ "$failures" = 0 ] && echo 'all as expected'
exit $((failures > 0))
