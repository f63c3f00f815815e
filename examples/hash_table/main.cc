// A hash table in a server's memory: PUT is a call; GET reads the memory, and the server's processor knows nothing of
// it.
//   hash_table serve 127.0.0.1:7000        (port 0: any; prints "serving at ADDRESS", goes on until it is killed)
//   hash_table ADDRESS put KEY VALUE
//   hash_table ADDRESS get KEY
// Exit status: 0, 1 failed or not found, 2 called wrongly.
#include <skein/rpc.h>

#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "examples/hash_table/entry.h"

namespace skein::hash_table {
namespace {

constexpr size_t kEntries = 4096;
constexpr size_t kProbes = 8;  // an entry is at the place of its key's hash, or among the next ones
constexpr absl::Duration kPatience = absl::Seconds(10);

size_t PlaceOf(absl::string_view key, size_t probe, size_t entries) { return (HashOf(key) + probe) % entries; }

class Table {
 public:
  // In a region of the server's.
  explicit Table(absl::Span<std::byte> memory) : entries_(reinterpret_cast<Entry*>(memory.data())) {}

  // One thread: the server's.
  absl::Status Put(absl::string_view request) {
    Entry asked;
    if (request.size() != sizeof(asked)) return absl::InvalidArgumentError("a malformed entry");
    std::memcpy(&asked, request.data(), sizeof(asked));
    if (asked.key_text().empty()) return absl::InvalidArgumentError("an entry without a key");
    for (size_t probe = 0; probe < kProbes; ++probe) {
      Entry& entry = entries_[PlaceOf(asked.key_text(), probe, kEntries)];
      if (entry.version != 0 && entry.key_text() != asked.key_text()) continue;
      asked.version = entry.version + 1;
      asked.checksum = ChecksumOf(asked);
      std::memcpy(&entry, &asked, sizeof(entry));
      return absl::OkStatus();
    }
    return absl::ResourceExhaustedError("no free place near that key's");
  }

 private:
  Entry* const entries_;
};

// Reads until what has come is whole.
absl::StatusOr<Entry> ReadEntry(rpc::Connection& connection, const rpc::RemoteRegion& region, size_t place) {
  constexpr int kTries = 1000;  // each of them must meet another write
  for (int i = 0; i < kTries; ++i) {
    Entry entry;
    const absl::Span<std::byte> bytes(reinterpret_cast<std::byte*>(&entry), sizeof(entry));
    if (absl::Status status = connection.Read(region, place * sizeof(Entry), bytes); !status.ok()) return status;
    if (entry.version == 0 && entry.checksum == 0) return entry;
    if (entry.checksum == ChecksumOf(entry)) return entry;
  }
  return absl::UnavailableError("the entry is written all the time");
}

absl::StatusOr<std::string> Get(rpc::Connection& connection, absl::string_view key) {
  const absl::StatusOr<rpc::RemoteRegion> region = connection.Attach(kRegion, kPatience);
  if (!region.ok()) return region.status();
  const size_t entries = region->size / sizeof(Entry);
  for (size_t probe = 0; probe < kProbes && entries > 0; ++probe) {
    const absl::StatusOr<Entry> entry = ReadEntry(connection, *region, PlaceOf(key, probe, entries));
    if (!entry.ok()) return entry.status();
    if (entry->version == 0) break;
    if (entry->key_text() == key) return std::string(entry->value_text());
  }
  return absl::NotFoundError("no such key");
}

absl::Status Put(rpc::Connection& connection, absl::string_view key, absl::string_view value) {
  Entry entry;
  if (!Fill(entry, key, value)) return absl::InvalidArgumentError("keys have 1 to 23 bytes, values up to 79");
  return connection.Call(kPut, {reinterpret_cast<const char*>(&entry), sizeof(entry)}, kPatience).status();
}

absl::Status Serve(absl::string_view at) {
  rpc::Server server({});
  const absl::StatusOr<absl::Span<std::byte>> memory =
      server.Attach(kRegion, kEntries * sizeof(Entry), rpc::kRemoteRead);
  if (!memory.ok()) return memory.status();
  Table table(*memory);
  absl::Status status = server.Handle(kPut, [&table](absl::string_view request, rpc::Reply reply) {
    const absl::Status put = table.Put(request);
    put.ok() ? reply.Send({}) : reply.Fail(put);
  });
  if (!status.ok()) return status;
  const absl::StatusOr<std::string> address = server.Listen(at);
  if (!address.ok()) return address.status();
  std::cout << "serving at " << *address << std::endl;
  return server.Serve();
}

absl::Status Ask(const std::vector<std::string>& words) {
  rpc::Client client({});
  const auto connection = client.Connect(words[0], kPatience);
  if (!connection.ok()) return connection.status();
  if (words[1] == "put") return Put(**connection, words[2], words[3]);
  const absl::StatusOr<std::string> value = Get(**connection, words[2]);
  if (value.ok()) std::cout << *value << std::endl;
  return value.status();
}

int Main(const std::vector<std::string>& words) {
  const bool serves = words.size() == 2 && words[0] == "serve";
  const bool asks = (words.size() == 4 && words[1] == "put") || (words.size() == 3 && words[1] == "get");
  if (!serves && !asks) {
    std::cerr << "usage: hash_table serve HOST:PORT | HOST:PORT put KEY VALUE | HOST:PORT get KEY" << std::endl;
    return 2;
  }
  const absl::Status status = serves ? Serve(words[1]) : Ask(words);
  if (status.ok()) return 0;
  std::cerr << "hash_table: " << status.message() << std::endl;
  return 1;
}

}  // namespace
}  // namespace skein::hash_table

int main(int argc, char** argv) { return skein::hash_table::Main({argv + 1, argv + argc}); }
