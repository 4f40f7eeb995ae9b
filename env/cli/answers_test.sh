#!/bin/bash
# Three questions, one command and one screen each: did it help, and how much? Why is this loop not replayed? What changed
# since the last run? The first line is the answer.
# Usage: answers_test.sh REFRAIN COMMAND... (of OpenCL, each with its arguments as one word)
set -u
refrain=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset OPENCL_LAYERS LD_PRELOAD "${!REFRAIN_@}"
export REFRAIN_CONFIG=/dev/null REFRAIN_CUDA=off REFRAIN_HIP=off REFRAIN_LEVEL_ZERO=off
failures=0

# answers PATTERN FILE: its first line does, and it is one screen.
answers() {
  if ! head -n 1 "$2" | grep -qE -- "$1" || [ "$(wc -l <"$2")" -gt 40 ]; then
    printf 'FAILED: expected /%s/ first, and at most 40 lines, got:\n%s\n' "$1" "$(cat "$2")"
    failures=$((failures + 1))
  fi
}

for program in "$@"; do
  read -ra command <<<"$program"
  "${command[@]}" >/dev/null 2>&1 || { echo "skipped: '$program' does not run here"; exit 77; }
  for run in 1 2; do
    "$refrain" run --report-file "$run.json" -- "${command[@]}" >out 2>&1
    grep '^\[refrain\]' out >report
    answers 'report \(replay, opencl, .* (saved about .* of|(no|hardly any) time was saved(:|, though)|(nothing|hardly anything) was replayed|% of the submissions were replayed; )' report
  done
  "$refrain" run -o app.rfn -- "${command[@]}" >/dev/null 2>&1
  "$refrain" dump --explain app.rfn >why
  answers '^[0-9.]+ % of [0-9 ]+ submissions repeat in a way that can be graphed; most of the rest \([0-9.]+ %\): .' why
  "$refrain" diff 1.json 2.json >changed
  answers '^(nothing differs|as many submissions|[0-9.]+ % (more|fewer) submissions)' changed
  rm -f app.rfn 1.json 2.json
done
[ "$failures" = 0 ] && echo 'all as expected'
exit "$((failures != 0))"
