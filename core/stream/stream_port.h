// What a stream is inside: windows, what has arrived, and how it ends.
//
//             CloseWrite          peer's close write            both: the port leaves the link
//   open  --------------->  half  ------------------->  closed
//     \______ Abort, peer's abort, link lost ___________^
//
// Lock: mu_, taken before the link's sender's place. The observer is called by Notify, with mu_ released. A writer
// takes no lock for what the window lets go (send_window.h), and so nothing that the poller needs. While a writer gives
// bytes to the link, the port stays there, and CloseWrite leaves it to that writer to tell the peer.
#ifndef SKEIN_CORE_STREAM_STREAM_PORT_H_
#define SKEIN_CORE_STREAM_STREAM_PORT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/connect/negotiation.h"
#include "core/link/link.h"
#include "core/stream/send_window.h"
#include "core/stream/stream.h"

namespace skein::stream {

class StreamPort final : public link::Port {
 public:
  // `large_payload`: bytes in one Write that do not go by the ring, but are left for the peer to pull.
  StreamPort(connect::Place place, size_t receive_window, size_t large_payload);

  // As in Stream.
  void SetObserver(std::shared_ptr<StreamObserver> observer);
  absl::StatusOr<size_t> Write(absl::Span<const ConstBytes> buffers);
  absl::Status Read(size_t max_bytes, std::vector<Buffer>& out);
  bool PeerHasClosed() const { return peer_has_closed_.load(std::memory_order_relaxed); }
  void CloseWrite();
  void Abort(const absl::Status& reason);
  bool Coming();
  link::Arrival last_arrival() const {
    return traced_.load(std::memory_order_relaxed) ? LastArrival() : link::Arrival{};
  }
  // The owner is gone: aborts, unless this side is closed already; then what still arrives is dropped until the peer
  // has closed its side, too, so that the last words written here are not lost to an abort. (Unless there are too many
  // for whose peer that is waited.)
  void Abandon();

  absl::Status OnData(absl::Span<const std::byte> payload) override;
  absl::StatusOr<bool> OnBlock(size_t size) override;
  void OnPulled(ReceivedBytes bytes, size_t size) override;
  absl::Status OnOpen(uint64_t window) override;
  absl::Status OnWindow(uint64_t bytes) override;
  absl::Status OnCloseWrite() override;
  void OnAbort(std::string text) override;
  void OnSpace() override;
  void OnLost(const absl::Status& why) override;
  void Notify() override;

  const std::shared_ptr<link::Link>& link() const { return link_; }

 private:
  // Small items share a chunk, so that many of them cost little more memory than their bytes.
  using Chunks = std::deque<Buffer>;

  absl::Status WhyStopped() ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<size_t> GiveToLink(absl::Span<const ConstBytes> buffers, uint64_t most) {
    return most >= large_payload_ ? link_->SendBlocks(*this, buffers, most) : link_->Send(*this, buffers, most);
  }
  bool EndWrite(size_t taken, bool all) ABSL_LOCKS_EXCLUDED(mu_);
  bool EndStoppedWrite(size_t taken, bool all) ABSL_LOCKS_EXCLUDED(mu_);
  void Fail(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    error_ = std::move(why);
    window_.Fail();
  }
  void TellClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  link::Arrival LastArrival() const;
  std::shared_ptr<StreamPort> Self() { return std::static_pointer_cast<StreamPort>(shared_from_this()); }
  void NoteArrival() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeIn(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropArrived() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    arrived_.clear();
    behind_.clear();
  }
  absl::Status AddToSendWindow(uint64_t bytes);
  void Append(absl::Span<const std::byte> payload, Chunks& to);
  void Append(Buffer chunk, Chunks& to);
  void CountAsRead(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LeaveIfEnded() ABSL_LOCKS_EXCLUDED(mu_);
  bool EndedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !error_.ok() || (write_closed_ && read_closed_ && behind_.empty());
  }

  const std::shared_ptr<link::Link> link_;
  const size_t receive_window_;  // bytes the peer may have under way, unread ones included
  const size_t large_payload_;

  const std::function<void()> on_end_;
  const std::function<void()> on_abandoned_;

  std::atomic<bool> traced_ = false;           // relaxed: whether last_arrival_ says anything
  std::atomic<bool> peer_has_closed_ = false;  // relaxed: a fact, once; says nothing of what has arrived before it
  SendWindow window_;
  const uint32_t home_;  // of its small pieces: the next one's of the process, so that streams of several links differ
  // Written under mu_. Relaxed: the poller, who asks without, has had mu_ since it brought what is to be read.
  std::atomic<bool> wants_to_read_ = false;
  mutable Mutex mu_;
  std::shared_ptr<StreamObserver> observer_ ABSL_GUARDED_BY(mu_);
  Chunks arrived_ ABSL_GUARDED_BY(mu_);  // in full: to be read
  Chunks behind_ ABSL_GUARDED_BY(mu_);   // a block that is coming, and what follows it; what comes has no bytes yet
  uint64_t may_arrive_ ABSL_GUARDED_BY(mu_);  // of the receive window
  link::Arrival last_arrival_ ABSL_GUARDED_BY(mu_);
  uint64_t read_ ABSL_GUARDED_BY(mu_) = 0;  // not yet given back to the peer
  bool opened_ ABSL_GUARDED_BY(mu_);        // the peer knows the stream: before, what is said of it would be lost
  bool write_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool read_closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mu_);  // ABORTED or UNAVAILABLE, once over
  bool left_ ABSL_GUARDED_BY(mu_) = false;   // the link
};

// The owner's handle.
class LinkStream final : public Stream {
 public:
  explicit LinkStream(std::shared_ptr<StreamPort> port) : port_(std::move(port)) {}
  ~LinkStream() override { port_->Abandon(); }

  void SetObserver(std::shared_ptr<StreamObserver> observer) override { port_->SetObserver(std::move(observer)); }
  absl::StatusOr<size_t> Write(absl::Span<const ConstBytes> buffers) override { return port_->Write(buffers); }
  absl::Status Read(size_t max_bytes, std::vector<Buffer>& out) override { return port_->Read(max_bytes, out); }
  bool PeerHasClosed() const override { return port_->PeerHasClosed(); }
  void CloseWrite() override { port_->CloseWrite(); }
  void Abort(const absl::Status& reason) override { port_->Abort(reason); }
  std::string path() const override { return std::string(port_->link()->transport().name()); }
  std::shared_ptr<link::Link> link() const override { return port_->link(); }
  void WhenReached(std::function<void(const absl::Status&)> then) override {
    port_->link()->flushing().When(std::move(then));
  }
  bool Coming() override { return port_->Coming(); }
  link::Arrival last_arrival() override { return port_->last_arrival(); }
  bool Drain() override { return port_->link()->Drain(); }

 private:
  const std::shared_ptr<StreamPort> port_;
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_STREAM_PORT_H_
