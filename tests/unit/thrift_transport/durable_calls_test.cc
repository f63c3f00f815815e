// Durable calls through Thrift, both ends in one process: what they promise over crashes and lost connections.
#include <thrift/TApplicationException.h>
#include <thrift/async/TConcurrentClientSyncInfo.h>

#include <set>

#include "gmock/gmock.h"
#include "tests/unit/thrift_transport/durable_fixture.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::TApplicationException;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

INSTANTIATE_TEST_SUITE_P(Carriers, DurableTest, testing::Values(Carrier::kTcp, Carrier::kSharedMemory),
                         [](const auto& info) { return info.param == Carrier::kTcp ? "Tcp" : "SharedMemory"; });

TEST_P(DurableTest, CallsAreAnswered) {
  Serve();
  Connect();
  EXPECT_EQ(client_->append("one"), 1);
  EXPECT_EQ(client_->append("two"), 2);
  client_->note("three");
  EXPECT_EQ(client_->lines(), 3);
  EXPECT_EQ(transport_->lastCall(), 4);
  EXPECT_EQ(transport_->waitPersisted(), processor_->getLevel());
}

TEST_P(DurableTest, OnewayIsSafeBeforeItIsExecuted) {
  HoldBack();
  Serve();
  Connect();
  client_->note("one");
  EXPECT_EQ(transport_->waitPersisted(), processor_->getLevel());
  EXPECT_THAT(notebook_->written(), IsEmpty());
  EXPECT_EQ(processor_->getUnfinished(), 1);
  LetGo();
  EXPECT_EQ(client_->lines(), 1);
}

TEST_P(DurableTest, PersistedIsToldOfEachCallInOrderBeforeTheReply) {
  Serve();
  Connect();
  std::vector<uint64_t> told;
  transport_->onPersisted([&](const TSkeinPersisted& persisted) {
    EXPECT_EQ(persisted.level, processor_->getLevel()) << persisted.error;
    told.push_back(persisted.call);
  });
  client_->note("one");
  client_->note("two");
  EXPECT_EQ(client_->append("three"), 3);
  EXPECT_THAT(told, ElementsAre(1, 2, 3));
}

TEST_P(DurableTest, ThreadsShareATransport) {
  Serve(1 << 20);
  transport_ = Transport();
  transport_->open();
  examples::NotebookConcurrentClient client(std::make_shared<TBinaryProtocol>(transport_),
                                            std::make_shared<apache::thrift::async::TConcurrentClientSyncInfo>());
  std::mutex mu;
  std::set<int64_t> numbers;
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int j = 0; j < 50; ++j) {
        client.note("aside");
        const int64_t number = client.append("line");
        const std::lock_guard lock(mu);
        numbers.insert(number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(numbers.size(), 200);
  EXPECT_EQ(notebook_->written().size(), 400);
}

TEST_P(DurableTest, AHandlerThatThrowsIsToldAndNotTriedAgain) {
  Serve();
  Connect();
  EXPECT_THROW(client_->append("bad"), TApplicationException);
  client_->note("bad");
  EXPECT_EQ(client_->append("good"), 1);
  EXPECT_EQ(processor_->getUnfinished(), 0);
}

class Thrower final : public TProcessor {
 public:
  bool process(std::shared_ptr<apache::thrift::protocol::TProtocol>,
               std::shared_ptr<apache::thrift::protocol::TProtocol>, void*) override {
    if (calls++ == 0) throw std::runtime_error("cannot process");
    throw 17;
  }
  std::atomic<int> calls = 0;  // seq_cst
};

TEST_P(DurableTest, AProcessorThatThrowsIsToldAndNotTriedAgain) {
  const auto thrower = std::make_shared<Thrower>();
  inner_ = thrower;
  Serve();
  Connect();
  try {
    client_->append("line");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TApplicationException& error) {
    EXPECT_STREQ(error.what(), "cannot process");
  }
  EXPECT_THROW(client_->append("line"), TApplicationException);
  EXPECT_EQ(thrower->calls, 2);
}

TEST_P(DurableTest, WhoOpensAgainAfterAReplyThatWasTooLargeIsNotSentThatOneAgain) {
  inner_ = std::make_shared<Verbose>(notebook_);
  Serve();
  const auto transport = std::make_shared<TSkeinDurableTransport>(
      [this] { return Below(); }, client_options_, std::make_shared<apache::thrift::TConfiguration>(4000));
  NotebookClient client(std::make_shared<TBinaryProtocol>(transport));
  transport->open();
  EXPECT_EQ(Thrown([&] { client.append("one"); }).getType(), TTransportException::CORRUPTED_DATA);
  EXPECT_FALSE(transport->isOpen());
  transport->open();
  EXPECT_EQ(client.append("two"), 1);
}

TEST_P(DurableTest, ALostConnectionLosesNoCallAndRepeatsNone) {
  HoldBack();
  Serve();
  Connect();
  client_->note("one");
  client_->send_append("two");
  transport_->waitPersisted();
  CutConnection();
  client_->send_append("three");
  EXPECT_EQ(transport_->waitPersisted(), processor_->getLevel());
  LetGo();
  EXPECT_EQ(client_->recv_append(), 2);
  EXPECT_EQ(client_->recv_append(), 3);
  EXPECT_THAT(notebook_->written(), ElementsAre("one", "two", "three"));
}

TEST_P(DurableTest, ConnectionsLostAllTheTimeLoseNothing) {
  Serve(1 << 20);
  Connect();
  for (int i = 1; i <= 60; ++i) {
    client_->send_append("line");
    if (i % 2 == 0) CutConnection();
    EXPECT_EQ(client_->recv_append(), i);
    if (i % 3 == 0) CutConnection();
  }
  EXPECT_EQ(notebook_->written().size(), 60);
}

TEST_P(DurableTest, WhatACrashLeftIsReplayedInOrderByTheSameCalls) {
  HoldBack();
  Serve();
  Connect();
  client_->note("one");
  client_->note("two");
  client_->send_append("three");
  transport_->waitPersisted();
  notebook_->AwaitOne();
  Crash();
  Serve();
  EXPECT_EQ(client_->recv_append(), 3);
  EXPECT_THAT(notebook_->written(), ElementsAre("one", "two", "three"));
  const std::vector<TSkeinDurableCall> calls = notebook_->calls();
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].client, calls[0].client);
    EXPECT_EQ(calls[i].client.size(), 32);
    EXPECT_EQ(calls[i].sequence, i + 1);
  }
}

TEST_P(DurableTest, ReplayNeedsNoClient) {
  HoldBack();
  Serve();
  Connect();
  client_->note("one");
  transport_->waitPersisted();
  Crash();
  transport_->close();
  Serve();
  Stop();  // waits for what is being executed
  if (notebook_->written().empty()) Serve();
  while (processor_ != nullptr && processor_->getUnfinished() != 0) std::this_thread::yield();
  EXPECT_THAT(notebook_->written(), ElementsAre("one"));
}

TEST_P(DurableTest, AReplyThatGotLostIsKept) {
  Serve();
  Connect();
  client_->send_append("one");
  transport_->waitPersisted();
  while (processor_->getUnfinished() != 0) std::this_thread::yield();
  Crash();  // the answer lies in the client's socket, or was lost with the server: it is the same
  CutConnection();
  Serve();
  EXPECT_EQ(client_->recv_append(), 1);
  EXPECT_EQ(client_->append("two"), 1);  // of this notebook
}

TEST_P(DurableTest, AFullLogHoldsBackAndLosesNothing) {
  HoldBack();
  Serve(1 << 15);
  client_options_.max_calls = 1000;
  Connect();
  const std::string line(1000, 'x');
  for (int i = 0; i < 200; ++i) client_->note(line);
  EXPECT_LT(processor_->getUnfinished(), 100);
  LetGo();
  EXPECT_EQ(client_->lines(), 200);
}

TEST_P(DurableTest, TooManyWithoutAnAnswerWait) {
  Serve();
  client_options_.max_calls = 4;
  Connect();
  for (int i = 0; i < 100; ++i) client_->note("line");
  EXPECT_EQ(client_->lines(), 100);
}

TEST_P(DurableTest, AFailingDiskIsToldAndKeepsWhatItHad) {
  HoldBack();
  Serve();
  client_options_.reconnect = std::chrono::milliseconds(0);
  Connect();
  client_->note("one");
  transport_->waitPersisted();
  faults_->fail_persist = 1;
  const TTransportException error = Thrown([&] { client_->append("two"); });
  EXPECT_EQ(error.getType(), TTransportException::UNKNOWN);
  EXPECT_THAT(error.what(), HasSubstr("the server's redo log takes nothing more"));
  EXPECT_THAT(processor_->getHealth(), HasSubstr("fdatasync"));
  EXPECT_FALSE(transport_->isOpen());
  EXPECT_THAT(Thrown([&] { transport_->open(); }).what(), HasSubstr("takes nothing more"));
  Crash();
  Serve();
  transport_->open();
  client_->append("three");
  EXPECT_EQ(notebook_->written().front(), "one");
  EXPECT_EQ(notebook_->written().back(), "three");
}

TEST_P(DurableTest, WhatIsTooLargeForTheLogIsRefusedAlone) {
  Serve();
  Connect();
  const TTransportException error = Thrown([&] { client_->note(std::string(100000, 'x')); });
  EXPECT_EQ(error.getType(), TTransportException::UNKNOWN);
  EXPECT_THAT(error.what(), HasSubstr("the server's log takes"));
  EXPECT_EQ(client_->append("one"), 1);
}

TEST_P(DurableTest, ALevelThatCannotBeHadIsAnError) {
  Serve();
  client_options_.wanted = "flushed";
  const TTransportException client = Thrown([&] { Connect(); });
  EXPECT_EQ(client.getType(), TTransportException::NOT_OPEN);
  EXPECT_THAT(client.what(), HasSubstr(", not flushed"));
  client_options_.wanted = "somehow";
  EXPECT_THAT(Thrown([&] { Connect(); }).what(), HasSubstr("is no level"));
  Stop();
  server_options_.required = "flushed";
  const TTransportException server = Thrown([&] { Serve(); });
  EXPECT_EQ(server.getType(), TTransportException::NOT_OPEN);
  EXPECT_THAT(server.what(), HasSubstr("not flushed"));
}

TEST_P(DurableTest, AReplicaWithoutAnAddressIsAWrongOption) {
  TSkeinDurableServerOptions options;
  options.path = "never made";
  options.replicas = {"foo"};
  const TTransportException error = Thrown([&] {
    const TSkeinDurableProcessor processor(std::make_shared<NotebookProcessor>(std::make_shared<Notebook>()),
                                           std::make_shared<TBinaryProtocolFactory>(), options);
  });
  EXPECT_EQ(error.getType(), TTransportException::BAD_ARGS);
  EXPECT_THAT(error.what(), HasSubstr("'foo' is not HOST:PORT"));
}

TEST_P(DurableTest, WithoutAServerItSaysSoWithinTheBudget) {
  EXPECT_EQ(Thrown([&] { Connect(); }).getType(), TTransportException::NOT_OPEN);
  HoldBack();
  Serve();
  client_options_.reconnect = std::chrono::milliseconds(100);
  Connect();
  client_->send_append("one");
  transport_->waitPersisted();
  LetGo();
  Stop();
  CutConnection();
  const TTransportException error = Thrown([&] {
    client_->recv_append();
    client_->append("two");
  });
  EXPECT_EQ(error.getType(), TTransportException::NOT_OPEN);
  EXPECT_THAT(error.what(), StartsWith("skein: no connection to a server of durable calls: "));
  EXPECT_FALSE(transport_->isOpen());
  Serve();
  transport_->open();
  EXPECT_GE(client_->append("three"), 1);
}

TEST_P(DurableTest, AnEndedServiceEndsItsConnections) {
  Serve();
  client_options_.reconnect = std::chrono::milliseconds(0);
  Connect();
  EXPECT_EQ(client_->append("one"), 1);
  processor_->stop();
  EXPECT_EQ(Thrown([&] { client_->append("two"); }).getType(), TTransportException::NOT_OPEN);
}

}  // namespace
}  // namespace skein::thrift_transport
