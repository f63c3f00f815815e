// The answering end of a connection: requests to their handlers, and answers back.
//
// Handlers run in the thread that polls, in Port::Notify. What they answer at once goes out together, when all requests
// that had arrived have been handled (FLOCK 3.3.3), or there is enough for a message; what is answered by another
// thread, or later, goes at once.
#ifndef SKEIN_CORE_RPC_SERVER_PORT_H_
#define SKEIN_CORE_RPC_SERVER_PORT_H_

#include <skein/rpc.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/connect/negotiation.h"
#include "core/link/link.h"
#include "core/rpc/backlog.h"
#include "core/rpc/message.h"

namespace skein::rpc {

using Handlers = absl::flat_hash_map<uint32_t, Handler>;

class ServerPort final : public link::Port {
 public:
  ServerPort(connect::Place place, std::shared_ptr<const Handlers> handlers, const Options& options);

  // The connection of a call that is not answered.
  static ServerPort& Of(const Reply& reply) { return *reply.port_; }

  void Answer(uint32_t call, absl::string_view bytes);
  void AnswerError(uint32_t call, const absl::Status& error);
  link::Link& link() { return *link_; }
  // Tells the peer and leaves the link. Idempotent.
  void Close(absl::string_view why);

  absl::Status OnData(absl::Span<const std::byte> payload) override;
  absl::Status OnOpen(uint64_t window) override;
  absl::Status OnWindow(uint64_t) override { return absl::DataLossError("a window for calls"); }
  absl::Status OnCloseWrite() override { return absl::DataLossError("half of a connection for calls closed"); }
  void OnAbort(std::string) override { ended_ = true; }
  void OnSpace() override { space_came_ = true; }
  void OnLost(const absl::Status&) override { ended_ = true; }
  void Notify() override;

 private:
  // A message in a buffer that keeps its memory.
  struct Piece {
    MessageHeader header;
    size_t offset = 0;
    size_t size = 0;
  };

  void Handle(const Piece& request);
  void Put(const MessageHeader& header, absl::string_view bytes);
  void FlushOutbox();
  void SendNow(const MessageHeader& header, absl::string_view bytes);
  size_t LargestReply();
  void Leave();
  bool InBatch() const { return batch_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  const std::shared_ptr<link::Link> link_;
  const std::function<void()> on_end_;
  const std::shared_ptr<const Handlers> handlers_;
  const uint32_t max_calls_;
  const size_t max_batch_;

  // Requests whose answers have not gone; an answer that waits for space counts. Relaxed: the count bounds memory, and
  // orders nothing.
  std::atomic<int32_t> open_ = 0;  // below 0 for a moment, when an answer is counted before it is known to wait
  Backlog backlog_;                // lowers open_
  // Who is in Notify just now. Relaxed: only that thread can find itself there.
  std::atomic<std::thread::id> batch_thread_{};
  std::atomic<size_t> largest_reply_ = 0;  // relaxed: 0, or what it will be for ever
  std::atomic<bool> left_ = false;         // relaxed: a flag of its own

  // The poller's.
  bool opened_ = false;
  bool ended_ = false;
  bool space_came_ = false;
  std::string inbox_bytes_;
  std::vector<Piece> inbox_;
  std::string outbox_bytes_;
  std::vector<Piece> outbox_;
  std::vector<link::ConstBytes> parts_;
  std::vector<link::Gathered> items_;
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_SERVER_PORT_H_
