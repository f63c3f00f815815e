// A server of durable calls on a medium that can lose power, and clients of it, over a carrier that the test is told.
#ifndef SKEIN_TESTS_UNIT_THRIFT_TRANSPORT_DURABLE_FIXTURE_H_
#define SKEIN_TESTS_UNIT_THRIFT_TRANSPORT_DURABLE_FIXTURE_H_

#include <skein/thrift/durable_processor.h>
#include <skein/thrift/durable_transport.h>
#include <skein/thrift/durable_transport_factory.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <sys/socket.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/durable/log/layout.h"
#include "core/durable/sim/faulty_storage.h"
#include "core/durable/sim/simulated_medium.h"
#include "examples/notebook/Notebook.h"
#include "gtest/gtest.h"
#include "thrift_transport/durable_processor_on.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {

using apache::thrift::TProcessor;
using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::protocol::TBinaryProtocolFactory;
using apache::thrift::protocol::TProtocol;
using apache::thrift::server::TServerEventHandler;
using apache::thrift::server::TThreadedServer;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;
using apache::thrift::transport::TTransportFactory;
using examples::NotebookClient;
using examples::NotebookProcessor;

// Keeps what it was told, and by which call. As long as it is held back, nothing ends.
class Notebook final : public examples::NotebookIf {
 public:
  void HoldBack() { gate_ = let_go_.get_future().share(); }
  void LetGo() { let_go_.set_value(); }
  // Returns when a handler is held back.
  void AwaitOne() { entered_.get_future().get(); }

  void note(const std::string& line) override { append(line); }
  int64_t append(const std::string& line) override {
    if (gate_.has_value()) {
      if (!was_entered_.exchange(true)) entered_.set_value();
      gate_->wait();
    }
    if (line == "bad") throw std::runtime_error("a bad line");
    const TSkeinDurableCall* const call = TSkeinDurableProcessor::currentCall();
    const std::lock_guard lock(mu_);
    lines_.push_back(line);
    calls_.push_back(call == nullptr ? TSkeinDurableCall() : *call);
    return static_cast<int64_t>(lines_.size());
  }
  int64_t lines() override { return static_cast<int64_t>(written().size()); }

  std::vector<std::string> written() {
    const std::lock_guard lock(mu_);
    return lines_;
  }
  std::vector<TSkeinDurableCall> calls() {
    const std::lock_guard lock(mu_);
    return calls_;
  }

 private:
  std::promise<void> let_go_;
  std::optional<std::shared_future<void>> gate_;
  std::promise<void> entered_;
  std::atomic<bool> was_entered_ = false;  // seq_cst
  std::mutex mu_;
  std::vector<std::string> lines_;
  std::vector<TSkeinDurableCall> calls_;
};

// Answers the first call at length.
class Verbose final : public NotebookProcessor {
 public:
  static constexpr uint64_t kBytes = 8000;
  using NotebookProcessor::NotebookProcessor;
  bool process(std::shared_ptr<TProtocol> in, std::shared_ptr<TProtocol> out, void* context) override {
    if (!answered_.exchange(true)) throw std::runtime_error(std::string(kBytes, 'x'));
    return NotebookProcessor::process(std::move(in), std::move(out), context);
  }

 private:
  std::atomic<bool> answered_ = false;  // seq_cst
};

// A TThreadedServer that serves until this goes.
class Serving final : public TServerEventHandler {
 public:
  Serving(const std::shared_ptr<TProcessor>& processor, const std::shared_ptr<TServerSocket>& socket,
          const std::shared_ptr<TTransportFactory>& transports)
      : socket_(socket), server_(processor, socket, transports, std::make_shared<TBinaryProtocolFactory>()) {
    server_.setServerEventHandler(std::shared_ptr<TServerEventHandler>(this, [](auto*) {}));
    thread_ = std::thread([this] { server_.serve(); });
    listening_.get_future().get();
  }
  ~Serving() override {
    server_.stop();
    thread_.join();
  }
  void preServe() override { listening_.set_value(); }
  int port() const { return socket_->getPort(); }

 private:
  const std::shared_ptr<TServerSocket> socket_;
  TThreadedServer server_;
  std::promise<void> listening_;
  std::thread thread_;
};

inline TSkeinOptions Mode(const std::string& mode) { return TSkeinOptions().set("mode", mode); }

enum class Carrier { kTcp, kSharedMemory };

class DurableTest : public testing::TestWithParam<Carrier> {
 protected:
  DurableTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
    server_options_.path = "(simulated)";
    server_options_.clients = 4;  // so that a small log will do
    client_options_.reconnect = std::chrono::seconds(10);
  }
  ~DurableTest() override {
    client_.reset();
    Stop();
  }

  // On the same medium, whatever it has kept.
  void Serve(uint64_t ring = 1 << 16) {
    if (medium_ == nullptr) {
      medium_ = std::make_shared<durable::sim::SimulatedMedium>(durable::kRingOffset + ring,
                                                                durable::sim::Granule::kSector, 1);
    }
    std::shared_ptr<TProcessor> inner = inner_;
    if (inner == nullptr) inner = std::make_shared<NotebookProcessor>(notebook_);
    processor_ = DurableProcessorOn(std::make_unique<durable::sim::FaultyStorage>(medium_, faults_), inner,
                                    std::make_shared<TBinaryProtocolFactory>(), server_options_);
    Listen();
  }
  void Listen() {
    std::shared_ptr<TServerSocket> socket;
    if (GetParam() == Carrier::kTcp) {
      socket = std::make_shared<TServerSocket>("localhost", 0);
    } else {
      socket = std::make_shared<TSkeinServerSocket>("localhost", 0, Mode("prefer"));
    }
    server_ = std::make_unique<Serving>(processor_, socket, std::make_shared<TSkeinDurableTransportFactory>());
    port_ = server_->port();
  }
  void Stop() {
    port_ = 1;  // where nobody listens
    server_.reset();
    processor_.reset();
  }
  // The server is gone, and what it had not persisted. Another notebook for the next.
  void Crash() {
    port_ = 1;
    server_.reset();  // first, lest it tells of a disk that is no more
    medium_->LosePower();
    const auto old = std::exchange(notebook_, std::make_shared<Notebook>());
    if (held_) old->LetGo();
    held_ = false;
    Stop();
  }
  void HoldBack() {
    notebook_->HoldBack();
    held_ = true;
  }
  void LetGo() {
    held_ = false;
    notebook_->LetGo();
  }

  std::shared_ptr<TSocket> Below() {
    std::shared_ptr<TSocket> socket;
    if (GetParam() == Carrier::kTcp) {
      socket = std::make_shared<TSocket>("localhost", port_);
    } else {
      socket = std::make_shared<TSkeinSocket>("localhost", port_, Mode("require"));
    }
    socket->setRecvTimeout(20000);
    socket->open();
    const std::lock_guard lock(mu_);
    last_ = socket;
    return socket;
  }
  std::shared_ptr<TSkeinDurableTransport> Transport() {
    return std::make_shared<TSkeinDurableTransport>([this] { return Below(); }, client_options_);
  }
  void Connect() {
    transport_ = Transport();
    client_ = std::make_unique<NotebookClient>(std::make_shared<TBinaryProtocol>(transport_));
    transport_->open();
  }
  // The connection that was made last is lost.
  void CutConnection() {
    const std::lock_guard lock(mu_);
    shutdown(last_->getSocketFD(), SHUT_RDWR);
  }

  // What `act` throws.
  template <class Act>
  static TTransportException Thrown(Act act) {
    try {
      act();
    } catch (const TTransportException& exception) {
      return exception;
    }
    ADD_FAILURE() << "nothing was thrown";
    return TTransportException();
  }

  std::shared_ptr<durable::sim::Faults> faults_ = std::make_shared<durable::sim::Faults>();
  std::shared_ptr<durable::sim::SimulatedMedium> medium_;
  TSkeinDurableServerOptions server_options_;
  TSkeinDurableClientOptions client_options_;
  std::shared_ptr<Notebook> notebook_ = std::make_shared<Notebook>();
  bool held_ = false;
  std::shared_ptr<TProcessor> inner_;  // null: the notebook's
  std::shared_ptr<TSkeinDurableProcessor> processor_;
  std::unique_ptr<Serving> server_;
  std::atomic<int> port_ = 1;  // seq_cst: clients connect while servers change
  std::mutex mu_;
  std::shared_ptr<TSocket> last_;
  std::shared_ptr<TSkeinDurableTransport> transport_;
  std::unique_ptr<NotebookClient> client_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_TESTS_UNIT_THRIFT_TRANSPORT_DURABLE_FIXTURE_H_
