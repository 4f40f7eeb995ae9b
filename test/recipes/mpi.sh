# Four ranks of Open MPI, each with a capture of its own.
# shellcheck shell=bash disable=SC2154,SC1091
need mpirun
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_plm_rsh_agent=
block MPI 1 >line
bash line >result 2>report
same_as_plain result 4
for rank in 0 1 2 3; do
  "$prefix/bin/refrain" dump "app.$(uname -n).$rank.rfn" >dump || fail "rank $rank has no capture"
  grep -qi graph dump || fail "nothing is in the capture of rank $rank"
done
