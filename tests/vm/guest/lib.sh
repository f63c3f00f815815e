# For the scripts that run inside guests. vm.sh tells each guest who it is:
#   VM_ROLE                   alone, or server and client
#   VM_ADDRESS, VM_ADDRESS6   of eth0, below rxe0
#   VM_PEER, VM_PEER6         the other guest's (a guest alone is its own peer)
#   VM_RESULTS                a folder shared with the host and the other guest; it outlives the guests
# shellcheck shell=bash

fail() {
  echo "FAILED: $*"
  exit 1
}

# within SECONDS COMMAND...: repeats the command until it succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# gid_index ADDRESS: the index in rxe0's table of the GID that is this IPv4 or IPv6 address.
gid_index() {
  local file
  # The table has 1024 entries, filled from the front.
  file=$(grep -lxs -m 1 "$(gid_text "$1")" /sys/class/infiniband/rxe0/ports/1/gids/?) && basename "$file"
}

# gid_text ADDRESS: as sysfs writes it. Of IPv6 only PREFIX::NUMBER with one group each, which is what guests have.
gid_text() {
  if [[ $1 == *:* ]]; then
    printf '%04x:0000:0000:0000:0000:0000:0000:%04x\n' "0x${1%%::*}" "0x${1##*::}"
  else
    local -a bytes
    IFS=. read -ra bytes <<<"$1"
    printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' "${bytes[@]}"
  fi
}

peer_answers() { busybox ping -c 1 -W 1 "$VM_PEER" >/dev/null 2>&1; }

wait_for_peer() { within 60 peer_answers || fail "$VM_PEER was not reachable within 60 s"; }

# tell WORD, await WORD [SECONDS]: one guest says a word, the other waits for it. By the shared folder, so it works
# while the link between them does not.
tell() { : >"$VM_RESULTS/said.$1"; }

await() {
  within "${2:-60}" test -e "$VM_RESULTS/said.$1" || fail "the other guest did not say '$1' within ${2:-60} s"
}

listens() { [[ -n $(ss -Hltn "sport = :$1") ]]; }

# await_listener PORT: until a program of this guest listens on the TCP port.
await_listener() { within 30 listens "$1" || fail "nothing listens on port $1"; }

# gtests PROGRAM FILTER LEAST: runs them; so many must pass, for without a device the tests do not exist and nothing runs.
gtests() {
  local output=$VM_RESULTS/output passed
  "$1" --gtest_filter="$2" | tee "$output"
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}\.$/\1/p' "$output")
  ((${passed:-0} >= $3)) || fail "${passed:-0} tests passed, at least $3 should have"
}

# as_nobody COMMAND...: another user's process, which may lock no memory, and has RDMA by way of this guest's skeind alone.
as_nobody() {
  (
    ulimit -l 0
    exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
      env SKEIN_RDMA=service SKEIN_RDMA_SERVICE=/run/skeind SKEIN_NEGOTIATION_TIMEOUT=20000 SKEIN_RDMA_RETRY_DELAY=500 "$@"
  )
}
