#!/usr/bin/env bash
# try_packages.sh [--keep] [FOLDER]: installs the packages in FOLDER (build/packages) on this machine or in this chroot, looks
# at them, runs their autopkgtest as a user who is not root, and removes them again unless told to keep them.
set -euo pipefail

# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
keep=
if [[ ${1:-} == --keep ]]; then
  keep=yes
  shift
fi
[[ $# -le 1 && ${1:-} != -* ]] || usage_error "try_packages.sh takes --keep and a folder"
folder=$(realpath "${1:-$BUILD/packages}")
test=$ROOT/packaging/debian/tests
shopt -s nullglob
packages=("$folder"/*.deb)
((${#packages[@]} > 0)) || die "no packages in $folder: ./run packages makes them"

names=()
for package in "${packages[@]}"; do
  names+=("$(dpkg-deb --field "$package" Package)")
done
# The packages that the test needs, beside ours.
mapfile -t needed < <(awk '/^Depends:/ { on = 1; next } /^[^ ]/ { on = 0 } on { sub(",", ""); print $1 }' "$test/control" |
  grep -vxF "$(printf '%s\n' "${names[@]}")")

check_root "apt-get install ${packages[*]}"
scratch=$(mktemp -d)
clean_up() {
  rm -rf "$scratch"
  [[ -n $keep ]] || as_root dpkg --purge "${names[@]}" >/dev/null 2>&1 || # those that are not there, too
    say "run: not removed; 'dpkg --purge ${names[*]}' does it"
}
trap clean_up EXIT
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends --allow-downgrades --reinstall \
  "${packages[@]}" "${needed[@]}" || die "the packages cannot be installed"

# LD_PRELOAD puts the stub into every child process of a program: it needs the C library alone.
stub=$(dpkg -L skein-preload | grep '/libskein_grpc_preload\.so$')
libraries=$(objdump -p "$stub" | awk '$1 == "NEEDED" { print $2 }')
[[ $libraries == libc.so.6 ]] || die "$stub needs: ${libraries//$'\n'/ }"
# Each library needs one other of Skein's, the core that the packages have.
core=$(dpkg -L libskein-core1 | grep '/libskein_core\.so\.1$')
for library in grpc grpc_durable thrift rpc; do
  path=$(dirname "$core")/libskein_$library.so.1
  cores=$(ldd "$path" | awk '/libskein/ { print $3 }')
  [[ $(realpath "$cores") == "$(realpath "$core")" ]] || die "$path needs of Skein: ${cores//$'\n'/ }"
done
# Chroots may leave man pages out.
for page in skein skein-run skein-bars; do
  dpkg -L skein-tools | grep "/man1/$page\.1\.gz$" >/dev/null || die "no man page of $page"
done

# The files that the test reads, where that user may read them, and nothing else of this tree.
cp -r "$ROOT/examples" "$test/quick-start" "$scratch"
run_test=(env -C "$scratch" "TMPDIR=$scratch/tmp" ./quick-start)
mkdir "$scratch/tmp"
if ((EUID == 0)); then
  chown -R nobody "$scratch"
  run_test=(setpriv --reuid nobody --regid nogroup --clear-groups "${run_test[@]}")
fi
"${run_test[@]}" || die "the test of the packages failed"
say "run: the packages in $folder work here"
