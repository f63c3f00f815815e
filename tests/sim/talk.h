// A stream between two processes and what its two owners do with it: what one has said the other hears, in its order,
// once, and to the end if nothing broke.
//
// The other channel, by which it was negotiated, is there, too: its end tells an owner that the other one is gone,
// after a while, as a TCP connection's does.
#ifndef SKEIN_TESTS_CHAOS_TALK_H_
#define SKEIN_TESTS_CHAOS_TALK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/stream/connector.h"
#include "core/stream/stream.h"
#include "tests/sim/negotiators.h"
#include "tests/sim/window_model.h"
#include "tests/sim/world.h"

namespace skein::chaos {

class Talk {
 public:
  enum Side : uint8_t { kClient, kServer };

  struct Manner {
    size_t window = 0;  // of each direction
    uint64_t pace = 1;  // it says something one time in so many
  };
  Talk(World& world, uint64_t number, size_t client, size_t server, const Manner& manner)
      : world_(world), number_(number), processes_{client, server}, manner_(manner) {}

  size_t process(Side side) const { return processes_[side]; }
  // The side's end of the negotiation, or none: that is told to the other by the channel.
  void Give(Side side, Ending ending);

  // What an owner does: something by chance, and what is due. `finishing`: says no more, and waits for the end.
  void Act(Side side, bool finishing);
  void Abort(Side side);
  // Goes without a word; what was said before CloseWrite gets there all the same.
  void Leave(Side side);
  // Its process is gone.
  void Die(Side side);

  // Nobody has a stream any more, or each has heard all there will be.
  bool over() const { return over(kClient) && over(kServer); }
  bool over(Side side) const { return ends_[side].over; }
  std::string ToString() const;

 private:
  struct Readiness final : stream::StreamObserver {
    void OnReadable() override { readable = true; }
    void OnWritable() override { writable = true; }
    bool readable = true;
    bool writable = true;
  };
  struct End {
    std::shared_ptr<stream::Stream> stream;
    std::shared_ptr<LinkEnd> link;  // that it is on
    uint32_t number = 0;            // there
    std::optional<WindowModel> window;
    std::shared_ptr<Readiness> ready = std::make_shared<Readiness>();
    uint64_t said = 0;
    uint64_t heard = 0;
    uint64_t last_words = 50;  // still to be said at the end, whatever has stood in the way before
    bool closed = false;       // has said all
    bool at_end = false;       // has heard the other's end
    bool leaving = false;      // has gone when all has got there
    bool aborted = false;      // by itself
    bool over = false;         // has no stream any more, or nothing more comes by it
    absl::Time cut_off;        // when it hears that the other channel has ended
    bool cut = false;          // the channel has ended, here
    absl::Status error;
  };

  static Side Other(Side side) { return side == kClient ? kServer : kClient; }
  static char ByteAt(uint64_t number, Side side, uint64_t position);
  void SayByChance(Side side);
  void Say(Side side, uint64_t bytes);
  void Finish(Side side);
  void Hear(Side side, uint64_t most);
  void Take(Side side, const stream::Buffer& buffer);
  void HearOfCut(Side side);
  void OnError(Side side, const absl::Status& error);
  void OnEnd(Side side);
  // The side has no more use for the other channel.
  void Cut(Side side);
  bool MayFail() const;
  void CheckWindow(Side side);

  World& world_;
  const uint64_t number_;
  const std::array<size_t, 2> processes_;
  const Manner manner_;
  std::array<End, 2> ends_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_TALK_H_
