// A link over rings on a device's queue pairs.
#ifndef SKEIN_TESTS_SUPPORT_RING_LINK_H_
#define SKEIN_TESTS_SUPPORT_RING_LINK_H_

#include <memory>
#include <utility>

#include "core/channel/ring/ring_group.h"
#include "core/link/link.h"

namespace skein::link {

inline std::shared_ptr<Link> LinkOn(std::shared_ptr<fabric::Device> device, LinkOptions options) {
  return Link::Create(std::make_shared<channel::RingTransport>(std::move(device)), std::move(options)).value();
}

}  // namespace skein::link

#endif  // SKEIN_TESTS_SUPPORT_RING_LINK_H_
