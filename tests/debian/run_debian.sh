#!/usr/bin/env bash
# run_debian.sh NAME RELEASE: builds and tests Skein on another release of Debian, in a chroot below build/NAME.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"
# shellcheck source=scripts/setup.sh
source "$ROOT/scripts/setup.sh"

name=$1 release=$2
folder=$BUILD/$name
chroot=$folder/root

# The release with all of scripts/packages.txt; kept until that list changes. For newer packages remove build/NAME.
make_root() {
  cmp -s "$ROOT/scripts/packages.txt" "$folder/packages.txt" && return
  as_root rm -rf "$folder"
  mkdir -p "$folder/build"
  python3 "$ROOT/scripts/deb_src.py" --release "$release" >"$folder/apt.sources"
  quietly "making $chroot" "$BUILD/logs/$name-root.log" as_root mmdebstrap --mode=root --variant=minbase \
    --include="$(wanted_packages "$ROOT/scripts/packages.txt" | paste -sd,)" "$release" "$chroot" "$folder/apt.sources"
  as_root mkdir -p "$chroot/skein" "$chroot/root/.cache/ccache"
  cp "$ROOT/scripts/packages.txt" "$folder/"
}

# enter COMMAND...: in the chroot, in this tree, which cannot be written to there; its build folder is build/NAME/build.
# However the command ends, namespaces take its processes and mounts with them.
enter() {
  local cache='' history
  # A work tree of git's has its history elsewhere, and names it by its path.
  history=$(git -C "$ROOT" rev-parse --path-format=absolute --git-common-dir)
  [[ $history != "$ROOT"/* ]] || history=
  # Of another user, whom files of root's would be in the way of: the chroot has a cache of its own then.
  ((EUID != 0)) || cache=$(ccache --get-config cache_dir)
  # shellcheck disable=SC2016  # for the inner shell
  as_root unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 tree=$2 build=$3 cache=$4 history=$5
    mount -t proc proc "$root/proc"
    mount --bind /sys "$root/sys"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount --bind "$tree" "$root/skein"
    mount -o remount,bind,ro "$root/skein"
    mount --bind "$build" "$root/skein/build"
    [[ ! -d $cache ]] || mount --bind "$cache" "$root/root/.cache/ccache"
    if [[ -n $history ]]; then
      mkdir -p "$root$history"
      mount --bind "$history" "$root$history"
      mount -o remount,bind,ro "$root$history"
    fi
    cd "$root/skein"
    # The tree may be of another user, whom git would not trust.
    exec chroot "$root" env -C /skein HOME=/root LC_ALL=C.UTF-8 CCACHE_MAXSIZE="$6" \
      GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/skein "${@:7}"
  ' enter "$chroot" "$ROOT" "$folder/build" "$cache" "$history" "$(ccache --get-config max_size)" "$@"
}

check_root "a chroot"
make_root
say "run: $name, in $chroot; there, /skein/build is $folder/build"
enter tests/debian/inside.sh
