# The pod, played by Podman on this machine.
# shellcheck shell=bash disable=SC2154,SC1091
need podman catatonit
need_root
. "$(dirname "$page")/../test/recipes/image.sh"
block Kubernetes 1 | sed -e "s|IMAGE|$image|" -e "s|./app|/driver/app|" \
  -e 's|    command:|    env:\n    - {name: LD_LIBRARY_PATH, value: /driver}\n    - {name: REFRAIN_GATE, value: "off"}\n&|' >pod.yaml
grep -q "$prefix" pod.yaml || fail "no folder of Refrain in the pod"
podman kube play --network host pod.yaml >played 2>&1 || { cat played >&2; fail "podman kube play"; }
trap 'podman kube down pod.yaml >/dev/null 2>&1; podman rmi -f "$image" >/dev/null 2>&1 || true' EXIT
podman wait app-app >/dev/null
podman logs app-app >result 2>report
same_as_plain result
replayed report
