// An opened RDMA device: what its ports, regions and queue pairs share, and the device's own events.
#ifndef SKEIN_CORE_FABRIC_VERBS_CONTEXT_H_
#define SKEIN_CORE_FABRIC_VERBS_CONTEXT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"
#include "core/fabric/verbs/device_list.h"
#include "core/fabric/verbs/ibverbs.h"
#include "core/fabric/verbs/look_timer.h"

namespace skein::fabric::verbs {

// Hears the device's events about one queue pair, about the queues of that queue pair, and about the device itself.
// Called without locks of the queue pair's.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // `completes`: whether the device still reports how outstanding requests end.
  virtual void OnDeviceEvent(const absl::Status& why, bool completes) = 0;
  // Now and then while requests are outstanding: do they make progress? Returns whether to ask again.
  virtual bool LookForProgress() = 0;
};

class Context {
 public:
  // UNAVAILABLE: RDMA is off; NOT_FOUND: no such device (those there are, are named).
  static absl::StatusOr<std::shared_ptr<Context>> Open(const std::string& device);
  static absl::StatusOr<std::shared_ptr<Context>> Open(const DeviceList& list, ibv_device* device,
                                                       std::chrono::milliseconds between_looks = kBetweenLooks);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Ibverbs& lib() const { return lib_; }
  ibv_context* get() const { return context_; }
  const ibv_device_attr& attributes() const { return attributes_; }
  const std::string& name() const { return name_; }
  absl::StatusOr<ibv_port_attr> QueryPort(uint8_t port) const;

  // Readable when there are events to Drain. Any thread may drain; each event reaches its sink once.
  int event_fd() const { return context_->async_fd; }
  void DrainEvents();
  // A request is outstanding, whose end nobody may report: from now on, look_fd() becomes readable now and then, until
  // nothing is outstanding any more. Then, and now and then anyway, somebody should LookForProgress.
  void AwaitProgress() { look_timer_.Start(); }
  int look_fd() const { return look_timer_.fd(); }
  void LookForProgress();
  // The device was removed or has failed: nothing that is outstanding will ever complete.
  bool gone() const { return gone_.load(std::memory_order_acquire); }

  // Must be forgotten before it is destroyed; then no call is under way.
  void Watch(const ibv_qp* queue_pair, EventSink* sink);
  void Forget(const ibv_qp* queue_pair);

 private:
  static constexpr std::chrono::milliseconds kBetweenLooks{4000};

  Context(const Ibverbs& lib, ibv_context* context, std::string name, std::chrono::milliseconds between_looks);
  absl::Status Prepare();
  void Dispatch(const ibv_async_event& event);
  void Tell(const absl::Status& why, bool completes, absl::FunctionRef<bool(const ibv_qp&)> concerns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Ibverbs& lib_;
  ibv_context* const context_;
  const std::string name_;
  ibv_device_attr attributes_ = {};
  std::atomic<bool> gone_ = false;  // release by DrainEvents, acquire by gone()
  LookTimer look_timer_;

  Mutex mu_;
  absl::flat_hash_map<const ibv_qp*, EventSink*> sinks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_CONTEXT_H_
