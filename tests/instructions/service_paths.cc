// A message from a process of one host to a process of another one by way of both hosts' skeinds: posted, served,
// arrived, completed. All four are this thread; the device does nothing but copy.
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/fabric/service/service_device.h"
#include "core/service/service.h"
#include "tests/instructions/copying_device.h"
#include "tests/instructions/hot_path.h"
#include "tests/support/temporary_folder.h"

namespace skein::instructions {
namespace {

constexpr uint32_t kReceives = 64;

// A host with its skeind, and a process of that host.
struct Host {
  Host() {
    service::ServiceOptions options;
    options.folder = folder.path();
    options.trunk_address = "127.0.0.1";
    options.any_trunk_port = true;
    const service::Port port = {std::make_shared<CopyingDevice>(), "127.0.0.1"};
    skeind = service::Service::Create(options, [port](absl::string_view) { return port; }).value();
  }
  // While skeind's turns come.
  void BeginProcess() {
    device = fabric::OpenServiceDevice(folder.path(), "").value();
    memory = device->Allocate(4096, fabric::kRemoteWrite).value();
    completions = device->CreateCompletionQueue(4 * kReceives).value();
    fabric::QueuePairOptions options;
    options.send_queue = options.receive_queue = completions.get();
    options.max_send_requests = options.max_receive_requests = kReceives;
    pair = device->CreateQueuePair(options).value();
    const std::vector<fabric::ReceiveRequest> receives(kReceives);
    Require(pair->PostReceive(receives).ok(), "receives");
  }
  void EndProcess() {
    pair = nullptr;
    completions = nullptr;
    memory = nullptr;
    device = nullptr;
  }

  const TemporaryFolder folder{"/tmp"};
  std::unique_ptr<service::Service> skeind;
  std::shared_ptr<fabric::Device> device;
  std::unique_ptr<fabric::MemoryRegion> memory;
  std::unique_ptr<fabric::CompletionQueue> completions;
  std::unique_ptr<fabric::QueuePair> pair;
};

class TwoHosts {
 public:
  TwoHosts() {
    WhileSkeindsServe([this] {
      from_.BeginProcess();
      to_.BeginProcess();
      const std::string answer = to_.pair->Accept(from_.pair->Offer().value()).value();
      Require(from_.pair->Complete(answer).ok(), "connected");
      // With the first message one skeind asks the other where the memory is.
      Post(1);
      for (Host* host : {&from_, &to_}) {
        while (host->completions->Poll(absl::MakeSpan(polled_)) == 0) std::this_thread::yield();
      }
    });
  }
  ~TwoHosts() {
    WhileSkeindsServe([this] {
      from_.EndProcess();
      to_.EndProcess();
    });
  }

  void Pass(size_t messages) {
    Post(messages);
    TakeUp(from_, 1);
    TakeUp(to_, messages);
    const std::vector<fabric::ReceiveRequest> receives(messages);
    Require(to_.pair->PostReceive(receives).ok(), "receives");
  }

 private:
  // The last one tells when it has completed.
  void Post(size_t messages) {
    const fabric::Segment segment = {from_.memory->bytes().data(), 64, from_.memory->lkey()};
    batch_.resize(messages);
    for (fabric::SendRequest& request : batch_) {
      request.opcode = fabric::Opcode::kWriteWithImmediate;
      request.local = {&segment, 1};
      request.remote = to_.memory->remote();
      request.signaled = false;
    }
    batch_.back().signaled = true;
    Require(from_.pair->PostSend(batch_).ok(), "a message");
  }
  void TakeUp(Host& at, size_t count) {
    for (int turns = 0; turns < 1000 && count > 0; ++turns) {
      const size_t polled = at.completions->Poll(absl::MakeSpan(polled_));
      count -= polled;
      if (polled == 0) Require(at.skeind->Work(), "skeind has something to do");
    }
    Require(count == 0, "as many as were sent");
  }
  template <typename What>
  void WhileSkeindsServe(const What& what) {
    std::atomic<bool> done = false;
    std::thread serves([&] {
      while (!done) {
        from_.skeind->Turn();
        to_.skeind->Turn();
        std::this_thread::yield();
      }
    });
    what();
    done = true;
    serves.join();
  }

  Host from_;
  Host to_;
  std::vector<fabric::SendRequest> batch_;
  std::array<fabric::Completion, kReceives> polled_;
};

std::function<Operation()> Messages(size_t messages) {
  return [=]() -> Operation { return [hosts = std::make_shared<TwoHosts>(), messages] { hosts->Pass(messages); }; };
}

}  // namespace

std::vector<HotPath> ServicePaths() {
  return {{"service.message", 512, Messages(1)}, {"service.sixteen_messages", 128, Messages(16)}};
}

}  // namespace skein::instructions
