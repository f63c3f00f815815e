# The guests' kernel: Debian's newest package, unpacked below build/vm, not installed. And their first stage of booting.
# shellcheck shell=bash

KERNEL=$BUILD/vm/kernel
RELEASE= # another one of Debian
OVER=    # its files that stand in front of the host's
# By which a program of the host's has the other release's RDMA; and a C library serves what was built on an older one.
OVER_PACKAGES=(libc6 libibverbs1 ibverbs-providers libnl-3-200 libnl-route-3-200)

# What the first stage needs to reach the host's files; a guest loads the rest from there.
BOOT_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_net)

# use_release NAME: before get_kernel.
use_release() {
  RELEASE=$1
  KERNEL=$BUILD/vm/$1/kernel
  OVER=$BUILD/vm/$1/over
}

# get_kernel: does nothing when there is one; remove build/vm/kernel (or the release's folder) for a newer one.
get_kernel() {
  [[ -e $KERNEL && (-z $OVER || -e $OVER) ]] && return
  mkdir -p "$BUILD/vm/$RELEASE"
  quietly "fetching a kernel for guests${RELEASE:+ of $RELEASE}" "$BUILD/logs/vm-kernel.log" fetch_kernel
}

kernel_release() { ls "$KERNEL/lib/modules"; }

# Runs in a subshell, for the trap. set -e does not reach functions called in a condition, so the steps are chained.
fetch_kernel() (
  work=$(mktemp -d "$BUILD/vm/kernel.XXXXXX") || return
  trap 'rm -rf "$work"' EXIT
  cd "$work" || return
  [[ -z $RELEASE ]] || other_apt || return
  # A list of packages that is missing, or older than the mirror's, is renewed.
  download_kernel || { update_lists && download_kernel; } || return
  dpkg -x ./*.deb tree || return
  [[ -e tree/lib ]] || ln -s usr/lib tree/lib # since Debian 13
  [[ -z $OVER || -e $OVER ]] || unpack_over || return
  depmod -b tree "$(ls tree/lib/modules)" || return
  # Someone else may have been quicker.
  mv -T tree "$KERNEL" || [[ -e $KERNEL ]]
)

# From here on apt knows the other release's packages alone, and nothing of this machine but its mirror.
other_apt() {
  python3 "$ROOT/scripts/deb_src.py" --release "$RELEASE" >"$PWD/apt.sources" || return
  mkdir -p state/lists/partial cache/archives/partial && : >status || return
  # A mirror that is a snapshot has lists whose time is over.
  cat >apt.conf <<END
Dir::State "$PWD/state";
Dir::State::status "$PWD/status";
Dir::Cache "$PWD/cache";
Dir::Etc::SourceList "$PWD/apt.sources";
Dir::Etc::SourceParts "-";
Acquire::Check-Valid-Until "false";
APT::Sandbox::User "$(id -un)";
END
  export APT_CONFIG=$PWD/apt.conf
}

update_lists() { if [[ -n $RELEASE ]]; then apt-get update -q; else as_root apt-get update -q; fi; }

unpack_over() {
  mkdir over && cd over || return
  apt-get -q download "${OVER_PACKAGES[@]}" || return
  local package
  for package in ./*.deb; do
    dpkg -x "$package" tree || return
  done
  # What the C library brings for character sets and people is left out: there is less to read by 9p.
  rm -rf tree/usr/share tree/usr/lib/*/gconv && cd .. && mv -T over/tree "$OVER"
}

download_kernel() {
  local package
  package=$(apt-cache depends linux-image-amd64 | awk '$1 == "Depends:" { print $2; exit }')
  [[ -n $package ]] && apt-get -q -o "APT::Sandbox::User=$(id -un)" download "$package"
}

# boot_stage FOLDER: what all guests' initial RAM disks have in common.
boot_stage() {
  local stage=$1 module number=100
  mkdir -p "$stage"/{bin,modules,over,lower,upper,root} || return
  cp "$SOURCE/boot_stage.sh" "$stage/init" && put_tools "$stage/bin" || return
  [[ -z $OVER ]] || : >"$stage/with-over"
  while read -r module; do
    # Numbered, because they are loaded in the order of their names; unpacked, because busybox wants them so.
    ((++number))
    case $module in
      *.xz) xz -dc "$module" >"$stage/modules/$number-$(basename "${module%.xz}")" || return ;;
      *) cp "$module" "$stage/modules/$number-$(basename "$module")" || return ;;
    esac
  done < <(boot_modules)
}

put_tools() {
  local tool
  cp "$(command -v busybox)" "$1/busybox" || return
  for tool in cp insmod mkdir mount switch_root; do
    ln -s busybox "$1/$tool" || return
  done
}

# Files of BOOT_MODULES and of what they need, in the order to load them.
boot_modules() {
  local module
  for module in "${BOOT_MODULES[@]}"; do
    modprobe -d "$KERNEL" -S "$(kernel_release)" --show-depends "$module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# pack FOLDER: as the kernel reads it.
pack() { (cd "$1" && find . | cpio --quiet -o -H newc); }
