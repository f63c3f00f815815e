#!/usr/bin/env bash
# two_guests.sh: the harness itself. perftest writes from the client to the server: over IPv4 and IPv6, through packet
# loss, and across two seconds without a link.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

SIZE=65536

# write_bw LABEL ADDRESS OPTION...: both guests call it with the same options; the server's process goes on in the
# background. ADDRESS is this guest's own, and picks the GID.
port=18515
write_bw() {
  local label=$1 gid tool
  gid=$(gid_index "$2") || fail "rxe0 has no GID for $2"
  shift 2
  ((++port))
  tool=(ib_write_bw -d rxe0 -x "$gid" -p "$port" -s "$SIZE" -F "$@")
  if [[ $VM_ROLE == server ]]; then
    "${tool[@]}" &
    await_listener "$port"
    tell "$label"
  else
    await "$label"
    "${tool[@]}" "$VM_PEER"
  fi
}

# A packet is sent again after 4 us << u: 0.3 s and 1 s. rxe takes perftest's seven retries for endless ones.
LOSS=(-n 20 -u 16)
WRITES=150
OUTAGE=(-n "$WRITES" -t 8 -u 18)

as_server() {
  write_bw ipv4 "$VM_ADDRESS" -n 100
  wait $! || fail "over IPv4"
  write_bw ipv6 "$VM_ADDRESS6" -n 100
  wait $! || fail "over IPv6"
  write_bw loss "$VM_ADDRESS" "${LOSS[@]}"
  wait $! || fail "with packet loss"

  # The server's link goes down: it only answers. A queue pair that has something to send itself would fail at once.
  write_bw outage "$VM_ADDRESS" "${OUTAGE[@]}"
  await running
  ip link set eth0 down
  tell down
  sleep 2 # the outage itself
  await unreachable
  ip link set eth0 up
  wait $! || echo "perftest failed; the client knows whether that matters"
}

sent_bytes() { cat /sys/class/net/eth0/statistics/tx_bytes; }

has_sent() { (($(sent_bytes) >= $1)); }

as_client() {
  local before transfer dropped
  wait_for_peer
  before=$(sent_bytes)
  write_bw ipv4 "$VM_ADDRESS" -n 100
  has_sent $((before + 100 * SIZE)) || fail "what was written did not go through eth0"
  write_bw ipv6 "$VM_ADDRESS6" -n 100

  tc qdisc add dev eth0 root netem loss 5%
  write_bw loss "$VM_ADDRESS" "${LOSS[@]}"
  dropped=$(tc -s qdisc show dev eth0 | sed -n 's/.*dropped \([0-9]*\).*/\1/p')
  ((dropped > 0)) || fail "no packet was lost"
  echo "$dropped packets were lost"

  # On the fastest machine too the outage comes within the transfer: 2 MB/s are five seconds.
  tc qdisc replace dev eth0 root netem rate 16mbit limit 2000
  before=$(sent_bytes)
  write_bw outage "$VM_ADDRESS" "${OUTAGE[@]}" &>"$VM_RESULTS/outage" &
  transfer=$!
  within 60 has_sent $((before + 10 * SIZE)) || fail "the transfer does not begin"
  tell running
  await down
  ! peer_answers || fail "the link is down, but $VM_PEER answers"
  tell unreachable
  # Its report counts, not its exit status: after an outage TCP sends small segments, and perftest, which says goodbye
  # over TCP, takes a short read for an error.
  wait "$transfer" || true
  cat "$VM_RESULTS/outage"
  grep -qE "^ *$SIZE +$WRITES " "$VM_RESULTS/outage" || fail "the transfer did not survive the outage"
  wait_for_peer
}

"as_$VM_ROLE"
