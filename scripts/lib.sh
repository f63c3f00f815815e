# Shared by the verbs of ./run: where things are, how they talk, how they fail.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the folders are for those who source this

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
GRPC_SOURCE=$BUILD/grpc-source
THRIFT_SOURCE=$BUILD/thrift-source

say() { printf '%s\n' "$*" >&2; }

die() {
  say "run: $*"
  exit 1
}

# A mistake in how ./run was called, told apart from a failure by the exit status.
usage_error() {
  say "run: $*"
  exit 2
}

# quietly LABEL LOG COMMAND...: one line when it succeeds, the end of its log when it fails.
quietly() {
  local label=$1 log=$2 start=$SECONDS status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if ((status != 0)); then
    tail -n 80 "$log" >&2
    say "run: $label failed (status $status); all of its output: $log"
    return "$status"
  fi
  # Things that had nothing to do are not worth a line.
  if ((SECONDS - start >= 3)); then
    say "run: $label: done in $((SECONDS - start)) s"
  fi
}

# check_options SCRIPT ARGUMENT...: a Python script of ours is asked whether it takes these, ahead of what takes long. Exits
# when it does not, or has been asked for help.
check_options() {
  local argument
  for argument in "${@:2}"; do
    if [[ $argument == --help || $argument == -h ]]; then
      exec python3 -B "$1" --build "$BUILD" --help
    fi
  done
  python3 -B "$1" --build "$BUILD" "${@:2}" --check || exit 2
}

# as_root COMMAND...: needs root for the package manager alone.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo -n "$@" || die "needs root for: $* (sudo without a password did not work; run it yourself, then again)"
  else
    die "needs root for: $* (and there is no sudo)"
  fi
}
