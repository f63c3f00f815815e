#include "examples/ordered_index/index.h"

#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace skein::ordered_index {
namespace {

using Answer = absl::StatusOr<absl::string_view>;

template <typename T>
absl::string_view BytesOf(const std::vector<T>& all) {
  return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T)};
}

}  // namespace

absl::Status Index::Put(uint64_t key, uint64_t value) {
  if (entries_.size() >= max_ && !entries_.contains(key))
    return absl::ResourceExhaustedError(absl::StrCat("the index holds ", max_, " keys at most"));
  entries_[key] = value;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Index::Get(uint64_t key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return absl::NotFoundError("no such key");
  return found->second;
}

std::vector<Entry> Index::Scan(uint64_t from, uint64_t limit) const {
  std::vector<Entry> found;
  for (auto it = entries_.lower_bound(from); it != entries_.end() && found.size() < limit; ++it)
    found.emplace_back(it->first, it->second);
  return found;
}

uint64_t Index::Count(uint64_t from, uint64_t limit) const {
  uint64_t count = 0;
  for (auto it = entries_.lower_bound(from); it != entries_.end() && count < limit; ++it) ++count;
  return count;
}

std::string Request(std::initializer_list<uint64_t> words) {
  return std::string(BytesOf(std::vector<uint64_t>(words)));
}

absl::StatusOr<std::vector<uint64_t>> WordsOf(absl::string_view bytes, size_t count) {
  if (bytes.size() != count * sizeof(uint64_t))
    return absl::InvalidArgumentError(absl::StrCat("not ", count, " numbers of 8 bytes"));
  std::vector<uint64_t> words(count);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

absl::StatusOr<std::vector<Entry>> EntriesOf(absl::string_view bytes) {
  if (bytes.size() % sizeof(Entry) != 0) return absl::DataLossError("a scan that ends within an entry");
  std::vector<Entry> entries(bytes.size() / sizeof(Entry));
  for (size_t i = 0; i < entries.size(); ++i) {
    std::memcpy(&entries[i].first, bytes.data() + i * sizeof(Entry), sizeof(uint64_t));
    std::memcpy(&entries[i].second, bytes.data() + i * sizeof(Entry) + sizeof(uint64_t), sizeof(uint64_t));
  }
  return entries;
}

examples::Functions FunctionsOf(Index& index) {
  const auto number = std::make_shared<std::vector<uint64_t>>(1);  // answers, until the next call
  const auto found = std::make_shared<std::vector<Entry>>();
  const auto range_of = [](absl::string_view request) {
    absl::StatusOr<std::vector<uint64_t>> range = WordsOf(request, 2);
    if (range.ok() && (*range)[1] > kMaxScan)
      range = absl::InvalidArgumentError(absl::StrCat("a scan has at most ", kMaxScan, " entries"));
    return range;
  };
  return {
      {kPut,
       [&index](absl::string_view request) -> Answer {
         const absl::StatusOr<std::vector<uint64_t>> entry = WordsOf(request, 2);
         if (!entry.ok()) return entry.status();
         if (absl::Status status = index.Put((*entry)[0], (*entry)[1]); !status.ok()) return status;
         return "";
       }},
      {kGet,
       [&index, number](absl::string_view request) -> Answer {
         const absl::StatusOr<std::vector<uint64_t>> key = WordsOf(request, 1);
         if (!key.ok()) return key.status();
         const absl::StatusOr<uint64_t> value = index.Get((*key)[0]);
         if (!value.ok()) return value.status();
         (*number)[0] = *value;
         return BytesOf(*number);
       }},
      {kScan,
       [&index, found, range_of](absl::string_view request) -> Answer {
         const absl::StatusOr<std::vector<uint64_t>> range = range_of(request);
         if (!range.ok()) return range.status();
         *found = index.Scan((*range)[0], (*range)[1]);
         return BytesOf(*found);
       }},
      {kCount,
       [&index, number, range_of](absl::string_view request) -> Answer {
         const absl::StatusOr<std::vector<uint64_t>> range = range_of(request);
         if (!range.ok()) return range.status();
         (*number)[0] = index.Count((*range)[0], (*range)[1]);
         return BytesOf(*number);
       }},
  };
}

}  // namespace skein::ordered_index
