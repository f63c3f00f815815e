#include "grpc_transport/iomgr/calls/books.h"

#include <utility>

namespace skein::grpc_transport {
namespace {

constexpr grpc_core::Duration kLinger = grpc_core::Duration::Seconds(1);
constexpr int64_t kVisitEvery = 10;  // ms

}  // namespace

Books::Books(::grpc_transport* chttp2, CallSink& calls)
    : chttp2_(reinterpret_cast<grpc_chttp2_transport*>(chttp2)), calls_(calls), placeholder_(chttp2_) {
  GRPC_CLOSURE_INIT(&on_visit_, OnVisit, this, nullptr);
  GRPC_CLOSURE_INIT(&on_timer_, OnTimer, this, nullptr);
}

void Books::CallBegins() {
  active_.store(true, std::memory_order_relaxed);
  if (used_.load(std::memory_order_relaxed)) return;
  MutexLock lock(&mu_);
  if (ended_) return;
  used_.store(true, std::memory_order_relaxed);
  if (!timer_runs_) StartTimer();
  if (!std::exchange(open_, true)) Visit();
}

void Books::LastCallEnds(bool close) {
  active_.store(false, std::memory_order_relaxed);
  if (!close) return;
  MutexLock lock(&mu_);
  used_.store(false, std::memory_order_relaxed);
  if (std::exchange(open_, false)) Visit();
}

void Books::Note(uint8_t what) {
  if ((noted_.load(std::memory_order_relaxed) & what) == 0) noted_.fetch_or(what, std::memory_order_relaxed);
  const int64_t now = grpc_core::Timestamp::Now().milliseconds_after_process_epoch();
  if (now - visited_.load(std::memory_order_relaxed) < kVisitEvery) return;
  visited_.store(now, std::memory_order_relaxed);
  MutexLock lock(&mu_);
  if (open_) Visit();
}

// As chttp2 says that its streams' numbers are used up.
void Books::EndNewCalls() {
  const auto end = [](void* arg, grpc_error_handle /*error*/) {
    auto* const chttp2 = static_cast<grpc_chttp2_transport*>(arg);
    if (chttp2->state_tracker.state() == GRPC_CHANNEL_READY) {
      chttp2->state_tracker.SetState(GRPC_CHANNEL_TRANSIENT_FAILURE, absl::UnavailableError("calls' numbers exhausted"),
                                     "no_more_call_numbers");
    }
    GRPC_CHTTP2_UNREF_TRANSPORT(chttp2, "skein numbers");
  };
  GRPC_CHTTP2_REF_TRANSPORT(chttp2_, "skein numbers");
  chttp2_->combiner->Run(GRPC_CLOSURE_CREATE(end, chttp2_, nullptr), absl::OkStatus());
}

void Books::End() {
  MutexLock lock(&mu_);
  ended_ = true;
  if (std::exchange(open_, false)) Visit();
  if (timer_runs_) grpc_timer_cancel(&timer_);
}

void Books::Visit() {
  if (std::exchange(visit_out_, true)) return;
  Ref().release();
  GRPC_CHTTP2_REF_TRANSPORT(chttp2_, "skein visit");
  chttp2_->combiner->Run(&on_visit_, absl::OkStatus());
}

void Books::OnVisit(void* arg, grpc_error_handle /*error*/) {
  auto* const self = static_cast<Books*>(arg);
  bool open = false;
  {
    MutexLock lock(&self->mu_);
    self->visit_out_ = false;
    open = self->open_;
  }
  if (open) {
    self->placeholder_.Open(*self);
    self->TellTraffic();
  } else {
    self->placeholder_.Close();
  }
  grpc_chttp2_transport* const chttp2 = self->chttp2_;
  self->Unref();
  GRPC_CHTTP2_UNREF_TRANSPORT(chttp2, "skein visit");
}

// As chttp2 does when it reads and writes itself.
void Books::TellTraffic() {
  const uint8_t noted = noted_.exchange(0, std::memory_order_relaxed);
  if ((noted & kSent) != 0) grpc_chttp2_reset_ping_clock(chttp2_);
  if ((noted & kReceived) == 0 || chttp2_->keepalive_state != GRPC_CHTTP2_KEEPALIVE_STATE_WAITING) return;
  grpc_timer_cancel(&chttp2_->keepalive_ping_timer);
}

// chttp2 gives up one stream at a time for as long as memory is wanted: so does this with calls.
void Books::OnGivenUp() {
  grpc_core::RefCountedPtr<CallSink> calls;
  {
    MutexLock lock(&mu_);
    if (ended_) return;
    calls = calls_.Ref();
  }
  calls->GiveUpACall();
  MutexLock lock(&mu_);
  if (open_) Visit();
}

void Books::StartTimer() {
  timer_runs_ = true;
  Ref().release();
  grpc_timer_init(&timer_, grpc_core::Timestamp::Now() + kLinger, &on_timer_);
}

void Books::OnTimer(void* arg, grpc_error_handle error) {
  auto* const self = static_cast<Books*>(arg);
  {
    MutexLock lock(&self->mu_);
    self->timer_runs_ = false;
    const bool used = self->used_.exchange(false, std::memory_order_relaxed);
    if (!error.ok() || self->ended_) {
      // Nothing is left to be done.
    } else if (used || self->active_.load(std::memory_order_relaxed)) {
      self->StartTimer();
    } else if (std::exchange(self->open_, false)) {
      self->Visit();
    }
  }
  self->Unref();
}

}  // namespace skein::grpc_transport
