// How one end of a channel in shared memory connects, ends and sleeps.
//
//   reset --Offer--> offering --Complete--> connected ---> ended
//     |                                     ^
//     \______________Accept_________________/
//
//     it ends by                                        seen by
//     the peer's state word, or the socket's end        Ended, StillConnected, Execute
//     the peer breaks the protocol                      Next, Space, Lay, LivenessConnection
//     memory of the peer's does not allow an operation  Execute
//     the kernel refuses a call                         LivenessConnection
//     this end's wish                                   Close, Disconnect
//
// One thread connects. The thread that sees the end first calls End; that reason stays. The memory stays mapped until
// this object goes: what had arrived is still read, and what is still written harms nobody.
//
// Lock: mu_, a leaf but for the rendezvous' lock.
//
// | atomic | written | pairs with |
// |---|---|---|
// | ready_ | when connected, release, once | the acquire in ready(): memory, ends and liveness are there and stay |
// | met_ | when connected (active), by OnGreeting (passive), release | the acquire in met(): the same |
// | ended_ | by End and Disconnect, release | the acquire in connected(): the reason is there |
#ifndef SKEIN_CORE_CHANNEL_SHM_SHM_CONNECTION_H_
#define SKEIN_CORE_CHANNEL_SHM_SHM_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/base/mapping.h"
#include "core/base/mutex.h"
#include "core/channel/channel.h"
#include "core/channel/shm/fifo_reader.h"
#include "core/channel/shm/fifo_writer.h"
#include "core/channel/shm/layout.h"
#include "core/channel/shm/liveness_connection.h"
#include "core/channel/shm/peer_memory.h"
#include "core/channel/shm/transport_core.h"

namespace skein::channel::shm {

class ShmGroup;

class ShmConnection : public Channel {
 public:
  absl::StatusOr<std::string> Offer() final;
  absl::StatusOr<Answer> Accept(absl::string_view offer) final;
  absl::Status Complete(const Answer& answer) final;
  // Both ends' memory was told by the socket: there is nothing to say.
  std::string Greeting() const final { return {}; }
  absl::Status OnGreeting(absl::string_view greeting) final;
  bool met() const final { return met_.load(std::memory_order_acquire); }

  uint64_t capacity() const final { return options_.ring_bytes; }
  bool Ended() final;
  void ExpectMemory() final { liveness_.ExpectMemory(); }
  void Close() final;
  void Disconnect() final { ended_.store(true, std::memory_order_release); }
  bool connected() const final { return !ended_.load(std::memory_order_acquire); }
  bool peer_broke_protocol() const final;
  absl::Status why_ended() const final;
  bool StillConnected() final;

  // By the group, for its sleeper, from the constructor to the destructor: nothing of a derived class is touched.
  void GoToSleep();
  // False: the peer has rung, or is about to.
  bool StayAwake();
  void Acknowledge(bool all);

 protected:
  // `group` outlives it.
  ShmConnection(ShmGroup& group, std::shared_ptr<TransportCore> core, const ChannelOptions& options);
  ~ShmConnection() override;

  bool ready() const { return ready_.load(std::memory_order_acquire); }
  void End(Ending ending);
  void EndIf(std::optional<Ending> ending);
  void EndIfPeerHas();

  ShmGroup& group() const { return group_; }
  // Once ready().
  shm::End& own() const { return *own_; }
  shm::End& peers() const { return *peers_; }
  LivenessConnection& liveness() { return liveness_; }
  const PeerMemory& peer_memory() const { return peer_memory_; }
  // The sender's.
  FifoWriter& writer() { return *writer_; }
  const FifoWriter& writer() const { return *writer_; }
  // The poller's.
  FifoReader& reader() { return *reader_; }
  const FifoReader& reader() const { return *reader_; }

 private:
  absl::Status Connect(int own_end, size_t ring_bytes, Mapping memory, Meeting meeting);
  void EndAfterPeer();

  ShmGroup& group_;
  const std::shared_ptr<TransportCore> core_;
  ChannelOptions options_;

  // Constant once ready_.
  Mapping memory_;
  PeerMemory peer_memory_;
  shm::End* own_ = nullptr;
  shm::End* peers_ = nullptr;
  LivenessConnection liveness_;
  std::optional<FifoWriter> writer_;
  std::optional<FifoReader> reader_;

  std::atomic<bool> ready_ = false;
  std::atomic<bool> met_ = false;
  std::atomic<bool> ended_ = false;

  mutable Mutex mu_;
  std::optional<Token> offered_ ABSL_GUARDED_BY(mu_);
  std::optional<Ending> ending_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_SHM_CONNECTION_H_
