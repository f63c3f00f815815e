// What calls send, in which order and when gRPC hears of it.
#include "tests/unit/grpc_transport/iomgr/calls_send_queue.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "grpc_transport/iomgr/calls/send_queue.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kLong = 5 * kMaxFragmentBytes / 2;
constexpr size_t kTwoFragments = 2 * kMaxFragmentBytes;  // each fills a write
static_assert(kLong < kInitialWindow);
constexpr auto kCost = static_cast<size_t>(kMessageCost);
constexpr size_t kWindow = static_cast<size_t>(kInitialWindow) - kCost;  // for one message

// Each byte says where in the message it belongs.
std::string Message(size_t size, uint32_t seed = 0) {
  std::string message(size, '\0');
  for (size_t i = 0; i < size; ++i) message[i] = static_cast<char>(i * 31 + i / 251 + seed);
  return message;
}

class CallsSendQueueTest : public testing::Test, protected QueueUnderTest {};

// Bytes of messages, of all these frames.
std::string MessageOf(uint32_t call, const std::vector<RecordedFrame>& frames) {
  std::string message;
  for (const RecordedFrame& frame : frames) {
    if (frame.header.call == call) message += frame.message;
  }
  return message;
}

MATCHER_P4(Is, kind, call, flags, bytes, "") {
  const FrameHeader& header = arg.header;
  return header.kind == kind && header.call == call && header.flags == flags && arg.message.size() == bytes;
}
auto CallOf(uint32_t call, int flags, size_t bytes) { return Is(FrameKind::kCall, call, flags, bytes); }
auto MoreOf(uint32_t call, size_t bytes) { return Is(FrameKind::kMore, call, 0, bytes); }

TEST_F(CallsSendQueueTest, SmallBatchesGoWholeAtOnceAndInOrder) {
  const Sent both = Add(first_, kInitial | kMessage, "one", {.initial = "initial"});
  EXPECT_TRUE(both.at_once());
  EXPECT_EQ(both.done->runs, 1);
  EXPECT_TRUE(Add(second_, kInitial | kMessage | kTrailing, "two", {.initial = "i", .trailing = "t"}).at_once());
  EXPECT_TRUE(Add(first_, kMessage | kCompressed, "three").at_once());
  EXPECT_TRUE(Add(first_, kTrailing).at_once());
  const std::vector<RecordedFrame> frames = Take();
  EXPECT_THAT(frames, ElementsAre(CallOf(1, kInitial | kMessage, 3), CallOf(3, kInitial | kMessage | kTrailing, 3),
                                  CallOf(1, kMessage | kCompressed, 5), CallOf(1, kTrailing, 0)));
  EXPECT_EQ(frames[0].metadata, "initial");
  EXPECT_EQ(frames[1].metadata, "it");
  EXPECT_EQ(frames[1].header.initial, 1u);
  EXPECT_EQ(frames[2].message, "three");
  EXPECT_TRUE(queue_->empty());
}

TEST_F(CallsSendQueueTest, OtherFramesAndHttp2BytesKeepTheirPlaces) {
  FrameHeader hello;
  hello.kind = FrameKind::kHello;
  hello.length = 5;
  queue_->AddFrame(hello, "agent");
  Add(first_, kInitial, "", {.initial = "initial"});
  grpc_core::SliceBuffer http2;
  for (const char* part : {"a part", ", another"}) http2.AppendIndexed(grpc_core::Slice::FromCopiedString(part));
  queue_->AddHttp2(*http2.c_slice_buffer());
  EXPECT_EQ(http2.Length(), 0u);
  FrameHeader end;
  end.kind = FrameKind::kEnd;
  end.call = 1;
  queue_->AddFrame(end);
  const std::vector<RecordedFrame> frames = Take();
  EXPECT_THAT(frames, ElementsAre(Is(FrameKind::kHello, 0u, 0, 0u), CallOf(1, kInitial, 0),
                                  Is(FrameKind::kHttp2, 0u, 0, 15u), Is(FrameKind::kEnd, 1u, 0, 0u)));
  EXPECT_EQ(frames[0].metadata, "agent");
  EXPECT_EQ(frames[2].message, "a part, another");
}

TEST_F(CallsSendQueueTest, LongMessagesGoInFragments) {
  const std::string message = Message(kLong);
  const Sent sent = Add(first_, kInitial | kMessage, message, {.initial = "initial"});
  EXPECT_FALSE(sent.at_once());
  EXPECT_EQ(sent.done->runs, 0);
  const std::vector<RecordedFrame> frames = Take();
  ASSERT_THAT(frames, ElementsAre(CallOf(1, kInitial | kMessage, kMaxFragmentBytes), MoreOf(1, kMaxFragmentBytes),
                                  MoreOf(1, kMaxFragmentBytes / 2)));
  EXPECT_EQ(frames[0].header.number, kLong);
  EXPECT_EQ(frames[0].metadata, "initial");
  EXPECT_EQ(sent.done->runs, 1);
  EXPECT_EQ(sent.done->error, absl::OkStatus());
  EXPECT_TRUE(MessageOf(1, frames) == message);
  EXPECT_TRUE(queue_->empty());
}

TEST_F(CallsSendQueueTest, StopsAtTheWindowAndGoesOnWithWhatIsGranted) {
  const std::string message = Message(kWindow + 1000);
  const Sent sent = Add(first_, kMessage, message);
  std::vector<RecordedFrame> frames = TakeAll();
  EXPECT_TRUE(MessageOf(1, frames) == message.substr(0, kWindow));
  EXPECT_EQ(sent.done->runs, 0);
  EXPECT_TRUE(queue_->empty()) << "nothing may be written";
  queue_->Grant(first_.outgoing, 400);
  EXPECT_THAT(TakeAll(), ElementsAre(MoreOf(1, 400)));
  EXPECT_EQ(sent.done->runs, 0);
  queue_->Grant(first_.outgoing, 10'000);
  EXPECT_THAT(TakeAll(), ElementsAre(MoreOf(1, 600)));
  EXPECT_EQ(sent.done->runs, 1);
  EXPECT_TRUE(Add(first_, kMessage, Message(9400 - kCost)).at_once()) << "what is left of the window";
  EXPECT_FALSE(Add(first_, kMessage, "x").at_once());
}

TEST_F(CallsSendQueueTest, WithoutAWindowAMessageWaitsForWhatItCostsAndThenForItsBytes) {
  Add(first_, kMessage, Message(kWindow));
  TakeAll();
  const Sent sent = Add(first_, kMessage | kTrailing, "behind the window", {.trailing = "trailing"});
  EXPECT_FALSE(sent.at_once());
  queue_->Grant(first_.outgoing, kCost - 1);
  EXPECT_TRUE(queue_->empty()) << "nothing may be written";
  queue_->Grant(first_.outgoing, 1);
  EXPECT_THAT(TakeAll(), ElementsAre(CallOf(1, kMessage, 0)));
  EXPECT_EQ(sent.done->runs, 0);
  EXPECT_EQ(sent.on_end->runs, 0);
  queue_->Grant(first_.outgoing, 100);
  const std::vector<RecordedFrame> frames = TakeAll();
  EXPECT_THAT(frames, ElementsAre(MoreOf(1, 17), CallOf(1, kTrailing, 0)));
  EXPECT_EQ(frames[1].metadata, "trailing");
  EXPECT_EQ(sent.done->runs, 1);
  EXPECT_EQ(sent.on_end->runs, 1);
}

// A half-close, and initial metadata, are no messages; one without bytes is.
TEST_F(CallsSendQueueTest, WhatHasNoMessageNeedsNoWindow) {
  Add(first_, kMessage, Message(kWindow));
  TakeAll();
  EXPECT_TRUE(Add(first_, kInitial, "", {.initial = "initial"}).at_once());
  EXPECT_TRUE(Add(first_, kTrailing).at_once());
  EXPECT_THAT(TakeAll(), SizeIs(2));
  Add(second_, kMessage, Message(kWindow));
  TakeAll();
  EXPECT_FALSE(Add(second_, kMessage).at_once());
  EXPECT_TRUE(queue_->empty());
  queue_->Grant(second_.outgoing, kCost);
  EXPECT_THAT(TakeAll(), ElementsAre(CallOf(3, kMessage, 0)));
}

TEST_F(CallsSendQueueTest, AWindowLargerThanAnyPeerNeedsIsRefused) {
  bool granted = true;
  for (int grants = 0; granted && grants < 1000; ++grants) granted = queue_->Grant(first_.outgoing, UINT32_MAX);
  EXPECT_FALSE(granted);
}

TEST_F(CallsSendQueueTest, LongMessagesTakeTurns) {
  Add(first_, kMessage, Message(kLong, 1));
  Add(second_, kMessage, Message(kLong, 2));
  std::vector<uint32_t> turns;
  std::vector<RecordedFrame> frames = TakeAll();
  for (const RecordedFrame& frame : frames) turns.push_back(frame.header.call);
  EXPECT_THAT(turns, ElementsAre(1, 3, 1, 3, 1, 3));
  EXPECT_TRUE(MessageOf(1, frames) == Message(kLong, 1));
  EXPECT_TRUE(MessageOf(3, frames) == Message(kLong, 2));
}

// Of the long ones no more than one write's fragments go first.
TEST_F(CallsSendQueueTest, ASmallMessageGoesBetweenTheFragmentsOfLongOnes) {
  Add(first_, kMessage, Message(kLong));
  Add(second_, kMessage, Message(kLong));
  EXPECT_THAT(Take(), ElementsAre(CallOf(1, kMessage, kMaxFragmentBytes), CallOf(3, kMessage, kMaxFragmentBytes),
                                  MoreOf(1, kMaxFragmentBytes), MoreOf(3, kMaxFragmentBytes)));
  EXPECT_TRUE(Add(third_, kInitial | kMessage | kTrailing, "small").at_once());
  EXPECT_THAT(Take(), ElementsAre(CallOf(5, kInitial | kMessage | kTrailing, 5), MoreOf(1, kMaxFragmentBytes / 2),
                                  MoreOf(3, kMaxFragmentBytes / 2)));
}

// A queue that is long already takes nobody's bytes: who fills it faster than the connection takes them waits in turn.
TEST_F(CallsSendQueueTest, AFullQueueTakesNothingAtOnce) {
  EXPECT_TRUE(Add(first_, kMessage, Message(kMaxFragmentBytes)).at_once());
  const Sent waiting = Add(first_, kMessage, "next");
  EXPECT_FALSE(waiting.at_once());
  const Sent other = Add(second_, kMessage | kTrailing, "other");
  EXPECT_FALSE(other.at_once());
  EXPECT_EQ(waiting.done->runs + other.done->runs, 0);
  EXPECT_THAT(Take(), ElementsAre(CallOf(1, kMessage, kMaxFragmentBytes), CallOf(1, kMessage, 4),
                                  CallOf(3, kMessage | kTrailing, 5)));
  EXPECT_EQ(waiting.done->runs, 1);
  EXPECT_EQ(other.done->runs, 1);
  EXPECT_EQ(other.on_end->runs, 1);
}

TEST_F(CallsSendQueueTest, BatchesOfOneCallKeepTheirOrderBehindALongMessage) {
  Add(first_, kMessage, Message(kLong));
  const Sent small = Add(first_, kMessage, "small");
  const Sent end = Add(first_, kTrailing, "", {.trailing = "trailing"});
  EXPECT_FALSE(small.at_once());
  EXPECT_FALSE(end.at_once());
  EXPECT_THAT(TakeAll(),
              ElementsAre(CallOf(1, kMessage, kMaxFragmentBytes), MoreOf(1, kMaxFragmentBytes),
                          MoreOf(1, kMaxFragmentBytes / 2), CallOf(1, kMessage, 5), CallOf(1, kTrailing, 0)));
  EXPECT_LT(small.done->place, end.done->place);
}

TEST_F(CallsSendQueueTest, TheEndTrailsALongMessage) {
  const Sent sent =
      Add(first_, kInitial | kMessage | kTrailing, Message(kTwoFragments), {.initial = "i", .trailing = "trailing"});
  EXPECT_EQ(sent.done->runs + sent.on_end->runs, 0);
  const std::vector<RecordedFrame> frames = Take();
  ASSERT_THAT(frames, ElementsAre(CallOf(1, kInitial | kMessage, kMaxFragmentBytes), MoreOf(1, kMaxFragmentBytes),
                                  CallOf(1, kTrailing, 0)));
  EXPECT_EQ(frames[2].metadata, "trailing");
  EXPECT_EQ(sent.done->runs, 1);
  EXPECT_EQ(sent.on_end->runs, 1);
}

TEST_F(CallsSendQueueTest, TheEndIsToldBeforeTheBatchIsDone) {
  const Sent sent = Add(first_, kMessage | kTrailing, Message(kLong));
  TakeAll();
  EXPECT_EQ(sent.on_end->runs, 1);
  EXPECT_EQ(sent.done->runs, 1);
  EXPECT_LT(sent.on_end->place, sent.done->place);
}

TEST_F(CallsSendQueueTest, AnEndThatGoesAtOnceIsTheCallersToTell) {
  const Sent sent = Add(first_, kTrailing);
  EXPECT_TRUE(sent.at_once());
  TakeAll();
  EXPECT_EQ(sent.on_end->runs, 0);
}

TEST_F(CallsSendQueueTest, AMessageThatMayWaitIsHeldUntilTheNextBatch) {
  const Sent held = Add(first_, kInitial | kMessage, "held", {.initial = "i", .may_wait = true});
  EXPECT_FALSE(held.at_once());
  EXPECT_EQ(held.done->runs, 1) << "gRPC sends nothing more before";
  EXPECT_TRUE(queue_->empty());
  Add(first_, kMessage, "too", {.may_wait = true});
  EXPECT_TRUE(queue_->empty());
  const Sent next = Add(first_, kMessage, "next");
  EXPECT_THAT(Take(), ElementsAre(CallOf(1, kInitial | kMessage, 4), CallOf(1, kMessage, 3), CallOf(1, kMessage, 4)));
  EXPECT_EQ(held.done->runs, 1);
  EXPECT_EQ(next.done->runs, 1);
  EXPECT_TRUE(Add(first_, kMessage, "at once again").at_once());
}

TEST_F(CallsSendQueueTest, AnEndTakesWhatMayWaitWithIt) {
  Add(first_, kMessage, "held", {.may_wait = true});
  Add(first_, kTrailing);
  EXPECT_THAT(Take(), ElementsAre(CallOf(1, kMessage, 4), CallOf(1, kTrailing, 0)));
}

TEST_F(CallsSendQueueTest, MuchThatMayWaitGoesAllTheSame) {
  const Sent little = Add(first_, kMessage, Message(kMaxFragmentBytes - kCost), {.may_wait = true});
  EXPECT_EQ(little.done->runs, 1);
  EXPECT_TRUE(queue_->empty());
  const Sent much = Add(first_, kMessage, "x", {.may_wait = true});
  EXPECT_EQ(much.done->runs, 0) << "a sender that does not stop is held back";
  EXPECT_THAT(TakeAll(), ElementsAre(CallOf(1, kMessage, kMaxFragmentBytes - kCost), CallOf(1, kMessage, 1)));
  EXPECT_EQ(much.done->runs, 1);
}

TEST_F(CallsSendQueueTest, ACallWithoutANumberWaitsForOne) {
  const Sent initial = Add(unnumbered_, kInitial, "", {.initial = "initial"});
  const Sent message = Add(unnumbered_, kMessage, "message");
  EXPECT_FALSE(initial.at_once());
  EXPECT_EQ(initial.done->runs, 1) << "it is little";
  EXPECT_EQ(message.done->runs, 0);
  EXPECT_TRUE(queue_->empty());
  queue_->Start(unnumbered_.outgoing, 7);
  const std::vector<RecordedFrame> frames = Take();
  EXPECT_THAT(frames, ElementsAre(CallOf(7, kInitial, 0), CallOf(7, kMessage, 7)));
  EXPECT_EQ(frames[0].metadata, "initial");
  EXPECT_EQ(message.done->runs, 1);
  EXPECT_TRUE(Add(unnumbered_, kMessage, "next").at_once());
}

// Calls begin in the order of their numbers, however long the queue is.
TEST_F(CallsSendQueueTest, TheBeginningOfACallGoesWithItsNumberAndTheRestInTurn) {
  const Sent sent = Add(unnumbered_, kInitial | kMessage | kTrailing, "all", {.initial = "i", .trailing = "t"});
  Add(first_, kMessage, Message(kMaxFragmentBytes));
  queue_->Start(unnumbered_.outgoing, 7);
  const std::vector<RecordedFrame> frames = Take();
  ASSERT_THAT(frames, ElementsAre(CallOf(1, kMessage, kMaxFragmentBytes), CallOf(7, kInitial, 0),
                                  CallOf(7, kMessage | kTrailing, 3)));
  EXPECT_EQ(frames[1].metadata, "i");
  EXPECT_EQ(frames[2].metadata, "t");
  EXPECT_EQ(sent.done->runs, 1);
  EXPECT_LT(sent.on_end->place, sent.done->place);
}

TEST_F(CallsSendQueueTest, WithNothingWaitingANumberAndAGrantAreNothing) {
  queue_->Start(unnumbered_.outgoing, 7);
  queue_->Grant(first_.outgoing, 10);
  EXPECT_TRUE(queue_->empty());
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(CallsSendQueueTest, ACallHasEndedOnceItsEndHasAPlace) {
  EXPECT_FALSE(SendQueue::Ended(first_.outgoing));
  Add(first_, kTrailing);
  EXPECT_TRUE(SendQueue::Ended(first_.outgoing));
  Add(second_, kMessage | kTrailing, Message(kLong));
  EXPECT_FALSE(SendQueue::Ended(second_.outgoing)) << "it waits";
  TakeAll();
  EXPECT_TRUE(SendQueue::Ended(second_.outgoing));
}

class CallsDroppedTest : public CallsSendQueueTest {
 protected:
  using PeerAwaits = SendQueue::PeerAwaits;
  PeerAwaits Drop(TestCall& call) {
    const PeerAwaits awaits = queue_->Drop(call.outgoing, why_);
    Flush();
    return awaits;
  }
  const grpc_error_handle why_ = absl::CancelledError("the caller has");
};

TEST_F(CallsDroppedTest, ClosuresRunOnceAndNothingMoreIsSent) {
  const Sent message = Add(first_, kMessage, Message(kWindow + 1000));
  const Sent small = Add(first_, kMessage, "small");
  const Sent end = Add(first_, kTrailing);
  TakeAll();
  EXPECT_EQ(Drop(first_), PeerAwaits::kEnd) << "a message is cut";
  Drop(first_);
  for (const Closure* closure : {message.done, small.done, end.done, end.on_end}) {
    EXPECT_EQ(closure->runs, 1);
    EXPECT_EQ(closure->error, why_);
  }
  EXPECT_THAT(TakeAll(), IsEmpty());
  queue_->Grant(first_.outgoing, 1000);
  EXPECT_THAT(TakeAll(), IsEmpty());
}

TEST_F(CallsDroppedTest, ABatchThatComesLaterIsLeftAlone) {
  EXPECT_FALSE(SendQueue::Ended(first_.outgoing));
  Drop(first_);
  EXPECT_TRUE(SendQueue::Ended(first_.outgoing));
  const Sent late = Add(first_, kMessage | kTrailing, "late");
  EXPECT_EQ(late.added, SendQueue::Added::kDropped);
  EXPECT_EQ(late.done->runs + late.on_end->runs, 0);
  EXPECT_THAT(TakeAll(), IsEmpty());
}

TEST_F(CallsDroppedTest, OnlyABegunMessageIsCut) {
  Add(unnumbered_, kMessage | kTrailing, Message(kLong));
  EXPECT_EQ(Drop(unnumbered_), PeerAwaits::kNothing) << "it has not begun";
  Add(second_, kMessage, Message(kTwoFragments));
  const Sent sent = Add(first_, kMessage | kTrailing, Message(kTwoFragments));
  EXPECT_THAT(Take(), SizeIs(4)) << "as much as a write takes";
  ASSERT_EQ(sent.on_end->runs, 0);
  EXPECT_EQ(Drop(first_), PeerAwaits::kStatus) << "all of it is there, but for the end";
  EXPECT_EQ(sent.on_end->runs, 1);
  EXPECT_EQ(sent.on_end->error, why_);
}

TEST_F(CallsDroppedTest, AMessageThatIsAnnouncedIsCut) {
  Add(first_, kMessage, Message(kWindow - kCost));
  TakeAll();
  Add(first_, kMessage, "no window for its bytes");
  EXPECT_THAT(TakeAll(), ElementsAre(CallOf(1, kMessage, 0)));
  EXPECT_EQ(Drop(first_), PeerAwaits::kEnd);
}

TEST_F(CallsDroppedTest, WhatIsDoneIsNotDoneAgain) {
  const Sent held = Add(first_, kMessage, "held", {.may_wait = true});
  const Sent initial = Add(unnumbered_, kInitial, "", {.initial = "initial"});
  EXPECT_EQ(Drop(first_), PeerAwaits::kStatus) << "its caller waits for one";
  EXPECT_EQ(Drop(unnumbered_), PeerAwaits::kNothing);
  EXPECT_EQ(held.done->runs, 1);
  EXPECT_EQ(held.done->error, absl::OkStatus());
  EXPECT_EQ(initial.done->runs, 1);
}

TEST_F(CallsDroppedTest, WhatIsQueuedGoes) {
  Add(first_, kMessage, "queued");
  EXPECT_EQ(Drop(first_), PeerAwaits::kStatus);
  EXPECT_THAT(TakeAll(), ElementsAre(CallOf(1, kMessage, 6)));
}

TEST_F(CallsDroppedTest, OtherCallsGoOn) {
  Add(first_, kMessage, Message(kLong, 1));
  const Sent other = Add(second_, kMessage, Message(kLong, 2));
  std::vector<RecordedFrame> frames = Take();
  Drop(first_);
  for (RecordedFrame& frame : TakeAll()) frames.push_back(std::move(frame));
  EXPECT_TRUE(MessageOf(1, frames) == Message(kLong, 1).substr(0, kTwoFragments));
  EXPECT_TRUE(MessageOf(3, frames) == Message(kLong, 2));
  EXPECT_EQ(other.done->error, absl::OkStatus());
  EXPECT_EQ(other.done->runs, 1);
}

// The queue keeps a call that waits for its turn, and lets go of it with its last fragment or at its own end.
TEST_F(CallsDroppedTest, AQueueThatEndsLetsGoOfItsCalls) {
  Add(first_, kMessage, Message(kLong));
  Take();
  Drop(first_);
  queue_ = nullptr;
  // ~TestCall sees whether its references are gone.
}

// Else the call would keep the connection, and the connection this queue: none of the three would ever go.
TEST_F(CallsSendQueueTest, AClosedQueueKeepsNoCallThatIsGrantedAWindow) {
  TestCall call(7);
  const Sent sent = Add(call, kInitial | kMessage, Message(kWindow + 1));
  TakeAll();
  queue_->Close();
  EXPECT_TRUE(queue_->Grant(call.outgoing, 1000));
  queue_->Drop(call.outgoing, absl::UnavailableError("the connection has ended"));
  Flush();
  EXPECT_EQ(sent.done->runs, 1);
}  // TestCall expects that nobody keeps it

}  // namespace
}  // namespace skein::grpc_transport
