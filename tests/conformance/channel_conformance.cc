#include "tests/conformance/channel_conformance.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/out_item.h"

namespace skein::channel {
namespace {

std::vector<ChannelsFactory>& Registry() {
  static std::vector<ChannelsFactory> factories;
  return factories;
}

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

bool RegisterChannels(ChannelsFactory factory) {
  Registry().push_back(std::move(factory));
  return true;
}
const std::vector<ChannelsFactory>& RegisteredChannels() { return Registry(); }

std::string Text(size_t size, int number) {
  std::string text = absl::StrCat(number, ":") + std::string(size, static_cast<char>('a' + number % 26));
  text.resize(size);
  return text;
}

ChannelEnd::ChannelEnd(std::shared_ptr<Transport> of, const ChannelOptions& options)
    : transport(std::move(of)),
      group(transport->NewGroup(/*shares_memory=*/false).value()),
      channel(group->Open(options).value()) {}

absl::Status ChannelEnd::Take(const InMessage& message) {
  for (wire::ItemWalk walk = message.walk(); !walk.done();) {
    const absl::StatusOr<wire::Item> item = walk.Next();
    if (!item.ok()) return item.status();
    std::string payload(reinterpret_cast<const char*>(item->payload.data()), item->payload.size());
    if (item->header.kind == wire::ItemKind::kData) read.push_back(std::move(payload));
    if (item->header.kind != wire::ItemKind::kHello) continue;
    if (absl::Status met = channel->OnGreeting(payload); !met.ok()) return met;
  }
  return absl::OkStatus();
}

int ChannelEnd::Poll(int most) {
  if (channel == nullptr) return 0;
  group->Look();
  channel->Ended();
  int messages = 0;
  for (; messages < most && broken.ok(); ++messages) {
    const absl::StatusOr<std::optional<InMessage>> next = channel->Next();
    broken = next.status();
    if (!next.ok() || !next->has_value()) break;
    broken = Take(**next);
    channel->Pop();
  }
  const bool renews = channel->TakeRenewal();
  if (messages > 0) channel->AfterReading();
  if (!broken.ok() || !channel->met()) return messages;
  broken = channel->Heed();
  if (broken.ok() && renews) broken = channel->AnswerRenewal(true);
  if (broken.ok()) broken = channel->Tend();
  return messages;
}

absl::Status ChannelEnd::Lay(const std::vector<std::string>& payloads, Use use) {
  std::vector<absl::Span<const std::byte>> parts(payloads.size());
  std::vector<OutItem> items(payloads.size());
  for (size_t i = 0; i < payloads.size(); ++i) {
    parts[i] = Bytes(payloads[i]);
    items[i].header.stream = static_cast<uint32_t>(i);
    Carry(items[i], {&parts[i], 1});
  }
  return channel->Lay(absl::MakeSpan(items), use);
}

absl::Status ChannelEnd::Send(const std::vector<std::string>& payloads, Use use) {
  size_t bytes = 0;
  for (const std::string& payload : payloads) bytes += wire::ItemBytes(payload.size());
  if (bytes > channel->Space(use)) return absl::ResourceExhaustedError("no space");
  if (absl::Status laid = Lay(payloads, use); !laid.ok()) return laid;
  return Publish();
}

absl::Status ChannelEnd::SendGreeting() {
  const std::string greeting = channel->Greeting();
  const absl::Span<const std::byte> part = Bytes(greeting);
  OutItem item;
  item.header.kind = wire::ItemKind::kHello;
  Carry(item, {&part, 1});
  if (absl::Status laid = channel->Lay({&item, 1}, Use::kControl); !laid.ok()) return laid;
  return channel->Publish(0);
}

bool ChannelEnd::Arm() {
  EXPECT_TRUE(group->Arm().ok());
  group->Look();
  return !channel->Ended() && !channel->Readable() && !channel->MoreSpace();
}

absl::Status Connect(ChannelEnd& active, ChannelEnd& passive) {
  const absl::StatusOr<std::string> offer = active.channel->Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<Channel::Answer> answer = passive.channel->Accept(*offer);
  if (!answer.ok()) return answer.status();
  if (absl::Status completed = active.channel->Complete(*answer); !completed.ok()) return completed;
  return active.SendGreeting();
}

void ChannelConformance::SetUp() {
  channels_ = GetParam().make();
  Reconnect({kRingBytes});
}

std::unique_ptr<ChannelEnd> ChannelConformance::NewEnd(const ChannelOptions& options) {
  return std::make_unique<ChannelEnd>(channels_->MakeTransport("end"), options);
}

void ChannelConformance::Reconnect(const ChannelOptions& options) {
  a_ = NewEnd(options);
  b_ = NewEnd(options);
  ASSERT_EQ(Connect(*a_, *b_), absl::OkStatus());
  ASSERT_TRUE(Eventually([&] { return b_->channel->met(); }));
}

void ChannelConformance::Pump() {
  channels_->Settle();
  a_->Poll();
  b_->Poll();
}

bool ChannelConformance::Eventually(absl::FunctionRef<bool()> condition) {
  for (const absl::Time given_up = absl::Now() + kGuard; absl::Now() < given_up; Pump()) {
    if (condition()) return true;
  }
  return false;
}

bool ChannelConformance::Arrives(ChannelEnd& end) {
  for (const absl::Time given_up = absl::Now() + kGuard; absl::Now() < given_up;) {
    channels_->Settle();
    (&end == a_.get() ? *b_ : *a_).Poll();
    end.Poll(0);
    if (end.channel->Readable()) return true;
  }
  return false;
}

std::string ChannelConformance::Read(ChannelEnd& end) {
  if (!Eventually([&] { return !end.read.empty() || !end.broken.ok(); }) || end.read.empty()) {
    return end.broken.ok() ? "nothing" : end.broken.ToString();
  }
  std::string payload = std::move(end.read.front());
  end.read.pop_front();
  return payload;
}

testing::AssertionResult ChannelConformance::Reads(ChannelEnd& end, const std::string& payload) {
  const std::string read = Read(end);
  if (read == payload) return testing::AssertionSuccess();
  const auto brief = [](const std::string& text) { return absl::StrCat(text.size(), " bytes ", text.substr(0, 40)); };
  return testing::AssertionFailure() << "read " << brief(read) << " instead of " << brief(payload);
}

}  // namespace skein::channel
