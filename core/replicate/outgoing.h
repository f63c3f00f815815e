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
  void Say(const std::string& frame) {
    Item& last = Open();
    last.frame += frame;
    last.said = last.frame.size();
  }
  // `block` stays until Write has counted it, or Cut.
  void SendBlock(const std::string& frame, ConstBytes block) {
    Item& last = Open();
    last.frame += frame;
    last.block = block;
  }

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
  // Frames and a block that go to the path at once: each message of a path may wake the peer.
  struct Item {
    std::string frame;  // several; the last one is the block's, if it has one
    size_t said = 0;    // bytes of those before that
    ConstBytes block;
    bool is_block() const { return said < frame.size(); }
    size_t size() const { return frame.size() + block.size(); }
  };

  // The last item, which takes more frames.
  Item& Open() {
    if (items_.empty() || items_.back().is_block()) items_.emplace_back();
    return items_.back();
  }

  std::deque<Item> items_;
  size_t taken_ = 0;  // of the first
  bool closing_ = false;
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_OUTGOING_H_
