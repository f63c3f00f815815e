// A writer may wait for other writers of its link. The poller does not wait for that writer, and the writer learns all
// that the poller has heard meanwhile.
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/fabric/sim/simulation.h"
#include "core/stream/stream_port.h"
#include "gtest/gtest.h"
#include "tests/support/hooked_device.h"
#include "tests/support/ring_link.h"
#include "tests/support/thread_state.h"
#include "tests/unit/link/recording_port.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(20);
constexpr uint64_t kWindow = 100;

class WritingTest : public testing::Test {
 protected:
  WritingTest() {
    fabric::Hooks hooks;
    hooks.posting = [this](absl::Span<const fabric::SendRequest>) {
      if (!blocks_.exchange(false)) return;
      blocked_.Notify();
      go_on_.WaitForNotificationWithTimeout(2 * kSoon);
    };
    const auto device = std::make_shared<fabric::HookedDevice>(simulation_.CreateDevice("client"), std::move(hooks));
    client_ = link::LinkOn(device, {.ring_bytes = wire::kRingGranule});
    server_ = link::LinkOn(simulation_.CreateDevice("server"), {.ring_bytes = wire::kRingGranule});
    const link::Link::Answer accepted = server_->Accept(client_->Offer().value()).value();
    EXPECT_TRUE(client_->Complete(accepted).ok());
    leader_ = NewPort();
    port_ = NewPort();
    observer_ = std::make_shared<CountingObserver>();
    port_->SetObserver(observer_);
    Pump();
  }
  ~WritingTest() override {
    for (const auto& link : {client_, server_}) {
      link->Close();
      link->Poll();
    }
  }

  std::shared_ptr<StreamPort> NewPort() {
    const uint32_t number = server_->ports().NewNumber();
    heard_ = std::make_shared<link::RecordingPort>(number);
    EXPECT_TRUE(server_->ports().Add(heard_).ok());
    auto port = std::make_shared<StreamPort>(connect::Place{client_, number, kWindow, [this] { ++ended_; }, [] {}},
                                             1 << 16, SIZE_MAX);
    EXPECT_TRUE(client_->ports().Add(port).ok());
    return port;
  }
  void Pump() {
    do {
      simulation_.RunUntilIdle();
    } while (int{client_->Poll()} | int{server_->Poll()});
  }
  static absl::StatusOr<size_t> Write(StreamPort& port, size_t size) {
    const std::string text(size, 'w');
    const ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    return port.Write({&bytes, 1});
  }

  // Another writer stops in the middle of its post, and a writer of `size` bytes waits for that one. Another thread
  // does `meanwhile`. Gives the result of the waiting write.
  absl::StatusOr<size_t> WriteBehindAnother(size_t size, const std::function<void()>& meanwhile) {
    blocks_ = true;
    std::thread leads([this] { EXPECT_EQ(Write(*leader_, 10).value_or(0), 10u); });
    EXPECT_TRUE(blocked_.WaitForNotificationWithTimeout(kSoon));
    std::atomic<pid_t> writer = 0;
    absl::StatusOr<size_t> written;
    std::thread writes([&] {
      writer = gettid();
      written = Write(*port_, size);
    });
    while (writer == 0) std::this_thread::yield();
    EXPECT_TRUE(ThreadState(writer).IsFoundAsleep(After(kSoon)));
    absl::Notification done;
    std::thread polls([&] {
      meanwhile();
      done.Notify();
    });
    EXPECT_TRUE(done.WaitForNotificationWithTimeout(kSoon)) << "the poller waits for the writer";
    go_on_.Notify();
    for (std::thread* thread : {&leads, &writes, &polls}) thread->join();
    return written;
  }

  fabric::Simulation simulation_{20261121};
  std::atomic<bool> blocks_ = false;
  absl::Notification blocked_;
  absl::Notification go_on_;
  std::shared_ptr<link::Link> client_;
  std::shared_ptr<link::Link> server_;
  std::shared_ptr<StreamPort> leader_;
  std::shared_ptr<StreamPort> port_;
  std::shared_ptr<link::RecordingPort> heard_;  // of port_, at the server
  std::shared_ptr<CountingObserver> observer_;
  std::atomic<int> ended_ = 0;
};

TEST_F(WritingTest, ThePollerTakesInDataWhileAWriterWaits) {
  const std::string word = "word";
  EXPECT_EQ(WriteBehindAnother(
                10,
                [&] {
                  EXPECT_TRUE(port_->OnData({reinterpret_cast<const std::byte*>(word.data()), word.size()}).ok());
                })
                .value_or(0),
            10u);
  std::vector<Buffer> buffers;
  EXPECT_TRUE(port_->Read(100, buffers).ok());
  EXPECT_EQ(buffers.size(), 1u);
}

TEST_F(WritingTest, AWaitingWriterUsesAWindowThatOpensMeanwhile) {
  const absl::StatusOr<size_t> written = WriteBehindAnother(kWindow + 50, [&] {
    EXPECT_TRUE(port_->OnWindow(kWindow).ok());
    port_->Notify();
  });
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(*written == kWindow + 50 || observer_->writable == 1) << *written;
  Pump();
  EXPECT_EQ(heard_->data.size(), *written);
}

TEST_F(WritingTest, AWaitingWriterHearsOfTheEnd) {
  const absl::StatusOr<size_t> written = WriteBehindAnother(kWindow + 50, [&] {
    port_->OnAbort("enough");
    port_->Notify();
    EXPECT_EQ(ended_, 0) << "the port leaves the link under the writer";
  });
  EXPECT_TRUE(absl::IsAborted(written.status())) << written.status();
  EXPECT_EQ(ended_, 1);
}

TEST_F(WritingTest, CloseWriteLetsTheBytesOfAWaitingWriterGoFirst) {
  const absl::StatusOr<size_t> written = WriteBehindAnother(10, [&] {
    port_->CloseWrite();
    EXPECT_TRUE(port_->OnCloseWrite().ok());
    port_->Notify();
    EXPECT_EQ(ended_, 0) << "the port leaves the link under the writer";
  });
  EXPECT_EQ(written.value_or(0), 10u);
  EXPECT_EQ(ended_, 1);
  Pump();
  EXPECT_EQ(heard_->data.size(), 10u);
  EXPECT_EQ(heard_->closes, 1);
  EXPECT_FALSE(server_->finished());
}

}  // namespace
}  // namespace skein::stream
