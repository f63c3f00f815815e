#!/usr/bin/env bash
# vm.sh [OPTION...] -- COMMAND [ARGUMENT...]: runs a command in a virtual machine whose kernel has an RDMA device, rxe0
# (Soft-RoCE). Exit status: the command's; 124 when time ran out; 125 when the guest died or never started.
#
#   -s COMMAND   two guests on one virtual Ethernet: this shell line runs in the server, 10.9.0.1, and COMMAND in the
#                client, 10.9.0.2. The run ends with the client, or with a server whose command fails.
#   -n NAME      of the log build/vm/logs/NAME.log and of the folder build/vm/results/NAME (default: guest)
#   -m MEBIBYTES of memory of each guest (2048)
#   -c CPUS      of each guest (2)
#   -d FILE      a disk image, /dev/vda of the guest (of the server, where there are two), which is kept
#   -p MEBIBYTES of persistent memory, likewise: an NVDIMM, all of it one namespace, which goes with the run
#   -r RELEASE   the kernel, the C library and rdma-core of another release of Debian (its name: trixie)
#   -t SECONDS   limit of the whole run (300)
#   -q           prints nothing unless it fails; otherwise the client's console
#
# The guests' root is this host's, copy-on-write: they see its files and libraries, and lose what they write, except in
# the results folder, $VM_RESULTS. Other variables that a guest has: guest/lib.sh. A server whose power is cut is started
# again, if a guest has told so by the word "cut".
# SKEIN_VM_KVM=1 uses KVM where the host has it. Without, the processor is emulated, which works everywhere.
set -euo pipefail

SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib.sh
source "$SOURCE/../../scripts/lib.sh"
# shellcheck source=tests/vm/kernel.sh
source "$SOURCE/kernel.sh"
# Debian keeps modprobe and depmod from users' paths.
PATH=$PATH:/usr/sbin:/sbin

usage() {
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 2
}

no_guest() {
  say "vm: $*"
  exit 125
}

name=guest memory=2048 cpus=2 limit=300 server='' disk='' pmem='' release='' quiet=
while getopts s:n:m:c:d:p:r:t:q option; do
  case $option in
    s) server=$OPTARG ;;
    n) name=$OPTARG ;;
    m) memory=$OPTARG ;;
    c) cpus=$OPTARG ;;
    d) disk=$(realpath "$OPTARG") ;;
    p) pmem=$OPTARG ;;
    r) release=$OPTARG ;;
    t) limit=$OPTARG ;;
    q) quiet=yes ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
(($# > 0)) || usage
printf -v command '%q ' "$@"

for program in qemu-system-x86_64 busybox cpio modprobe; do
  command -v "$program" >/dev/null || no_guest "there is no $program; './run test vm' installs what is needed"
done
[[ -z $release ]] || use_release "$release"
get_kernel || no_guest "there is no kernel for guests: it comes from Debian's package linux-image-amd64"

logs=$BUILD/vm/logs
results=$BUILD/vm/results/$name
rm -rf "$results"
mkdir -p "$logs" "$results"
work=$(mktemp -d "$BUILD/vm/run.XXXXXX")
declare -A log=() guest=() # by role: its console's file, its process
writers=() over=()
rm -f "$logs/$name.log" "$logs/$name-server.log"

clean_up() {
  stop_guests
  rm -rf "$work"
}
trap clean_up EXIT

stop_guests() {
  if ((${#guest[@]} > 0)); then
    kill "${guest[@]}" 2>/dev/null || true
    # The consoles are complete only when their writers are done.
    wait "${guest[@]}" "${writers[@]}" 2>/dev/null || true
  fi
}

# start_file ROLE NUMBER PEER_NUMBER COMMAND: what a guest runs as process 1; its settings, then the script for all.
start_file() {
  printf 'export %s=%q\n' PATH /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME /root TERM dumb \
    LANG C.UTF-8 VM_ROLE "$1" VM_ADDRESS "10.9.0.$2" VM_ADDRESS6 "fd09::$2" VM_PEER "10.9.0.$3" VM_PEER6 "fd09::$3" \
    VM_RESULTS "$results"
  printf '%s=%q\n' VM_SOURCE "$SOURCE" VM_KERNEL "$KERNEL" VM_FOLDER "$PWD" VM_COMMAND "$4"
  # shellcheck disable=SC2016  # for the guest
  echo 'source "$VM_SOURCE/guest_init.sh"'
}

# A console without carriage returns and escape sequences.
readable() { sed -u $'s/\r//g; s/\x1b\\[[0-9;?]*[A-Za-z]//g'; }

make_stage() { boot_stage "$work/stage" && pack "$work/stage" >"$work/stage.cpio"; }

# start_guest ROLE NUMBER PEER_NUMBER COMMAND LOG [QEMU OPTION...]
start_guest() {
  local role=$1 console accelerator=(-accel "tcg,thread=multi" -cpu max)
  mkdir -p "$work/$role"
  start_file "${@:1:4}" >"$work/$role/start"
  # The kernel unpacks archives one after another.
  { cat "$work/stage.cpio" && pack "$work/$role"; } >"$work/$role.cpio"
  log[$role]=$5
  shift 5
  if [[ -n ${SKEIN_VM_KVM:-} && -r /dev/kvm && -w /dev/kvm ]]; then
    accelerator=(-accel kvm -cpu host)
  fi
  if [[ -z $quiet && $role != server ]]; then
    exec {console}> >(readable | tee -a "${log[$role]}")
  else
    exec {console}> >(readable >>"${log[$role]}")
  fi
  writers+=($!)
  # From its own folder: names of sockets must be short. A panic ends the guest: panic=-1 and -no-reboot. The kernel
  # checks that its timer ticks at the processor's pace, and panics where an emulated one is kept from it: no_timer_check.
  (cd "$work" && exec timeout -k 10 "$limit" qemu-system-x86_64 "${accelerator[@]}" -m "$memory" -smp "$cpus" \
    -nodefaults -no-user-config -no-reboot -display none -serial stdio \
    -kernel "$KERNEL/boot/vmlinuz-$(kernel_release)" -initrd "$role.cpio" -append "console=ttyS0 quiet panic=-1 no_timer_check" \
    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=${results//,/,,},mount_tag=results,security_model=none" "${over[@]}" "$@") </dev/null >&"$console" 2>&1 &
  guest[$role]=$!
  exec {console}>&-
}

# link_options OWN OTHER NUMBER: one end of a virtual Ethernet, by the names of the two ends.
link_options() {
  printf '%s\n' -netdev "dgram,id=link,local.type=unix,local.path=$1.link,remote.type=unix,remote.path=$2.link" \
    -device "virtio-net-pci,netdev=link,mac=52:54:00:00:00:0$3,romfile="
}

with_disk=()
[[ -z $disk ]] || with_disk=(-drive "file=${disk//,/,,},if=virtio,format=raw")
if [[ -n $pmem ]]; then
  # The machine needs space among its addresses beside its memory.
  with_disk+=(-machine "pc,nvdimm=on" -m "$memory,slots=2,maxmem=$((memory * 2))M"
    -object "memory-backend-file,id=pmem,share=on,mem-path=$work/pmem,size=${pmem}M"
    -device "nvdimm,memdev=pmem")
fi
# What stands in front of the host's files.
[[ -z $OVER ]] || over=(-virtfs "local,path=${OVER//,/,,},mount_tag=over,security_model=none,readonly=on")

start_server() {
  local options
  mapfile -t options < <(link_options server client 1)
  start_guest server 1 2 "$server" "$logs/$name-server.log" "${options[@]}" "${with_disk[@]}"
}

start_guests() {
  local options
  if [[ -z $server ]]; then
    start_guest alone 1 1 "$command" "$logs/$name.log" "${with_disk[@]}"
    return
  fi
  start_server
  mapfile -t options < <(link_options client server 2)
  start_guest client 2 1 "$command" "$logs/$name.log" "${options[@]}"
}

# status_of ROLE: its command's exit status, or nothing when there is none.
status_of() { cat "$results/status.$1" 2>/dev/null || true; }

# verdict QEMU_STATUS: the exit status of the run and why, by the status of the guest which ended first.
verdict() {
  local status_client status_server
  status_client=$(status_of "$([[ -n $server ]] && echo client || echo alone)")
  status_server=$(status_of server)
  if [[ -n $status_client && $status_client != 0 ]]; then
    echo "$status_client the command's exit status was $status_client"
  elif [[ -n $status_server && $status_server != 0 ]]; then
    echo "$status_server the server's command's exit status was $status_server"
  elif [[ $status_client == 0 ]]; then
    echo 0
  elif (($1 == 124 || $1 == 137)); then
    echo "124 no end within $limit s"
  else
    echo "125 a guest died"
  fi
}

main() {
  local status=0 why role ended
  make_stage || no_guest "the first stage of the boot cannot be made"
  start_guests
  wait -n -p ended "${guest[@]}" || status=$?
  while [[ $ended == "${guest[server]:-}" && -e $results/said.cut ]]; do
    rm "$results/said.cut"
    status=0
    start_server
    wait -n -p ended "${guest[@]}" || status=$?
  done
  stop_guests
  guest=()
  read -r status why < <(verdict "$status")
  if ((status != 0)); then
    for role in "${!log[@]}"; do
      say "--- the last lines of the $role guest's console:"
      tail -n 30 "${log[$role]}" >&2
      say "--- all of it: ${log[$role]}"
    done
    say "vm: $name: $why"
  fi
  return "$status"
}

main
