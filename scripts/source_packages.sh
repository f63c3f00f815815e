# Source packages that installed libraries were built from: gRPC's for its internal headers and own tests, Thrift's for
# its tests, Abseil's for a build that ThreadSanitizer can see into.
# shellcheck shell=bash

# fetch_source LIBRARY FOLDER: the source that the installed package LIBRARY was built from, unpacked and patched.
fetch_source() {
  local library=$1 folder=$2 package version
  # The version of the source package; binary rebuilds (+b1) share it.
  # shellcheck disable=SC2016  # the ${} are dpkg-query's
  read -r package version < <(dpkg-query -W -f '${source:Package} ${source:Version}\n' "$library")
  if [[ -f $folder/.version && $(<"$folder/.version") == "$version" ]]; then
    return 0
  fi
  quietly "fetching the source of $package $version" "$BUILD/logs/source-$package.log" \
    unpack_source "$package" "$version" "$folder" ||
    die "cannot get the source package $package=$version: it needs the network, and a mirror that still has that version"
}

# Runs in a subshell, for the trap. set -e does not reach functions called in a condition, so the steps are chained.
unpack_source() (
  package=$1 version=$2 folder=$3
  work=$(mktemp -d "$BUILD/source.XXXXXX") || return
  trap 'rm -rf "$work"' EXIT
  download_source "$package=$version" "$work" &&
    dpkg-source --no-check -x "$work/$package"_*.dsc "$work/tree" &&
    find "$work/tree" -type f -exec touch {} + && # newer than all that was built with another version
    echo "$version" >"$work/tree/.version" &&
    rm -rf "$folder" &&
    mv "$work/tree" "$folder"
)

# A list of source entries made from the machine's own, and all of apt's state kept in WORK: nothing of the system changes.
# apt checks the signatures of the mirror against its keyring, so dpkg-source need not.
download_source() {
  local what=$1 work=$2 apt
  mkdir -p "$work/lists/partial" "$work/parts" &&
    python3 "$ROOT/scripts/deb_src.py" >"$work/parts/skein.sources" || return
  apt=(-q
    -o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$work/parts"
    -o "Dir::State::lists=$work/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
    -o "APT::Sandbox::User=$(id -un)" -o "Acquire::Retries=3")
  # A mirror that is down is forgiven here: the next command says whether the package was to be had.
  apt-get "${apt[@]}" update
  cd "$work" && apt-get "${apt[@]}" source --download-only "$what"
}
