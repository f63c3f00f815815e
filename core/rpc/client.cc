#include <poll.h>
#include <sched.h>
#include <skein/rpc.h>

#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/connect/route.h"
#include "core/connect/tcp.h"
#include "core/rpc/client_service.h"
#include "core/rpc/connection.h"
#include "core/rpc/options.h"
#include "core/rpc/regions.h"
#include "core/wire/bytes.h"

namespace skein::rpc {
namespace {

// What a link's last words get to reach a peer that would not see its end otherwise.
constexpr absl::Duration kParting = absl::Milliseconds(100);

// An atomic operation by the server's processor. Gives the value before it.
absl::StatusOr<uint64_t> ServerAtomic(Connection& connection, const AtomicRequest& request) {
  std::string bytes;
  wire::Put(bytes, request);
  const absl::StatusOr<std::string> answer = connection.Call(kAtomicHandler, bytes);
  if (!answer.ok()) return answer.status();
  wire::FieldReader reader(*answer);
  const auto old = reader.Take<uint64_t>();
  if (!reader.done()) return absl::DataLossError("a malformed answer to an atomic");
  return old;
}

}  // namespace

PendingCall::~PendingCall() { Forget(); }

void PendingCall::Forget() {
  if (slot_ == nullptr) return;
  // A place that is abandoned is free again when its answer comes.
  if (!under_way_ || !slot_->waiter.Abandon()) {
    slot_->waiter.Forget();
    port_->Release(slot_);
  }
  under_way_ = false;
  slot_ = nullptr;
  port_.reset();
}

bool PendingCall::BeginOn(const std::shared_ptr<ClientPort>& port) {
  if (under_way_ || port_ != port) Forget();
  if (slot_ == nullptr) {
    const absl::StatusOr<Slot*> slot = port->Take();
    answer_.status = slot.status();
    if (!slot.ok()) return false;
    slot_ = *slot;
    slot_->answer = &answer_;
    port_ = port;
  }
  under_way_ = true;
  return true;
}

absl::Status PendingCall::End(bool done) {
  if (!done) {
    Forget();
    answer_.status = absl::DeadlineExceededError("no answer in time");
  }
  under_way_ = false;
  return answer_.status;
}

Connection::Impl::Impl(std::shared_ptr<ClientPort> to, std::shared_ptr<wait::NegotiationConnection> liveness,
                       UniqueFd tcp, std::function<void()> on_end)
    : port(std::move(to)),
      memory(port->link(), port->space()),
      liveness_(std::move(liveness)),
      tcp_(std::move(tcp)),
      on_end_(std::move(on_end)) {
  // If the kernel does not watch it, threads that wait for answers look at it.
  if (liveness_ != nullptr) port->space()->Add(liveness_).IgnoreError();
}

Connection::Impl::~Impl() {
  if (liveness_ != nullptr) port->space()->Remove(liveness_);
  port->Close(absl::CancelledError("the connection was closed by this end"));
  if (on_end_) on_end_();
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::~Connection() = default;

absl::StatusOr<std::string> Connection::Call(uint32_t handler, absl::string_view request, absl::Duration timeout) {
  PendingCall call;
  if (!call.BeginOn(impl_->port)) return call.answer_.status;
  const Request one{call.slot_, handler, request};
  ClientPort& port = *impl_->port;
  const bool done = port.space()->SendAndWait([&] { port.Start({&one, 1}); }, call.slot_->waiter, After(timeout));
  if (absl::Status status = call.End(done); !status.ok()) return status;
  return call.TakeReply();
}

void Connection::Start(PendingCall& call, uint32_t handler, absl::string_view request) {
  if (!call.BeginOn(impl_->port)) return;
  const Request one{call.slot_, handler, request};
  impl_->port->Start({&one, 1});
}

void Connection::Start(absl::Span<const CallRequest> requests) {
  absl::InlinedVector<Request, 16> all;
  for (const CallRequest& request : requests) {
    if (request.call->BeginOn(impl_->port)) all.push_back({request.call->slot_, request.handler, request.bytes});
  }
  if (!all.empty()) impl_->port->Start(all);
}

absl::Status Connection::Wait(PendingCall& call, absl::Duration timeout) {
  if (!call.under_way_) return call.answer_.status;
  return call.End(call.slot_->waiter.done() || impl_->port->space()->Wait(call.slot_->waiter, After(timeout)));
}

absl::StatusOr<RemoteRegion> Connection::Attach(uint32_t number, absl::Duration timeout) {
  std::string question;
  wire::Put(question, number);
  impl_->port->link().channel().ExpectMemory();
  const absl::StatusOr<std::string> answer = Call(kAttachHandler, question, timeout);
  if (!answer.ok()) return answer.status();
  wire::FieldReader reader(*answer);
  const auto region = reader.Take<RemoteRegion>();
  if (!reader.done() || region.number != number || region.zero != 0 || region.address + region.size < region.address) {
    return absl::DataLossError("a malformed answer on a region");
  }
  return region;
}

absl::StatusOr<uint64_t> Connection::FetchAdd(const RemoteRegion& region, uint64_t offset, uint64_t addend) {
  if ((region.access & kServerAtomic) != 0) {
    return ServerAtomic(*this, {region.number, AtomicKind::kFetchAdd, offset, addend, 0});
  }
  return impl_->memory.Atomic(region, offset, fabric::Opcode::kFetchAdd, addend, 0);
}

absl::StatusOr<uint64_t> Connection::CompareSwap(const RemoteRegion& region, uint64_t offset, uint64_t expected,
                                                 uint64_t desired) {
  if ((region.access & kServerAtomic) != 0) {
    return ServerAtomic(*this, {region.number, AtomicKind::kCompareSwap, offset, expected, desired});
  }
  return impl_->memory.Atomic(region, offset, fabric::Opcode::kCompareSwap, expected, desired);
}

absl::Status Connection::Read(const RemoteRegion& region, uint64_t offset, absl::Span<std::byte> to) {
  return impl_->memory.Read(region, offset, to);
}

absl::Status Connection::Write(const RemoteRegion& region, uint64_t offset, absl::Span<const std::byte> from) {
  return impl_->memory.Write(region, offset, from);
}

absl::string_view Connection::path() const { return impl_->port->link().transport().name(); }
absl::Status Connection::error() const { return impl_->port->error(); }

// Keeps the links until their peers know that they are left.
class Client::Impl final : public wait::Watcher, public std::enable_shared_from_this<Client::Impl> {
 public:
  Impl(const Options& options, const OnFabrics& on)
      : options_(options),
        fabrics_(FabricsOf(options, on)),
        connector_(connect::CreateConnector(fabrics_, ConnectOptionsOf(options), this,
                                            std::make_shared<ClientService>(options))) {}

  void Watch(std::shared_ptr<wait::Source> source) override {
    MutexLock lock(&mu_);
    links_.push_back(std::static_pointer_cast<link::Link>(std::move(source)));
  }

  absl::StatusOr<std::unique_ptr<Connection>> Connect(absl::string_view address, Deadline deadline) {
    absl::StatusOr<UniqueFd> tcp = connect::ConnectTcp(address, deadline);
    if (!tcp.ok()) return tcp.status();
    const connect::Route route = connect::RouteOf(tcp->get());
    absl::StatusOr<std::shared_ptr<ClientPort>> port = Negotiate(tcp->get(), route, deadline);
    if (!port.ok()) return absl::Status(port.status().code(), absl::StrCat(address, ": ", port.status().message()));
    std::shared_ptr<wait::NegotiationConnection> liveness = LivenessOf(*port, tcp->get());
    return std::make_unique<Connection>(std::make_unique<Connection::Impl>(
        *std::move(port), std::move(liveness), *std::move(tcp), [self = shared_from_this()] { self->LetGo(); }));
  }

 private:
  absl::StatusOr<std::shared_ptr<ClientPort>> Negotiate(int tcp, const connect::Route& route, Deadline deadline) {
    const auto attempt = connector_->Begin(route);
    if (!attempt.ok()) return Unreachable(FallbackOf(attempt.status()));
    if (absl::Status status = connect::SendFrame(tcp, kFrameLetters, (*attempt)->offer()); !status.ok()) return status;
    const absl::StatusOr<std::string> answer =
        connect::ReceiveFrame(tcp, kFrameLetters, connect::kMaxAnswerBytes, deadline);
    if (!answer.ok()) return answer.status();
    connect::Placement placement = (*attempt)->Complete(*answer);
    if (placement.port == nullptr) return Unreachable(placement.why);
    auto port = std::static_pointer_cast<ClientPort>(std::move(placement.port));
    if (absl::Status status = Reach(*port, deadline); !status.ok()) {
      fabrics_->Failed(route, connect::FabricKind(port->link().transport().name()));
      port->Close(status);
      return status;
    }
    return port;
  }

  static absl::Status Unreachable(const Fallback& why) {
    return absl::UnavailableError(absl::StrCat("no path leads there: ", ToString(why)));
  }

  // Whether anything gets through, where connecting has not shown it; and from then on, what is sent goes without
  // anybody polling at this end.
  // Once for a link: one that is busy has always something under way.
  static absl::Status Reach(ClientPort& port, Deadline deadline) {
    if (port.space()->reached()) return absl::OkStatus();
    struct Reached {
      wait::Waiter waiter;
      absl::Status status;
    };
    const auto reached = std::make_shared<Reached>();
    reached->waiter.Begin();
    // This call keeps the space while it waits.
    port.link().flushing().When([reached, space = std::weak_ptr(port.space())](const absl::Status& status) {
      if (reached->waiter.TryClaim() != wait::Waiter::Claim::kClaimed) return;
      reached->status = status;
      const std::shared_ptr<wait::WaitSet> of = space.lock();
      if (reached->waiter.Complete() && of != nullptr) of->WakeSleeper();
    });
    if (!port.space()->Wait(reached->waiter, deadline) && reached->waiter.Cancel()) {
      return absl::UnavailableError("both ends agree, but nothing arrives");
    }
    if (reached->status.ok()) port.space()->set_reached();
    return reached->status;
  }

  static std::shared_ptr<wait::NegotiationConnection> LivenessOf(const std::shared_ptr<ClientPort>& port, int tcp) {
    auto liveness = std::make_shared<wait::NegotiationConnection>();
    liveness->fd = tcp;
    liveness->on_end = [port = std::weak_ptr<ClientPort>(port)] {
      if (const std::shared_ptr<ClientPort> of = port.lock()) of->Close(absl::UnavailableError("the server is gone"));
    };
    return liveness;
  }

  // Takes what has arrived, and sleeps until more does. A mere poll could take a wake-up from another thread that has
  // begun to use the link; Drain arms again.
  static void AwaitMore(link::Link& link, Deadline deadline) {
    pollfd wakes = {link.fd(), POLLIN, 0};
    // Another thread polls; or time is simulated, and nobody sleeps.
    if (!link.Drain() || wakes.fd < 0) {
      sched_yield();
    } else if (!link.finished()) {
      poll(&wakes, 1, TimeoutOf(deadline));
    }
  }

  // Of links that nobody uses any more.
  void LetGo() {
    std::vector<std::shared_ptr<link::Link>> links;
    {
      MutexLock lock(&mu_);
      links = links_;
    }
    const Deadline end = After(kParting);
    for (const std::shared_ptr<link::Link>& link : links) {
      const bool announces = link->transport().traits().announces_close;
      while (!announces && link->ports().unused() && !link->finished() && Clock::now() < end) AwaitMore(*link, end);
    }
    links.clear();
    MutexLock lock(&mu_);
    // A negotiation that is about to use one holds it, too.
    std::erase_if(
        links_, [](const auto& link) { return link->finished() || (link->ports().unused() && link.use_count() == 1); });
  }

  const Options options_;
  const std::shared_ptr<connect::Fabrics> fabrics_;
  Mutex mu_;
  std::vector<std::shared_ptr<link::Link>> links_ ABSL_GUARDED_BY(mu_);
  const std::unique_ptr<connect::Connector> connector_;
};

Client::Client(const Options& options) : Client(options, OnFabrics()) {}
Client::Client(const Options& options, const OnFabrics& on) : impl_(std::make_shared<Impl>(options, on)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Connection>> Client::Connect(absl::string_view address, absl::Duration timeout) {
  return impl_->Connect(address, After(timeout));
}

}  // namespace skein::rpc
