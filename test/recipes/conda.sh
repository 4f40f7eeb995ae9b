# A conda environment: its folders, the scripts it runs, a C++ library that is not the system's.
# shellcheck shell=bash disable=SC2154,SC1091
export CONDA_PREFIX=$PWD/env
mkdir -p "$CONDA_PREFIX"/{lib,etc/conda/activate.d,etc/conda/deactivate.d}
block Conda 1 >"$CONDA_PREFIX/etc/conda/activate.d/refrain.sh"
block Conda 2 >"$CONDA_PREFIX/etc/conda/deactivate.d/refrain.sh"
[ -z "$other_library" ] || cp -L "$other_library" "$CONDA_PREFIX/lib/"
export LD_LIBRARY_PATH=$CONDA_PREFIX/lib:$LD_LIBRARY_PATH
# Only what is exported: shells have words of their own.
environment() { env | grep -vE '^(_|SHLVL)=' | sort; }
environment >before
. "$CONDA_PREFIX/etc/conda/activate.d/refrain.sh"
./app >result 2>report
. "$CONDA_PREFIX/etc/conda/deactivate.d/refrain.sh"
environment >after
same_as_plain result
replayed report
cmp before after || fail "leaving the environment left something behind"
./app >result 2>report
untouched report
