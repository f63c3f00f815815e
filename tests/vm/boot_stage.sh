#!/bin/busybox sh
# shellcheck shell=dash
# First stage of a guest's boot, the /init of its initial RAM disk: a root that is the host's, copy-on-write, in memory.
# When it fails, the kernel panics and the guest is gone, which is what vm.sh reports.
set -e
PATH=/bin # nothing but busybox, by the names of its tools
for module in /modules/*; do
  insmod "$module"
done
# cache=loose: the host's files are taken not to change while the guest runs.
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose host /lower
mount -t tmpfs upper /upper
mkdir /upper/data /upper/work
lower=/lower
# Another release's libraries, if the guest is to have them.
if [ -e /with-over ]; then
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose over /over
  lower=/over:/lower
fi
mount -t overlay -o lowerdir=$lower,upperdir=/upper/data,workdir=/upper/work overlay /root
mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount -t devtmpfs dev /root/dev
mkdir /root/dev/shm /root/dev/pts
mount -t tmpfs shm /root/dev/shm
mount -t devpts pts /root/dev/pts
mount -t tmpfs run /root/run
cp /start /root/run/vm-start
exec switch_root /root /bin/bash /run/vm-start
