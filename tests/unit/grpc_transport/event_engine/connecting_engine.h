// gRPC's engine whose connections and listener the test completes, and what gRPC gives to such an engine.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_CONNECTING_ENGINE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_CONNECTING_ENGINE_H_

#include <arpa/inet.h>
#include <grpc/impl/channel_arg_names.h>
#include <netinet/in.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "tests/unit/grpc_transport/event_engine/fake_engine.h"

namespace skein::grpc_transport {

class TestConfig final : public EndpointConfig {
 public:
  std::optional<int> GetInt(absl::string_view key) const override {
    const auto found = ints.find(std::string(key));
    return found == ints.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<absl::string_view> GetString(absl::string_view key) const override {
    const auto found = strings.find(std::string(key));
    return found == strings.end() ? std::nullopt : std::optional<absl::string_view>(found->second);
  }
  void* GetVoidPointer(absl::string_view key) const override {
    const auto found = pointers.find(std::string(key));
    return found == pointers.end() ? nullptr : found->second;
  }

  std::map<std::string, int> ints;
  std::map<std::string, std::string> strings;
  std::map<std::string, void*> pointers;
};

// gRPC's memory of one connection, as far as it is counted.
struct Memory {
  std::atomic<size_t> reserved = 0;
  std::atomic<bool> ended = false;

  MemoryAllocator Allocator() { return MemoryAllocator(std::make_shared<Impl>(this)); }

 private:
  class Impl final : public grpc_event_engine::experimental::internal::MemoryAllocatorImpl {
   public:
    explicit Impl(Memory* memory) : memory_(*memory) {}
    size_t Reserve(MemoryRequest request) override {
      memory_.reserved += request.max();
      return request.max();
    }
    grpc_slice MakeSlice(MemoryRequest request) override { return grpc_slice_malloc(request.max()); }
    void Release(size_t bytes) override { memory_.reserved -= bytes; }
    void Shutdown() override { memory_.ended = true; }

   private:
    Memory& memory_;
  };
};

inline EventEngine::ResolvedAddress Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return {reinterpret_cast<const sockaddr*>(&address), sizeof(address)};
}

inline std::string Bytes(SliceBuffer& buffer) {
  std::string bytes(buffer.Length(), '\0');
  buffer.MoveFirstNBytesIntoBuffer(bytes.size(), bytes.data());
  return bytes;
}

// A connection that the engine is asked for. `read_chunk` and what follows: what its config said at the time.
struct Asked {
  intptr_t number;
  EventEngine::OnConnectCallback on_connect;
  MemoryAllocator allocator;
  std::optional<int> read_chunk;
  void* quota;
};

class ConnectingEngine final : public FakeEngine {
 public:
  static constexpr intptr_t kHandle = 77;  // the second key of its handles

  size_t asked() {
    const std::lock_guard lock(asked_mu_);
    return asked_.size();
  }
  // The oldest; waits until there is one. It cannot be cancelled any more.
  Asked Take() {
    std::unique_lock lock(asked_mu_);
    asked_came_.wait(lock, [&] { return !asked_.empty(); });
    Asked asked = std::move(asked_.front());
    asked_.pop_front();
    return asked;
  }
  void Complete(Asked asked, absl::StatusOr<std::unique_ptr<Endpoint>> result) {
    Run([asked = std::move(asked), result = std::move(result)]() mutable { asked.on_connect(std::move(result)); });
    Settle();
  }

  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress& /*address*/,
                           const EndpointConfig& config, MemoryAllocator allocator, Duration /*timeout*/) override {
    if (on_asked) on_asked();
    const std::lock_guard lock(asked_mu_);
    asked_.push_back({++last_asked_, std::move(on_connect), std::move(allocator),
                      config.GetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE), config.GetVoidPointer(GRPC_ARG_RESOURCE_QUOTA)});
    asked_came_.notify_all();
    return {{last_asked_, kHandle}};
  }
  bool CancelConnect(ConnectionHandle handle) override {
    std::optional<Asked> cancelled;  // outlives the lock
    const std::lock_guard lock(asked_mu_);
    for (auto it = asked_.begin(); it != asked_.end(); ++it) {
      if (it->number != handle.keys[0] || handle.keys[1] != kHandle) continue;
      cancelled = std::move(*it);
      asked_.erase(it);
      return true;
    }
    return false;
  }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(Listener::AcceptCallback on_accept,
                                                           absl::AnyInvocable<void(absl::Status)> on_shutdown,
                                                           const EndpointConfig&,
                                                           std::unique_ptr<MemoryAllocatorFactory>) override {
    if (!no_listener.ok()) return no_listener;
    on_accept_ = std::move(on_accept);
    on_shutdown_ = std::move(on_shutdown);
    return std::make_unique<FakeListener>(this);
  }
  void Accept(std::unique_ptr<Endpoint> tcp, MemoryAllocator allocator) {
    Run([this, tcp = std::move(tcp), allocator = std::move(allocator)]() mutable {
      on_accept_(std::move(tcp), std::move(allocator));
    });
    Settle();
  }
  // The last thread of the listener's has ended.
  void EndListener() {
    Run([this] { DropListener(); });
    Settle();
  }
  // The same, on this thread.
  void DropListener() {
    on_accept_ = nullptr;
    std::exchange(on_shutdown_, nullptr)(absl::OkStatus());
  }

  std::function<void()> on_asked;
  absl::Status no_listener;  // why there can be none
  std::atomic<bool> listens = false;

 private:
  class FakeListener final : public Listener {
   public:
    explicit FakeListener(ConnectingEngine* engine) : engine_(*engine) { engine_.listens = true; }
    ~FakeListener() override { engine_.listens = false; }
    absl::StatusOr<int> Bind(const ResolvedAddress& /*address*/) override { return 1; }
    absl::Status Start() override { return absl::OkStatus(); }

   private:
    ConnectingEngine& engine_;
  };

  std::mutex asked_mu_;
  std::condition_variable asked_came_;
  std::deque<Asked> asked_;
  intptr_t last_asked_ = 0;
  Listener::AcceptCallback on_accept_;
  absl::AnyInvocable<void(absl::Status)> on_shutdown_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_EVENT_ENGINE_CONNECTING_ENGINE_H_
