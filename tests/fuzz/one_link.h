// A link that a negotiation with a RingPeer has made, and who polls it.
#ifndef SKEIN_TESTS_FUZZ_ONE_LINK_H_
#define SKEIN_TESTS_FUZZ_ONE_LINK_H_

#include <memory>
#include <string>
#include <utility>

#include "core/connect/negotiation.h"
#include "core/wire/negotiation.h"
#include "tests/fuzz/ring_peer.h"

namespace skein::fuzz {

class OneLink final : public wait::Watcher {
 public:
  explicit OneLink(fabric::Simulation& simulation) : simulation_(simulation) {}
  // A link and what is on it keep each other until it is finished.
  ~OneLink() override {
    if (link_ == nullptr) return;
    link_->Close();
    Poll();
    Require(link_->finished(), "a closed link ends");
  }
  void Watch(std::shared_ptr<wait::Source> given) override {
    link_ = std::static_pointer_cast<link::Link>(std::move(given));
  }
  void Poll() {
    int turns = 0;
    for (bool any = true; any; Require(++turns < 10'000, "polling comes to an end")) {
      simulation_.RunUntilIdle();
      any = link_ != nullptr && link_->Poll();
      any |= simulation_.pending_events() > 0;
    }
  }

 private:
  fabric::Simulation& simulation_;
  std::shared_ptr<link::Link> link_;
};

// The two sides of a negotiation, of whatever is called a listener (an attempt), until the peer knows where to write.
template <typename Listener>
auto AcceptPeer(Listener& listener, wire::Service service, RingPeer& peer) {
  wire::Offer offer;
  offer.service = service;
  offer.fabrics = {{"sim", peer.Offer()}};
  auto result = listener.Accept(wire::EncodeOffer(offer), {});
  const auto yes = std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
  peer.Complete(yes.new_link.queue_pair);
  peer.Attach(yes.new_link.ring);
  return result;
}

template <typename Attempt>
auto CompleteWithPeer(Attempt& attempt, uint64_t window, RingPeer& peer) {
  const wire::Offer offer = wire::DecodeOffer(attempt.offer()).value();
  wire::Yes yes;
  yes.stream = 1;
  yes.window = window;
  yes.is_new = true;
  yes.new_link = {peer.ring(), peer.Accept(offer.fabrics[0].queue_pair)};
  return attempt.Complete(wire::EncodeAnswer(yes));
}

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_ONE_LINK_H_
