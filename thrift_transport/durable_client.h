// What TSkeinDurableTransport is made of: an outbox, the connection of the moment, and who reads it.
#ifndef SKEIN_THRIFT_TRANSPORT_DURABLE_CLIENT_H_
#define SKEIN_THRIFT_TRANSPORT_DURABLE_CLIENT_H_

#include <skein/thrift/durable_transport.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"
#include "core/durable/calls/outbox.h"
#include "thrift_transport/durable_line.h"

namespace skein::thrift_transport {

// No thread of its own: who waits for something *drives* (reads the connection, or makes a new one), one at a time;
// others who wait are woken when that has brought something. One thread calls while another waits.
//
// Locks: neither is held in a call of the outbox's, nor while the connection is used. Exceptions: the transport's.
class DurableClient {
 public:
  using Transport = TSkeinDurableTransport;

  DurableClient(Transport::Connect connect, const TSkeinDurableClientOptions& options, uint64_t longest_reply);
  ~DurableClient() { Close(); }

  // Returns when the server has said that it takes calls.
  void Open() ABSL_LOCKS_EXCLUDED(mu_);
  void Close() ABSL_LOCKS_EXCLUDED(mu_);
  bool open() const ABSL_LOCKS_EXCLUDED(mu_);

  // Waits only as long as there are too many without an answer. What has arrived is heard, too.
  void Call(const std::string& message) ABSL_LOCKS_EXCLUDED(mu_);
  // Of the oldest call that has one coming.
  std::string TakeReply() ABSL_LOCKS_EXCLUDED(mu_);
  std::string WaitPersisted() ABSL_LOCKS_EXCLUDED(mu_);

  uint64_t last_call() const ABSL_LOCKS_EXCLUDED(mu_);
  void SetOnPersisted(Transport::OnPersisted on_persisted) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Answer {
    bool ready = false;
    absl::StatusOr<std::string> reply = std::string();
  };

  bool TryCall(const std::string& message) ABSL_LOCKS_EXCLUDED(mu_);
  void OnPersistedOne(uint64_t call, const absl::StatusOr<durable::Persistence>& level) ABSL_LOCKS_EXCLUDED(mu_);
  void OnReplied(Answer* answer, absl::StatusOr<std::string> reply) ABSL_LOCKS_EXCLUDED(mu_);

  // Drives until `done`, which is called with the lock held. Throws when the transport is not open any more, and not
  // done.
  void Await(absl::FunctionRef<bool()> done) ABSL_LOCKS_EXCLUDED(mu_);
  void HearWhatHasCome() ABSL_LOCKS_EXCLUDED(mu_);
  // By who drives.
  void DriveOnce() ABSL_LOCKS_EXCLUDED(mu_);
  void Hear(const std::shared_ptr<DurableLine>& line, absl::string_view message) ABSL_LOCKS_EXCLUDED(mu_);
  void Connect() ABSL_LOCKS_EXCLUDED(mu_);
  void Lose(const std::shared_ptr<DurableLine>& line, const std::string& why) ABSL_LOCKS_EXCLUDED(mu_);
  void Failed(const std::string& why) ABSL_LOCKS_EXCLUDED(mu_);
  void End(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mu_);
  void Drop(const std::shared_ptr<DurableLine>& line) ABSL_LOCKS_EXCLUDED(mu_);
  std::shared_ptr<DurableLine> line() const ABSL_LOCKS_EXCLUDED(mu_);

  const Transport::Connect connect_;
  const absl::Duration reconnect_;
  const uint64_t longest_reply_;

  mutable Mutex mu_;
  std::condition_variable_any changed_;
  bool open_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status why_ended_ ABSL_GUARDED_BY(mu_);  // when it is not open
  bool driving_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<DurableLine> line_ ABSL_GUARDED_BY(mu_);  // null: there is none now
  bool greeted_ ABSL_GUARDED_BY(mu_) = false;               // by the server of that line
  Deadline give_up_ ABSL_GUARDED_BY(mu_);                   // when there is none by then
  Deadline next_try_ ABSL_GUARDED_BY(mu_);
  absl::Duration backoff_ ABSL_GUARDED_BY(mu_);
  // Whose replies are to be read, oldest first.
  std::deque<std::unique_ptr<Answer>> answers_ ABSL_GUARDED_BY(mu_);
  uint64_t called_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t told_ ABSL_GUARDED_BY(mu_) = 0;  // of these, whether they are persisted
  uint64_t replied_ ABSL_GUARDED_BY(mu_) = 0;
  std::string level_ ABSL_GUARDED_BY(mu_);      // that was told last
  absl::Status not_safe_ ABSL_GUARDED_BY(mu_);  // why a call has failed, since somebody was told
  std::shared_ptr<const Transport::OnPersisted> on_persisted_ ABSL_GUARDED_BY(mu_);

  durable::Outbox outbox_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_DURABLE_CLIENT_H_
