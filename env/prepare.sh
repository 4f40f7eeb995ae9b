# Sourced by env/demo, env/test and env/lint: packages, configuring, building. Needs no input.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export DEBIAN_FRONTEND=noninteractive
exec </dev/null

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Installs what is missing of the packages in env/packages.txt and says so.
install_packages() {
  command -v dpkg-query >/dev/null ||
    fail "this script installs Debian packages; elsewhere install what env/packages.txt names and use CMake itself"
  local package missing=()
  while read -r package; do
    is_installed "$package" || missing+=("$package")
  done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$root/env/packages.txt")
  if [ ${#missing[@]} = 0 ]; then
    say "packages: all there"
    return
  fi
  say "packages: installing ${missing[*]}"
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    fail "run as root, or install first: apt-get install ${missing[*]}"
  fi
  # The lists may be missing (container images) or old: fetch them only if that is so.
  as_root apt-get install -y -q --no-install-recommends "${missing[@]}" ||
    { as_root apt-get update -q && as_root apt-get install -y -q --no-install-recommends "${missing[@]}"; } ||
    fail "installing packages failed: ${missing[*]}"
}

# PoCL compiles kernels into a cache below the home folder; a build user may have none that can be written.
if [ ! -w "${XDG_CACHE_HOME:-${HOME:-/nonexistent}}" ]; then
  XDG_CACHE_HOME=$(mktemp -d)
  export XDG_CACHE_HOME
  export CCACHE_DIR="$XDG_CACHE_HOME/ccache"
  trap 'rm -rf "$XDG_CACHE_HOME"' EXIT
fi

jobs=$(nproc)

# Sets `build` to a folder for the preset: build/PRESET, or one of this user's own if another user made that.
choose_build_folder() {
  local preset=$1
  build=$root/build/$preset
  mkdir -p "$build" 2>/dev/null || true
  if [ ! -w "$build" ] || [ -n "$(find "$build" ! -writable -print -quit 2>/dev/null)" ]; then
    say "$build belongs to another user; building in build-$(id -un) instead"
    build=$root/build-$(id -un)/$preset
    mkdir -p "$build"
  fi
}

# build_preset PRESET [TARGET...]: configures and builds (everything without targets) in the folder $build.
build_preset() {
  local preset=$1 options=() target targets=()
  shift
  choose_build_folder "$preset"
  # Made from another place, for example of a copied tree: start anew.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    options+=(--fresh)
  fi
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  for target in "$@"; do targets+=(--target "$target"); done
  say "building preset $preset in $build"
  (cd "$root" && cmake --preset "$preset" -B "$build" "${options[@]}" >"$build/configure.log" 2>&1) ||
    { cat "$build/configure.log" >&2; fail "configuring failed"; }
  cmake --build "$build" -j "$jobs" "${targets[@]}" >"$build/build.log" 2>&1 ||
    { tail -n 100 "$build/build.log" >&2; fail "building failed; all output is in $build/build.log"; }
}
