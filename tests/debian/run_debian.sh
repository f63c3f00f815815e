#!/usr/bin/env bash
# run_debian.sh NAME RELEASE [build]: builds and tests Skein on another release of Debian, or builds it alone, in a chroot
# below build/NAME.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# shellcheck source=scripts/setup.sh
source "$ROOT/scripts/setup.sh"
# shellcheck source=tests/debian/chroot.sh
source "$ROOT/tests/debian/chroot.sh"

name=$1 release=$2
folder=$BUILD/$name
list=$ROOT/scripts/packages.txt

check_root "a chroot"
# For newer packages remove build/NAME.
if ! root_is_made "$folder" "$list"; then
  make_root "$folder" "$list" "$release"
  keep_root "$folder" "$list"
fi
say "run: $name, in $folder/root; there, /skein/build is $folder/build"
enter "$folder" tests/debian/inside.sh "${@:3}"
