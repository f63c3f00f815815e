#include "tools/skein/doctor/trial.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"

namespace skein::doctor {
namespace {

using fabric::Completion;
using fabric::CompletionQueue;
using fabric::CompletionStatus;
using fabric::Device;
using fabric::MemoryRegion;
using fabric::Opcode;
using fabric::QueuePair;
using fabric::QueuePairOptions;
using fabric::Segment;
using fabric::SendRequest;

constexpr absl::Duration kPatience = absl::Seconds(5);  // with each WRITE

absl::Status At(absl::string_view step, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status at(status.code(), absl::StrCat(step, ": ", status.message()));
  status.ForEachPayload([&at](absl::string_view type, const absl::Cord& payload) { at.SetPayload(type, payload); });
  return at;
}

struct End {
  std::shared_ptr<Device> device;
  std::unique_ptr<CompletionQueue> queue;
  std::unique_ptr<MemoryRegion> memory;
  std::unique_ptr<QueuePair> queue_pair;
};

template <typename T>
absl::Status Take(absl::string_view step, absl::StatusOr<T> from, T& to) {
  if (!from.ok()) return At(step, from.status());
  to = *std::move(from);
  return absl::OkStatus();
}

absl::StatusOr<End> Open(std::shared_ptr<Device> device, size_t bytes) {
  End end;
  end.device = std::move(device);
  absl::Status status = Take("completion queue", end.device->CreateCompletionQueue(64), end.queue);
  if (!status.ok()) return status;
  status = Take("memory", end.device->Allocate(bytes, fabric::kRemoteWrite), end.memory);
  if (!status.ok()) return status;
  QueuePairOptions options;
  options.send_queue = end.queue.get();
  options.receive_queue = end.queue.get();
  options.max_send_requests = 16;
  options.max_receive_requests = 16;
  status = Take("queue pair", end.device->CreateQueuePair(options), end.queue_pair);
  if (!status.ok()) return status;
  return end;
}

absl::Status Connect(QueuePair& active, QueuePair& passive) {
  const absl::StatusOr<std::string> offer = active.Offer();
  if (!offer.ok()) return At("offer", offer.status());
  const absl::StatusOr<std::string> answer = passive.Accept(*offer);
  if (!answer.ok()) return At("accept", answer.status());
  return At("complete", active.Complete(*answer));
}

class Trial {
 public:
  Trial(End from, End to) : from_(std::move(from)), to_(std::move(to)) {}

  absl::Status Connect() { return doctor::Connect(*from_.queue_pair, *to_.queue_pair); }

  // Writes `size` bytes that depend on `seed` to the other end's memory, and looks whether they are there.
  absl::StatusOr<absl::Duration> Write(size_t size, uint64_t seed) {
    const std::string step = absl::StrCat("WRITE of ", size, " bytes");
    std::byte* const source = from_.memory->bytes().data();
    for (size_t i = 0; i < size; ++i) source[i] = static_cast<std::byte>(i * 31 + (i >> 8) + seed);
    const absl::Time start = SteadyNow();
    if (absl::Status status = Post(size, seed); !status.ok()) return At(step, status);
    if (absl::Status status = AwaitCompletion(seed, start + kPatience); !status.ok()) return At(step, status);
    const absl::Duration took = SteadyNow() - start;
    if (absl::Status status = AwaitBytes(size, start + kPatience); !status.ok()) return At(step, status);
    return took;
  }

 private:
  absl::Status Post(size_t size, uint64_t id) {
    const Segment local{from_.memory->bytes().data(), size, from_.memory->lkey()};
    SendRequest request;
    request.id = id;
    request.opcode = Opcode::kWrite;
    request.local = {&local, 1};
    request.remote = to_.memory->remote();
    return from_.queue_pair->PostSend({&request, 1});
  }

  absl::Status AwaitCompletion(uint64_t id, absl::Time deadline) {
    for (;;) {
      std::optional<Completion> completion = TakeCompletion();
      if (!completion.has_value()) {
        if (absl::Status status = Arm(); !status.ok()) return status;
        completion = TakeCompletion();  // what came before arming wakes nobody
      }
      if (completion.has_value()) return Judge(*completion, id);
      if (absl::Status status = Sleep(deadline); !status.ok()) return status;
    }
  }

  // Of either end: the other one has something to say only if it failed.
  std::optional<Completion> TakeCompletion() {
    for (End* end : {&from_, &to_}) {
      Completion completion;
      if (end->queue->Poll({&completion, 1}) == 1) return completion;
    }
    return std::nullopt;
  }

  absl::Status Judge(const Completion& completion, uint64_t id) const {
    if (completion.status != CompletionStatus::kSuccess) {
      const absl::Status error = WhyFailed(*completion.queue_pair);
      return At(fabric::CompletionStatusName(completion.status),
                error.ok() ? absl::UnavailableError("no more is known") : error);
    }
    if (completion.id != id) return absl::InternalError("the completion of another request");
    return absl::OkStatus();
  }

  // Of two ends that have failed, one was refused something by the kernel, and the other one only hears of it.
  absl::Status WhyFailed(const QueuePair& failed) const {
    for (const End* end : {&from_, &to_}) {
      if (absl::Status error = end->queue_pair->error(); CameOfErrno(error)) return error;
    }
    return failed.error();
  }

  absl::Status Arm() {
    for (End* end : {&from_, &to_}) {
      if (absl::Status status = end->queue->Arm(); !status.ok()) return At("arm", status);
    }
    return absl::OkStatus();
  }

  absl::Status Sleep(absl::Time deadline) {
    pollfd entries[] = {{from_.queue->fd(), POLLIN, 0}, {to_.queue->fd(), POLLIN, 0}};
    const absl::Duration left = absl::Ceil(deadline - SteadyNow(), absl::Milliseconds(1));
    const int ready =
        left <= absl::ZeroDuration() ? 0 : poll(entries, 2, static_cast<int>(left / absl::Milliseconds(1)));
    if (ready == 0) return TooLate("no completion");
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "wait for a completion (poll)");
    from_.queue->AckEvents();
    to_.queue->AckEvents();
    return absl::OkStatus();
  }

  // A completion says that the bytes are on their way into memory beyond recall; the last word says that they are
  // there.
  absl::Status AwaitBytes(size_t size, absl::Time deadline) {
    const std::byte* const sent = from_.memory->bytes().data();
    std::byte* const arrived = to_.memory->bytes().data();
    uint64_t last = 0;
    std::memcpy(&last, sent + size - sizeof(last), sizeof(last));
    std::atomic_ref<uint64_t> canary(*reinterpret_cast<uint64_t*>(arrived + size - sizeof(last)));
    while (canary.load(std::memory_order_acquire) != last) {
      if (SteadyNow() >= deadline) return TooLate("completed, but the bytes did not arrive");
      std::this_thread::yield();
    }
    if (std::memcmp(sent, arrived, size) != 0) return absl::DataLossError("other bytes arrived than were sent");
    return absl::OkStatus();
  }

  static absl::Status TooLate(absl::string_view what) {
    return absl::DeadlineExceededError(absl::StrCat(what, " within ", absl::FormatDuration(kPatience)));
  }

  End from_;
  End to_;
};

}  // namespace

absl::StatusOr<absl::Duration> TryFabric(const std::shared_ptr<fabric::Device>& from,
                                         const std::shared_ptr<fabric::Device>& to, absl::Span<const size_t> sizes) {
  const size_t bytes = *std::max_element(sizes.begin(), sizes.end());
  absl::StatusOr<End> active = Open(from, bytes);
  if (!active.ok()) return active.status();
  absl::StatusOr<End> passive = Open(to, bytes);
  if (!passive.ok()) return passive.status();
  Trial trial(*std::move(active), *std::move(passive));
  if (absl::Status status = trial.Connect(); !status.ok()) return status;
  absl::StatusOr<absl::Duration> took = absl::ZeroDuration();
  for (size_t i = 0; i < sizes.size() && took.ok(); ++i) took = trial.Write(sizes[i], i + 1);
  return took;
}

}  // namespace skein::doctor
