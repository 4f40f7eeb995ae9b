# An image for Podman, of the system that `run` was given; with the program and its driver below /driver.
# shellcheck shell=bash disable=SC2154,SC1091
[ -n "$system" ] || skip "there is no system for an image (run --system DIR)"
image=localhost/refrain-recipe-$$
trap 'podman rmi -f "$image" >/dev/null 2>&1 || true' EXIT
# Of this machine: what containers may not ask for where they are not wholly allowed.
cat >containers.conf <<'CONF'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
netns = "host"
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
events_logger = "file"
CONF
export CONTAINERS_CONF=$PWD/containers.conf
mkdir -p added/driver
cp -L "$driver"/*.so* app added/driver/
tar -C "$system" --exclude=./proc/* --exclude=./sys/* --exclude=./dev/* --exclude=./tests --exclude=./work --exclude=./opt/* \
  --exclude=./usr/share --exclude=./var --exclude='./usr/lib/*/libLLVM*' --exclude=./usr/lib/llvm* -cf image.tar .
tar -C added -rf image.tar driver
podman import image.tar "$image" >/dev/null || skip "podman makes no images here"
rm image.tar
# container FILE: runs the line in it, with that image and with the program in it.
container() {
  sed -e "s|IMAGE|$image|" -e 's|\./app|/driver/app|' \
    -e 's|podman run|& -e LD_LIBRARY_PATH=/driver -e REFRAIN_GATE=off|' "$1" >line.here
  bash line.here
}
