#!/usr/bin/env bash
# Runs a command with an image and container engines to test against: tests/sandboxes/engines.sh [COMMAND…]
# As root on Debian: builds the image with debootstrap (no registry is asked), starts a docker daemon of its own, lets
# podman use folders of its own, and takes all of it away again. Engines that do not start are said; their tests skip
# with the probe's reason. Without a command it prints the variables to set and leaves everything running.
# ENGINES="docker podman" and IMAGE_TARBALL=FILE (kept from an earlier run) shorten it.
set -uo pipefail

HERE="$(cd "$(dirname "$0")" && pwd)"
BASE="${ENGINES_BASE:-$(mktemp -d /var/tmp/skilltrial-engines-XXXXXX)}"
ENGINES="${ENGINES:-docker podman}"
TARBALL="${IMAGE_TARBALL:-$BASE/image.tar}"
PATIENCE="${ENGINES_PATIENCE:-600}" # seconds for the image
export SKILLTRIAL_TEST_IMAGE=skilltrial-test:1

say() { echo "engines: $*" >&2; }

cleaned() {
  if [[ -f "$BASE/docker.pid" ]]; then
    kill "$(cat "$BASE/docker.pid")" 2>/dev/null
    for _ in $(seq 100); do [[ -f "$BASE/docker.pid" ]] || break; sleep 0.1; done
  fi
  [[ " $ENGINES " == *" podman "* ]] && command -v podman >/dev/null && podman rm --all --force >/dev/null 2>&1
  for _ in $(seq 20); do
    grep -o " $BASE[^ ]*" /proc/mounts | sort -r | xargs -r umount 2>/dev/null
    grep -q " $BASE" /proc/mounts || break
    sleep 0.1
  done
  rm -rf --one-file-system "$BASE"
}
((${#@})) && trap cleaned EXIT

programs() {
  local wanted=()
  command -v debootstrap >/dev/null || wanted+=(debootstrap)
  command -v bwrap >/dev/null || wanted+=(bubblewrap)
  if [[ " $ENGINES " == *" docker "* ]] && ! command -v dockerd >/dev/null; then wanted+=(docker.io); fi
  if [[ " $ENGINES " == *" podman "* ]]; then
    command -v podman >/dev/null || wanted+=(podman)
    command -v runc >/dev/null || wanted+=(runc)
    [[ -x /usr/libexec/podman/catatonit ]] || command -v catatonit >/dev/null || wanted+=(catatonit)
  fi
  ((${#wanted[@]})) || return 0
  [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null || { say "missing here: ${wanted[*]}"; return 0; }
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends "${wanted[@]}" >"$BASE/apt.log" 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${wanted[@]}" >"$BASE/apt.log" 2>&1; } ||
    say "could not install ${wanted[*]}: $(tail -n 1 "$BASE/apt.log")"
}

image() {
  [[ -f "$TARBALL" ]] && return
  local suite
  suite="$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")"
  timeout "$PATIENCE" debootstrap --variant=minbase --include=python3 "$suite" "$BASE/rootfs" >"$BASE/image.log" 2>&1 ||
    { say "no image: $(tail -n 1 "$BASE/image.log")"; return 1; }
  rm -rf "$BASE"/rootfs/var/cache/apt/archives/*.deb "$BASE"/rootfs/var/lib/apt/lists/*
  tar -C "$BASE/rootfs" -cf "$TARBALL" . && rm -rf "$BASE/rootfs"
}

docker_engine() {
  export DOCKER_HOST="unix://$BASE/docker.sock"
  setsid dockerd --data-root "$BASE/docker" --exec-root "$BASE/exec" --pidfile "$BASE/docker.pid" -H "$DOCKER_HOST" \
    --bridge=none --iptables=false --ip6tables=false >"$BASE/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 60); do docker version >/dev/null 2>&1 && break; sleep 0.5; done
  docker import "$TARBALL" "$SKILLTRIAL_TEST_IMAGE" >/dev/null 2>"$BASE/docker.log" ||
    say "docker does not start: $(tail -n 1 "$BASE/dockerd.log")"
}

podman_engine() {
  export CONTAINERS_CONF="$BASE/containers.conf" CONTAINERS_STORAGE_CONF="$BASE/storage.conf"
  # runc and ulimits of its own: crun asks for more than some machines have
  cat >"$CONTAINERS_CONF" <<CONF
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
CONF
  local driver
  for driver in overlay vfs; do
    printf '[storage]\ndriver = "%s"\nrunroot = "%s"\ngraphroot = "%s"\n' "$driver" "$BASE/run-$driver" "$BASE/podman-$driver" \
      >"$CONTAINERS_STORAGE_CONF"
    podman import "$TARBALL" "$SKILLTRIAL_TEST_IMAGE" >/dev/null 2>"$BASE/podman.log" &&
      podman run --rm --network none "$SKILLTRIAL_TEST_IMAGE" true 2>"$BASE/podman.log" && return
  done
  say "podman does not start: $(tail -n 1 "$BASE/podman.log")"
}

mkdir -p "$BASE"
programs
if image; then
  for engine in $ENGINES; do
    if command -v "$engine" >/dev/null; then "${engine}_engine"; else say "no $engine here"; fi
  done
fi
if ((${#@})); then
  cd "$HERE/../.." && "$@"
else
  env | grep -E '^(SKILLTRIAL_TEST_IMAGE|DOCKER_HOST|CONTAINERS_CONF|CONTAINERS_STORAGE_CONF)=' | sed 's/^/export /'
  echo "# when done: kill \$(cat $BASE/docker.pid); rm -rf $BASE"
fi
