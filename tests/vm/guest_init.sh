# Second stage of a guest's boot: process 1, on the host's root. Sourced by the file that vm.sh writes for each guest,
# with its settings. Brings up rxe0, runs the command, leaves its exit status in the results folder, ends the guest.
# shellcheck shell=bash

# shellcheck source-path=SCRIPTDIR source=guest/lib.sh
source "$VM_SOURCE/guest/lib.sh"

set_up() {
  share_results && load_modules && bring_up_network && bring_up_rxe && ulimit -l unlimited && ulimit -n 65536
}

# cache=none: what one side writes the other reads.
share_results() { mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none results "$VM_RESULTS"; }

# The kernel loads by itself what it finds missing later (veth, sch_netem), from where modprobe looks.
load_modules() {
  mkdir -p /lib/modules && mount --bind "$VM_KERNEL/lib/modules" /lib/modules && modprobe -a rdma_rxe ib_uverbs rdma_ucm
}

bring_up_network() {
  echo "$VM_ROLE" >/proc/sys/kernel/hostname
  ip link set lo up || return
  # A guest alone has no other interface yet.
  [[ -e /sys/class/net/eth0 ]] ||
    { ip link add eth0 type veth peer name eth0-peer && ip link set eth0-peer up; } || return
  # nodad: usable at once. keep_addr_on_down: a link that went down comes back as it was, as with IPv4.
  echo 1 >/proc/sys/net/ipv6/conf/eth0/keep_addr_on_down
  ip addr add "$VM_ADDRESS/24" dev eth0 && ip addr add "$VM_ADDRESS6/64" dev eth0 nodad && ip link set eth0 up
}

bring_up_rxe() {
  rdma link add rxe0 type rxe netdev eth0 &&
    within 10 gid_index "$VM_ADDRESS" >/dev/null && within 10 gid_index "$VM_ADDRESS6" >/dev/null
}

# The subshell keeps the command's exit, and its variables, from process 1.
run_command() {
  local status=0
  (cd "$VM_FOLDER" && exec bash -c "$VM_COMMAND") || status=$?
  echo "$status" >"$VM_RESULTS/status.$VM_ROLE"
  # The client's packets must still find a server that has done its part.
  while [[ $VM_ROLE == server && $status == 0 ]]; do
    sleep 1000
  done
}

if set_up; then
  echo "guest: up after $(cut -d ' ' -f 1 /proc/uptime) s"
  run_command
else
  echo "guest: it could not be set up"
fi
sync
# At once: to power off would wait for what is stuck in the kernel. vm.sh takes a restart for the end.
echo b >/proc/sysrq-trigger
