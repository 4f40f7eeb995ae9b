#!/bin/bash
# `refrain doctor` on this machine's OpenCL: proof that the layer is in, and the reasons when it is not.
# shellcheck disable=SC2016
# Usage: doctor_test.sh REFRAIN PROGRAM STATIC_PROGRAM (PROGRAM makes an OpenCL call and then executes
# the command in its arguments; STATIC_PROGRAM is linked statically)
set -u
refrain=$1
program=("$2" true)
static=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset OPENCL_LAYERS LD_PRELOAD "${!REFRAIN_@}"
export REFRAIN_CONFIG=/dev/null  # not this machine's
# An instrumented library cannot be preloaded into programs that are not, like sh.
if [ -n "${SANITIZED:-}" ]; then
  export REFRAIN_HIP=off
fi
failures=0

expect() {  # STATUS PATTERN COMMAND...
  local status=$1 pattern=$2 output actual
  shift 2
  output=$("$@" 2>errors)
  actual=$?
  if [ "$actual" != "$status" ] || ! grep -qE -- "$pattern" <<<"$output"; then
    printf 'FAILED: %s\n  expected status %s and /%s/, got status %s and:\n%s\n%s\n' "$*" "$status" "$pattern" "$actual" "$output" "$(cat errors)"
    failures=$((failures + 1))
  fi
}

expect 0 '^  hooked +yes: refrain layer active [0-9.]+ opencl entries=[1-9][0-9]* target=[1-9][0-9]*$' "$refrain" doctor
expect 0 '^  loader +/.*libOpenCL\.so\.1.*knows layers$' "$refrain" doctor
expect 0 'cl_khr_command_buffer [0-9.]+, capabilities:' "$refrain" doctor
expect 0 '^  setting +environment: there is no setting REFRAIN_MOD; the nearest is REFRAIN_MODE' env REFRAIN_MOD=x "$refrain" doctor
expect 0 '^True$' python3 -c "
import json, subprocess
found = json.loads(subprocess.run(['$refrain', 'doctor', '--json', '--', '${program[0]}', 'true'], capture_output=True, check=True).stdout)
print(found['opencl']['hooked'] and found['command']['hooked'] and len(found['opencl']['found']['platforms']) > 0)"

# Where nothing would be held.
expect 0 '^  aside +AMD_SERIALIZE_KERNEL=1 asks for work that is done when its call returns: nothing is held' env AMD_SERIALIZE_KERNEL=1 "$refrain" doctor

# Beside other layers, also one that can't be loaded.
expect 0 'hooked +yes: refrain layer active' env OPENCL_LAYERS=/nowhere.so "$refrain" doctor -- "${program[@]}"

# In commands: direct, through a shell, without following.
expect 0 'ended +exit status 0' "$refrain" doctor -- "${program[@]}"
expect 0 'hooked +yes: .*active' "$refrain" doctor -- sh -c "${program[*]}; true"
expect 1 'hooked +no: the layer is loaded, but switched off' "$refrain" doctor --off
expect 1 'hooked +no: the layer is loaded, but switched off' "$refrain" doctor --no-follow-children -- sh -c "${program[*]}; true"
expect 1 'hooked +no: no process of it loads an OpenCL loader' "$refrain" doctor -- true
expect 1 'hooked +no: there is no such command' "$refrain" doctor -- ./missing
expect 1 'hooked +no: it is statically linked' "$refrain" doctor -- "$static"
expect 0 'ended +it ran for 1 s and was ended' "$refrain" doctor --seconds 1 -- "${program[0]}" sleep 100
mkdir temporary
expect 0 'ended +exit status 0' env TMPDIR="$work/temporary" "$refrain" doctor -- "${program[@]}"
if [ -n "$(ls -A temporary)" ]; then
  echo "FAILED: doctor leaves $(ls temporary) behind"
  failures=$((failures + 1))
fi
expect 1 'ended +exit status 7' "$refrain" doctor -- sh -c 'exit 7'
expect 1 'ended +killed by' "$refrain" doctor -- sh -c 'kill -9 $$'
expect 1 'hooked +no: .*no OpenCL platform was found' env OCL_ICD_VENDORS="$work" OPENCL_VENDOR_PATH="$work" "$refrain" doctor
printf '#!/bin/sh\nexit 0\n' > script
expect 1 'hooked +no: it is not executable' "$refrain" doctor -- ./script
chmod +x script
expect 1 'script \(a script, run by /bin/sh\)' "$refrain" doctor -- ./script

# A driver that is named but not there.
mkdir vendors
echo libnowhere.so.1 > vendors/nowhere.icd
expect 1 'vendors/nowhere.icd names libnowhere.so.1: .*cannot open shared object' env OPENCL_VENDOR_PATH="$work/vendors" OCL_ICD_VENDORS="$work/vendors" "$refrain" doctor

[ "$failures" = 0 ] && echo 'all as expected'
exit $((failures > 0))
