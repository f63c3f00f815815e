#!/usr/bin/env bash
# Sources are laid out as .clang-format says, and shellcheck has nothing to say of the scripts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# own_files PATTERN...: null-separated.
own_files() {
  local folder names=() folders=()
  for folder in include core grpc_transport thrift_transport tests interop examples bench tools scripts packaging .ci; do
    [[ -d $folder ]] && folders+=("$folder")
  done
  for pattern; do
    names+=(-o -name "$pattern")
  done
  find "${folders[@]}" -type f \( "${names[@]:1}" \) -print0
}

# Each version of clang-format lays out some things in its own way. Debian 12's decides.
is_the_version() { clang-format --version | grep -q ' version 14\.'; }

case ${1:-} in
  clang-format)
    is_the_version || exit 77
    own_files '*.h' '*.cc' | xargs -0 clang-format --dry-run --Werror
    ;;
  format)
    if is_the_version; then
      own_files '*.h' '*.cc' | xargs -0 clang-format -i
    else
      echo "the layout of C++ sources is left as it is: this is not clang-format 14"
    fi
    ;;
  shellcheck)
    { own_files '*.sh' && printf '%s\0' run .ci/run tools/skein/completion.bash packaging/debian/tests/quick-start; } | xargs -0 shellcheck -x
    ;;
  *)
    echo "usage: style_test.sh clang-format | format | shellcheck" >&2
    exit 2
    ;;
esac
