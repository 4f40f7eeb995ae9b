# Podman: the entry point and a CDI device. The image is a system without anything of ours, older than this one if it can be.
# shellcheck shell=bash disable=SC2154,SC1091
need podman jq
need_root
. "$(dirname "$page")/../test/recipes/image.sh"
block Containers 1 >line
container line >result 2>report
same_as_plain result
replayed report

# Where Podman looks for devices; not over one that is there.
if [ ! -e /etc/cdi/refrain.json ]; then
  trap 'rm -f /etc/cdi/refrain.json; podman rmi -f "$image" >/dev/null 2>&1 || true' EXIT
  block Containers 3 >line
  bash line
  block Containers 4 >line
  container line >result 2>report
  same_as_plain result
  replayed report
fi
