// "sim" of "sim:a": what both ends must have in common.
#ifndef SKEIN_CORE_CONNECT_FABRIC_KIND_H_
#define SKEIN_CORE_CONNECT_FABRIC_KIND_H_

#include <string>

#include "absl/strings/string_view.h"

namespace skein::connect {

inline std::string FabricKind(absl::string_view device_name) {
  return std::string(device_name.substr(0, device_name.find(':')));
}

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_FABRIC_KIND_H_
