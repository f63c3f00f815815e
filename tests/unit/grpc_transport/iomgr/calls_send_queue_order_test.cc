// Batches, grants, writes and ends of several calls in any order: each call's messages arrive as they were sent, within
// its window, and gRPC hears of each batch once.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/seeds.h"
#include "tests/unit/grpc_transport/iomgr/calls_send_queue.h"

namespace skein::grpc_transport {
namespace {

// What one call sends, or what a peer has of it.
struct Course {
  std::vector<std::string> messages;
  bool ended = false;
};

class PeersView {
 public:
  void Take(const RecordedFrame& frame) {
    const FrameHeader& header = frame.header;
    ASSERT_FALSE(course_.ended) << "something behind the end";
    heard_ = true;
    taken_ += WindowTaken(header);
    if (header.kind == FrameKind::kMore) {
      ASSERT_LE(frame.message.size(), missing_) << "more than the message";
    } else {
      ASSERT_EQ(header.kind, FrameKind::kCall);
      ASSERT_EQ(missing_, 0u) << "a message inside another";
      if ((header.flags & kMessage) != 0) course_.messages.emplace_back();
      missing_ = header.number;
      course_.ended = (header.flags & kTrailing) != 0;
    }
    if (!frame.message.empty()) course_.messages.back() += frame.message;
    missing_ -= static_cast<uint32_t>(frame.message.size());
    ASSERT_TRUE(!course_.ended || missing_ == 0) << "an end inside a message";
  }
  const Course& course() const { return course_; }
  int64_t window_taken() const { return taken_; }
  bool has_heard() const { return heard_; }
  bool inside_message() const { return missing_ > 0; }

 private:
  Course course_;
  bool heard_ = false;
  int64_t taken_ = 0;
  uint32_t missing_ = 0;
};

class AnyOrder : QueueUnderTest {
 public:
  explicit AnyOrder(std::mt19937_64& random) : random_(random) {}

  void Run() {
    for (int step = 0; step < 80 && !testing::Test::HasFailure(); ++step) Step(calls_.at(Draw(random_, 3)));
    for (OneCall& call : calls_) Finish(call);
    Write();
    for (const auto& closure : must_run_) EXPECT_EQ(closure->runs, 1);
    for (const OneCall& call : calls_) Check(call);
  }

 private:
  struct OneCall {
    TestCall* call;
    uint32_t number;
    Course sent;
    PeersView peer = {};
    bool numbered;
    int64_t window = kInitialWindow;
    bool dropped = false;
  };

  void Step(OneCall& call) {
    const uint64_t choice = Draw(random_, 19);
    if (choice < 10) Send(call);
    if (choice >= 10 && choice < 15) WriteOnce();
    if (choice >= 15 && choice < 18) Grant(call, 1 + Draw(random_, 100'000));
    if (choice == 18 && Draw(random_, 3) == 0) DropIt(call);
    if (choice == 19) Number(call);
  }

  void Send(OneCall& call) {
    if (call.dropped || call.sent.ended) return;
    constexpr std::array kSizes = {
        size_t{0}, size_t{5}, size_t{1000}, kMaxFragmentBytes, kMaxFragmentBytes + 1, 3 * kMaxFragmentBytes};
    const size_t size = kSizes.at(Draw(random_, kSizes.size() - 1));
    uint8_t flags = Draw(random_, 3) == 0 ? 0 : kMessage;
    if (Draw(random_, 15) == 0) flags |= kTrailing;
    if (flags == 0) flags = kInitial;
    const bool has_message = (flags & kMessage) != 0;
    const std::string message = has_message ? kPool.substr(Draw(random_, kPool.size() - size), size) : "";
    if (has_message) call.sent.messages.push_back(message);
    call.sent.ended = (flags & kTrailing) != 0;
    AddBatch(call, flags, message, has_message && !call.sent.ended && Draw(random_, 3) == 0);
  }
  void AddBatch(OneCall& call, uint8_t flags, absl::string_view message, bool may_wait) {
    const Sent sent = Add(*call.call, flags, message, {.may_wait = may_wait});
    must_run_.push_back(sent.done);
    if ((flags & kTrailing) != 0 && !sent.at_once()) must_run_.push_back(sent.on_end);
    EXPECT_TRUE(!sent.at_once() || sent.done->runs == 1);
  }

  void WriteOnce() {
    for (const RecordedFrame& frame : Take()) {
      for (OneCall& call : calls_) {
        if (call.number != frame.header.call) continue;
        call.peer.Take(frame);
        EXPECT_LE(call.peer.window_taken(), call.window) << "more than the peer lets it send";
      }
    }
  }
  void Write() {
    while (!queue_->empty() && !testing::Test::HasFailure()) WriteOnce();
  }

  void Grant(OneCall& call, uint64_t bytes) {
    if (!call.numbered) return;  // the peer knows of no such call
    call.window += static_cast<int64_t>(bytes);
    EXPECT_TRUE(queue_->Grant(call.call->outgoing, static_cast<uint32_t>(bytes)));
  }
  void Number(OneCall& call) {
    if (call.numbered || call.dropped) return;
    call.numbered = true;
    queue_->Start(call.call->outgoing, call.number);
  }
  void DropIt(OneCall& call) {
    if (call.dropped) return;
    const SendQueue::PeerAwaits awaits = queue_->Drop(call.call->outgoing, absl::CancelledError());
    Flush();
    Write();  // what is queued already
    const bool knows = call.number != 7 || call.peer.has_heard();
    EXPECT_EQ(awaits, !knows                       ? SendQueue::PeerAwaits::kNothing
                      : call.peer.inside_message() ? SendQueue::PeerAwaits::kEnd
                                                   : SendQueue::PeerAwaits::kStatus);
    call.dropped = true;
  }
  void Finish(OneCall& call) {
    if (call.dropped) return;
    Number(call);
    if (!call.sent.ended) AddBatch(call, kTrailing, "", false);
    call.sent.ended = true;
    Grant(call, uint64_t{1} << 30);
  }

  // Of a call that was dropped a beginning has arrived, the last message of it perhaps in part.
  static void Check(const OneCall& call) {
    const Course& arrived = call.peer.course();
    if (!call.dropped) {
      EXPECT_TRUE(arrived.ended && arrived.messages == call.sent.messages) << "call " << call.number;
      return;
    }
    ASSERT_LE(arrived.messages.size(), call.sent.messages.size());
    for (size_t i = 0; i < arrived.messages.size(); ++i) {
      const bool is_last = i + 1 == arrived.messages.size();
      const std::string& sent = call.sent.messages[i];
      EXPECT_TRUE(arrived.messages[i] == (is_last ? sent.substr(0, arrived.messages[i].size()) : sent)) << call.number;
    }
  }

  std::mt19937_64& random_;
  std::vector<const Closure*> must_run_;
  std::array<OneCall, 4> calls_ = {{{&first_, 1, {}, {}, true},
                                    {&second_, 3, {}, {}, true},
                                    {&third_, 5, {}, {}, true},
                                    {&unnumbered_, 7, {}, {}, false}}};
  static inline const std::string kPool = [] {
    std::string pool(500'000, '\0');
    std::mt19937_64 random(27);
    for (char& byte : pool) byte = static_cast<char>(random());
    return pool;
  }();
};

TEST(CallsSendQueueOrderTest, EachCallsMessagesArriveAsTheyWereSentInAnyOrderOfSteps) {
  ForEachSeed([](std::mt19937_64& random) { AnyOrder(random).Run(); });
}

}  // namespace
}  // namespace skein::grpc_transport
