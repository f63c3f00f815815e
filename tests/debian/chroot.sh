# A release of Debian in a chroot below build/: how it is made, and how one gets in. For run_debian.sh and
# run_current_grpc.sh.
# shellcheck shell=bash

# root_is_made FOLDER LIST: whether FOLDER/root was made with this list of packages.
root_is_made() { cmp -s "$2" "$1/packages.txt"; }

# make_root FOLDER LIST RELEASE [OTHER...]: the release with all of the list in FOLDER/root; of the other releases, the
# chroot's apt knows. A script calls keep_root once its packages are installed: the root is kept until the list
# changes.
make_root() {
  local folder=$1 list=$2 release=$3
  as_root rm -rf "$folder"
  mkdir -p "$folder/build"
  python3 "$ROOT/scripts/deb_src.py" --release "${@:3}" >"$folder/apt.sources" || return
  # A mirror that is a snapshot has lists whose time is over.
  quietly "making $folder/root" "$BUILD/logs/$(basename "$folder")-root.log" \
    as_root mmdebstrap --mode=root --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
    --include="$(wanted_packages "$list" | paste -sd,)" "$release" "$folder/root" "$folder/apt.sources" || return
  as_root mkdir -p "$folder/root/skein" "$folder/root/host" "$folder/root/root/.cache/ccache"
}

keep_root() { cp "$2" "$1/packages.txt"; }

# enter FOLDER COMMAND...: in the chroot, in this tree, which cannot be written to there; its build folder is FOLDER/build.
# /host is this machine, where its own programs run by `chroot /host`, and HOST_TREE this tree there. However the command ends, namespaces take its
# processes and mounts with them.
enter() {
  local folder=$1 cache='' history
  shift
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
    mount --rbind / "$root/host"
    mount --bind "$root/proc" "$root/host/proc"
    mount --bind "$root/dev/shm" "$root/host/dev/shm"
    mount --bind "$tree" "$root/skein"
    mount -o remount,bind,ro "$root/skein"
    mount --bind "$build" "$root/skein/build"
    # Files of a test have one name there and here.
    mkdir -p "$root$(dirname "$build")"
    ln -sfn /skein/build "$root$build"
    [[ ! -d $cache ]] || mount --bind "$cache" "$root/root/.cache/ccache"
    if [[ -n $history ]]; then
      mkdir -p "$root$history"
      mount --bind "$history" "$root$history"
      mount -o remount,bind,ro "$root$history"
    fi
    cd "$root/skein"
    # The tree may be of another user, whom git would not trust.
    exec chroot "$root" env -C /skein HOME=/root LC_ALL=C.UTF-8 CCACHE_MAXSIZE="$6" HOST_TREE="$tree" \
      GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/skein "${@:7}"
  ' enter "$folder/root" "$ROOT" "$folder/build" "$cache" "$history" "$(ccache --get-config max_size)" "$@"
}
