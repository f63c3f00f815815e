#include "core/fabric/verbs/context.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/errno_status.h"

namespace skein::fabric::verbs {

absl::StatusOr<std::shared_ptr<Context>> Context::Open(const std::string& device) {
  const absl::StatusOr<DeviceList> list = DeviceList::Get();
  if (!list.ok()) return list.status();
  std::vector<absl::string_view> names;
  for (ibv_device* listed : list->devices()) {
    names.push_back(list->NameOf(listed));
    if (names.back() == device) return Open(*list, listed);
  }
  return absl::NotFoundError(
      absl::StrCat("no RDMA device ", device, "; there are: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

absl::StatusOr<std::shared_ptr<Context>> Context::Open(const DeviceList& list, ibv_device* device,
                                                       std::chrono::milliseconds between_looks) {
  const std::string name(list.NameOf(device));
  ibv_context* const opened = list.lib().open_device(device);
  if (opened == nullptr) return ErrnoStatus(errno, absl::StrCat("open the RDMA device ", name));
  std::shared_ptr<Context> context(new Context(list.lib(), opened, name, between_looks));
  if (absl::Status status = context->Prepare(); !status.ok()) return status;
  return context;
}

Context::Context(const Ibverbs& lib, ibv_context* context, std::string name, std::chrono::milliseconds between_looks)
    : lib_(lib), context_(context), name_(std::move(name)), look_timer_(between_looks) {}

Context::~Context() { lib_.close_device(context_); }

absl::Status Context::Prepare() {
  if (const int error = lib_.query_device(context_, &attributes_); error != 0) {
    return ErrnoStatus(error, absl::StrCat("query the RDMA device ", name_));
  }
  const int flags = fcntl(context_->async_fd, F_GETFL);
  if (flags < 0 || fcntl(context_->async_fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "make the device's event descriptor non-blocking");
  }
  return look_timer_.Open();
}

absl::StatusOr<ibv_port_attr> Context::QueryPort(uint8_t port) const {
  // The library fills the older, shorter struct, of which this one is an extension.
  ibv_port_attr attributes = {};
  const int error = lib_.query_port(context_, port, reinterpret_cast<_compat_ibv_port_attr*>(&attributes));
  if (error != 0) return ErrnoStatus(error, absl::StrCat("query port ", port, " of ", name_));
  return attributes;
}

void Context::DrainEvents() {
  ibv_async_event event = {};
  while (lib_.get_async_event(context_, &event) == 0) {
    Dispatch(event);
    lib_.ack_async_event(&event);
  }
}

void Context::Dispatch(const ibv_async_event& event) {
  const absl::Status why =
      absl::UnavailableError(absl::StrCat("the RDMA device ", name_, ": ", lib_.event_type_str(event.event_type)));
  MutexLock lock(&mu_);
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      // By its number in the map: it may have been destroyed since.
      if (const auto found = sinks_.find(event.element.qp); found != sinks_.end()) {
        found->second->OnDeviceEvent(why, /*completes=*/true);
      }
      return;
    case IBV_EVENT_CQ_ERR:  // it overran: the device reports nothing through it any more
      return Tell(why, /*completes=*/false, [&event](const ibv_qp& queue_pair) {
        return queue_pair.send_cq == event.element.cq || queue_pair.recv_cq == event.element.cq;
      });
    case IBV_EVENT_SRQ_ERR:  // the device cannot receive through it any more
      return Tell(why, /*completes=*/true,
                  [&event](const ibv_qp& queue_pair) { return queue_pair.srq == event.element.srq; });
    case IBV_EVENT_DEVICE_FATAL:
      gone_.store(true, std::memory_order_release);
      return Tell(why, /*completes=*/false, [](const ibv_qp&) { return true; });
    default:
      return;  // ports come and go: what is under way is retried, and fails by itself if that takes too long
  }
}

// Every queue pair in the map exists: its owner calls Forget before it destroys it.
void Context::Tell(const absl::Status& why, bool completes, absl::FunctionRef<bool(const ibv_qp&)> concerns) {
  for (const auto& [queue_pair, sink] : sinks_) {
    if (concerns(*queue_pair)) sink->OnDeviceEvent(why, completes);
  }
}

void Context::LookForProgress() {
  if (!look_timer_.TakeDue()) return;
  bool again = false;
  MutexLock lock(&mu_);
  for (const auto& [queue_pair, sink] : sinks_) again |= sink->LookForProgress();
  if (again) look_timer_.Start();
}

void Context::Watch(const ibv_qp* queue_pair, EventSink* sink) {
  MutexLock lock(&mu_);
  sinks_[queue_pair] = sink;
}

void Context::Forget(const ibv_qp* queue_pair) {
  MutexLock lock(&mu_);
  sinks_.erase(queue_pair);
}

}  // namespace skein::fabric::verbs
