// Logs on simulated media, and what is in them.
#ifndef SKEIN_TESTS_UNIT_DURABLE_LOGGED_H_
#define SKEIN_TESTS_UNIT_DURABLE_LOGGED_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/durable/log/redo_log.h"
#include "core/durable/sim/simulated_medium.h"
#include "gtest/gtest.h"

namespace skein::durable {

inline constexpr EntryKind kTestKind = 9;

// Sanitizers look for something else than the many turns of these tests do, and take 10 to 30 times as long over each.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kFewer = 10;
#else
inline constexpr int kFewer = 1;
#endif

inline ClientId ClientNumber(uint8_t number) { return ClientId{number}; }

struct Logged {
  std::unique_ptr<RedoLog> log;
  std::vector<uint64_t> sequences;  // of the entries found
  std::vector<uint64_t> positions;
  std::vector<std::string> payloads;
  absl::Status status;
};

inline Logged OpenLog(std::unique_ptr<Storage> storage, const RedoLogOptions& options = {}) {
  Logged logged;
  absl::StatusOr<std::unique_ptr<RedoLog>> log =
      RedoLog::Open(std::move(storage), options, [&logged](const Entry& entry) {
        logged.sequences.push_back(entry.sequence);
        logged.positions.push_back(entry.position);
        logged.payloads.emplace_back(entry.payload);
        return absl::OkStatus();
      });
  logged.status = log.status();
  if (log.ok()) logged.log = *std::move(log);
  return logged;
}

inline absl::StatusOr<uint64_t> Append(RedoLog& log, uint64_t sequence, absl::string_view payload,
                                       RedoLog::Persisted done = nullptr) {
  return log.Append({.kind = kTestKind, .client = ClientNumber(1), .sequence = sequence, .payload = payload}, 0,
                    std::move(done));
}

// What payload `sequence` has: its length and bytes tell which one it is.
inline std::string PayloadOf(uint64_t sequence, size_t most = 200) {
  return std::string(sequence * 37 % (most + 1), static_cast<char>('a' + sequence % 26));
}

}  // namespace skein::durable

#endif  // SKEIN_TESTS_UNIT_DURABLE_LOGGED_H_
