// Two ends of a channel in shared memory, in one process, and the memory between them as a hostile peer has it.
#ifndef SKEIN_TESTS_UNIT_CHANNEL_SHM_TWO_CHANNELS_H_
#define SKEIN_TESTS_UNIT_CHANNEL_SHM_TWO_CHANNELS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "core/base/mapping.h"
#include "core/base/sealed_memory.h"
#include "core/channel/shm/layout.h"
#include "core/channel/shm/offer.h"
#include "core/channel/shm/rendezvous.h"
#include "core/channel/shm/shm_transport.h"
#include "tests/support/out_item.h"

namespace skein::channel::shm {

inline constexpr size_t kRing = wire::kRingGranule;
// Of memory that one end passes to the other.
inline constexpr size_t kRegionBytes = 10'000;
inline constexpr uint32_t kAllAccess = fabric::kRemoteRead | fabric::kRemoteWrite | fabric::kRemoteAtomic;

// Of this process.
inline std::ptrdiff_t OpenDescriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(begin(open), end(open));
}

// One end.
struct ShmEnd {
  explicit ShmEnd(const ShmOptions& shm = {}, const ChannelOptions& options = {kRing})
      : transport(OpenShm(shm)), group(transport->NewGroup(false).value()), channel(group->Open(options).value()) {}

  absl::Status Send(const std::string& text) {
    const absl::Span<const std::byte> part(reinterpret_cast<const std::byte*>(text.data()), text.size());
    OutItem item;
    Carry(item, {&part, 1});
    const absl::Status laid = channel->Lay({&item, 1}, Use::kData);
    return laid.ok() ? channel->Publish(0) : laid;
  }
  // The next message's first item; "nothing", or why not.
  std::string Read() {
    channel->Ended();
    const absl::StatusOr<std::optional<InMessage>> next = channel->Next();
    if (!next.ok()) return next.status().ToString();
    if (!next->has_value()) return "nothing";
    const absl::StatusOr<wire::Item> item = (*next)->walk().Next();
    if (!item.ok()) return item.status().ToString();
    std::string text(reinterpret_cast<const char*>(item->payload.data()), item->payload.size());
    channel->Pop();
    channel->AfterReading();
    return text;
  }

  std::shared_ptr<Transport> transport;
  std::unique_ptr<ChannelGroup> group;
  std::unique_ptr<Channel> channel;
};

inline absl::Status Connect(ShmEnd& active, ShmEnd& passive) {
  const absl::StatusOr<std::string> offer = active.channel->Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<Channel::Answer> answer = passive.channel->Accept(*offer);
  if (!answer.ok()) return answer.status();
  if (absl::Status completed = active.channel->Complete(*answer); !completed.ok()) return completed;
  return passive.channel->OnGreeting(active.channel->Greeting());
}

// The passive side of a meeting, which has the memory and the socket in its hands.
class RawPeer {
 public:
  // Meets the active end: with its own idea of the memory, if `size` says so.
  explicit RawPeer(ShmEnd& active, size_t ring_bytes = kRing, std::optional<size_t> size = {}) {
    const shm::Offer offer = DecodeOffer(active.channel->Offer().value()).value();
    const size_t bytes = size.value_or(SharedBytes(ring_bytes));
    UniqueFd memfd = CreateSealedMemfd("raw", bytes).value();
    memory = Map(memfd.get(), bytes).value();
    meeting.emplace(Meet(offer, {}, {}, std::move(memfd)).value());
    Channel::Answer answer;
    answer.connection = "\x01met";
    answer.ring.size = ring_bytes;
    completed = active.channel->Complete(answer);
  }

  Control& control() { return *reinterpret_cast<Control*>(memory.data()); }
  End& own() { return control().ends[0]; }
  std::byte* fifo() { return memory.data() + FifoOffset(0, kRing); }
  int socket() const { return meeting->socket.get(); }

  Mapping memory;
  std::optional<Meeting> meeting;
  absl::Status completed;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_TESTS_UNIT_CHANNEL_SHM_TWO_CHANNELS_H_
