// FLUSHes among other work, as a driver that knows them is given both.
#include "core/fabric/verbs/flush.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/fabric_verbs/fake_device.h"

namespace skein::fabric::verbs {
namespace {

using testing::ElementsAre;

std::vector<std::string>* posted = nullptr;
int refuses_from = 0;  // so many posts are taken

bool Refused() { return refuses_from-- <= 0; }

int PostSend(ibv_qp* /*queue_pair*/, ibv_send_wr* work, ibv_send_wr** refused) {
  if (Refused()) return *refused = work, ENOMEM;
  std::string doorbell = "send";
  for (; work != nullptr; work = work->next) absl::StrAppend(&doorbell, " ", work->wr_id);
  posted->push_back(doorbell);
  return 0;
}

void Flush(ibv_qp_ex* queue_pair, uint32_t rkey, uint64_t address, size_t bytes, uint8_t type, uint8_t level) {
  posted->push_back(absl::StrCat("flush ", queue_pair->wr_id, ": ", rkey, " ", address, " ", bytes, " type ", type,
                                 " level ", level, (queue_pair->wr_flags & IBV_SEND_SIGNALED) != 0 ? " signaled" : ""));
}

// A queue pair with rdma-core 45's table, of which this machine's header need not know the end.
class FlushPostingTest : public testing::Test {
 protected:
  FlushPostingTest() {
    posted = &posted_;
    refuses_from = 100;
    context_.ops.post_send = PostSend;
    table()->qp_base.context = &context_;
    table()->wr_start = [](ibv_qp_ex*) {};
    table()->wr_complete = [](ibv_qp_ex*) { return Refused() ? EIO : 0; };
    const auto flush = Flush;
    std::memcpy(memory_.data() + offsetof(ibv_qp_ex, wr_abort) + 2 * sizeof(flush), &flush, sizeof(flush));
    lib_.qp_to_qp_ex = [](ibv_qp* queue_pair) { return reinterpret_cast<ibv_qp_ex*>(queue_pair); };
  }
  ~FlushPostingTest() override { posted = nullptr; }

  ibv_qp_ex* table() { return reinterpret_cast<ibv_qp_ex*>(memory_.data()); }
  static ibv_send_wr Write(uint64_t id) {
    ibv_send_wr work = {};
    work.wr_id = id;
    work.opcode = IBV_WR_RDMA_WRITE;
    return work;
  }
  static ibv_send_wr FlushOf(uint64_t id, Placement placement, bool signaled) {
    SendRequest request;
    request.opcode = Opcode::kFlush;
    request.remote = {4096, 7};
    request.operand = 100;
    request.placement = placement;
    ibv_send_wr work = FlushWork(request);
    work.wr_id = id;
    if (signaled) work.send_flags |= IBV_SEND_SIGNALED;
    return work;
  }
  // errno or 0.
  int Post(std::vector<ibv_send_wr> work) {
    for (size_t i = 0; i + 1 < work.size(); ++i) work[i].next = &work[i + 1];
    return PostWithFlushes(lib_, &table()->qp_base, absl::MakeSpan(work), taken_);
  }

  std::vector<std::string> posted_;
  alignas(ibv_qp_ex) std::array<char, sizeof(ibv_qp_ex) + 4 * sizeof(void*)> memory_ = {};
  ibv_context context_ = {};
  Ibverbs lib_;
  size_t taken_ = 0;
};

TEST_F(FlushPostingTest, KeepsTheOrder) {
  ASSERT_EQ(Post({Write(1), Write(2), FlushOf(3, Placement::kVisible, false), Write(4),
                  FlushOf(5, Placement::kPersistent, true), FlushOf(6, Placement::kVisible, true), Write(7)}),
            0);
  EXPECT_THAT(posted_, ElementsAre("send 1 2", "flush 3: 7 4096 100 type 1 level 0", "send 4",
                                   "flush 5: 7 4096 100 type 2 level 0 signaled",
                                   "flush 6: 7 4096 100 type 1 level 0 signaled", "send 7"));
  EXPECT_EQ(taken_, 7u);
}

TEST_F(FlushPostingTest, TellsHowFarTheDeviceTookIt) {
  refuses_from = 2;
  EXPECT_EQ(Post({Write(1), Write(2), FlushOf(3, Placement::kVisible, true), Write(4)}), ENOMEM);
  EXPECT_EQ(taken_, 3u);
  refuses_from = 1;
  EXPECT_EQ(Post({Write(1), Write(2), FlushOf(3, Placement::kVisible, true), Write(4)}), EIO);
  EXPECT_EQ(taken_, 2u);
}

TEST(FlushesOfTest, ADeviceThatCannotBeAskedHasNone) {
  const FakeDevice device;
  ibv_device_attr_ex attributes = {};
  EXPECT_FALSE(QueryExtended(*device.port()->context, attributes));
  EXPECT_FALSE(FlushesOf(*device.port()->context).any());
  EXPECT_FALSE(CapabilitiesOf(*device.port()).flush);
}

}  // namespace
}  // namespace skein::fabric::verbs
