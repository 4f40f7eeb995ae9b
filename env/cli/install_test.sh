#!/bin/bash
# An installed Refrain works from wherever it was put, without the build folder.
# shellcheck disable=SC2016
# Usage: install_test.sh CMAKE BUILD_FOLDER PROGRAM [FOLDER_OF_A_CUDA_DRIVER]
set -eu
cmake=$1
build=$2
program=$3
driver=${4-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset OPENCL_LAYERS LD_PRELOAD "${!REFRAIN_@}"
export REFRAIN_CONFIG=/dev/null  # not this machine's
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/a folder"
prefix="$work/a folder"
"$prefix/bin/refrain" --version
# Beside it: a page for each command, completions, and where programs find the header, wherever it lies.
[ -n "$(find "$prefix/share/man/man1" -name 'refrain-run.1*')" ] && [ -n "$(find "$prefix/share/man/man1" -name 'refrain.1*')" ]
for file in bash-completion/completions/refrain zsh/site-functions/_refrain fish/vendor_completions.d/refrain.fish; do
  [ -s "$prefix/share/$file" ]
done
if command -v pkg-config >/dev/null; then
  version=$("$prefix/bin/refrain" --version | sed -n '1s/^refrain \([^ ]*\) .*/\1/p')
  [ "$(PKG_CONFIG_PATH=$prefix/share/pkgconfig pkg-config --modversion refrain)" = "$version" ]
  headers=$(PKG_CONFIG_PATH=$prefix/share/pkgconfig pkg-config --variable=includedir refrain)
  [ "$(realpath -m "${headers//\\/}")" = "$prefix/include" ]
fi
"$prefix/bin/refrain" doctor -- "$program" | grep -F "$prefix/lib/refrain/librefrain_opencl.so"
# Through a link, as in /usr/local/bin.
ln -s "$prefix/bin/refrain" "$work/link"
[ "$("$work/link" run -- sh -c 'echo "$OPENCL_LAYERS"')" = "$prefix/lib/refrain/librefrain_opencl.so" ]
# LD_PRELOAD can't name a path with a blank: it gets that of a link to it.
if [ -f "$driver/libcuda.so.1" ] && [ -f "$prefix/lib/refrain/librefrain_cuda.so" ]; then
  preloaded=$(HOME=$work XDG_CACHE_HOME='' LD_LIBRARY_PATH=$driver "$prefix/bin/refrain" run -- sh -c 'echo "${LD_PRELOAD%%:*}"')
  [ "$(realpath "$preloaded")" = "$prefix/lib/refrain/librefrain_cuda.so" ] && [ "${preloaded#"$work/.cache/refrain/"}" != "$preloaded" ]
fi
# A path with a ':' can't be named in OPENCL_LAYERS, and without its layer nothing can run: both are said.
mv "$prefix" "$work/a:b"
! "$work/a:b/bin/refrain" run -- true 2>"$work/message" && grep -q "contains a ':'" "$work/message"
rm -r "$work/a:b/lib"
! "$work/a:b/bin/refrain" run -- true 2>"$work/message" && grep -q 'is missing' "$work/message"
echo 'all as expected'
