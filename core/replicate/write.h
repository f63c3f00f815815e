// The write that is under way at a member.
#ifndef SKEIN_CORE_REPLICATE_WRITE_H_
#define SKEIN_CORE_REPLICATE_WRITE_H_

#include <cstdint>
#include <vector>

#include "core/replicate/frame.h"
#include "core/replicate/path.h"
#include "core/replicate/progress.h"
#include "core/replicate/schedule.h"

namespace skein::replicate {

struct ActiveWrite {
  Begin begin;
  Bytes place;        // a receiver's; empty at the sender
  ConstBytes source;  // the same bytes, or the sender's
  Progress progress;
  std::vector<bool> have;  // members that have acknowledged, as far as that comes by this one
  uint32_t haves = 0;      // of them
  uint32_t told = 0;       // the sender's user was told of
  uint32_t sending = 0;    // blocks under way from here
  bool received = false;   // the receiver's user was told
  bool released = false;   // the user was told

  ConstBytes BytesOf(uint32_t block) const { return source.subspan(begin.OffsetOf(block), begin.SizeOf(block)); }
};

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_WRITE_H_
