#include "grpc_transport/event_engine/ready.h"

#include <utility>

namespace skein::grpc_transport {
namespace {

thread_local Ready* this_threads = nullptr;
thread_local bool is_pollers_thread = false;

}  // namespace

Ready::Ready(Thread thread) : thread_(thread) {
  this_threads = this;
  is_pollers_thread = thread == Thread::kPoller;
}

Ready::~Ready() {
  this_threads = nullptr;
  is_pollers_thread = false;
  RunElsewhere();
}

void Ready::RunSoon(const std::shared_ptr<EventEngine>& engine, Callback callback) {
  if (this_threads == nullptr) return engine->Run(std::move(callback));
  this_threads->callbacks_.push_back({engine, std::move(callback)});
}

bool Ready::Keep(const std::shared_ptr<EventEngine>& engine, Callback& closure) {
  Ready* const ready = this_threads;
  if (ready == nullptr || ready->thread_ != Thread::kPoller || !ready->running_) return false;
  if (ready->kept_.callback) return false;
  ready->kept_ = {engine, std::move(closure)};
  return true;
}

bool Ready::IsPollersThread() { return is_pollers_thread; }

void Ready::RunHere() {
  running_ = true;
  while (!callbacks_.empty()) {
    Item item = std::move(callbacks_.front());
    callbacks_.pop_front();
    item.callback();
  }
  running_ = false;
  if (!kept_.callback) return;
  Item kept = std::exchange(kept_, {});
  this_threads = nullptr;
  kept.callback();
  this_threads = this;
}

void Ready::RunElsewhere() {
  if (kept_.callback) callbacks_.push_back(std::exchange(kept_, {}));
  for (Item& item : std::exchange(callbacks_, {})) item.engine->Run(std::move(item.callback));
}

Ready::Waits::Waits() : ready_(std::exchange(this_threads, nullptr)) {
  if (ready_ != nullptr) ready_->RunElsewhere();
}
Ready::Waits::~Waits() {
  if (ready_ != nullptr) this_threads = ready_;
}

}  // namespace skein::grpc_transport
