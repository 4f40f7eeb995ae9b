# What the recipes share. `run` sets: prefix (Refrain's folder), program, driver (the folder of its driver), system (a root
# folder for containers, or empty), page (docs/recipes.md). The working folder is a new one.
# shellcheck shell=bash disable=SC2154,SC1091
set -euo pipefail

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
# What is missing here is no fault of the recipe.
skip() {
  printf 'skipped: %s\n' "$*"
  exit 77
}
need() {
  local tool
  for tool in "$@"; do command -v "$tool" >/dev/null || skip "there is no $tool"; done
}
need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }

# block HEADING N: the Nth block of code below that heading of the page, for this Refrain.
block() {
  local text
  text=$(awk -v heading="## $1" -v wanted="$2" '
    /^## / { here = ($0 == heading) }
    here && /^```/ { if (inside) { inside = 0 } else { inside = 1; ++count; next } }
    here && inside && count == wanted' "$page")
  [ -n "$text" ] || fail "the page has no block $2 below '$1'"
  printf '%s\n' "${text//\/opt\/refrain/$prefix}"
}

# Whether the program's results are as without Refrain, and whether that had anything to do with it.
export LD_LIBRARY_PATH=$driver
export REFRAIN_GATE=off REFRAIN_CONFIG=/dev/null
unset LD_PRELOAD OPENCL_LAYERS
cp "$program" app
./app >plain
same_as_plain() { # FILE [COPIES]
  local i
  for ((i = 0; i < ${2:-1}; ++i)); do cat plain; done >wanted
  cmp "$1" wanted || fail "results in $1 differ from those without Refrain"
}
replayed() { grep -q 'replayed [1-9]' "$1" || { cat "$1" >&2; fail "nothing was replayed"; }; }
untouched() { ! grep -q refrain "$1" || { cat "$1" >&2; fail "Refrain was there"; }; }
