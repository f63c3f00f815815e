// What gRPC may expect of the engine that it is given, when it asks for a connection.
#include "grpc_transport/event_engine/engine.h"

#include <grpc/grpc.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/base/forked.h"
#include "gmock/gmock.h"
#include "grpc_transport/common/log.h"
#include "grpc_transport/common/offer_bytes.h"
#include "gtest/gtest.h"
#include "tests/support/in_child.h"
#include "tests/unit/grpc_transport/event_engine/connecting_engine.h"

namespace skein::grpc_transport {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Result = absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>>;

const std::string kHttp2Settings("\0\0\0\4\0\0\0\0\0", 9);
const std::string kTlsAlert("\x15\3\3\0\2\2\x28", 7);
constexpr char kServerUri[] = "grpc.server_uri";

class EngineTest : public testing::Test {
 protected:
  ~EngineTest() override {
    results_.clear();
    engine_ = nullptr;
    inner_->Settle();
    inner_->Stop();
  }

  static TestConfig Asking() {
    TestConfig config;
    config.strings = {{kServerUri, "dns:///peer"}, {"skein.mode", "prefer"}, {"skein.negotiation_timeout", "60000"}};
    return config;
  }
  static TestConfig AskingUnderTls() {
    TestConfig config = Asking();
    config.strings[GRPC_ARG_HTTP2_SCHEME] = "https";
    return config;
  }

  // A peer of its own for each test: what is remembered of one is not of the next.
  void Connect(const TestConfig& config) { ConnectTo(Loopback(++last_port_), config); }
  void ConnectTo(const EventEngine::ResolvedAddress& peer, const TestConfig& config) {
    handle_ = engine_->Connect([this, token = token_](Result result) { results_.push_back(std::move(result)); }, peer,
                               config, memory_.Allocator(), std::chrono::seconds(60));
  }
  // The connection that the inner engine was asked for is made.
  std::shared_ptr<TcpEnd> Make() {
    auto end = std::make_shared<TcpEnd>(inner_);
    inner_->Complete(inner_->Take(), std::make_unique<FakeTcp>(end, Loopback(1)));
    return end;
  }
  void Send(TcpEnd& end, const std::string& bytes) {
    end.Send(bytes);
    inner_->Settle();
  }
  bool Cancel() {
    const bool cancelled = engine_->CancelConnect(handle_);
    // "on_connect will be destroyed before this method returns"
    EXPECT_TRUE(!cancelled || token_.use_count() == 1);
    inner_->Settle();
    return cancelled;
  }
  EventEngine::Endpoint& endpoint() { return **results_.at(0); }

  static inline uint16_t last_port_ = 50000;
  Memory memory_;
  const std::shared_ptr<int> token_ = std::make_shared<int>();  // on_connect has the other share
  const std::shared_ptr<ConnectingEngine> inner_ = std::make_shared<ConnectingEngine>();
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>([this] { return inner_; });
  EventEngine::ConnectionHandle handle_ = EventEngine::ConnectionHandle::kInvalid;
  std::vector<Result> results_;
};

TEST_F(EngineTest, ModeOffPassesStraightThrough) {
  TestConfig config = Asking();
  config.strings["skein.mode"] = "off";
  Connect(config);
  EXPECT_EQ(handle_.keys[1], ConnectingEngine::kHandle) << "it is the inner engine's own";
  EXPECT_TRUE(Cancel());
  Connect(config);
  auto tcp = std::make_unique<FakeTcp>(std::make_shared<TcpEnd>(inner_));
  EventEngine::Endpoint* const raw = tcp.get();
  inner_->Complete(inner_->Take(), std::move(tcp));
  ASSERT_EQ(results_.size(), 1);
  EXPECT_EQ(results_[0]->get(), raw);
  EXPECT_FALSE(Cancel());
}

TEST_F(EngineTest, ErrandsOfGrpcsOwnPassStraightThrough) {
  TestConfig config = Asking();
  config.strings.erase(kServerUri);
  Connect(config);
  EXPECT_EQ(handle_.keys[1], ConnectingEngine::kHandle);
  EXPECT_TRUE(Make()->sent().empty());
  EXPECT_EQ(results_.size(), 1);
}

TEST_F(EngineTest, APlainServerKeepsItsConnectionAndItsBytesComeFirst) {
  Connect(Asking());
  const auto tcp = Make();
  EXPECT_THAT(tcp->sent(), StartsWith(std::string(kHttp2Preface)));
  EXPECT_TRUE(results_.empty()) << "the answer is awaited";
  Send(*tcp, kHttp2Settings);
  ASSERT_EQ(results_.size(), 1);
  ASSERT_TRUE(results_[0].ok()) << results_[0].status();
  EXPECT_EQ(inner_->asked(), 0) << "no other connection";
  SliceBuffer read;
  ASSERT_TRUE(endpoint().Read([](const absl::Status&) {}, &read, {}));
  EXPECT_EQ(Bytes(read), kHttp2Settings);
  const std::string offer = tcp->sent();
  SliceBuffer written;
  written.Append(grpc_event_engine::experimental::Slice::FromCopiedString(std::string(kHttp2Preface) + "more"));
  EXPECT_TRUE(endpoint().Write([](const absl::Status&) {}, &written, {}));
  EXPECT_EQ(tcp->sent(), offer + "more") << "the preface was the offer's";
}

TEST_F(EngineTest, ATlsServerWithoutSkeinGetsASecondConnectionWithTheNumbersAndTheQuota) {
  grpc_resource_quota* const quota = grpc_resource_quota_create("test");
  {
    TestConfig config = AskingUnderTls();
    config.ints[GRPC_ARG_TCP_READ_CHUNK_SIZE] = 4242;
    config.pointers[GRPC_ARG_RESOURCE_QUOTA] = quota;
    Connect(config);
  }  // gRPC's config is there for the call alone
  const auto first = Make();
  EXPECT_THAT(first->sent(), StartsWith("\xA5SKN"));
  Send(*first, kTlsAlert);
  EXPECT_TRUE(first->destroyed.HasBeenNotified());
  ASSERT_EQ(inner_->asked(), 1);
  Asked again = inner_->Take();
  EXPECT_EQ(again.read_chunk, 4242);
  EXPECT_EQ(again.quota, quota);
  EXPECT_TRUE(results_.empty());
  const auto second = std::make_shared<TcpEnd>(inner_);
  inner_->Complete(std::move(again), std::make_unique<FakeTcp>(second, Loopback(1)));
  ASSERT_EQ(results_.size(), 1);
  ASSERT_TRUE(results_[0].ok()) << results_[0].status();
  EXPECT_TRUE(second->sent().empty());
  SliceBuffer hello;
  hello.Append(grpc_event_engine::experimental::Slice::FromCopiedString("hello"));
  EXPECT_TRUE(endpoint().Write([](const absl::Status&) {}, &hello, {}));
  EXPECT_EQ(second->sent(), "hello");
  grpc_resource_quota_unref(quota);
}

TEST_F(EngineTest, AServerThatAnswersNothingGetsASecondConnection) {
  TestConfig config = Asking();
  config.strings["skein.negotiation_timeout"] = "10";
  Connect(config);
  const auto silent = Make();
  Asked again = inner_->Take();  // by the timer
  inner_->Settle();
  EXPECT_TRUE(silent->destroyed.HasBeenNotified());
  inner_->Complete(std::move(again), absl::UnavailableError("refused"));
  ASSERT_EQ(results_.size(), 1);
  EXPECT_THAT(std::string(results_[0].status().message()), HasSubstr("refused"));
}

TEST_F(EngineTest, AConnectionThatCannotBeMadeFailsInItsOwnWords) {
  Connect(Asking());
  inner_->Complete(inner_->Take(), absl::DeadlineExceededError("too late"));
  ASSERT_EQ(results_.size(), 1);
  EXPECT_EQ(results_[0].status(), absl::DeadlineExceededError("too late"));
  EXPECT_FALSE(Cancel());
}

TEST_F(EngineTest, CancelledBeforeTheConnectionIsMade) {
  Connect(Asking());
  EXPECT_TRUE(Cancel());
  EXPECT_EQ(inner_->asked(), 0) << "the inner engine's was cancelled, too";
  EXPECT_FALSE(Cancel()) << "once";
  EXPECT_TRUE(results_.empty());
}

TEST_F(EngineTest, CancelledWhileTheConnectionIsOnItsWay) {
  Connect(Asking());
  Asked on_its_way = inner_->Take();
  EXPECT_TRUE(Cancel());
  const auto tcp = std::make_shared<TcpEnd>(inner_);
  inner_->Complete(std::move(on_its_way), std::make_unique<FakeTcp>(tcp, Loopback(1)));
  EXPECT_TRUE(tcp->destroyed.HasBeenNotified());
  EXPECT_TRUE(tcp->sent().empty());
  EXPECT_TRUE(results_.empty());
}

TEST_F(EngineTest, CancelledDuringTheNegotiation) {
  Connect(Asking());
  const auto tcp = Make();
  EXPECT_TRUE(Cancel());
  EXPECT_TRUE(tcp->destroyed.HasBeenNotified());
  EXPECT_TRUE(results_.empty());
  EXPECT_EQ(inner_->asked(), 0);
  EXPECT_TRUE(memory_.ended) << "nothing is left of it";
}

TEST_F(EngineTest, CancelledWhileReconnecting) {
  Connect(AskingUnderTls());
  Send(*Make(), kTlsAlert);
  ASSERT_EQ(inner_->asked(), 1);
  EXPECT_TRUE(Cancel());
  EXPECT_EQ(inner_->asked(), 0);
  EXPECT_TRUE(results_.empty());
  EXPECT_TRUE(memory_.ended);
}

TEST_F(EngineTest, CancelledWhileTheSecondConnectionIsOnItsWay) {
  Connect(AskingUnderTls());
  Send(*Make(), kTlsAlert);
  Asked on_its_way = inner_->Take();
  EXPECT_TRUE(Cancel());
  const auto second = std::make_shared<TcpEnd>(inner_);
  inner_->Complete(std::move(on_its_way), std::make_unique<FakeTcp>(second, Loopback(1)));
  EXPECT_TRUE(second->destroyed.HasBeenNotified());
  EXPECT_TRUE(results_.empty());
  EXPECT_TRUE(memory_.ended);
}

TEST_F(EngineTest, CancelledAfterItsEndItIsToldOnce) {
  Connect(Asking());
  Send(*Make(), kHttp2Settings);
  EXPECT_FALSE(Cancel());
  EXPECT_EQ(results_.size(), 1);
  EXPECT_TRUE(results_[0].ok());
}

TEST_F(EngineTest, CancelledWhileTheResultIsOnItsWayItIsToldOnce) {
  Connect(Asking());
  bool cancelled = true;
  inner_->Run([this, &cancelled, asked = inner_->Take()]() mutable {
    asked.on_connect(absl::UnavailableError("refused"));
    cancelled = engine_->CancelConnect(handle_);
  });
  inner_->Settle();
  EXPECT_FALSE(cancelled);
  EXPECT_EQ(results_.size(), 1);
}

TEST_F(EngineTest, AnEngineThatIsLetGoOfStillTellsTheResult) {
  Connect(Asking());
  engine_ = nullptr;
  Send(*Make(), kHttp2Settings);
  EXPECT_EQ(results_.size(), 1);
}

TEST_F(EngineTest, AWrongOptionFailsTheConnectionAndSaysWhy) {
  TestConfig config = Asking();
  config.strings["skein.mode"] = "perhaps";
  Connect(config);
  const auto tcp = Make();
  ASSERT_EQ(results_.size(), 1);
  EXPECT_THAT(std::string(results_[0].status().message()), HasSubstr("skein.mode: mode is \"perhaps\""));
  EXPECT_TRUE(tcp->destroyed.HasBeenNotified());
}

TEST_F(EngineTest, RequireFailsWhereThereIsOnlyTcpAndSaysWhy) {
  TestConfig config = Asking();
  config.strings["skein.mode"] = "require";
  Connect(config);
  const auto tcp = Make();
  Send(*tcp, kHttp2Settings);
  ASSERT_EQ(results_.size(), 1);
  EXPECT_THAT(std::string(results_[0].status().message()), HasSubstr("skein.mode is require"));
  EXPECT_TRUE(tcp->destroyed.HasBeenNotified());
  EXPECT_EQ(inner_->asked(), 0);
}

TEST_F(EngineTest, AConnectionMayBeCancelledWhileAnotherOneIsAskedFor) {
  Connect(Asking());
  const EventEngine::ConnectionHandle first = handle_;
  bool cancelled = false;
  inner_->on_asked = [&] { cancelled = engine_->CancelConnect(first); };
  Connect(Asking());
  EXPECT_TRUE(cancelled);
  Send(*Make(), kHttp2Settings);
  EXPECT_EQ(results_.size(), 1) << "of the second";
}

// Not to standard error, where gRPC's own lines of that kind do not go either.
TEST_F(EngineTest, AConnectionThatFailsIsToldToGrpcsLog) {
  static std::string* told = nullptr;
  std::string lines;
  told = &lines;
  SetLogWriter([](Severity severity, const char* line) {
    if (severity == Severity::kInfo) *told += line;
  });
  TestConfig config = Asking();
  config.strings["skein.mode"] = "perhaps";
  Connect(config);
  Make();
  SetLogWriter(nullptr);
  EXPECT_THAT(lines, HasSubstr("a connection failed"));
}

TEST_F(EngineTest, AChannelWithASocketMutatorIsNotAskedAbout) {
  TestConfig config = Asking();
  config.pointers[GRPC_ARG_SOCKET_MUTATOR] = &config;
  Connect(config);
  EXPECT_TRUE(Make()->sent().empty());
  ASSERT_EQ(results_.size(), 1);
  EXPECT_TRUE(results_[0].ok());
}

TEST_F(EngineTest, ThePollersThreadsAreWorkersAsTheInnerEnginesAre) {
  EXPECT_FALSE(engine_->IsWorkerThread());
  {
    const Ready ready(Ready::Thread::kPoller);
    EXPECT_TRUE(engine_->IsWorkerThread());
  }
  bool inner_is = false;
  inner_->Run([&] { inner_is = engine_->IsWorkerThread(); });
  inner_->Settle();
  EXPECT_TRUE(inner_is);
}

// A channel of ALTS's says nothing of that to its engine: it is taken for one of HTTP/2.
TEST_F(EngineTest, AChannelThatBeginsWithSomethingElseThanHttp2IsNotAskedForAgain) {
  Connect(Asking());
  const EventEngine::ResolvedAddress peer = Loopback(last_port_);
  const auto tcp = Make();
  Send(*tcp, kHttp2Settings);
  ASSERT_EQ(results_.size(), 1);
  const std::string offer = tcp->sent();
  SliceBuffer written;
  written.Append(grpc_event_engine::experimental::Slice::FromCopiedString("\x10 of ALTS"));
  EXPECT_TRUE(endpoint().Write([](const absl::Status&) {}, &written, {}));
  EXPECT_EQ(tcp->sent(), offer + "\x10 of ALTS");
  ConnectTo(peer, Asking());
  EXPECT_TRUE(Make()->sent().empty());
  EXPECT_EQ(results_.size(), 2);
}

// Each child has a copy of the lock: half of them find it held if they wait for it.
TEST_F(EngineTest, AForkedChildDoesNotWaitForTheListOfItsParentsConnections) {
  BeginUse();
  Connect(Asking());
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) engine_->CancelConnect({.keys = {-1, handle_.keys[1]}});
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(InChild([&] { return engine_->CancelConnect(handle_) ? 1 : 0; }), 0) << i;
  }
  over = true;
  other.join();
  EXPECT_TRUE(Cancel());
}

}  // namespace
}  // namespace skein::grpc_transport
