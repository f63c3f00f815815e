#include "core/durable/log/entry.h"

#include <cstring>

#include "core/durable/log/checksum.h"

namespace skein::durable {
namespace {

uint64_t Mix(uint64_t x) {  // SplitMix64's
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint32_t ChecksumOf(const EntryHeader& header, absl::string_view payload) {
  const uint32_t epoch = EpochOf(header);
  const uint32_t checksum = Checksum(Checksum(0, BytesOf(epoch)), BytesOf(header).substr(sizeof(header.operator_word)));
  return header.kind == kPad ? checksum : Checksum(checksum, payload);
}

uint64_t OperatorWord(const EntryHeader& header, uint32_t epoch, absl::string_view payload) {
  EntryHeader with_epoch = header;
  with_epoch.operator_word = uint64_t{epoch} << 32;
  return with_epoch.operator_word | ChecksumOf(with_epoch, payload);
}

}  // namespace

uint64_t Stamp(const LogId& identity, uint64_t position) {
  uint64_t key[2];
  std::memcpy(key, identity.data(), sizeof(key));
  return Mix(Mix(key[0] + position) ^ key[1]);
}

EntryHeader MakeEntryHeader(const LogId& identity, uint64_t settled, uint32_t epoch, const Entry& entry) {
  EntryHeader header;
  header.stamp = Stamp(identity, entry.position);
  header.settled = settled;
  header.client = entry.client;
  header.sequence = entry.sequence;
  header.size = static_cast<uint32_t>(entry.payload.size());
  header.kind = entry.kind;
  header.tag = entry.tag;
  header.operator_word = OperatorWord(header, epoch, entry.payload);
  return header;
}

EntryHeader MakePad(const LogId& identity, uint64_t settled, uint32_t epoch, uint64_t position, uint64_t bytes) {
  EntryHeader header;
  header.stamp = Stamp(identity, position);
  header.settled = settled;
  header.size = static_cast<uint32_t>(bytes - sizeof(EntryHeader));
  header.operator_word = OperatorWord(header, epoch, {});
  return header;
}

bool ChecksumHolds(const EntryHeader& header, absl::string_view payload) {
  return static_cast<uint32_t>(header.operator_word) == ChecksumOf(header, payload);
}

}  // namespace skein::durable
