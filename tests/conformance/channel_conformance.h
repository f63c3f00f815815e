// The fixture of the channels' conformance suite: two ends of a channel of the transport under test, which have met.
//
// Tests say what the contract in core/channel/channel.h says and no more.
#ifndef SKEIN_TESTS_CONFORMANCE_CHANNEL_CONFORMANCE_H_
#define SKEIN_TESTS_CONFORMANCE_CHANNEL_CONFORMANCE_H_

#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/channel/channel.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/channel_under_test.h"

namespace skein::channel {

// Only how long a failing test takes; no passing one waits for it.
inline constexpr absl::Duration kGuard = absl::Seconds(10);
inline constexpr size_t kRingBytes = size_t{64} << 10;

// An end as a link holds it, with one thread for both places.
struct ChannelEnd {
  std::shared_ptr<Transport> transport;
  std::unique_ptr<ChannelGroup> group;
  std::unique_ptr<Channel> channel;
  std::deque<std::string> read;  // items' payloads, but for the greeting's
  absl::Status broken;           // what Next, Heed or Tend said

  explicit ChannelEnd(std::shared_ptr<Transport> of, const ChannelOptions& options = {kRingBytes});
  // As a link polls: reads what is there, and heeds it. How many messages; at most `most`.
  int Poll(int most = 64);
  // A message of these items. `use`: with so much space.
  absl::Status Send(const std::vector<std::string>& payloads, Use use = Use::kData);
  absl::Status Send(const std::string& payload, Use use = Use::kData) { return Send(std::vector{payload}, use); }
  absl::Status Lay(const std::vector<std::string>& payloads, Use use = Use::kData);
  absl::Status Publish() { return channel->Publish(0); }
  absl::Status SendGreeting();
  // As a link does it before it sleeps: true, if nothing is there to be done.
  bool Arm();

 private:
  absl::Status Take(const InMessage& message);
};

absl::Status Connect(ChannelEnd& active, ChannelEnd& passive);

class ChannelConformance : public testing::TestWithParam<ChannelsFactory> {
 protected:
  void SetUp() override;
  std::unique_ptr<ChannelEnd> NewEnd(const ChannelOptions& options = {kRingBytes});
  // Both ends once more, connected anew.
  void Reconnect(const ChannelOptions& options);

  // Lets what is published arrive and polls both ends, once.
  void Pump();
  // Pumps until it holds. False if it does not.
  bool Eventually(absl::FunctionRef<bool()> condition);
  // Waits until a message is there, which stays.
  bool Arrives(ChannelEnd& end);
  // The next payload that `end` reads; "nothing" if none comes.
  std::string Read(ChannelEnd& end);
  // Whether that is `payload`, which may be long.
  testing::AssertionResult Reads(ChannelEnd& end, const std::string& payload);

  ChannelsUnderTest& channels() { return *channels_; }
  ChannelEnd& a() { return *a_; }  // the active end
  ChannelEnd& b() { return *b_; }
  std::unique_ptr<ChannelEnd>& end_a() { return a_; }
  std::unique_ptr<ChannelEnd>& end_b() { return b_; }

 private:
  std::unique_ptr<ChannelsUnderTest> channels_;
  std::unique_ptr<ChannelEnd> a_;
  std::unique_ptr<ChannelEnd> b_;
};

// `size` bytes that no other number gives.
std::string Text(size_t size, int number);

inline auto EveryTransport() { return testing::ValuesIn(RegisteredChannels()); }
inline std::string TransportName(const testing::TestParamInfo<ChannelsFactory>& info) { return info.param.name; }
inline void PrintTo(const ChannelsFactory& factory, std::ostream* out) { *out << factory.name; }

}  // namespace skein::channel

#endif  // SKEIN_TESTS_CONFORMANCE_CHANNEL_CONFORMANCE_H_
