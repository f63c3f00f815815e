// A member of a group between two peers, one of which says anything: no byte lands where it may not, only a write that
// is whole is received, and all of the group's memory is within what the member allows.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/replicate/frame.h"
#include "core/replicate/group.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/memory_path.h"

namespace skein::fuzz {
namespace {

using namespace skein::replicate;

constexpr uint64_t kMostBytes = 4096;

class Victim final : public GroupObserver {
 public:
  absl::StatusOr<Bytes> OnIncoming(uint64_t, uint64_t bytes) override {
    Require(bytes <= kMostBytes && !failed_, "no write is larger than the member takes, nor comes behind the end");
    // On the heap, so that a sanitizer sees its bounds.
    memory_ = std::vector<std::byte>(bytes);
    moving_ = true;
    return Bytes(memory_);
  }
  void OnReceived(uint64_t write) override {
    Require(moving_ && !failed_, "a write is received once, and while it is one");
    moving_ = false;
    group->Acknowledge(write);
  }
  void OnReleased(uint64_t) override { memory_ = {}; }
  void OnHave(uint64_t, uint32_t) override { Require(false, "a receiver hears of no acknowledgements"); }
  void OnFailed(const absl::Status& why) override {
    Require(!why.ok() && !failed_, "a group fails once, for a reason");
    failed_ = true;
    memory_ = {};
  }
  Group* group = nullptr;

 private:
  std::vector<std::byte> memory_;
  bool moving_ = false;
  bool failed_ = false;
};

// Of three blocks, member 2 gets two from the sender and the other from member 3.
std::string FromSender(uint64_t write) {
  return Encode(Begin{write, 20, 8}) + Encode(Block{write, 1}) + "89abcdef" + Encode(Block{write, 2}) + "ghij";
}
std::string FromChild(uint64_t write) {
  return Encode(Begin{write, 20, 8}) + Encode(Block{write, 0}) + "01234567" + Encode(Have{write, 3});
}

}  // namespace

// The first byte says which peer is hostile, and how much it says at once.
std::vector<std::string> Seeds() {
  const std::string hello = Encode(Hello{7, 4, 0});
  const std::string child = Encode(Hello{7, 4, 3});
  return {"\x02" + hello + FromSender(1) + FromSender(2),
          "\x40" + hello + FromSender(1),
          "\x21" + child + FromChild(1) + FromChild(2),
          "\x7f" + child + FromChild(1),
          "\x10" + hello + EncodeFailure(1, absl::AbortedError("tired")),
          "\x10" + hello + Encode(Begin{1, 20, 8}) + EncodeFailure(1, absl::AbortedError("tired"))};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;
  if (size == 0) return 0;
  MemoryNetwork network;
  auto victim = std::make_shared<Victim>();
  auto [to_parent, parent] = MemoryPath::MakePair(network, 1 << 16);
  auto [to_child, child] = MemoryPath::MakePair(network, 1 << 16);
  std::vector<MemberPath> paths;
  paths.push_back({0, std::move(to_parent)});
  paths.push_back({3, std::move(to_child)});
  const auto group = CreateGroup({.id = 7, .members = 4, .self = 2, .max_bytes = kMostBytes}, std::move(paths), victim);
  victim->group = group->get();
  const bool by_child = (data[0] & 1) != 0;
  Path& hostile = by_child ? *child : *parent;
  // The other is honest, and ahead: its part of a write of 20 bytes is there.
  const std::string word = by_child ? Encode(Hello{7, 4, 0}) + FromSender(1) : Encode(Hello{7, 4, 3}) + FromChild(1);
  const ConstBytes honest(reinterpret_cast<const std::byte*>(word.data()), word.size());
  (by_child ? *parent : *child).Write({&honest, 1}).IgnoreError();
  const size_t at_once = (data[0] >> 1) + 1;
  for (size_t said = 1; said < size; said += at_once) {
    const ConstBytes bytes(reinterpret_cast<const std::byte*>(data) + said, std::min(at_once, size - said));
    hostile.Write({&bytes, 1}).IgnoreError();
    network.Run();
  }
  return 0;
}
