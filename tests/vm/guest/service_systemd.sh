#!/usr/bin/env bash
# service_systemd.sh BUILD: skeind by its units, as the package installs them, under a systemd that is process 1 of a PID
# namespace. The first process that connects has systemd start it, as a user of its own that has the RDMA device alone. It
# serves calls of a user who may lock no memory; killed, it comes again; stopped, the socket has systemd start it anew.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

BUILD=$1
UNITS=/run/systemd/system
PACKAGING=$(realpath "$VM_SOURCE/../../packaging")

install_units() {
  mkdir -p "$UNITS"
  cp "$BUILD/tools/skeind/skeind" /usr/sbin/skeind
  cp "$PACKAGING/debian/skein-tools.skeind.service" "$UNITS/skeind.service"
  cp "$PACKAGING/debian/skein-tools.skeind.socket" "$UNITS/skeind.socket"
  printf '[Unit]\nRequires=skeind.socket dbus.socket\nAfter=skeind.socket\n' >"$UNITS/skein-test.target"
  chmod 666 /dev/infiniband/* # rdma-core's udev rules; no udev runs here
}

start_systemd() {
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  unshare --pid --fork --mount --mount-proc --propagation unchanged \
    env -i container=unshare /lib/systemd/systemd --unit=skein-test.target --log-target=console \
    >"$VM_RESULTS/systemd.log" 2>&1 &
  within 120 is_listening || fail "systemd does not listen: $(tail -n 40 "$VM_RESULTS/systemd.log")"
}

is_listening() { [[ $(systemctl is-active skeind.socket 2>/dev/null) == active ]]; }
skeind_pid() { systemctl show --property MainPID --value skeind.service; }
serves() { [[ $(systemctl is-active skeind.service) == active ]]; }

# as_nobody COMMAND...: over RDMA by way of skeind alone.
as_nobody() {
  (
    ulimit -l 0
    exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
      env SKEIN_SHM=off SKEIN_RDMA=service SKEIN_NEGOTIATION_TIMEOUT=20000 SKEIN_RDMA_RETRY_DELAY=500 "$@"
  )
}

# calls NAME
calls() {
  as_nobody "$BUILD/tests/load/grpc_load" --mode=require --targets="$VM_ADDRESS:50071" --connections=2 --calls_each=50 \
    --threads=2 --most_bytes=65536 --connecting=10s --deadline=10s --hurried=0 </dev/zero >"$VM_RESULTS/$1" 2>"$VM_RESULTS/$1.log"
}

expect_calls() {
  within 60 calls "$1" || fail "$1: $(tail -n 30 "$VM_RESULTS/$1.log"; systemctl status skeind.service)"
  grep -q '"rdma via skeind:rxe0/1' "$VM_RESULTS/$1" || fail "$1 did not use skeind: $(cat "$VM_RESULTS/$1")"
  echo "$1: $(cat "$VM_RESULTS/$1")"
}

install_units
start_systemd
serves && fail "skeind runs before anybody has connected"
as_nobody "$BUILD/tests/load/grpc_load" --mode=prefer --serve="$VM_ADDRESS:50071" </dev/zero >"$VM_RESULTS/server.log" 2>&1 &
await_listener 50071
expect_calls first
user=$(systemctl show --property User --value skeind.service)
echo "skeind runs as ${user:-a user that systemd has made}: $(ps -o user:20=,nice= -C skeind)"
[[ $(ps -o uid= -C skeind) -ne 0 ]] || fail "skeind runs as root"
systemctl kill --signal KILL skeind.service
expect_calls again
systemctl stop skeind.service
expect_calls after-stop
systemctl restart skeind.service
expect_calls after-restart
