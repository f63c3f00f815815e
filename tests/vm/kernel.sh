# The guests' kernel: Debian's newest package, unpacked below build/vm, not installed. And their first stage of booting.
# shellcheck shell=bash

KERNEL=$BUILD/vm/kernel

# What the first stage needs to reach the host's files; a guest loads the rest from there.
BOOT_MODULES=(virtio_pci 9pnet_virtio 9p overlay virtio_net)

# get_kernel: does nothing when there is one; remove build/vm/kernel for a newer one.
get_kernel() {
  [[ -e $KERNEL ]] && return
  mkdir -p "$BUILD/vm"
  quietly "fetching a kernel for guests" "$BUILD/logs/vm-kernel.log" fetch_kernel
}

kernel_release() { ls "$KERNEL/lib/modules"; }

# Runs in a subshell, for the trap. set -e does not reach functions called in a condition, so the steps are chained.
fetch_kernel() (
  work=$(mktemp -d "$BUILD/vm/kernel.XXXXXX") || return
  trap 'rm -rf "$work"' EXIT
  cd "$work" || return
  # A list of packages that is missing, or older than the mirror's, is renewed.
  download_kernel || { as_root apt-get update -q && download_kernel; } || return
  dpkg -x ./*.deb tree || return
  [[ -e tree/lib ]] || ln -s usr/lib tree/lib # since Debian 13
  depmod -b tree "$(ls tree/lib/modules)" || return
  # Someone else may have been quicker.
  mv -T tree "$KERNEL" || [[ -e $KERNEL ]]
)

download_kernel() {
  local package
  package=$(apt-cache depends linux-image-amd64 | awk '$1 == "Depends:" { print $2; exit }')
  [[ -n $package ]] && apt-get -q -o "APT::Sandbox::User=$(id -un)" download "$package"
}

# boot_stage FOLDER: what all guests' initial RAM disks have in common.
boot_stage() {
  local stage=$1 module number=100
  mkdir -p "$stage"/{bin,modules,lower,upper,root} || return
  cp "$SOURCE/boot_stage.sh" "$stage/init" && put_tools "$stage/bin" || return
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
