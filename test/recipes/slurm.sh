# A cluster of one node, this one, with ports and folders of its own; it ends with the test.
# shellcheck shell=bash disable=SC2154,SC1091
need munged slurmctld slurmd srun jq
need_root
here=$PWD
node=$(uname -n | cut -d. -f1)
end_cluster() {
  local numbers
  numbers=$(cat ./*.pid 2>/dev/null) || true
  # shellcheck disable=SC2086
  kill $numbers 2>/dev/null || true
  for ((i = 0; i < 100; ++i)); do
    # shellcheck disable=SC2086
    kill -0 $numbers 2>/dev/null || break
    sleep 0.1
  done
}
trap end_cluster EXIT
chmod 755 . # munge's socket is for everybody
(umask 077 && head -c 1024 /dev/urandom >key)
munged --force --key-file="$here/key" --socket="$here/munge" --pid-file="$here/munged.pid" --log-file="$here/munged.log" \
  --seed-file="$here/seed"
cat >slurm.conf <<CONF
ClusterName=recipes
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmctldPort=$((20000 + $$ % 20000))
SlurmdPort=$((40001 + $$ % 20000))
AuthInfo=socket=$here/munge
CredType=cred/munge
StateSaveLocation=$here
SlurmdSpoolDir=$here
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
ReturnToService=2
MessageTimeout=60
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=5 State=UP OverSubscribe=FORCE:4
CONF
export SLURM_CONF=$here/slurm.conf
slurmctld -L "$here/slurmctld.log" >&2
slurmd -L "$here/slurmd.log" -N "$node" >&2
for ((i = 0; i < 100; ++i)); do
  sinfo -h -o %T 2>/dev/null | grep -q idle && break
  sleep 0.2
done
[ "$i" -lt 100 ] || { tail -n 20 ./*.log >&2; fail "the node of this test's cluster does not come up"; }
export SLURM_OVERCOMMIT=1 SLURM_CPU_BIND=none
block Slurm 1 >line
timeout 120 bash line >result 2>report || { cat report ./slurm*.log >&2; fail "srun"; }
same_as_plain result 4
for rank in 0 1 2 3; do
  "$prefix/bin/refrain" dump app.*."$rank".rfn >dump || fail "rank $rank has no capture"
done
block Slurm 2 >line
timeout 120 bash line >result 2>report || { cat report ./slurm*.log >&2; fail "srun --export"; }
same_as_plain result 4
[ "$(grep -c 'report (replay' report)" = 4 ] || { cat report >&2; fail "not every rank had Refrain"; }
replayed report
