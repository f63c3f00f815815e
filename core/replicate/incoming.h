// What arrives on one path: frames, and the bytes of blocks straight to where they belong.
#ifndef SKEIN_CORE_REPLICATE_INCOMING_H_
#define SKEIN_CORE_REPLICATE_INCOMING_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/replicate/frame.h"
#include "core/replicate/path.h"

namespace skein::replicate {

// Not thread-safe.
class Incoming {
 public:
  // An error says that no honest peer would have said that; nothing more is read then.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual absl::Status OnHello(const Hello& hello) = 0;
    virtual absl::Status OnBegin(const Begin& begin) = 0;
    // Where the bytes of the block belong, all of them; they stay there.
    virtual absl::StatusOr<Bytes> PlaceOf(const Block& block) = 0;
    virtual absl::Status OnBlock(const Block& block) = 0;  // they are there
    virtual absl::Status OnHave(const Have& have) = 0;
    virtual absl::Status OnFailure(const Failure& failure, absl::string_view text) = 0;
  };

  Incoming() = default;
  Incoming(const Incoming&) = delete;  // rest_ may point inside
  Incoming& operator=(const Incoming&) = delete;

  // Reads what is there, `most` bytes and a frame at most. True: there may be more. Errors are the path's, or the
  // sink's.
  absl::StatusOr<bool> Read(Path& path, size_t most, Sink& sink);

  // From now on all bytes are dropped; no memory of a write is touched again.
  void Drop();

 private:
  absl::Status Take(size_t bytes, Sink& sink);
  absl::Status TakeFrame(Sink& sink);
  absl::Status TakeBody(Sink& sink);

  std::array<std::byte, kFrameBytes> frame_;
  Bytes rest_{frame_};          // what is to be filled next
  std::optional<Block> block_;  // whose bytes rest_ waits for
  std::optional<Failure> failure_;
  std::string text_;  // of failure_
  std::vector<std::byte> dropped_;
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_INCOMING_H_
