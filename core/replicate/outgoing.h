// What a member has to say on one path, in order: frames, and blocks straight from the memory of the write.
#ifndef SKEIN_CORE_REPLICATE_OUTGOING_H_
#define SKEIN_CORE_REPLICATE_OUTGOING_H_

#include <cstddef>
#include <deque>
#include <string>

#include "absl/status/statusor.h"
#include "core/replicate/path.h"

namespace skein::replicate {

// Not thread-safe.
class Outgoing {
 public:
  void Say(std::string frame) { items_.push_back({std::move(frame), {}}); }
  // `block` stays until Write has counted it, or Cut.
  void SendBlock(std::string frame, ConstBytes block) { items_.push_back({std::move(frame), block, true}); }

  // Of one Write: how many blocks the path has taken to their end, and whether it has taken all there is.
  struct Taken {
    size_t blocks = 0;
    bool all = true;
  };
  absl::StatusOr<Taken> Write(Path& path);

  // No more blocks are to go, and the memory of the write is not touched again. A block that is partly out goes to its
  // end, from a copy.
  void Cut();
  // No more is said: once all is out, the path's side is closed.
  void Close() { closing_ = true; }
  // The path is of no use any more.
  void Drop();

  bool idle() const { return items_.empty() && !closing_; }

 private:
  struct Item {
    std::string frame;
    ConstBytes block;
    bool is_block = false;
    size_t size() const { return frame.size() + block.size(); }
  };

  std::deque<Item> items_;
  size_t taken_ = 0;  // of the first
  bool closing_ = false;
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_OUTGOING_H_
