// One end of a channel in shared memory.
//
//   reset --Offer--> offering --Complete--> connected ---> ended   by whom?
//     |                                     ^                        the peer's state word, the socket's end: Ended
//     |                                     |                        the peer breaks the protocol: Next, Space,
//     LivenessConnection
//     \______________Accept_________________/                        the kernel refuses a call: LivenessConnection
//                                                                    Close, Disconnect
//
// Connecting is the caller's, one thread. The end is whoever's sees it first: End, once; its reason stays. The memory
// stays mapped until this object goes: what had arrived is still read, and what is still written harms nobody.
//
// Who owns what. *Sender*: writer_, the wishes. *Poller*: reader_. *mu_*, a leaf but for the rendezvous' lock: how the
// connection stands. What the two hand each other lies in the words of layout.h, by the orders of handover.h.
//
// | atomic | written | pairs with |
// |---|---|---|
// | ready_ | when connected, release, once | the acquire in ready(): memory, ends and liveness are there and stay |
// | met_ | when connected (active), by OnGreeting (passive), release | the acquire in met(): the same |
// | ended_ | by End and Disconnect, release | the acquire in connected(): the reason is there |
// | messages_read_, bytes_read_ | by the poller, relaxed | none: numbers |
#ifndef SKEIN_CORE_CHANNEL_SHM_SHM_CHANNEL_H_
#define SKEIN_CORE_CHANNEL_SHM_SHM_CHANNEL_H_

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
#include "core/channel/shm/passed_memory.h"
#include "core/channel/shm/peer_memory.h"
#include "core/channel/shm/transport_core.h"

namespace skein::channel::shm {

class ShmGroup;

class ShmChannel final : public Channel {
 public:
  // `group` outlives it.
  ShmChannel(ShmGroup& group, std::shared_ptr<TransportCore> core, const ChannelOptions& options);
  ~ShmChannel() override;

  absl::StatusOr<std::string> Offer() override;
  absl::StatusOr<Answer> Accept(absl::string_view offer) override;
  absl::Status Complete(const Answer& answer) override;
  // Both ends' memory was told by the socket: there is nothing to say.
  std::string Greeting() const override { return {}; }
  absl::Status OnGreeting(absl::string_view greeting) override;

  bool met() const override { return met_.load(std::memory_order_acquire); }
  size_t Space(Use use) override;
  bool Fits(size_t bytes, Use use) override;
  size_t LargestItem() const override { return met() ? writer_->LargestItem() : 0; }
  size_t LargestItemNow() const override { return met() ? writer_->LargestItemNow() : 0; }
  absl::Status Lay(absl::Span<OutItem> items, Use use) override;
  absl::Status Publish(uint64_t stage_time) override;
  uint64_t written() const override { return met() ? writer_->position() : 0; }
  uint64_t messages_written() const override { return met() ? writer_->messages() : 0; }
  absl::StatusOr<bool> Reached() override { return true; }
  absl::Status Heed() override;
  bool executes() const override { return true; }
  absl::StatusOr<fabric::CompletionStatus> Execute(const fabric::SendRequest& operation) override;
  absl::Status Pass(const fabric::MemoryRegion& region) override;

  absl::StatusOr<std::optional<InMessage>> Next() override;
  void Pop() override;
  bool Readable() const override { return ready() && reader_->Readable(); }
  bool AfterReading() override;
  bool MoreSpace() override;
  uint64_t messages_read() const override { return messages_read_.load(std::memory_order_relaxed); }
  uint64_t bytes_read() const override { return bytes_read_.load(std::memory_order_relaxed); }
  uint64_t capacity() const override { return options_.ring_bytes; }
  bool Ended() override;

  void ExpectMemory() override { liveness_.ExpectMemory(); }
  void Close() override;
  void Disconnect() override { ended_.store(true, std::memory_order_release); }
  bool connected() const override { return !ended_.load(std::memory_order_acquire); }
  bool peer_broke_protocol() const override;
  absl::Status why_ended() const override;
  bool StillConnected() override;

  // By the group, for its sleeper.
  void GoToSleep();
  // False: the peer has rung, or is about to.
  bool StayAwake();
  void Acknowledge(bool all);

 private:
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  absl::Status Noted(const absl::Status& error, std::optional<uid_t> other_user);
  absl::StatusOr<Mapping> MapOffered(const Answer& answer, const Meeting& meeting) const;
  absl::Status Connect(int own_end, size_t ring_bytes, Mapping memory, Meeting meeting);
  absl::Status Begin(int own_end, size_t ring_bytes, Mapping memory, Meeting meeting);
  void End(Ending ending);
  void EndIf(std::optional<Ending> ending);
  void EndAfterPeer();
  void EndIfPeerHas();

  // The sender's.
  uint64_t Consumed();
  size_t SpaceNow(Use use);

  ShmGroup& group_;
  const std::shared_ptr<TransportCore> core_;
  ChannelOptions options_;

  // Constant once ready_.
  Mapping memory_;
  PeerMemory peer_memory_;
  PassedMemory passed_memory_;
  shm::End* own_ = nullptr;
  shm::End* peers_ = nullptr;
  LivenessConnection liveness_;
  std::optional<FifoWriter> writer_;
  std::optional<FifoReader> reader_;

  std::atomic<bool> ready_ = false;
  std::atomic<bool> met_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<uint64_t> messages_read_ = 0;
  std::atomic<uint64_t> bytes_read_ = 0;

  mutable Mutex mu_;
  std::optional<Token> offered_ ABSL_GUARDED_BY(mu_);
  std::optional<Ending> ending_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_SHM_CHANNEL_H_
