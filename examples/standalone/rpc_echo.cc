// rpc_echo serve           echoes, at any free port, until it is killed; shows 4 KiB of its memory
// rpc_echo call ADDRESS    a call, a write into that memory and a read of it, and by which path they went
#include <skein/rpc.h>

#include <array>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>

namespace {

constexpr uint32_t kSay = 1;
constexpr uint32_t kMemory = 1;
constexpr absl::Duration kPatience = absl::Seconds(20);

absl::Status Serve() {
  skein::rpc::Server server({});
  const auto memory = server.Attach(kMemory, 4096, skein::rpc::kRemoteRead | skein::rpc::kRemoteWrite);
  if (!memory.ok()) return memory.status();
  absl::Status status =
      server.Handle(kSay, [](absl::string_view request, skein::rpc::Reply reply) { reply.Send(request); });
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> address = server.Listen("127.0.0.1:0");
  if (!address.ok()) return address.status();
  std::cout << "listening on " << *address << std::endl;
  return server.Serve();
}

absl::Status Call(const std::string& address) {
  skein::rpc::Client client({});
  const auto connection = client.Connect(address, kPatience);
  if (!connection.ok()) return connection.status();
  const absl::StatusOr<std::string> reply = (*connection)->Call(kSay, "hello", kPatience);
  if (!reply.ok()) return reply.status();
  const absl::StatusOr<skein::rpc::RemoteRegion> memory = (*connection)->Attach(kMemory, kPatience);
  if (!memory.ok()) return memory.status();
  const std::array<std::byte, 2> written = {std::byte{4}, std::byte{2}};
  std::array<std::byte, 2> read = {};
  if (absl::Status status = (*connection)->Write(*memory, 100, absl::MakeConstSpan(written)); !status.ok())
    return status;
  if (absl::Status status = (*connection)->Read(*memory, 100, absl::MakeSpan(read)); !status.ok()) return status;
  if (*reply != "hello" || read != written) return absl::DataLossError("that is not what was sent");
  std::cout << (*connection)->path() << std::endl;
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (!(argc == 2 && verb == "serve") && !(argc == 3 && verb == "call")) {
    std::cerr << "usage: rpc_echo serve | call ADDRESS" << std::endl;
    return 2;
  }
  const absl::Status status = argc == 2 ? Serve() : Call(argv[2]);
  if (!status.ok()) std::cerr << "rpc_echo: " << status << std::endl;
  return status.ok() ? 0 : 1;
}
