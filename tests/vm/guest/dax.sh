# Persistent memory that RDMA devices may be given; after lib.sh. Sets SKEIN_TEST_DAX_DEVICE.
# shellcheck shell=bash

# The NVDIMM as /dev/dax0.0: memory that stays where it is, which a file system's need not, so devices may be given it.
make_dax_device() {
  modprobe -a nfit nd_pmem device_dax dax_pmem || return
  cd /sys/bus/nd/devices || return
  within 10 test -e namespace0.0/driver || return
  echo namespace0.0 >/sys/bus/nd/drivers/nd_pmem/unbind
  cat /proc/sys/kernel/random/uuid >dax0.0/uuid
  echo pmem >dax0.0/mode # where the kernel keeps its notes of the pages
  echo $((2 << 20)) >dax0.0/align
  echo namespace0.0 >dax0.0/namespace
  echo dax0.0 >/sys/bus/nd/drivers/dax_pmem/bind
  within 10 test -c /dev/dax0.0
}

(make_dax_device) || fail "there is no DAX device; the kernel says: $(dmesg | tail -n 20)"
export SKEIN_TEST_DAX_DEVICE=/dev/dax0.0
