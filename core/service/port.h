#ifndef SKEIN_CORE_SERVICE_PORT_H_
#define SKEIN_CORE_SERVICE_PORT_H_

#include <memory>
#include <string>

#include "core/fabric/fabric.h"

namespace skein::service {

// A port of skeind's, and the address by which other hosts' skeinds reach this one for it.
struct Port {
  std::shared_ptr<fabric::Device> device;
  std::string address;  // a number, not a name
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_PORT_H_
