#include <skein/rpc.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bench/apps/channel.h"

namespace skein::bench {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr uint32_t kMemory = 1;  // region

rpc::Options OptionsOf(WaitMode mode) {
  rpc::Options options;
  options.wait_mode = mode;
  return options;
}

class SkeinChannel : public Channel {
 public:
  SkeinChannel(std::unique_ptr<rpc::Connection> connection, const rpc::RemoteRegion& memory, size_t window)
      : connection_(std::move(connection)), memory_(memory), calls_(window) {}

  absl::Status Start(absl::Span<const Call> calls) override {
    requests_.clear();
    for (const Call& call : calls)
      requests_.push_back({&calls_[started_++ % calls_.size()], call.function, call.request});
    connection_->Start(requests_);
    return absl::OkStatus();
  }

  absl::StatusOr<absl::string_view> Finish() override {
    rpc::PendingCall& call = calls_[finished_++ % calls_.size()];
    if (absl::Status status = connection_->Wait(call, kPatience); !status.ok()) return status;
    return call.reply();
  }

  absl::StatusOr<uint64_t> ReadWord(uint64_t place) override {
    uint64_t word = 0;
    const absl::Span<std::byte> bytes(reinterpret_cast<std::byte*>(&word), sizeof(word));
    if (absl::Status status = connection_->Read(memory_, place, bytes); !status.ok()) return status;
    return word;
  }

 private:
  const std::unique_ptr<rpc::Connection> connection_;
  const rpc::RemoteRegion memory_;  // of no bytes if the service has none
  std::vector<rpc::PendingCall> calls_;
  std::vector<rpc::CallRequest> requests_;
  size_t started_ = 0;
  size_t finished_ = 0;
};

absl::Status Serve(WaitMode mode, const Service& service, int address_fd) {
  rpc::Server server(OptionsOf(mode));
  absl::StatusOr<absl::Span<std::byte>> memory = absl::Span<std::byte>();
  if (service.memory_bytes > 0) memory = server.Attach(kMemory, service.memory_bytes, rpc::kRemoteRead);
  if (!memory.ok()) return memory.status();
  const examples::Functions functions = service.functions(*memory);
  if (absl::Status handled = examples::HandleAll(server, functions); !handled.ok()) return handled;
  const absl::StatusOr<std::string> address = server.Listen("127.0.0.1:0");
  if (!address.ok()) return address.status();
  if (write(address_fd, address->data(), address->size()) < 0)
    return absl::InternalError("nobody asks for the address");
  return server.Serve();
}

}  // namespace

Path SkeinPath(WaitMode mode) {
  const auto serve = [mode](const Service& service, int address_fd) { return Serve(mode, service, address_fd); };
  const auto open = [client = std::make_shared<rpc::Client>(OptionsOf(mode))](
                        const std::string& address, size_t window) -> absl::StatusOr<std::unique_ptr<Channel>> {
    absl::StatusOr<std::unique_ptr<rpc::Connection>> connection = client->Connect(address, kPatience);
    if (!connection.ok()) return connection.status();
    if ((*connection)->path() != "shm") return absl::FailedPreconditionError("this is not shared memory");
    const absl::StatusOr<rpc::RemoteRegion> memory = (*connection)->Attach(kMemory, kPatience);
    if (!memory.ok() && !absl::IsNotFound(memory.status())) return memory.status();
    return std::make_unique<SkeinChannel>(*std::move(connection), memory.value_or(rpc::RemoteRegion()), window);
  };
  return {serve, open};
}

}  // namespace skein::bench
