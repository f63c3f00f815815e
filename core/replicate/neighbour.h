// Another member, to which this one has a path: what comes from it and what goes to it.
#ifndef SKEIN_CORE_REPLICATE_NEIGHBOUR_H_
#define SKEIN_CORE_REPLICATE_NEIGHBOUR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/replicate/frame.h"
#include "core/replicate/incoming.h"
#include "core/replicate/outgoing.h"
#include "core/replicate/path.h"

namespace skein::replicate {

class Member;

// By the thread that has the member's turn, but for the two flags.
class Neighbour final : private Incoming::Sink {
 public:
  Neighbour(Member& member, const Hello& own, MemberPath path)
      : member_(member), expected_(own), number_(path.member), path_(std::move(path.path)) {
    outgoing_.Say(Encode(own));
    expected_.member = number_;
  }

  uint32_t number() const { return number_; }
  Path& path() { return *path_; }

  // Reads, if there may be something, at most about `most` bytes. Whether there may be more at once.
  bool Read(size_t most);
  // Sends what there is to say, as far as it goes now. How many blocks have gone.
  size_t Write();
  // A write has failed: Read is to look why.
  bool write_failed() const { return !write_error_.ok(); }

  void SendBlock(const Begin& begin, uint32_t block, ConstBytes bytes);
  void SayHave(const Begin& begin, uint32_t member);
  void WriteIsOver() { began_ = peer_began_ = false; }
  // The group has failed: says so, unless `told`, and closes.
  void Stop(bool told, uint32_t failed_member, const absl::Status& why);

  // Any thread.
  void BecomesReadable() { readable_.store(true, std::memory_order_release); }
  void BecomesWritable() { writable_.store(true, std::memory_order_release); }

 private:
  void SayBegin(const Begin& begin);
  absl::Status OnHello(const Hello& hello) override;
  absl::Status OnBegin(const Begin& begin) override;
  absl::StatusOr<Bytes> PlaceOf(const Block& block) override;
  absl::Status OnBlock(const Block& block) override;
  absl::Status OnHave(const Have& have) override;
  absl::Status OnFailure(const Failure& failure, absl::string_view text) override;
  absl::Status Greeted() const;

  Member& member_;
  Hello expected_;  // what the peer's hello is to say
  const uint32_t number_;
  const std::unique_ptr<Path> path_;
  Incoming incoming_;
  Outgoing outgoing_;
  bool greeted_ = false;
  bool began_ = false;       // this end has said what the write is
  bool peer_began_ = false;  // the other has
  bool ended_ = false;       // nothing more comes
  absl::Status write_error_;
  // Set by whoever the path tells, release; taken by the thread with the turn, before it looks at the path, acquire.
  std::atomic<bool> readable_{true};
  std::atomic<bool> writable_{true};
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_NEIGHBOUR_H_
