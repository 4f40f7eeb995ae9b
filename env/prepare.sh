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

# Of any architecture.
is_installed() { [[ " $(dpkg-query -W -f '${db:Status-Status} ' "$1" 2>/dev/null)" == *" installed "* ]]; }

# Prints the packages of Fedora, RHEL and their like, for people who install them by hand.
name_other_packages() {
  local names
  names=$(sed -e 's/#.*//' -e '/|/!d' -e 's/^[^|]*| *\([^|]*\).*/\1/' "$root/env/packages.txt" | tr '\n' ' ' | tr -s ' ')
  if command -v dnf >/dev/null; then
    fail "this script installs packages of Debian and Ubuntu. Here: dnf install $names(RHEL: with EPEL and CRB), then cmake --preset release && cmake --build --preset release"
  fi
  fail "this script installs packages of Debian and Ubuntu. Elsewhere install what env/packages.txt names (Fedora: $names), then cmake --preset release && cmake --build --preset release"
}

has_candidate() { [[ "$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)" =~ Candidate:\ [^\(] ]]; }

# Headers that older systems have no package of, or too old ones: Debian 12's, by their path in Debian's archive and SHA-256.
declare -A headers=(
  [libcli11-dev]='pool/main/c/cli11/libcli11-dev_2.1.2+ds-1_all.deb f1f6ee9ec053e0e0bcec47345e241b6a8ee006321248b4329e9ce88d2b4b64a8'
  [opencl-c-headers]='pool/main/k/khronos-opencl-headers/opencl-c-headers_3.0~2023.02.06-1_all.deb 81fedfd0a14a0694c4f6097faea417e1d9afc0c80cb41aa9e7b65e2c51f5fc4b'
)

# unpack_headers NAME: into build/packages, where CMake looks first then.
unpack_headers() {
  local folder=$root/build/packages path sum file
  read -r path sum <<<"${headers[$1]}"
  file=$folder/$(basename "$path")
  if [ ! -d "$folder/$1" ]; then
    say "packages: this system has no $1, or an old one; unpacking Debian 12's into build/packages"
    mkdir -p "$folder"
    /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User="$(id -un)" download-file "http://deb.debian.org/debian/$path" "$file" "SHA256:$sum" ||
      fail "could not get http://deb.debian.org/debian/$path"
    dpkg-deb -x "$file" "$folder/$1"
  fi
  export CMAKE_PREFIX_PATH="$folder/$1/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
}

# Installs what is missing of the packages in env/packages.txt and says so.
install_packages() {
  install_missing_packages
  # OpenCL's headers before 3.0 say nothing of layers.
  if [ -f /usr/include/CL/cl.h ] && [ ! -f /usr/include/CL/cl_layer.h ]; then unpack_headers opencl-c-headers; fi
}

install_missing_packages() {
  command -v dpkg-query >/dev/null || name_other_packages
  local line package without missing=() absent=()
  local -A left_out=()
  while read -r line; do
    package=${line%% *}
    without=$(sed -n 's/^[^|]*|[^|]*| *//p' <<<"$line")
    is_installed "$package" && continue
    missing+=("$package")
    left_out[$package]=$without
  done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$root/env/packages.txt")
  if [ ${#missing[@]} = 0 ]; then
    say "packages: all there"
    return
  fi
  # The lists may be missing (container images) or old.
  for package in "${missing[@]}"; do has_candidate "$package" || absent+=("$package"); done
  if [ ${#absent[@]} != 0 ]; then
    say "packages: fetching the lists of this system's packages"
    can_install "${missing[@]}"
    as_root apt-get update -q || fail "apt-get update failed"
  fi
  local wanted=()
  for package in "${missing[@]}"; do
    if has_candidate "$package"; then
      wanted+=("$package")
    elif [ -n "${headers[$package]-}" ]; then
      unpack_headers "$package"
    elif [ -n "${left_out[$package]}" ]; then
      echo "   $package is no package of this system; left out: ${left_out[$package]}"
    else
      fail "$package is no package of this system"
    fi
  done
  if [ ${#wanted[@]} = 0 ]; then
    say "packages: all there that this system has"
    return
  fi
  can_install "${wanted[@]}"
  say "packages: installing ${wanted[*]}"
  as_root apt-get install -y -q --no-install-recommends "${wanted[@]}" ||
    { as_root apt-get update -q && as_root apt-get install -y -q --no-install-recommends "${wanted[@]}"; } ||
    fail "installing packages failed: ${wanted[*]}"
}

can_install() {
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    fail "run as root, or install first: apt-get install $*"
  fi
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

# The options that configure a preset, one per line; CMake before 3.25 cannot read ours.
options_of_preset() {
  local version
  version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
  if [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" = 3.25 ]; then
    printf '%s\n' --preset "$1"
    return
  fi
  python3 - "$root/CMakePresets.json" "$1" <<'PYTHON'
import json
import sys

presets = {preset["name"]: preset for preset in json.load(open(sys.argv[1]))["configurePresets"]}
print("-G", presets["base"]["generator"], sep="\n")
for name, value in presets[sys.argv[2]]["cacheVariables"].items():
    print(f"-D{name}={value}")
PYTHON
}

# build_preset PRESET [TARGET...]: configures and builds (everything without targets) in the folder $build.
build_preset() {
  local preset=$1 options=(-DREFRAIN_UNITY=ON) target targets=()
  shift
  choose_build_folder "$preset"
  # Made from another place, for example of a copied tree: start anew.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fi
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  for target in "$@"; do targets+=(--target "$target"); done
  say "building preset $preset in $build"
  mapfile -t preset_options < <(options_of_preset "$preset")
  (cd "$root" && cmake "${preset_options[@]}" -B "$build" "${options[@]}" >"$build/configure.log" 2>&1) ||
    { cat "$build/configure.log" >&2; fail "configuring failed"; }
  grep -E 'not (found|built)|left out' "$build/configure.log" | sed 's/^-- /   /' || true
  cmake --build "$build" -j "$jobs" "${targets[@]}" >"$build/build.log" 2>&1 ||
    { tail -n 100 "$build/build.log" >&2; fail "building failed; all output is in $build/build.log"; }
}
