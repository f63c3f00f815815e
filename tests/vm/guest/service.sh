#!/usr/bin/env bash
# service.sh BUILD: gRPC and Thrift from guest to guest over RDMA, of processes that cannot reach the device: another user's,
# who may lock no memory. Each guest's skeind has it for them. Then the server's skeind is killed, and started again; and
# stopped amid calls, which go on over TCP.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

BUILD=$1
FOLDER=/run/skeind
declare -A PORTS=([grpc]=50071 [thrift]=50072)

start_skeind() {
  mkdir -p "$FOLDER"
  chmod 600 /dev/infiniband/*
  SKEIN_RDMA_TIMEOUT=16 "$BUILD/tools/skeind/skeind" --folder "$FOLDER" --device rxe0 >>"$VM_RESULTS/skeind-$VM_ROLE.log" 2>&1 &
  skeind=$!
  within 30 has_started || fail "skeind does not serve: $(cat "$VM_RESULTS/skeind-$VM_ROLE.log")"
}

has_started() { grep -q "serves" "$VM_RESULTS/skeind-$VM_ROLE.log"; }

as_server() {
  for framework in "${!PORTS[@]}"; do
    as_nobody "$BUILD/tests/system/load/${framework}_load" --mode=prefer --serve="$VM_ADDRESS:${PORTS[$framework]}" </dev/zero \
      >"$VM_RESULTS/$framework-server.log" 2>&1 &
    await_listener "${PORTS[$framework]}"
  done
  tell serving
  await calling 200
  kill -9 "$skeind"
  tell killed
  await without 200
  : >"$VM_RESULTS/skeind-server.log"
  start_skeind
  tell again
  await working 200
  kill -STOP "$skeind"
  tell stopped
  await by-tcp 200
  kill -CONT "$skeind"
  tell continued
  await finished 200
}

# calls FRAMEWORK MODE NAME: what became of them is in the results' NAME.
calls() {
  as_nobody "$BUILD/tests/system/load/$1_load" --mode="$2" --targets="$VM_PEER:${PORTS[$1]}" --connections=2 --calls_each=50 --threads=2 \
    --most_bytes=65536 --connecting=10s --deadline=10s --hurried=0 </dev/zero >"$VM_RESULTS/$3" 2>"$VM_RESULTS/$3.log" ||
    fail "$3: $(tail -n 30 "$VM_RESULTS/$3.log")"
  echo "$3: $(cat "$VM_RESULTS/$3")"
}

uses() { grep -q "\"$2" "$VM_RESULTS/$1" || fail "$1 did not use $2"; }

as_client() {
  wait_for_peer
  await serving 120
  for framework in "${!PORTS[@]}"; do
    calls "$framework" require "$framework"
    uses "$framework" "rdma via skeind:rxe0/1"
  done
  within 30 idles || fail "skeinds without work send packets"
  tell calling
  await killed
  calls grpc prefer without
  uses without tcp
  tell without
  await again
  within 60 comes_back || fail "no connection uses skeind again"
  goes_on_while_stopped
  within 60 comes_back || fail "no connection uses skeind after it was stopped"
  tell finished
}

# Calls until this end of the pipe closes. None may take longer than it takes to give a stopped skeind up, and to connect.
goes_on_while_stopped() {
  local input=/tmp/service-input
  mkfifo "$input"
  as_nobody "$BUILD/tests/system/load/grpc_load" --mode=prefer --targets="$VM_PEER:${PORTS[grpc]}" --connections=0 --calls_each=1000000 \
    --threads=2 --most_bytes=65536 --connecting=10s --deadline=30s --hurried=0 <"$input" >"$VM_RESULTS/stopped" 2>"$VM_RESULTS/stopped.log" &
  local load=$! before
  before=$(packets)
  exec {held}>"$input"
  within 60 goes_by_rdma "$before" || fail "no call went by RDMA"
  tell working
  await stopped
  within 60 talks_by_tcp || fail "no call went by TCP when skeind had been stopped"
  tell by-tcp
  await continued
  exec {held}>&-
  wait "$load" || fail "stopped: $(tail -n 30 "$VM_RESULTS/stopped.log")"
  echo "stopped: $(cat "$VM_RESULTS/stopped")"
  uses stopped "rdma via skeind:rxe0/1"
  uses stopped tcp
}

packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; }

# A skeind may ask now and then whether its peer is there.
idles() {
  local before
  before=$(packets)
  sleep 2
  (($(packets) < before + 10))
}

# goes_by_rdma PACKETS: many more have been sent.
goes_by_rdma() { (($(packets) > $1 + 500)); }

# More than a negotiation.
talks_by_tcp() {
  local sent
  for sent in $(ss -Htni "dport = :${PORTS[grpc]}" | sed -n 's/.* bytes_sent:\([0-9]*\) .*/\1/p'); do
    if ((sent > 1000000)); then return 0; fi
  done
  return 1
}

comes_back() {
  calls grpc prefer back
  grep -q '"rdma via skeind' "$VM_RESULTS/back"
}

start_skeind
"as_$VM_ROLE"
