// The network interface that has an IP address of this host.
#ifndef SKEIN_CORE_FABRIC_VERBS_INTERFACE_H_
#define SKEIN_CORE_FABRIC_VERBS_INTERFACE_H_

#include <sys/socket.h>

#include <string>

namespace skein::fabric::verbs {

// Its bytes: 6 on Ethernet, 20 on InfiniBand (RFC 4391, 9.1.1: queue pair, then the port's GID). A bond has its active
// port's. Empty where no interface has the address.
std::string HardwareAddressOf(const sockaddr_storage& address);

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_INTERFACE_H_
