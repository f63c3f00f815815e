#!/usr/bin/env bash
# service_systemd.sh BUILD: skeind by its units, as the package installs them, under a systemd that is process 1 of a PID
# namespace. The first process that connects has systemd start it, as a user of its own that has the RDMA device alone. It
# serves calls of a user who may lock no memory; killed, it comes again; stopped, the socket has systemd start it anew.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

BUILD=$1
UNITS=/run/systemd/system
PACKAGING=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../../packaging/debian")

install_units() {
  mkdir -p "$UNITS"
  cp "$BUILD/tools/skeind/skeind" /usr/sbin/skeind
  cp "$PACKAGING/skein-tools.skeind.service" "$UNITS/skeind.service"
  cp "$PACKAGING/skein-tools.skeind.socket" "$UNITS/skeind.socket"
  printf '[Unit]\nRequires=skeind.socket dbus.socket\nAfter=skeind.socket\n' >"$UNITS/skein-test.target"
  chmod 666 /dev/infiniband/* # rdma-core's udev rules; no udev runs here
}

start_systemd() {
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  unshare --pid --fork --mount --mount-proc --propagation unchanged \
    env -i container=unshare /lib/systemd/systemd --unit=skein-test.target --log-target=console \
    >"$VM_RESULTS/systemd.log" 2>&1 &
  local outside=$!
  within 10 has_child "$outside" || fail "systemd does not start: $(cat "$VM_RESULTS/systemd.log")"
  within 120 is_listening || fail "systemd does not listen: $(tail -n 40 "$VM_RESULTS/systemd.log")"
}

has_child() { systemd=$(pgrep -P "$1"); }
# systemd heeds those alone whose process number it knows.
ask_systemd() { nsenter --target "$systemd" --pid --mount systemctl "$@"; }
is_listening() { [[ $(ask_systemd is-active skeind.socket 2>/dev/null) == active ]]; }
serves() { [[ $(ask_systemd is-active skeind.service) == active ]]; }

# calls NAME
calls() {
  as_nobody env SKEIN_SHM=off "$BUILD/tests/system/load/grpc_load" --mode=require --targets="$VM_ADDRESS:50071" --connections=2 --calls_each=50 \
    --threads=2 --most_bytes=65536 --connecting=10s --deadline=10s --hurried=0 </dev/zero >"$VM_RESULTS/$1" 2>"$VM_RESULTS/$1.log"
}

# While systemd starts skeind, some calls may find it silent.
expect_calls() {
  within 60 uses_skeind "$1" || fail "$1: $(cat "$VM_RESULTS/$1"; tail -n 30 "$VM_RESULTS/$1.log"; ask_systemd status skeind.service)"
  echo "$1: $(cat "$VM_RESULTS/$1")"
}

uses_skeind() { calls "$1" && grep -q '"rdma via skeind:rxe0/1' "$VM_RESULTS/$1"; }

for program in /lib/systemd/systemd pgrep; do
  command -v "$program" >/dev/null || fail "there is no $program: install systemd and procps on the host"
done
install_units
start_systemd
if serves; then fail "skeind runs before anybody has connected"; fi
as_nobody env SKEIN_SHM=off "$BUILD/tests/system/load/grpc_load" --mode=prefer --serve="$VM_ADDRESS:50071" </dev/zero >"$VM_RESULTS/server.log" 2>&1 &
await_listener 50071
expect_calls first
(($(ps -o uid= -C skeind) != 0)) || fail "skeind runs as root"
ask_systemd kill --signal KILL skeind.service
expect_calls killed
ask_systemd stop skeind.service
expect_calls stopped
ask_systemd restart skeind.service
expect_calls restarted
