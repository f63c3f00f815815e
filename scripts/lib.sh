# Shared by the verbs of ./run: where things are, how they talk, how they fail.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the folders are for those who source this

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
GRPC_SOURCE=$BUILD/grpc-source
THRIFT_SOURCE=$BUILD/thrift-source

# Debian's own, which has Debian's pytest and psutil, whatever comes first in PATH.
python3() { /usr/bin/python3 "$@"; }

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

# no_arguments VERB ARGUMENT...: of a verb that takes none.
no_arguments() {
  local verb=$1
  shift
  (($# == 0)) || usage_error "$verb takes no arguments, but got: $*"
}

# quietly LABEL LOG COMMAND...: one line when it succeeds, the end of its log when it fails.
quietly() {
  local label=$1 log=$2 start=$SECONDS status=0
  shift 2
  mkdir -p "$(dirname "$log")"
  ("$@") >"$log" 2>&1 </dev/null || status=$? # in a shell of its own: a function's exit is seen here
  if ((status != 0)); then
    tail -n 80 "$log" >&2
    say "run: $label failed (status $status); all of its output: $log"
    return 1 # 2 would say that ./run was called wrongly
  fi
  # A step that takes less than 3 s prints nothing.
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
      exec /usr/bin/python3 -B "$1" --build "$BUILD" --help
    fi
  done
  python3 -B "$1" --build "$BUILD" "${@:2}" --check || exit 2
}

# check_root WHAT: ahead of what needs root.
check_root() {
  ((EUID != 0)) || return 0
  command -v sudo >/dev/null || die "$1 takes root, and there is no sudo"
  sudo -n true 2>/dev/null || die "$1 takes root, and sudo asks for a password: 'sudo -v' first, then again"
}

# as_root COMMAND...: after check_root.
as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo -n "$@"
  fi
}
