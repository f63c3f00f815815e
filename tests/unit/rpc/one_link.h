// The one link that a negotiation makes.
#ifndef SKEIN_TESTS_UNIT_RPC_ONE_LINK_H_
#define SKEIN_TESTS_UNIT_RPC_ONE_LINK_H_

#include <memory>
#include <utility>

#include "core/link/link.h"

namespace skein::rpc {

// Keeps it, and leaves polling it to the test.
class OneLink final : public wait::Watcher {
 public:
  // A link and what is on it keep each other until it is finished.
  ~OneLink() override {
    if (link == nullptr) return;
    link->Close();
    link->Poll();
  }
  void Watch(std::shared_ptr<wait::Source> given) override {
    link = std::static_pointer_cast<link::Link>(std::move(given));
  }
  std::shared_ptr<link::Link> link;
};

}  // namespace skein::rpc

#endif  // SKEIN_TESTS_UNIT_RPC_ONE_LINK_H_
