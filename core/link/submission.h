// One caller's data on their way onto a link: which of them have been sent, and what came of it. It waits in the
// sender's place of the link until a leader, perhaps its own thread, has sent some of it or found that nothing more
// goes.
#ifndef SKEIN_CORE_LINK_SUBMISSION_H_
#define SKEIN_CORE_LINK_SUBMISSION_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/link/hop.h"
#include "core/link/port.h"
#include "core/link/send_place.h"
#include "core/wire/message.h"

namespace skein::link {

using ConstBytes = absl::Span<const std::byte>;
using Gathered = absl::Span<const ConstBytes>;  // bytes that are one, in several places

size_t SizeOf(Gathered parts);
// `to.size()` bytes, from `offset` on; as many as there are, if that is less.
void CopyGathered(Gathered from, size_t offset, absl::Span<std::byte> to);

class Submission : public SendPlace::Request {
 public:
  // The first `bytes` of `buffers`, which have so many and stay where they are until this is over.
  Submission(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes)
      : Request(/*alone=*/false), port_(port), buffers_(buffers), left_(bytes) {}
  // Each of `items` goes whole, in a message with as many of the others as fit. They stay where they are, too.
  Submission(Port& port, absl::Span<const Gathered> items, wire::ItemKind kind);
  // Of a request that a leader does: visitors do their own.
  static Submission& Of(SendPlace::Request& request) { return static_cast<Submission&>(request); }
  static const Submission& Of(const SendPlace::Request& request) { return static_cast<const Submission&>(request); }

  Port& port() const { return port_; }
  // What is left begins `offset` bytes into `buffers`.
  Gathered buffers() const { return buffers_; }
  size_t offset() const { return offset_; }
  size_t left() const { return left_; }  // bytes
  size_t sent() const { return sent_; }  // bytes, or items
  // The rest takes at most so many bytes of a message.
  size_t MessageBytes() const {
    constexpr size_t kBesidePayload = wire::ItemBytes(1);  // a header, and more than padding can be
    return left_ + kBesidePayload * (whole_ ? items_.size() : 1);
  }
  // Those that are left; empty where parts may go.
  absl::Span<const Gathered> items() const { return items_; }
  bool whole() const { return whole_; }
  wire::ItemKind kind() const { return kind_; }

  // By the leader, as is the rest. The next `bytes` go into the message it puts together; and then have gone, or not.
  void Take(size_t bytes) { Take(bytes, bytes > 0 ? 1 : 0); }
  void Take(size_t bytes, size_t items) {
    taken_ = bytes;
    taken_items_ = items;
  }
  size_t taken() const { return taken_; }
  size_t taken_items() const { return taken_items_; }  // of the message
  void Sent();
  // Nothing more goes now: for want of space or credits, or for good.
  void Stop(const absl::Status& error) {
    stopped_ = true;
    error_ = error;
  }
  bool stopped() const { return stopped_; }
  const absl::Status& error() const { return error_; }  // if it is for good
  void set_departure(const Departure& departure) { departure_ = departure; }
  const Departure& departure() const { return departure_; }  // of the last of it, if it is traced

  // What a follower can do for its leader: copy what was taken to where the leader has said.
  void set_destination(std::byte* destination) { destination_ = destination; }
  void Copy() const { CopyGathered(buffers_, offset_, {destination_, taken_}); }

 private:
  Port& port_;
  Gathered buffers_;
  absl::Span<const Gathered> items_;
  bool whole_ = false;
  wire::ItemKind kind_ = wire::ItemKind::kData;
  size_t offset_ = 0;
  size_t left_ = 0;
  size_t sent_ = 0;
  bool stopped_ = false;
  absl::Status error_;
  size_t taken_ = 0;
  size_t taken_items_ = 0;
  std::byte* destination_ = nullptr;
  Departure departure_;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_SUBMISSION_H_
