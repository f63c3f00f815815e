#!/usr/bin/env bash
# demo.sh BUILD_DIR: the gRPC greeter over TCP, over Skein by preload, over Skein by channel argument; the Thrift calculator
# over TCP, over Skein by its transport class. Of each, the server is killed and comes back. In the end, where the time of
# the greeter's calls goes. Exit status 0 only if every call succeeded over the path it should have used.
# A build without Thrift shows no calculator, and one for a gRPC whose calls are not traced no times.
set -euo pipefail

if [[ $# -ne 1 || ! -x $1/examples/greeter/greeter_server ]]; then
  echo "usage: $0 BUILD_DIR (with the examples built)" >&2
  exit 2
fi
greeter=$1/examples/greeter/greeter
calculator=$1/examples/calculator/calculator
preload=$1/grpc_transport/libskein_grpc_preload.so
skein=$1/tools/skein/skein
libgrpc=$(ldd "${greeter}_server" | sed -n 's/.*\(libgrpc\.so\.[0-9]*\) .*/\1/p')
scratch=$(mktemp -d)
server_pid=
client_pid=

stop() {  # stop PID SIGNAL
  [[ -n $1 ]] || return 0
  kill -"$2" "$1" 2>/dev/null || true
  wait "$1" 2>/dev/null || true
}

clean_up() {
  stop "$client_pid" KILL
  stop "$server_pid" KILL
  rm -rf "$scratch"
}
trap clean_up EXIT

fail() {
  echo "demo: $*" >&2
  for log in "$scratch"/*.log; do
    echo "--- $(basename "$log")" >&2
    tail -20 "$log" >&2
  done
  exit 1
}

# How each way of switching runs a program: `run_as WAY server|client ARGUMENTS`.
run_as() {
  local way=$1 role=$2
  shift 2
  case $way in
    grpc) exec "${greeter}_$role" "$@" ;;
    preload) LD_PRELOAD=$preload SKEIN_GRPC=prefer exec "${greeter}_$role" "$@" ;;
    argument) exec "${greeter}_${role}_skein" "$@" ;;
    thrift) exec "${calculator}_$role" "$@" ;;
    class) exec "${calculator}_${role}_skein" "$@" ;;
  esac
}

next_line() {  # next_line FD WHAT: a line of a program's output, or failure after 20 s
  local line
  IFS= read -r -t 20 -u "$1" line || fail "no line from $2"
  echo "$line"
}

start_server() {  # start_server WAY ADDRESS; sets server_pid, port
  local fd
  exec {fd}< <(run_as "$1" server "$2" 2>>"$scratch/server-$1.log")
  server_pid=$!
  local line
  line=$(next_line "$fd" "the server") || exit 1
  [[ $line == "listening on "* ]] || fail "the server said: $line"
  port=${line#listening on }
}

paths_of() {  # paths_of LOG: of each connection that the client logged ("shm", "tcp: why"); plain gRPC logs none
  sed -n 's/.*client .* uses //p' "$1"
}

path_of() {  # path_of LOG: the last of them; without Skein there is only TCP
  local path
  path=$(paths_of "$1" | tail -1)
  echo "${path:-tcp}"
}

heading() {  # heading WHAT: of a table
  printf '%-30s %-6s %10s %10s %14s\n' "$1" path "p50 us" "p99 us" "1 MiB MB/s"
}

measure() {  # measure WAY LABEL EXPECTED_PATH: one row of the table
  local way=$1 label=$2 expected=$3 figures path
  start_server "$way" 127.0.0.1:0
  figures=$(run_as "$way" client "127.0.0.1:$port" 2>"$scratch/client-$way.log") || fail "the client over $way failed"
  stop "$server_pid" TERM
  server_pid=
  path=$(path_of "$scratch/client-$way.log")
  [[ $path == "$expected" ]] || fail "expected path $expected over $way, got: $path"
  read -r _ _ p50 _ _ p99 _ _ _ _ bandwidth _ <<<"$figures"
  printf '%-30s %-6s %10s %10s %14s\n' "$label" "$path" "$p50" "$p99" "$bandwidth"
}

recover() {  # recover WAY LOSS: SIGKILL the server under a calling client; it must see LOSS, then OK, over shm all the time
  local way=$1 loss=$2 fd line log=$scratch/watch-$1.log
  start_server "$way" 127.0.0.1:0
  exec {fd}< <(run_as "$way" client "127.0.0.1:$port" --watch 2>"$log")
  client_pid=$!
  line=$(next_line "$fd" "the client") || exit 1
  [[ $line == OK ]] || fail "the client said: $line"
  echo "  calls answered            OK, over $(path_of "$log")"
  stop "$server_pid" KILL
  line=$(next_line "$fd" "the client") || exit 1
  [[ $line == "$loss" ]] || fail "the client said: $line"
  echo "  server killed (SIGKILL)   $loss"
  start_server "$way" "127.0.0.1:$port"
  line=$(next_line "$fd" "the client") || exit 1
  wait "$client_pid" || fail "the client did not recover"
  client_pid=
  [[ $(path_of "$log") == shm ]] || fail "after the restart the path is $(path_of "$log")"
  [[ $(paths_of "$log" | grep -cx shm) -ge 2 ]] || fail "the restarted server was not reached over shm"
  echo "  server started again      $line, over $(path_of "$log")"
  stop "$server_pid" TERM
  server_pid=
}

break_down() {  # where the time of the greeter's calls goes, seen from outside
  local fd line table
  start_server preload 127.0.0.1:0
  exec {fd}< <(run_as preload client "127.0.0.1:$port" --watch 2>"$scratch/watch-traced.log")
  client_pid=$!
  line=$(next_line "$fd" "the client") || exit 1
  [[ $line == OK ]] || fail "the client said: $line"
  table=$("$skein" breakdown --seconds=1 "$client_pid") || fail "skein breakdown failed"
  [[ $table == *"over shm, seen by the client"*"from end to end"* ]] || fail "skein breakdown said: $table"
  echo "$table"
  stop "$client_pid" KILL
  client_pid=
  stop "$server_pid" TERM
  server_pid=
}

export GRPC_VERBOSITY=info
# glibc's defaults hand every freed megabyte back to the kernel; page faults would then be most of an echo's time.
export MALLOC_MMAP_THRESHOLD_=67108864 MALLOC_TRIM_THRESHOLD_=268435456
unset LD_PRELOAD "${!SKEIN_@}"

has_thrift() { [[ -x ${calculator}_server ]]; }

echo "Services of ${libgrpc}$(has_thrift && echo " and of Thrift"), one machine: $(nproc) cores,$(sed -n 's/^model name[^:]*://p;T;q' /proc/cpuinfo)"
echo
heading "gRPC: the greeter"
measure grpc "plain gRPC" tcp
measure preload "Skein, preloaded, same binary" shm
measure argument "Skein, by channel argument" shm
echo
if has_thrift; then
  heading "Thrift: the calculator"
  measure thrift "plain Thrift" tcp
  measure class "Skein, by transport class" shm
  echo
fi
echo "gRPC's server dies and comes back (same client, same channel):"
recover preload UNAVAILABLE
if has_thrift; then
  echo
  echo "Thrift's server dies and comes back (same client, same socket, opened again):"
  recover class TTransportException
fi
if [[ $libgrpc == libgrpc.so.29 ]]; then
  echo
  echo "Where the time of a gRPC call goes (skein breakdown, of a client that is running):"
  break_down
fi
