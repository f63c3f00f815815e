#!/usr/bin/env bash
# run_current_grpc.sh COMMAND...: COMMAND in a chroot that has gRPC 1.73 or later (build/current-grpc), as `enter` of
# chroot.sh has it. Exits with 77, and says why, if the distribution's packages make no such chroot: that is nothing of Skein's.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# shellcheck source=scripts/setup.sh
source "$ROOT/scripts/setup.sh"
# shellcheck source=tests/debian/chroot.sh
source "$ROOT/tests/debian/chroot.sh"

folder=$BUILD/current-grpc
list=$ROOT/tests/debian/current_grpc.txt

cannot() {
  say "run: current gRPC is left out, for the distribution's packages: $*"
  say "run: gRPC 1.73 and later comes from Debian experimental, which moves; tests/debian/current_grpc.txt has what is taken"
  exit 77
}

# in_root COMMAND...: before there is anything of ours in the chroot.
in_root() { as_root chroot "$folder/root" env DEBIAN_FRONTEND=noninteractive "$@"; }

# A program with gRPC and without Skein is compiled, linked and run.
packages_fit() {
  # shellcheck disable=SC2016  # for the chroot's shell
  enter "$folder" sh -ec '
    g++ -std=c++20 -O0 tests/debian/fits.cc -o /tmp/fits $(pkg-config --cflags --libs grpc++ absl_strings absl_status)
    /tmp/fits >build/grpc-version
    dpkg --compare-versions "$(cat build/grpc-version)" ge 1.73'
}

make_current_root() {
  local others
  mkdir -p "$BUILD"
  wanted_packages "$list" | grep -v / >"$folder.txt"
  mapfile -t others < <(wanted_packages "$list" | grep /)
  make_root "$folder" "$folder.txt" sid experimental || cannot "sid does not install"
  as_root cp /etc/resolv.conf "$folder/root/etc/"
  in_root sh -c 'echo "Acquire::Check-Valid-Until \"false\";" >/etc/apt/apt.conf.d/99skein'
  quietly "apt-get update" "$BUILD/logs/current-grpc-update.log" in_root apt-get update -q ||
    cannot "their mirror cannot be reached"
  quietly "apt-get install ${others[*]}" "$BUILD/logs/current-grpc-apt.log" \
    in_root apt-get install -q -y --no-install-recommends -t experimental "${others[@]}" ||
    cannot "apt does not install them together"
  quietly "a program with this gRPC" "$BUILD/logs/current-grpc-fits.log" packages_fit ||
    cannot "a program with this gRPC and without Skein does not build or run, or it is none of 1.73 or later"
  keep_root "$folder" "$list"
}

check_root "a chroot"
# For newer packages remove build/current-grpc.
root_is_made "$folder" "$list" || make_current_root
say "run: gRPC $(<"$folder/build/grpc-version") in $folder/root; there, /skein/build is $folder/build"
enter "$folder" "$@"
