// Over the simulated fabric, whose WRITEs land in steps: a reader that looks after every step sees messages whole or
// not at all.
#include <memory>
#include <string>

#include "core/channel/ring/ring_reader.h"
#include "core/channel/ring/ring_writer.h"
#include "core/fabric/sim/simulation.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/support/out_item.h"
#include "tests/support/ring_message.h"
#include "tests/unit/channel_ring/plain_fabric.h"

namespace skein::channel {
namespace {

TEST(TornWriteTest, MessagesAppearWholeAndInOrder) {
  fabric::Simulation simulation(20261121);
  const fabric::End from(simulation.CreateDevice("from"), wire::kRingGranule);
  const fabric::End to(simulation.CreateDevice("to"), wire::kRingGranule);
  ASSERT_TRUE(fabric::Connect(*from.queue_pair, *to.queue_pair).ok());
  const wire::RingDescriptor ring = {to.Remote(0).address, wire::kRingGranule, kRingSecret, to.Remote(0).rkey};
  const std::unique_ptr<RingWriter> writer = RingWriter::Create(*from.device, *from.queue_pair, ring).value();
  RingReader reader(to.memory->bytes(), kRingSecret);

  constexpr int kMessages = 400;
  int written = 0;
  int read = 0;
  uint64_t popped = 0;  // wraps included
  int looks_at_torn = 0;
  while (read < kMessages) {
    const std::string text(3000, static_cast<char>('a' + written % 26));
    const absl::Span<const std::byte> part(reinterpret_cast<const std::byte*>(text.data()), text.size());
    OutItem item;
    Carry(item, {&part, 1});
    if (written < kMessages && Write(*writer, {&item, 1}, Reserve::kControl).ok()) {
      ASSERT_TRUE(fabric::PostReceive(*to.queue_pair, {}).ok());
      ++written;
    }
    ASSERT_TRUE(simulation.Step() || written < kMessages) << "nothing moves, and " << read << " were read";
    from.Poll();
    to.Poll();
    const absl::StatusOr<std::optional<Message>> next = reader.Next();
    ASSERT_TRUE(next.ok()) << next.status();
    if (!next->has_value()) {
      const uint64_t first_word = to.GetWord(reader.head() % wire::kRingGranule);
      looks_at_torn += wire::Canaries(kRingSecret).Length(popped, first_word) != 0 ? 1 : 0;
      continue;
    }
    for (wire::ItemWalk items = ItemsOf(**next); !items.done();) {
      const wire::Item got = items.Next().value();
      const std::string payload(reinterpret_cast<const char*>(got.payload.data()), got.payload.size());
      ASSERT_EQ(payload, std::string(3000, static_cast<char>('a' + read % 26))) << read;
      ++read;
    }
    reader.Pop();
    ++popped;
    ASSERT_TRUE(writer->SetPeerHead(reader.head()).ok());
  }
  EXPECT_GT(looks_at_torn, 0);  // else the simulation tore nothing, and nothing was tested
}

}  // namespace
}  // namespace skein::channel
