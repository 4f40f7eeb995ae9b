#!/bin/bash
# What is made of the tables of options: shells take the completions and complete with them, man shows the pages without a
# warning, and --version knows what was built of what. What this machine has no program for is skipped, and said.
# shellcheck disable=SC2016
# Usage: pages_test.sh REFRAIN SOURCE_FOLDER CMAKE
set -u
refrain=$1
source=$2
cmake=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset OPENCL_LAYERS LD_PRELOAD "${!REFRAIN_@}"
export REFRAIN_CONFIG=/dev/null  # not this machine's
failures=0
fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}
same() {  # WHAT WANTED FOUND
  [ "$2" = "$3" ] || fail "$1: wanted '$2', found '$3'"
}
has() {  # TOOL...: whether all are here
  local tool
  for tool in "$@"; do command -v "$tool" >/dev/null || { echo "skipped: there is no $tool here"; return 1; }; done
}

"$refrain" pages made || fail 'refrain pages'
for shell in bash zsh fish; do "$refrain" completion $shell >$shell.script || fail "refrain completion $shell"; done
cmp bash.script made/bash-completion/completions/refrain || fail 'bash: not the same script'
cmp zsh.script made/zsh/site-functions/_refrain || fail 'zsh: not the same script'
cmp fish.script made/fish/vendor_completions.d/refrain.fish || fail 'fish: not the same script'
"$refrain" completion tcsh 2>message && fail 'tcsh has no completion'
grep -q "no completion for 'tcsh'" message || fail "what is said of tcsh: $(cat message)"

# bash: what it offers for a line, of which the last word is being written; '=' is a word of its own, as bash has it.
completed() {
  bash --norc -c 'source bash.script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _refrain; echo "${COMPREPLY[*]}"' bash "$@"
}
bash -n bash.script || fail 'bash does not take the script'
same 'refrain ru' run "$(completed refrain ru)"
same 'refrain --v' --version "$(completed refrain --v)"
same 'a hidden command' '' "$(completed refrain touch)"
same 'run --mod' --mode "$(completed refrain run --mod)"
same 'run --mode o' 'off observe' "$(completed refrain run --mode o)"
same 'run --mode=' 'off observe capture replay verify' "$(completed refrain run --mode =)"
same 'run --mode=v' verify "$(completed refrain run --mode = v)"
same 'run --no-rep' --no-report "$(completed refrain run --no-rep)"
same 'run --report=' 'on off' "$(completed refrain run --report =)"
same 'run --report --mo' --mode "$(completed refrain run --report --mo)"
same 'run --hold-limit-us' '' "$(completed refrain run --hold-limit-us '')"
touch some.rfn other.rfn
same 'dump som' some.rfn "$(completed refrain dump som)"
same 'dump --j' --json "$(completed refrain dump --j)"
same 'run -o som' some.rfn "$(completed refrain run -o som)"
same 'completion' 'bash zsh fish' "$(completed refrain completion '')"
completed refrain run -- bas | grep -qw bash || fail 'run --: no command is offered'
same 'run -- cat som' some.rfn "$(completed refrain run -- cat som)"
# Every option that a command has is offered.
for command in run env doctor settings dump report bench; do
  for option in $("$refrain" $command --help | grep -oE '^ +(-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
    completed refrain $command "$option" | grep -qw -e "$option" || fail "bash: $command $option is not offered"
  done
done

if has zsh; then
  zsh -n zsh.script || fail 'zsh does not take the script'
  zsh -fc 'autoload -U compinit; compinit -D; source ./zsh.script; whence _refrain >/dev/null; echo $_comps[refrain]' >out 2>&1
  same 'zsh: whose completion it is' _refrain "$(cat out)"
fi
if has fish; then
  fish -n fish.script || fail 'fish does not take the script'
  offered() { HOME=$work fish --no-config -c 'source fish.script; complete -C "$argv"' "$1" | cut -f 1 | paste -sd ' '; }
  same 'fish: refrain ru' run "$(offered 'refrain ru')"
  same 'fish: run --mode o' 'observe off' "$(offered 'refrain run --mode o' | tr ' ' '\n' | sort | paste -sd ' ')"
fi

# Pages: one per command, that every reader takes as it is, with all settings in the first.
for command in run env doctor settings dump report completion; do
  [ -f made/man/man1/refrain-$command.1 ] || fail "there is no page of $command"
done
for page in made/man/man1/*.1; do
  if has man; then
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | grep . && fail "man warns of $page"
  fi
  if has groff; then groff -man -ww -z "$page" 2>&1 | grep . && fail "groff warns of $page"; fi
  if has lexgrog; then lexgrog "$page" >/dev/null || fail "whatis cannot read $page"; fi
done
if has man; then
  LC_ALL=C.UTF-8 MANWIDTH=200 man -l made/man/man1/refrain.1 2>/dev/null | col -b >page
  for option in $("$refrain" settings --json | grep -oE '"name": "[a-z_0-9]+"' | cut -d '"' -f 4 | tr _ -); do
    grep -q -- "--$option" page || fail "refrain(1) does not tell of --$option"
  done
  LC_ALL=C.UTF-8 MANWIDTH=200 man -l made/man/man1/refrain-run.1 2>/dev/null | col -b >page
  grep -q -- '^ *refrain run \[OPTIONS\] -- COMMAND' page || fail 'refrain-run(1) does not show how it is called'
  grep -q -- '-o, --output FILE' page || fail 'refrain-run(1) does not tell of --output'
fi

# --version: a commit and what is built in, for people and programs.
"$refrain" --version >version
grep -qE '^refrain [0-9.]+ \([0-9a-f]{7,}(-dirty)?\)$|^refrain [0-9.]+ \(commit unknown\)$' version || fail "--version begins with $(head -n 1 version)"
grep -qE '^glibc +2\.[0-9]+ or newer; this is 2\.[0-9]+' version || fail 'which glibc it needs is not told'
grep -q '^built in .*OpenCL' version || fail 'what is built in is not told'
grep -q '^compiler ' version || fail 'the compiler is not told'
python3 -c '
import json, sys
told = json.load(open(sys.argv[1]))
assert "OpenCL" in told["built"] and set(told) == {"version", "commit", "built", "not_built", "compiler", "glibc"}, told
' <("$refrain" --version --json) || fail '--version --json'
"$refrain" --version --jso 2>message && fail 'what is behind --version is not looked at'
grep -q -- '--version takes --json' message || fail "what is said of it: $(cat message)"

# The commit: of the tree's own repository, written only if it is another one, and known to archives of the source.
if has git; then
  export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
  mkdir -p tree/env/cli
  cp "$source/env/cli/commit.txt" tree/env/cli/
  cp "$source/.gitattributes" tree/
  cd tree || exit 1
  git init -q . && git add . && git commit -qm x
  ask() { "$cmake" -DSOURCE="$1" -DOUTPUT="$work/commit.h" -P "$source/env/cli/commit.cmake" && cut -d '"' -f 2 "$work/commit.h"; }
  commit=$(git rev-parse --short=12 HEAD)
  same 'commit of a repository' "$commit" "$(ask "$work/tree")"
  touch -d @1000 "$work/commit.h"
  ask "$work/tree" >/dev/null
  same 'written again though it is the same' 1000 "$(stat -c %Y "$work/commit.h")"
  echo >>.gitattributes
  same 'commit of a changed tree' "$commit-dirty" "$(ask "$work/tree")"
  mkdir unpacked
  git archive HEAD | tar -x -C unpacked
  same 'commit of an archive, in another repository' "$(git rev-parse --short HEAD)" "$(ask "$work/tree/unpacked")"
  printf '$%s$\n' 'Format:%h' >unpacked/env/cli/commit.txt
  same 'commit of a copy without git' '' "$(ask "$work/tree/unpacked")"
fi

[ "$failures" = 0 ] && echo 'all as expected'
exit $((failures > 0))
