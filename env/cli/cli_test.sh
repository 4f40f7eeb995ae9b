#!/bin/bash
# Behaviour of the `refrain` program as a user sees it: exit statuses, messages, what reaches the command.
# shellcheck disable=SC2016  # what is in single quotes is for the shell that refrain runs
# Usage: cli_test.sh REFRAIN SOURCE_FOLDER
set -u
refrain=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset OPENCL_LAYERS LD_PRELOAD "${!REFRAIN_@}"
export REFRAIN_CONFIG=/dev/null  # not this machine's
export REFRAIN_CUDA=off REFRAIN_HIP=off REFRAIN_LEVEL_ZERO=off  # have tests of their own, and not every machine has a driver
failures=0

# expect STATUS PATTERN COMMAND...: the command ends with the status, and its output (both streams) matches.
expect() {
  local status=$1 pattern=$2 output actual
  shift 2
  output=$("$@" 2>&1)
  actual=$?
  # shellcheck disable=SC2053  # a status may be a pattern
  if [[ "$actual" != $status ]] || ! grep -qE -- "$pattern" <<<"$output"; then
    printf 'FAILED: %s\n  expected status %s and /%s/, got status %s and:\n%s\n' "$*" "$status" "$pattern" "$actual" "$output"
    failures=$((failures + 1))
  fi
}
refuse() {  # PATTERN COMMAND...: the pattern does not occur.
  local pattern=$1 output
  shift
  output=$("$@" 2>&1)
  if grep -qE -- "$pattern" <<<"$output"; then
    printf 'FAILED: %s\n  must not print /%s/:\n%s\n' "$*" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}

expect 0 '^Usage: refrain COMMAND' "$refrain" --help
expect 0 '--hold-limit-us +50..1000000 us; default: 4000' "$refrain" --help
expect 0 '^refrain [0-9]+\.[0-9]+\.[0-9]+ \(.+\)$' "$refrain" --version
for command in run env doctor settings completion; do expect 0 "^Usage: refrain $command" "$refrain" $command --help; done

# Wrong usage is status 2, and says what is right.
expect 2 'no command' "$refrain"
expect 2 "no command 'doctr'; the nearest is 'doctor'" "$refrain" doctr
expect 2 "no command 'xyzzy'$" "$refrain" xyzzy
expect 2 "no option '--verison'; the nearest is '--version'" "$refrain" --verison
expect 2 "'maybe' is neither on nor off, which --gate takes" "$refrain" run --gate maybe -- true
expect 2 'no command; usage: refrain run' "$refrain" run
expect 2 'no command; usage: refrain run' "$refrain" run --
expect 2 'no option --mod; the nearest is --mode' "$refrain" run --mod off -- true
expect 2 'no option --mod; the nearest is --mode' "$refrain" run --mod=off true
expect 2 "--mode: 'oof' is not one of" "$refrain" run --mode oof -- true
expect 2 "--hold-limit-us: '3' is out of range \(50..1000000 us\)$" "$refrain" run --hold-limit-us=3 -- true
expect 2 'exclude each other' "$refrain" run --observe --capture -- true
expect 2 'exclude each other' "$refrain" run --observe --mode capture -- true
expect 2 'which mode replay does not' "$refrain" run --replay -o x.rfn -- true
expect 2 "there is no file '/nowhere'" "$refrain" run --config /nowhere -- true
expect 2 "'x' is not an option" "$refrain" run x -- true
expect 2 "'x' is not expected" "$refrain" env x
expect 2 "Try 'refrain run --help'" "$refrain" run --bogus -- true
expect 2 "'8-32' is not a list of numbers" "$refrain" bench --chunks 8-32 x.rfn
expect 2 "'x' is not a list of numbers" "$refrain" extract --graph x -o new.rfn x.rfn
expect 2 'needs a capture file, --graph and -o' "$refrain" extract --graph 1 x.rfn
expect 1 'x.rfn' "$refrain" extract --graph 1 -o new.rfn x.rfn
expect 2 '--trace one or several' "$refrain" dump --json x.rfn y.rfn
expect 2 'no command; usage: refrain capture' "$refrain" capture --seconds 5
expect 2 "--capture-seconds: '-1' is out of range" "$refrain" capture --seconds -1 -- true
expect 2 'exclude each other' "$refrain" capture --skip 3 --capture-skip 4 -- true
expect 2 'capture is a mode of its own' "$refrain" capture --mode observe -- true
expect 0 '^capture 5 100$' "$refrain" capture --seconds 5 --skip 100 -- \
  sh -c 'echo "$REFRAIN_MODE $REFRAIN_CAPTURE_SECONDS $REFRAIN_CAPTURE_SKIP"'
for format in summary json csv dot trace; do expect 2 'exclude each other' "$refrain" dump --explain --$format x.rfn; done

# The command's own status comes through, as a shell has it for signals.
expect 0 '^hello$' "$refrain" run -- echo hello
expect 3 '' "$refrain" run -- sh -c 'exit 3'
expect 3 '^a b$' "$refrain" run sh -c 'echo "$1"; exit 3' x 'a b'
expect 137 '' sh -c '"$1" run -- sh -c "kill -9 \$\$"' x "$refrain"
expect 127 "can't execute './missing': No such file" "$refrain" run -- ./missing
: > plain
expect 126 "can't execute './plain': Permission denied" "$refrain" run -- ./plain
expect 0 '^--help$' "$refrain" run -- sh -c 'echo "$1"' x --help
expect 0 '^-- x$' "$refrain" run -- echo -- x

# What reaches the command, and nothing else.
layer=$("$refrain" run -- sh -c 'echo $OPENCL_LAYERS')
if [ ! -f "$layer" ] || [ "${layer:0:1}" != / ]; then
  echo "FAILED: OPENCL_LAYERS is '$layer', not the absolute path of a file"
  failures=$((failures + 1))
fi
expect 0 '^OPENCL_LAYERS=/a.so:/b.so:/.*/librefrain_opencl.so$' env OPENCL_LAYERS=/a.so:/b.so "$refrain" run -- env
expect 0 '^REFRAIN_SAVED_OPENCL_LAYERS=/a.so:/b.so$' env OPENCL_LAYERS=/a.so:/b.so "$refrain" run -- env
refuse 'SAVED' "$refrain" run -- env
refuse 'REFRAIN_(MODE|GATE|REPORT|CAPTURE|ROOT|SAVED)' "$refrain" run -- env
# What is preloaded into every program; sanitized builds have none.
hooks=$(dirname "$layer")/beside-libasan.so/librefrain_exit.so
[ -f "$hooks" ] || hooks=
changed=$(diff <(env | sort) <("$refrain" run --gate off -- env | sort) | grep '^[<>]' | grep -vc '^. _=')
wanted=3
[ -n "$hooks" ] && wanted=4
[ "$changed" = "$wanted" ] || { echo "FAILED: run changed $changed variables, not $wanted"; failures=$((failures + 1)); }
expect 0 "^REFRAIN_CAPTURE_FILE=$work/x.rfn$" "$refrain" run -o x.rfn -- env
expect 0 '^REFRAIN_MODE=capture$' "$refrain" run -o x.rfn -- env
for mode in off observe capture replay verify; do
  expect 0 "^REFRAIN_MODE=$mode$" "$refrain" run --$mode -- env
  expect 0 "^REFRAIN_MODE=$mode$" "$refrain" run --mode=$mode -- env
done
expect 0 '^REFRAIN_PORTABLE=on$' "$refrain" run --portable -- env
expect 0 '^REFRAIN_PORTABLE=on$' "$refrain" run --portable env
expect 0 '^REFRAIN_REPORT=off$' "$refrain" run --no-report -- env
expect 0 '^REFRAIN_GATE=off$' "$refrain" run --gate off -- env
expect 0 '^REFRAIN_LOG_FILE=$' env REFRAIN_LOG_FILE=x "$refrain" run --log-file '' -- env
refuse 'OPENCL_LAYERS' "$refrain" run --opencl off -- env
refuse 'OPENCL_LAYERS' env REFRAIN_OPENCL=off "$refrain" run -- env
expect 0 "^LD_PRELOAD=$hooks$" env LD_PRELOAD= "$refrain" run -- env
expect 0 '^LD_PRELOAD=$' env LD_PRELOAD= "$refrain" run --opencl off -- env
expect 0 '^same$' "$refrain" run --no-follow-children -- sh -c '[ "$$" = "$REFRAIN_ROOT_PID" ] && echo same'
expect 0 '^1$' "$refrain" run -- "$refrain" run -- sh -c 'echo "$OPENCL_LAYERS" | grep -o librefrain_opencl.so | wc -l'
echo 'mode = verify' > conf
expect 0 "^REFRAIN_CONFIG=$work/conf$" "$refrain" run --config conf -- env

# Default config files: the user's is read unless REFRAIN_CONFIG names another or none; others may not write to it.
mkdir -p home/.config
echo 'hold_limit_us = 77' > home/.config/refrain.conf
chmod 644 home/.config/refrain.conf
user=(env -u REFRAIN_CONFIG -u XDG_CONFIG_HOME HOME="$work/home" "$refrain")
expect 0 '^  hold_limit_us +77 \*' "${user[@]}" settings
expect 0 '^  hold_limit_us +500 \*' "${user[@]}" settings --hold-limit-us 500
expect 0 '^  hold_limit_us +4000 ' "${user[@]}" settings --config conf
expect 0 '^  hold_limit_us +4000 ' env HOME="$work/home" "$refrain" settings
chmod 666 home/.config/refrain.conf
expect 0 '^problem: .*/home/.config/refrain.conf: the config file is not used: others may write to it' "${user[@]}" settings

# Placeholders: what is unknown is refused, and a folder's own name has none.
expect 2 "--capture-file: 'a.%x' has the unknown placeholder '%x'; there are %p" "$refrain" run -o a.%x -- true
expect 0 "^REFRAIN_CAPTURE_FILE=$work/a.%h.%r.%i$" "$refrain" run -o a.%h.%r.%i -- env
mkdir 50%off
expect 0 "^REFRAIN_LOG_FILE=$work/50%%off/x.%p$" sh -c 'cd 50%off && "$1" run --log-file x.%p -- env' x "$refrain"
expect 2 'empty pattern' "$refrain" run --programs 'a,,b' -- true
expect 0 '^REFRAIN_PROGRAMS=sh, !b\*$' "$refrain" run --programs 'sh, !b*' -- env

# What can't be written, or would take the place of something else, is wrong usage; an older capture is replaced.
echo 'a,b' > table.csv
expect 2 "can't write a capture to '.*table.csv' .--capture-file.: it is there already, and not a capture" \
  "$refrain" run -o table.csv -- echo started
expect 2 "can't write a report to '.*table.csv'" "$refrain" run --report-file table.csv -- echo started
expect 2 "can't write a capture to '.*No such file" "$refrain" run -o missing/x.rfn -- echo started
expect 2 "can't write a log to '.*No such file" "$refrain" run --log-file missing/x -- echo started
expect 2 "can't write a capture to 'missing/x' .*No such file" \
  env REFRAIN_MODE=capture REFRAIN_CAPTURE_FILE=missing/x "$refrain" run -- echo started
expect 0 '^started$' "$refrain" run --log-file table.csv -- echo started
expect 0 '^started$' "$refrain" run -o /dev/null -- echo started
printf 'REFRFN\r\nmore' > old.rfn
expect 0 '^REFRFN' env REFRAIN_MODE=capture REFRAIN_CAPTURE_FILE=old.rfn "$refrain" run -- cat old.rfn
expect 0 '^a,b$' cat table.csv
expect 2 "can't write a profile to '.*table.csv' .--profile.: it is there already, and not a profile" \
  "$refrain" run --profile table.csv -- echo started
expect 2 "can't write a profile to '.*No such file" "$refrain" run --profile missing/p -- echo started
expect 2 "can't write a profile to '.*No such file" env REFRAIN_PROFILE=missing/p "$refrain" run -- echo started
expect 0 '^started$' "$refrain" run --observe --profile missing/p -- echo started

# An older one stays until there is something that takes its place: programs that do not start, or submit nothing.
: > not_executable
printf '#!/missing/interpreter\n' > bad_interpreter && chmod +x bad_interpreter
echo '{"share_replayed": 0, "yielded_ms": 0}' > old.json
expect 126 "can't execute" "$refrain" capture -o old.rfn -- ./not_executable
expect 127 "can't execute" "$refrain" capture -o old.rfn -- ./bad_interpreter
expect 126 "can't execute" "$refrain" capture -o old.rfn -- "$work"
expect 0 '^REFRFN' "$refrain" run -o old.rfn -- cat old.rfn
expect 0 '^[0-9]+:[0-9]+:12:[0-9]+,[0-9]+:[0-9]+:[0-9]+:[0-9]+$' "$refrain" capture -o old.rfn --report-file old.json -- \
  sh -c 'echo "$REFRAIN_OLDER_FILES"'
expect 0 '^<>$' env REFRAIN_MODE=capture REFRAIN_CAPTURE_FILE=old.rfn "$refrain" run -- sh -c 'echo "<$REFRAIN_OLDER_FILES>"'
expect 0 share_replayed cat old.json
expect 0 '^REFRFN' cat old.rfn

# Nor is an output what the same command reads, or writes besides.
chmod go-w conf
ln old.rfn same.rfn
cp "$(type -P true)" program
expect 2 "can't write a log to '.*conf' .--log-file.: it is read by the same run" \
  "$refrain" run --config conf --log-file conf -- echo started
expect 2 'it is read by the same run' "$refrain" run --log-file program -- ./program
expect 2 "can't write a capture to '.*: --log-file names it, too" "$refrain" capture -o new.rfn --log-file new.rfn -- echo started
expect 2 ' names it, too' "$refrain" capture -o old.rfn --log-file same.rfn -- echo started
expect 0 '^started$' "$refrain" run --log-file /dev/stdout --report-file /dev/stdout -- echo started
expect 2 "'old.rfn' is what the command reads" "$refrain" extract --graph 0 -o old.rfn old.rfn
expect 2 "'same.rfn' is what the command reads" "$refrain" extract --graph 0 -o same.rfn old.rfn
expect 2 "'old.rfn' is what the command reads" "$refrain" report old.json old.rfn -o old.rfn
expect 2 "'old.rfn' is what the command reads" "$refrain" bench --plot old.rfn old.rfn
expect 1 "can't write 'missing/new.rfn': No such file" "$refrain" extract --graph 0 -o missing/new.rfn old.rfn
expect 0 '^REFRFN' cat old.rfn

# A capture always has a name.
expect 2 "--capture-file: '' is not the name of a file" "$refrain" capture -o '' -- echo started
expect 2 "--capture-file: '' is not the name of a file" "$refrain" run --capture-file '' -- echo started
expect 0 '^started$' env REFRAIN_MODE=capture REFRAIN_CAPTURE_FILE= "$refrain" run -- echo started
expect 0 "REFRAIN_CAPTURE_FILE: '' is not the name of a file; 'refrain.%p.rfn' stays in force" \
  env REFRAIN_CAPTURE_FILE= "$refrain" settings
mkdir gone
expect 2 "can't write a capture to '.*No such file" sh -c 'cd gone; rmdir ../gone; "$1" capture -- echo started' x "$refrain"

# What can't be captured is said, where it was to be; what was captured, the programs say.
expect 0 "^\[refrain\] info: capture: a process that submits work says at its end .*/x.rfn.*; if none says so, nothing was captured$" \
  "$refrain" capture -o x.rfn -- true
refuse 'capture:' "$refrain" run -- true
refuse 'capture:' "$refrain" capture --log-file %n.log -- true
expect 0 "capture: nothing of '.*/echo' itself is captured.*: 'echo' is not chosen by the setting programs .heat." \
  "$refrain" capture --programs heat -- /bin/echo started
refuse 'nothing of' "$refrain" capture --programs 'ech*' -- /bin/echo started
refuse 'nothing of' "$refrain" run --programs heat -- /bin/echo started
refuse 'nothing of' "$refrain" capture --programs heat --log-level error -- /bin/echo started
expect 0 "^started$" "$refrain" capture --programs heat --log-file not_captured -- /bin/echo started
expect 0 'warning: capture: nothing of' cat not_captured

# env prints the same for a shell, whatever the values are.
eval "$(OPENCL_LAYERS="/it's \$HOME.so" "$refrain" env --capture --log-file "a'b")"
if [ "$OPENCL_LAYERS $REFRAIN_LOG_FILE $REFRAIN_MODE" != "/it's \$HOME.so:$layer $work/a'b capture" ]; then
  echo "FAILED: env gave OPENCL_LAYERS=$OPENCL_LAYERS REFRAIN_LOG_FILE=$REFRAIN_LOG_FILE REFRAIN_MODE=$REFRAIN_MODE"
  failures=$((failures + 1))
fi
unset OPENCL_LAYERS LD_PRELOAD NVTX_INJECTION64_PATH INTEL_LIBITTNOTIFY64 "${!REFRAIN_@}"
export REFRAIN_CUDA=off REFRAIN_HIP=off REFRAIN_CONFIG=/dev/null
# What env --undo prints makes everything as it was, settings that were set before and lists of others' libraries too.
undone() {  # the environment before, and after env twice and env --undo
  local before
  before=$(env | sort)
  eval "$("$refrain" env --capture --log-file "a'b")"
  eval "$("$refrain" env --verify)"
  [ "$REFRAIN_MODE" = verify ] || return
  eval "$("$refrain" env --undo)"
  diff <(echo "$before") <(env | sort) && echo same
}
expect 0 '^same$' undone
layers_of_others() {
  export OPENCL_LAYERS=/a.so:/b.so LD_PRELOAD= REFRAIN_MODE=observe REFRAIN_LOG_FILE="it's \$HOME%p"
  undone
}
expect 0 '^same$' layers_of_others
expect 0 '^$' "$refrain" env --undo
refuse . "$refrain" env --undo
expect 0 '"REFRAIN_MODE": null' env REFRAIN_SAVED_SETTINGS=REFRAIN_MODE "$refrain" env --undo --json
expect 2 'goes with no setting' "$refrain" env --undo --capture
expect 0 '"OPENCL_LAYERS": "/.*librefrain_opencl.so"' "$refrain" env --json
expect 0 '"REFRAIN_SAVED_OPENCL_LAYERS": null' "$refrain" env --json
expect 0 '^unset REFRAIN_SAVED_OPENCL_LAYERS$' env REFRAIN_SAVED_OPENCL_LAYERS=/old.so "$refrain" env
if ! diff "$source/docs/settings.md" <("$refrain" settings --markdown); then
  echo 'FAILED: docs/settings.md is not up to date; run: refrain settings --markdown > docs/settings.md'
  failures=$((failures + 1))
fi

# What people try.
expect 0 '^refrain [0-9]+\.[0-9]+\.[0-9]+ \(.+\)$' "$refrain" version
expect 2 "'maybe' is neither on nor off, which --gate takes" "$refrain" settings --gate maybe
expect 2 "'-' is not the name of a file" "$refrain" settings -o -
expect 0 '^  gate +off' "$refrain" settings --gate off

# Which settings are in force, and who has a reason to set them.
expect 0 '^  hold_limit_us +500 \* +--hold-limit-us 500$' env REFRAIN_HOLD_LIMIT_US=500 "$refrain" settings
expect 0 '^  chunk_max +0 +--chunk-max 64$' "$refrain" settings --hold-limit-us 500
expect 0 "^problem: environment: REFRAIN_MODE: 'oof' is not one of" env REFRAIN_MODE=oof "$refrain" settings
expect 0 '"audience": "debug"' "$refrain" settings --json
expect 0 '"example": "--no-report"' "$refrain" settings --json
expect 0 '^Debug settings, for work on Refrain:$' "$refrain" run --help
refuse $'\033' env REFRAIN_LOG_FILE=$'\033]0;x' "$refrain" settings

# Nothing that a terminal obeys is printed, whatever it was that could not be used; captures are code, and bench says so.
evil=$(printf 'no\033]0;x\a\r\nfile')
for command in dump bench; do
  expect '[12]' 'no\\x1b\]0;x\\x07\\r\\nfile' "$refrain" $command "$evil"
  refuse $'\033' "$refrain" $command "$evil"
done
refuse $'\033' "$refrain" run -- "./$evil"
refuse $'\033' "$refrain" "$evil"
expect 0 'with your rights' "$refrain" bench --help
expect 0 '--trust' "$refrain" bench --help
expect 0 '--max-memory-mb' "$refrain" dump --help
expect 0 '7 buffers \(7 with contents\)' "$refrain" dump "$source/test/fuzz/corpus/capture_reader/references.capture"

# A page of a report: to a file that is a page or is not there, or to standard output; what is no report is refused by name.
expect 0 '^Usage: refrain report' "$refrain" report --help
expect 2 'one file or two' "$refrain" report
expect 2 'one file or two' "$refrain" report a b c
expect 1 "missing.rfn" "$refrain" report missing.rfn
expect 1 "'table.csv' is neither a capture nor a report" "$refrain" report table.csv
printf 'REFRFN\r\nmore' > cut.rfn
expect 1 "capture file 'cut.rfn': it ends within its header" "$refrain" report cut.rfn -o page.html
expect 1 'No such file' cat page.html
echo '{"share_replayed": 0.5, "submissions": 4, "graphs": [], "verdict": "saved </script>"}' > report.json
expect 0 '^<!-- refrain report -->$' "$refrain" report report.json -o -
expect 0 'saved \\u003c/script>' "$refrain" report report.json -o -
refuse 'https?://[^w]' "$refrain" report report.json -o -
expect 0 'wrote page.html' "$refrain" report report.json report.json -o page.html
expect 0 '^-rw-------' ls -l page.html
expect 0 'wrote page.html' "$refrain" report report.json -o page.html
expect 1 "'table.csv' is there already, and no page of Refrain's" "$refrain" report report.json -o table.csv
expect 0 '^a,b$' cat table.csv
expect 1 "can't write the page to 'missing/page.html': No such file" "$refrain" report report.json -o missing/page.html
expect 1 "can't be written" sh -c '"$1" report report.json -o - > /dev/full' x "$refrain"

# Two reports compared: what differs, by how much; graphs are known by what they are, not by their numbers.
cat > before.json <<'JSON'
{"share_replayed": 0.5, "submissions": 400, "launches": 10, "cut_by": {"clFinish": 100, "clMap": 3}, "graphs": [
 {"fingerprint": "aa", "what": "stencil x10", "operations": 10, "recorded": 3, "bypassed": 0, "launched": 20},
 {"fingerprint": "bb", "what": "residual", "operations": 2, "recorded": 3, "bypassed": 0, "launched": 0}]}
JSON
cat > after.json <<'JSON'
{"share_replayed": 0.25, "submissions": 500, "launches": 10, "cut_by": {"clFinish": 120, "clMap": 3}, "graphs": [
 {"fingerprint": "cc", "what": "axpy", "operations": 4, "recorded": 1, "bypassed": 0, "launched": 0},
 {"fingerprint": "aa", "what": "stencil x10", "operations": 10, "recorded": 3, "bypassed": 0, "launched": 30}]}
JSON
answers() {  # PATTERN COMMAND...: the first line says it, and all of it is a screen.
  local pattern=$1 output
  shift
  output=$("$@" 2>&1)
  if ! grep -qE -- "$pattern" <<<"${output%%$'\n'*}" || [ "$(wc -l <<<"$output")" -gt 40 ]; then
    printf 'FAILED: %s\n  expected /%s/ first, and at most 40 lines, got:\n%s\n' "$*" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}
answers '^25.0 % more submissions, a smaller share of them was replayed \(50.0 % -> 25.0 %\); of the graphs 1 is new, 1 is gone, 1 is there more or less often$' \
  "$refrain" diff before.json after.json
sed 's/0.25/0.50004/' after.json > nearly.json
answers '^25.0 % more submissions, the same share of them was replayed \(50.0 %\); ' "$refrain" diff before.json nearly.json
expect 0 '^Usage: refrain diff' "$refrain" diff --help
expect 2 'two files' "$refrain" diff before.json
# Which files, that they are of two commands, and numbers as other commands show them.
expect 1 '^after:  after.json$' "$refrain" diff before.json after.json
refuse 'different commands' "$refrain" diff before.json after.json
sed 's/"submissions": 500/"program": "other", "submissions": 1500000/' after.json > other.json
expect 1 '^these are runs of different commands$' "$refrain" diff before.json other.json
expect 1 '^after:  other.json, of other$' "$refrain" diff before.json other.json
expect 1 '^submissions: 400 -> 1 500 000 ' "$refrain" diff before.json other.json
expect 2 'missing.rfn' "$refrain" diff before.json missing.rfn
expect 0 '^nothing differs' "$refrain" diff before.json before.json
expect 1 '^submissions: 400 -> 500 \(\+25.0 %\)$' "$refrain" diff before.json after.json
expect 1 '^replayed: 50.0 % -> 25.0 %$' "$refrain" diff before.json after.json
expect 1 '^  clFinish: 100 -> 120 times$' "$refrain" diff before.json after.json
refuse 'clMap' "$refrain" diff before.json after.json
expect 1 '^  graph 1 \(10 operations: stencil x10\): came 23 -> 33 times$' "$refrain" diff before.json after.json
expect 1 '^  gone: graph 1 \(2 operations: residual\), came 3 times$' "$refrain" diff before.json after.json
expect 1 '^  new: graph 0 \(4 operations: axpy\), once$' "$refrain" diff before.json after.json
expect 1 '"fingerprint": "cc"' "$refrain" diff --json before.json after.json

# A budget: each bound that is broken is a line; one that nobody knows, or is no number, is wrong usage.
printf '# ours\nmax_submissions = 450\nmin_replayed = 0.4\nmax_graphs = 2\nmax_cuts = 103\n' > budget.toml
expect 0 'max_longest_us' "$refrain" check --help
expect 2 'missing.rfn' "$refrain" check budget.toml missing.rfn
expect 0 'before.json: within its budget \(4 bounds\)' "$refrain" check budget.toml before.json
expect 1 'after.json: max_submissions = 450, but it is 500' "$refrain" check budget.toml after.json
expect 1 'after.json: min_replayed = 0.4, but it is 0.25' "$refrain" check budget.toml after.json
expect 1 'after.json: max_cuts = 103, but it is 123' "$refrain" check budget.toml after.json
refuse 'max_graphs' "$refrain" check budget.toml after.json
expect 1 '"kept": false' "$refrain" check --json budget.toml after.json
echo 'max_longest_us = 5' > times.toml
expect 1 'the file does not tell it' "$refrain" check times.toml before.json
echo 'max_cut = 5' > wrong.toml
expect 2 "no use for 'max_cut'; the nearest is 'max_cuts'" "$refrain" check wrong.toml before.json
echo 'max_cuts = many' > wrong.toml
expect 2 'max_cuts is to be a number' "$refrain" check wrong.toml before.json
: > wrong.toml
expect 2 'bounds nothing' "$refrain" check wrong.toml before.json
expect 2 "can't read the budget 'missing.toml': No such file" "$refrain" check missing.toml before.json
expect 2 "'before.json' is no budget; usage: refrain check \[OPTIONS\] BUDGET FILE" "$refrain" check before.json budget.toml
expect 2 "'cut.rfn' is no budget" "$refrain" check cut.rfn budget.toml
echo 'min_replayed = 2' > wrong.toml
expect 2 'min_replayed is to be a number, 0 to 1' "$refrain" check wrong.toml before.json
printf 'max_cuts = 3\nmax_cuts = 4\n' > wrong.toml
expect 2 'more than one value of max_cuts' "$refrain" check wrong.toml before.json
expect 2 'a budget and a file' "$refrain" check budget.toml

# bench finds what it can't write, or not compare with, before it takes its time.
expect 2 '--sweep and --chunks exclude each other' "$refrain" bench --sweep --chunks 8 cut.rfn
expect 2 '--tolerance goes with --baseline' "$refrain" bench --tolerance 5 cut.rfn
expect 2 'standard output' "$refrain" bench --plot - --json cut.rfn
expect 2 'ends within its header' "$refrain" bench --sweep --plot new.svg cut.rfn
expect 1 'No such file' cat new.svg
expect 1 "'table.csv' is there already, and no picture of Refrain's" "$refrain" bench --plot table.csv cut.rfn
expect 1 "'page.html' is there already, and no picture of Refrain's" "$refrain" bench --plot page.html cut.rfn
expect 0 '^a,b$' cat table.csv
printf '<svg>\n<!-- refrain bench -->\n' > old.svg
expect 2 'ends within its header' "$refrain" bench --plot old.svg cut.rfn
expect 1 "can't write the picture to 'missing/p.svg': No such file" "$refrain" bench --plot missing/p.svg cut.rfn
expect 2 "can't read the baseline 'missing.json': " "$refrain" bench --baseline missing.json cut.rfn
expect 2 "the baseline 'table.csv' can't be used: it is no JSON" "$refrain" bench --baseline table.csv cut.rfn
expect 2 "the baseline 'before.json' can't be used: it is not what" "$refrain" bench --baseline before.json cut.rfn
echo '{"api": "opencl", "results": [{"graph": 1}]}' > old.json
expect 2 'an older Refrain printed it' "$refrain" bench --baseline old.json cut.rfn
expect 0 '4 if all were equal, but some are slower' "$refrain" bench --help

# Output that can't be written is a failure.
expect 1 "can't be written" sh -c '"$1" --help > /dev/full' x "$refrain"

[ "$failures" = 0 ] && echo 'all as expected'
exit $((failures > 0))
