# The source package that the installed gRPC was built from: its internal headers for grpc_transport, its interop tests.
# shellcheck shell=bash

# The version of the source package; binary rebuilds (+b1) share it.
# shellcheck disable=SC2016  # the ${} are dpkg-query's
grpc_source_version() { dpkg-query -W -f '${source:Version}' libgrpc-dev; }

fetch_grpc_source() {
  local version stamp=$GRPC_SOURCE/.version
  version=$(grpc_source_version)
  if [[ -f $stamp && $(<"$stamp") == "$version" ]]; then
    return 0
  fi
  quietly "fetching the source of gRPC $version" "$BUILD/logs/grpc-source.log" unpack_grpc_source "$version" ||
    die "cannot get the source package grpc=$version: it needs the network, and a mirror that still has that version"
}

# Runs in a subshell: set -e does not reach functions called in a condition, so every step is chained.
unpack_grpc_source() (
  version=$1
  work=$(mktemp -d "$BUILD/grpc-source.XXXXXX") || return
  trap 'rm -rf "$work"' EXIT
  download_grpc_source "$version" "$work" &&
    dpkg-source --no-check -x "$work"/grpc_*.dsc "$work/tree" &&
    echo "$version" >"$work/tree/.version" &&
    rm -rf "$GRPC_SOURCE" &&
    mv "$work/tree" "$GRPC_SOURCE"
)

# A list of source entries made from the machine's own, and all of apt's state kept in WORK: nothing of the system changes.
# apt checks the signatures of the mirror against its keyring, so dpkg-source need not.
download_grpc_source() {
  local version=$1 work=$2 apt
  mkdir -p "$work/lists/partial" "$work/parts" &&
    python3 "$ROOT/scripts/deb_src.py" >"$work/parts/skein.sources" || return
  apt=(-q
    -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$work/parts"
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
    -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Retries=3")
  # A mirror that is down is forgiven here: the next command says whether the package was to be had.
  apt-get "${apt[@]}" update
  cd "$work" && apt-get "${apt[@]}" source --download-only "grpc=$version"
}
