#!/usr/bin/env bash
# power.sh BUILD: the counter's server with its log on /dev/vda, and a client that adds to it until the power goes. The
# client's journal is in the results folder, and with it what the server's total was before.
set -euo pipefail
build=$1
modprobe -a virtio_blk ext4
mkdir -p /mnt/log
mount -t ext4 /dev/vda /mnt/log
"$build/examples/counter/counter_server" /mnt/log/redo.log 127.0.0.1:7300 &
client=$build/examples/counter/counter_client
"$client" 127.0.0.1:7300 1 >"$VM_RESULTS/first"
exec "$client" 127.0.0.1:7300 1000000 32 "$VM_RESULTS/journal"
