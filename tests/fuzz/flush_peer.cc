// The two ends of requests that are flushed into a log from afar, with a hostile peer that keeps to the fabric's rules
// alone: what a receiver takes are entries in their order, what a sender believes has been sent.
//
//   input = u8 mode (as on the wire, less one) and 4 for a sender | steps
#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"
#include "core/durable/flush/handshake.h"
#include "core/durable/flush/requests.h"
#include "core/fabric/sim/simulation.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/support/fabric_end.h"

namespace skein::fuzz {
namespace {

using namespace durable;  // NOLINT(google-build-using-namespace): a file of its own

constexpr RingShape kShape{.slot_bytes = 128, .slots = 4};
constexpr uint32_t kReplyBytes = 8;
constexpr int kMostSteps = 200;

enum class ToReceiver : uint8_t {
  kWrite,   // u16 offset from the slots | piece
  kEntry,   // u8 that its sequence is wrong by | u8 byte that is wrong, and by what | piece
  kSend,    // piece
  kPoll,    //
  kFinish,  // u8 of those that were taken, which | u8 bytes of its reply
};
enum class ToSender : uint8_t {
  kFeedback,  // u64
  kReply,     // u32 immediate | u16 offset | piece
  kWrite,     // u16 offset from the feedback | piece
  kPoll,      //
  kSend,      // piece
  kFlush,     //
};

class Peer {
 protected:
  Peer() : peer_(simulation_.CreateDevice("peer"), 1 << 14), own_(simulation_.CreateDevice("own")) {
    peer_.queue_pair = peer_.NewQueuePair();
  }
  // In vain once the victim has cut it off.
  void Post(fabric::Opcode opcode, absl::string_view bytes, fabric::RemoteAddress to, uint32_t immediate = 0) {
    bytes = bytes.substr(0, 4096);
    peer_.Put(0, bytes);
    const fabric::Segment local = peer_.Local(0, bytes.size());
    fabric::SendRequest request = fabric::Request(opcode, {&local, 1}, to);
    request.immediate = immediate;
    fabric::Post(*peer_.queue_pair, request).IgnoreError();
    simulation_.RunUntilIdle();
    peer_.Poll();
  }

  fabric::Simulation simulation_{20261121};
  fabric::End peer_;
  const std::shared_ptr<fabric::Device> own_;
};

class Receiver : Peer {
 public:
  explicit Receiver(FlushMode mode) : mode_(mode) {
    FlushReceiverOptions options;
    options.mode = mode;
    options.shape = kShape;
    receiver_ = FlushReceiver::Open(*own_, nullptr, options).value();
    FlushOffer offer;
    offer.mode = mode;
    offer.slots = kShape.slots;
    offer.reply_bytes = kReplyBytes;
    offer.feedback = peer_.Remote(4096);
    offer.queue_pair = peer_.queue_pair->Offer().value();
    answer_ = DecodeAnswer(receiver_->Accept(EncodeOffer(offer)).value()).value();
    Require(peer_.queue_pair->Complete(answer_.queue_pair).ok(), "it connects");
    for (int i = 0; i < 32; ++i) fabric::PostReceive(*peer_.queue_pair, {}).IgnoreError();
  }

  void Do(Script& script) {
    switch (static_cast<ToReceiver>(script.Choice(5))) {
      case ToReceiver::kWrite: {
        const auto offset = script.Take<uint16_t>();
        return Post(fabric::Opcode::kWrite, script.Piece(), After(answer_.slots, offset));
      }
      case ToReceiver::kEntry:
        return Entry(script);
      case ToReceiver::kSend:
        return Post(fabric::Opcode::kSend, script.Piece(), {});
      case ToReceiver::kPoll:
        return Poll();
      case ToReceiver::kFinish: {
        if (taken_.empty()) return;
        const auto which = std::next(taken_.begin(), static_cast<int>(script.Choice(taken_.size())));
        if (receiver_->Finish(*which, std::string(script.Take<uint8_t>() % 16, 'r')).ok()) taken_.erase(which);
        return;
      }
    }
  }
  void Poll() {
    receiver_
        ->Poll([this](const FlushEntry& entry) {
          Require(entry.sequence == ++last_, "in order");
          Require(entry.payload.size() <= LargestPayload(kShape), "out of its slot");
          taken_.insert(entry.sequence);
          Require(taken_.size() <= kShape.slots, "no more than there are slots");
        })
        .IgnoreError();
    simulation_.RunUntilIdle();
  }

 private:
  void Entry(Script& script) {
    const uint64_t sequence = next_++ + script.Take<uint8_t>();
    const auto at = script.Take<uint8_t>();
    const auto flip = script.Take<uint8_t>();
    std::string slot(kShape.slot_bytes, '\0');
    const HeaderPlace place = SentByWrite(mode_) ? HeaderPlace::kLast : HeaderPlace::kFirst;
    const absl::Span<const std::byte> taken =
        MakeFlushEntry({reinterpret_cast<std::byte*>(slot.data()), slot.size()}, place, answer_.key, {}, sequence, 0,
                       script.Piece().substr(0, LargestPayload(kShape)));
    slot[at % slot.size()] = static_cast<char>(slot[at % slot.size()] ^ flip);
    const absl::string_view entry(reinterpret_cast<const char*>(taken.data()), taken.size());
    if (place == HeaderPlace::kFirst) return Post(fabric::Opcode::kSend, entry, {});
    const uint64_t begin = SlotOf(kShape, sequence) * kShape.slot_bytes + (kShape.slot_bytes - entry.size());
    Post(fabric::Opcode::kWrite, entry, After(answer_.slots, begin));
  }

  const FlushMode mode_;
  std::unique_ptr<FlushReceiver> receiver_;
  FlushAnswer answer_;
  std::set<uint64_t> taken_;  // and not finished
  uint64_t last_ = 0;
  uint64_t next_ = 1;
};

class Sender : Peer {
 public:
  explicit Sender(FlushMode mode) {
    FlushSenderOptions options;
    options.mode = mode;
    options.slots = kShape.slots;
    options.reply_bytes = kReplyBytes;
    sender_ = FlushSender::Create(*own_, options).value();
    offer_ = DecodeOffer(sender_->Offer().value()).value();
    FlushAnswer answer;
    answer.shape = kShape;
    answer.key.epoch = 1;
    answer.slots = peer_.Remote(8192);
    answer.queue_pair = peer_.queue_pair->Accept(offer_.queue_pair).value();
    Require(sender_->Complete(EncodeAnswer(answer)).ok(), "it connects");
    for (uint32_t slot = 0; slot < kShape.slots; ++slot) {
      fabric::PostReceive(*peer_.queue_pair, peer_.Local(8192 + slot * kShape.slot_bytes, kShape.slot_bytes))
          .IgnoreError();
    }
  }

  void Do(Script& script) {
    switch (static_cast<ToSender>(script.Choice(6))) {
      case ToSender::kFeedback: {
        std::string word;
        wire::Put(word, script.Take<uint64_t>());
        return Post(fabric::Opcode::kWrite, word, offer_.feedback);
      }
      case ToSender::kReply: {
        const auto immediate = script.Take<uint32_t>();
        const auto offset = script.Take<uint16_t>();
        return Post(fabric::Opcode::kWriteWithImmediate, script.Piece(), After(offer_.feedback, offset), immediate);
      }
      case ToSender::kWrite: {
        const auto offset = script.Take<uint16_t>();
        return Post(fabric::Opcode::kWrite, script.Piece(), After(offer_.feedback, offset));
      }
      case ToSender::kPoll:
        return Poll();
      case ToSender::kSend:
        sender_->Send(script.Piece()).IgnoreError();
        return;
      case ToSender::kFlush:
        sender_->Flush().IgnoreError();
        simulation_.RunUntilIdle();
        return;
    }
  }
  void Poll() {
    sender_
        ->Poll([this](uint64_t sequence, absl::string_view reply) {
          Require(sequence < sender_->next() && replied_.insert(sequence).second, "one reply to what was sent");
          Require(reply.size() <= kReplyBytes, "as long as there is space for");
        })
        .IgnoreError();
    Require(sender_->acknowledged().up_to < sender_->next(), "only what was sent is acknowledged");
    Require(sender_->finished() < sender_->next(), "and finished");
    Require(sender_->space() <= kShape.slots, "no more space than slots");
    simulation_.RunUntilIdle();
  }

 private:
  std::unique_ptr<FlushSender> sender_;
  FlushOffer offer_;
  std::set<uint64_t> replied_;
};

template <typename Victim>
void Run(Victim&& victim, Script& script) {
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) victim.Do(script);
  victim.Poll();
}

std::string ReceiverSeed(uint8_t mode) {
  const std::string entry = Say(ToReceiver::kEntry, uint8_t{0}, uint8_t{0}, uint8_t{0}, Piece("a request"));
  const std::string take = Say(ToReceiver::kPoll) + Say(ToReceiver::kFinish, uint8_t{0}, uint8_t{8});
  return Say(mode) + entry + entry + take + take + entry + entry + entry + take;
}

std::string SenderSeed(uint8_t mode) {
  const std::string send = Say(ToSender::kSend, Piece("a request")) + Say(ToSender::kFlush);
  const std::string poll = Say(ToSender::kPoll);
  return Say(mode + 4) + send + send + Say(ToSender::kFeedback, uint64_t{2} | kSlowDown) + poll +
         Say(ToSender::kReply, uint32_t{1}, uint16_t{kFeedbackBytes}, Piece("reply")) + poll + send +
         Say(ToSender::kReply, uint32_t{2}, uint16_t{128}, Piece(""));
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const uint8_t mode : {0, 1, 2, 3}) {
    seeds.push_back(ReceiverSeed(mode));
    seeds.push_back(SenderSeed(mode));
  }
  return seeds;
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  const size_t role = script.Choice(8);
  const auto mode = static_cast<skein::durable::FlushMode>(role % 4 + 1);
  if (role < 4) {
    Run(Receiver(mode), script);
  } else {
    Run(Sender(mode), script);
  }
  return 0;
}
