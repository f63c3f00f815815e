// Who sends which block to whom at which step of a write. Pure functions: all members compute the same from the same
// two numbers, and need to be told nothing else.
//
// Member 0 is the sender; the members behind it are in the sender's order. Steps are an order, not time: a member makes
// its sends in the order of their steps, each once it has the block.
#ifndef SKEIN_CORE_REPLICATE_SCHEDULE_H_
#define SKEIN_CORE_REPLICATE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace skein::replicate {

// The values go over the wire.
enum class ScheduleKind : uint8_t {
  kSequential = 1,        // the sender gives each receiver the whole, one after the other
  kChain = 2,             // each member gives each block to the next
  kBinomialTree = 3,      // members that have the whole give it to as many that have nothing
  kBinomialPipeline = 4,  // along the edges of a hypercube, each block doubling its holders at each step
};
inline constexpr ScheduleKind kAllSchedules[] = {ScheduleKind::kSequential, ScheduleKind::kChain,
                                                 ScheduleKind::kBinomialTree, ScheduleKind::kBinomialPipeline};
const char* NameOf(ScheduleKind kind);

struct Shape {
  uint32_t members = 1;  // with the sender
  uint32_t blocks = 1;
};

struct Transfer {
  uint32_t step = 0;
  uint32_t peer = 0;  // to whom, or from whom
  uint32_t block = 0;
  bool operator==(const Transfer&) const = default;
};

// What one member does in a write, each list in the order of steps; at most one of each at a step.
struct Part {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;

  // At one step; null: nothing.
  std::optional<Transfer> SendAt(uint32_t step) const { return At(sends, step); }
  std::optional<Transfer> ReceiveAt(uint32_t step) const { return At(receives, step); }

 private:
  static std::optional<Transfer> At(const std::vector<Transfer>& transfers, uint32_t step);
};

// Each receiver gets each block once, and a member sends only what it has received at an earlier step.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // From the first to the last, of all members.
  virtual uint32_t Steps(Shape shape) const = 0;
  virtual Part PartOf(Shape shape, uint32_t member) const = 0;
  // With whom a member may exchange blocks, whatever their number; rising. If a is b's peer, then b is a's.
  virtual std::vector<uint32_t> PeersOf(uint32_t members, uint32_t member) const = 0;
  // The peer by which a receiver's word for the sender goes: a tree whose root is the sender.
  virtual uint32_t ParentOf(uint32_t members, uint32_t member) const = 0;
};

// Null: there is none by that number.
const Schedule* FindSchedule(ScheduleKind kind);
// It lives as long as the program.
const Schedule& BinomialPipeline();

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_SCHEDULE_H_
