// Any requests to a server of examples/transactions, one after the other: each is a byte for its function, one for its
// size in words, and these. A request that is refused has changed nothing, and what is locked has a transaction.
#include <cstring>
#include <vector>

#include "examples/transactions/store.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {
namespace {

using namespace skein::transactions;

constexpr Layout kLayout = {.keys = 6, .servers = 2, .copies = 2};

class Server {
 public:
  Server()
      : own_(kLayout.ItemsOf(0)), backup_(kLayout.ItemsOf(1)), store_(kLayout, 0), functions_(FunctionsOf(store_)) {
    const auto key = [](uint64_t key) { return Value{static_cast<int64_t>(key)}; };
    store_.Hold(0, MemoryOf(own_), key);
    store_.Hold(1, MemoryOf(backup_), key);
  }

  void Ask(uint32_t number, absl::string_view request) {
    const auto function = functions_.find(number);
    if (function == functions_.end()) return;
    const std::string before = Memory();
    const absl::StatusOr<absl::string_view> answer = function->second(request);
    const absl::Status& status = answer.status();
    Require(
        status.ok() || absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) || absl::IsAborted(status),
        "a request is done, malformed, at the wrong place or time, or in another one's way");
    Require(status.ok() || Memory() == before, "a request that is refused changes nothing");
    Require(number != kWords || Memory() == before, "words are only read");
    for (const Item& item : backup_) Require(item.word % 2 == 0, "backups have no locks");
  }

 private:
  static absl::Span<std::byte> MemoryOf(std::vector<Item>& items) {
    return {reinterpret_cast<std::byte*>(items.data()), items.size() * sizeof(Item)};
  }
  std::string Memory() const {
    std::string bytes;
    for (const auto* const items : {&own_, &backup_})
      bytes.append(reinterpret_cast<const char*>(items->data()), items->size() * sizeof(Item));
    return bytes;
  }

  std::vector<Item> own_;
  std::vector<Item> backup_;
  Store store_;
  examples::Functions functions_;
};

std::string Piece(Function function, const Words& words) {
  return std::string({static_cast<char>(function), static_cast<char>(words.size())}) + std::string(BytesOf(words));
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string locks = Piece(kExecute, {7, 0, 1, 2, 0});
  return {locks + Piece(kCommit, {7, 0, 1, 2, 3, 4}),
          locks + Piece(kUnlock, {7, 0}),
          locks + locks,
          Piece(kWords, {0, 2, 4}),
          Piece(kLog, {1, 1, 9, 9, 9, 9}),
          Piece(kExecute, {7, 6, 0})};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  skein::fuzz::Server server;
  absl::string_view left = skein::fuzz::Text(data, size);
  while (left.size() >= 2) {
    const auto function = static_cast<uint8_t>(left[0]);
    const absl::string_view request = left.substr(2, static_cast<uint8_t>(left[1]) * sizeof(uint64_t));
    server.Ask(function, request);
    left.remove_prefix(2 + request.size());
  }
  return 0;
}
