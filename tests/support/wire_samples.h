// One of each thing that core/wire encodes: what tests spoil, and fuzzers start from.
#ifndef SKEIN_TESTS_SUPPORT_WIRE_SAMPLES_H_
#define SKEIN_TESTS_SUPPORT_WIRE_SAMPLES_H_

#include <string>
#include <vector>

#include "core/wire/negotiation.h"
#include "core/wire/ring_descriptor.h"

namespace skein::wire {

inline RingDescriptor SampleRing() { return {0x7f0000001000, uint64_t{1} << 20, 0x0123456789abcdef, 7}; }

inline ProcessId SampleProcess() {
  ProcessId process;
  for (size_t i = 0; i < process.size(); ++i) process[i] = static_cast<char>(0xf0 + i);
  return process;
}

inline Offer SampleOffer() {
  Offer offer;
  offer.process = SampleProcess();
  offer.service = Service::kRpc;
  offer.new_link_only = true;
  offer.fabrics = {{"shm", std::string("where to \0meet", 14)}, {"rdma", "an address"}};
  for (size_t i = 0; i < offer.from.size(); ++i) offer.from[i] = static_cast<char>(1 + i);
  return offer;
}

inline Fallback SampleNo() { return {FallbackCode::kDifferentUser, "client 1000, server 0"}; }

inline Yes SampleYes(bool is_new) {
  Yes yes;
  yes.fabric = 1;
  yes.passed_over = SampleNo();
  yes.stream = 3;
  yes.window = 1 << 20;
  yes.process = SampleProcess();
  yes.link = 5;
  yes.is_new = is_new;
  if (is_new) yes.new_link = {SampleRing(), std::string("and \0how", 8)};
  return yes;
}

inline std::vector<Answer> SampleAnswers() { return {SampleYes(true), SampleYes(false), SampleNo()}; }

}  // namespace skein::wire

#endif  // SKEIN_TESTS_SUPPORT_WIRE_SAMPLES_H_
