#include "examples/transactions/store.h"

#include <atomic>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace skein::transactions {
namespace {

// Clients look at a word while the server changes it: as a whole, and after what has been changed before it.
void SetWord(Item& item, uint64_t word) { std::atomic_ref<uint64_t>(item.word).store(word, std::memory_order_release); }

bool IsLocked(const Item& item) { return item.word % 2 != 0; }

void SetValue(Item& item, const uint64_t* words) { std::memcpy(item.value.data(), words, sizeof(Value)); }

}  // namespace

void Store::Hold(size_t partition, absl::Span<std::byte> memory, const std::function<Value(uint64_t key)>& initial) {
  Item* const items = reinterpret_cast<Item*>(memory.data());
  for (uint64_t i = 0; i < layout_.ItemsOf(partition); ++i) items[i].value = initial(i * layout_.servers + partition);
  partitions_[partition] = items;
}

absl::StatusOr<std::vector<Item*>> Store::Find(const Words& request, size_t first, size_t stride, bool primary) const {
  if (request.size() < first || (request.size() - first) % stride != 0)
    return absl::InvalidArgumentError("a request that ends too early");
  if ((request.size() - first) / stride > kMostKeys) return absl::InvalidArgumentError("too many keys");
  std::vector<Item*> items;
  for (size_t i = first; i < request.size(); i += stride) {
    const uint64_t key = request[i];
    if (key >= layout_.keys) return absl::InvalidArgumentError(absl::StrCat("there is no key ", key));
    const auto partition = partitions_.find(layout_.PartitionOf(key));
    if (partition == partitions_.end() || (partition->first == server_) != primary) {
      return absl::FailedPreconditionError(
          absl::StrCat("this server is no ", primary ? "primary" : "backup", " of key ", key));
    }
    items.push_back(partition->second + key / layout_.servers);
  }
  return items;
}

absl::StatusOr<std::vector<Item*>> Store::FindLocked(const Words& request, size_t stride) const {
  absl::StatusOr<std::vector<Item*>> items = Find(request, 1, stride, /*primary=*/true);
  if (!items.ok()) return items;
  for (const Item* const item : *items) {
    if (!IsLocked(*item) || item->transaction != request[0])
      return absl::FailedPreconditionError(absl::StrCat("transaction ", request[0], " has not locked that"));
  }
  return items;
}

absl::Status Store::Execute(const Words& request, Words& answer) {
  const absl::StatusOr<std::vector<Item*>> items = Find(request, 1, 2, /*primary=*/true);
  if (!items.ok()) return items.status();
  for (size_t i = 0; i < items->size(); ++i) {
    const Item& item = *(*items)[i];
    if (!IsLocked(item)) continue;
    return absl::AbortedError(absl::StrCat("key ", request[1 + 2 * i], " is locked by transaction ", item.transaction,
                                           "; if its client has died, start the servers anew"));
  }
  for (size_t i = 0; i < items->size(); ++i) {
    Item& item = *(*items)[i];
    answer.insert(answer.end(), {item.word, layout_.PlaceOf(request[1 + 2 * i])});
    answer.insert(answer.end(), item.value.begin(), item.value.end());
    if (request[2 + 2 * i] == 0) continue;
    item.transaction = request[0];
    SetWord(item, item.word | 1);
  }
  return absl::OkStatus();
}

absl::Status Store::ReadWords(const Words& request, Words& answer) const {
  const absl::StatusOr<std::vector<Item*>> items = Find(request, 0, 1, /*primary=*/true);
  if (!items.ok()) return items.status();
  for (const Item* const item : *items) answer.push_back(item->word);
  return absl::OkStatus();
}

// The lock at the primary orders the writes of a key, so that each is the next one.
absl::Status Store::Log(const Words& request) {
  constexpr size_t kStride = 2 + kValueWords;
  const absl::StatusOr<std::vector<Item*>> items = Find(request, 0, kStride, /*primary=*/false);
  if (!items.ok()) return items.status();
  for (size_t i = 0; i < items->size(); ++i) {
    if (request[i * kStride + 1] != (*items)[i]->word / 2 + 1)
      return absl::FailedPreconditionError(absl::StrCat("not the next version of key ", request[i * kStride]));
  }
  for (size_t i = 0; i < items->size(); ++i) {
    SetValue(*(*items)[i], &request[i * kStride + 2]);
    SetWord(*(*items)[i], request[i * kStride + 1] * 2);
  }
  return absl::OkStatus();
}

absl::Status Store::Commit(const Words& request) {
  constexpr size_t kStride = 1 + kValueWords;
  const absl::StatusOr<std::vector<Item*>> items = FindLocked(request, kStride);
  if (!items.ok()) return items.status();
  for (size_t i = 0; i < items->size(); ++i) {
    Item& item = *(*items)[i];
    SetValue(item, &request[2 + i * kStride]);
    SetWord(item, (item.word / 2 + 1) * 2);
  }
  return absl::OkStatus();
}

absl::Status Store::Unlock(const Words& request) {
  const absl::StatusOr<std::vector<Item*>> items = FindLocked(request, 1);
  if (!items.ok()) return items.status();
  for (Item* const item : *items) SetWord(*item, item->word / 2 * 2);
  return absl::OkStatus();
}

absl::string_view BytesOf(absl::Span<const uint64_t> words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t)};
}

absl::StatusOr<Words> WordsOf(absl::string_view bytes) {
  if (bytes.size() % sizeof(uint64_t) != 0) return absl::InvalidArgumentError("no whole numbers of 8 bytes");
  Words words(bytes.size() / sizeof(uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

examples::Functions FunctionsOf(Store& store) {
  const auto answer = std::make_shared<Words>();  // until the next call
  const auto function = [answer](const auto& work) {
    return [answer, work](absl::string_view bytes) -> absl::StatusOr<absl::string_view> {
      const absl::StatusOr<Words> request = WordsOf(bytes);
      if (!request.ok()) return request.status();
      answer->clear();
      if (absl::Status status = work(*request, *answer); !status.ok()) return status;
      return BytesOf(*answer);
    };
  };
  return {
      {kExecute, function([&store](const Words& request, Words& found) { return store.Execute(request, found); })},
      {kWords, function([&store](const Words& request, Words& found) { return store.ReadWords(request, found); })},
      {kLog, function([&store](const Words& request, Words&) { return store.Log(request); })},
      {kCommit, function([&store](const Words& request, Words&) { return store.Commit(request); })},
      {kLayout, function([&store](const Words&, Words& found) {
         found = store.Describe();
         return absl::OkStatus();
       })},
      {kUnlock, function([&store](const Words& request, Words&) { return store.Unlock(request); })},
  };
}

}  // namespace skein::transactions
