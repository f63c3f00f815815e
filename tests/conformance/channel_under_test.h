// What the channels' conformance suite needs to know of a transport beyond its contract. One file per transport
// implements it and registers itself; linking that file in is all.
#ifndef SKEIN_TESTS_CONFORMANCE_CHANNEL_UNDER_TEST_H_
#define SKEIN_TESTS_CONFORMANCE_CHANNEL_UNDER_TEST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/channel/channel.h"

namespace skein::channel {

// Methods may be called from any thread.
class ChannelsUnderTest {
 public:
  virtual ~ChannelsUnderTest() = default;
  // Channels of any two of these can be connected. Two calls, two transports.
  virtual std::shared_ptr<Transport> MakeTransport(absl::string_view name) = 0;
  // Lets everything published arrive, as far as that does not take polling.
  virtual void Settle() = 0;
  // Whether a thread sleeping on the group's descriptor would be awake.
  virtual bool WouldWake(const ChannelGroup& group) = 0;
  // Sleeps. False when nothing woke it for so long that a wake-up must be lost.
  virtual bool Sleep(ChannelGroup& group) = 0;
  // Whether a sleeper wakes when its silent peer closes.
  virtual bool TheEndWakes() const { return true; }
};

struct ChannelsFactory {
  std::string name;  // letters, digits and underscores: part of the tests' names
  std::function<std::unique_ptr<ChannelsUnderTest>()> make;
};

// To be called while static variables are initialised. The value means nothing.
bool RegisterChannels(ChannelsFactory factory);
const std::vector<ChannelsFactory>& RegisteredChannels();

}  // namespace skein::channel

#endif  // SKEIN_TESTS_CONFORMANCE_CHANNEL_UNDER_TEST_H_
