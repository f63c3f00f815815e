// One server's part of a store: values by number, with versions and locks, in memory that clients read by themselves.
// Its calls, in numbers of 8 bytes; both ends are on machines of the same byte order:
//   execute   transaction, then key, whether to lock it     word, place, value of each
//   words     keys                                          their words
//   log       key, version, value of each                   nothing: this backup has them
//   commit    transaction, then key, value of each          nothing: the primary has them, unlocked
//   unlock    transaction, then keys                        nothing: the primary has the old values, unlocked
//   layout    nothing                                       keys, servers, copies, which server this is
#ifndef SKEIN_EXAMPLES_TRANSACTIONS_STORE_H_
#define SKEIN_EXAMPLES_TRANSACTIONS_STORE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "examples/rpc_program.h"

namespace skein::transactions {

enum Function : uint32_t { kExecute = 1, kWords = 2, kLog = 3, kCommit = 4, kUnlock = 5, kLayout = 6 };

using Value = std::array<int64_t, 4>;
using Words = std::vector<uint64_t>;
inline constexpr size_t kValueWords = std::tuple_size_v<Value>;
// Of a transaction: all that is said of so many fits into one call.
inline constexpr size_t kMostKeys = 1024;

// As it lies in a partition's memory. `word` is twice the version, and one more while a transaction has it locked.
struct Item {
  uint64_t word = 0;
  uint64_t transaction = 0;  // that has locked it last
  Value value = {};
};

// Where the values are: keys are dealt out to partitions, one for each server; the servers that follow a partition's
// primary are its backups.
struct Layout {
  uint64_t keys = 0;
  size_t servers = 1;
  size_t copies = 1;  // of each value, at most as many as servers

  size_t PartitionOf(uint64_t key) const { return key % servers; }
  size_t HolderOf(size_t partition, size_t copy) const { return (partition + copy) % servers; }  // copy 0: the primary
  bool Holds(size_t server, size_t partition) const { return (server + servers - partition) % servers < copies; }
  uint64_t ItemsOf(size_t partition) const { return (keys + servers - 1 - partition) / servers; }
  uint64_t PlaceOf(uint64_t key) const { return key / servers * sizeof(Item); }  // bytes into its partition's memory
};

// One thread calls; others read words meanwhile.
class Store {
 public:
  Store(const Layout& layout, size_t server) : layout_(layout), server_(server) {}

  // `memory` is zeroed, of ItemsOf(partition) items, and outlives the store. Values begin as `initial` says.
  void Hold(size_t partition, absl::Span<std::byte> memory, const std::function<Value(uint64_t key)>& initial);

  // Each is done as a whole or not at all. INVALID_ARGUMENT: malformed, too many keys, or no such key.
  // FAILED_PRECONDITION: not this server's to do, or not at this time.
  // ABORTED: another transaction has one of the keys locked.
  absl::Status Execute(const Words& request, Words& answer);
  absl::Status ReadWords(const Words& request, Words& answer) const;
  absl::Status Log(const Words& request);
  absl::Status Commit(const Words& request);
  absl::Status Unlock(const Words& request);
  Words Describe() const { return {layout_.keys, layout_.servers, layout_.copies, server_}; }

 private:
  // The items of `request`'s keys, which come every `stride` words from `first` on.
  absl::StatusOr<std::vector<Item*>> Find(const Words& request, size_t first, size_t stride, bool primary) const;
  absl::StatusOr<std::vector<Item*>> FindLocked(const Words& request, size_t stride) const;

  const Layout layout_;
  const size_t server_;
  std::map<size_t, Item*> partitions_;
};

// `store` outlives them.
examples::Functions FunctionsOf(Store& store);

absl::string_view BytesOf(absl::Span<const uint64_t> words);
// INVALID_ARGUMENT: no whole words.
absl::StatusOr<Words> WordsOf(absl::string_view bytes);

}  // namespace skein::transactions

#endif  // SKEIN_EXAMPLES_TRANSACTIONS_STORE_H_
