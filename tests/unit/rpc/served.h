// A server with a thread of its own, and handlers for what tests need.
#ifndef SKEIN_TESTS_UNIT_RPC_SERVED_H_
#define SKEIN_TESTS_UNIT_RPC_SERVED_H_

#include <skein/rpc.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/rpc/options.h"
#include "gtest/gtest.h"
#include "tests/support/held.h"

namespace skein::rpc {

inline constexpr absl::Duration kSoon = absl::Seconds(20);

enum Number : uint32_t { kEcho, kLater, kRefuse, kForget, kKeep, kMegabyte };

class Served {
 public:
  explicit Served(const Options& options, const OnFabrics& on = {}) : server_(options, on) {
    Handle(kEcho, [](absl::string_view request, Reply reply) { reply.Send(request); });
    Handle(kLater, [this](absl::string_view request, Reply reply) { Later(request, std::move(reply)); });
    Handle(kRefuse, [](absl::string_view, Reply reply) { reply.Fail(absl::NotFoundError("no such thing")); });
    Handle(kForget, [](absl::string_view, Reply) {});
    Handle(kKeep, [this](absl::string_view, Reply reply) {
      Held lock(mu_);
      kept_.push_back(std::move(reply));
    });
    Handle(kMegabyte, [](absl::string_view, Reply reply) { reply.Send(std::string(1 << 20, 'm')); });
    address_ = server_.Listen("127.0.0.1:0").value();
    serving_ = std::thread([this] { EXPECT_TRUE(server_.Serve().ok()); });
    answering_ = std::thread([this] { AnswerLater(); });
  }
  ~Served() {
    server_.Stop();
    serving_.join();
    {
      Held lock(mu_);
      ended_ = true;
    }
    answering_.join();
  }

  Server& server() { return server_; }
  const std::string& address() const { return address_; }
  void AwaitKept(size_t calls) {
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return kept_.size() >= calls; };
    Held lock(mu_);
    mu_.Await(absl::Condition(&enough));
  }
  // Answers all calls of kKeep.
  void ReleaseKept() {
    Held lock(mu_);
    for (Reply& reply : kept_) reply.Send("kept");
    kept_.clear();
  }

 private:
  void Handle(uint32_t number, Handler handler) { EXPECT_TRUE(server_.Handle(number, std::move(handler)).ok()); }

  void Later(absl::string_view request, Reply reply) {
    Held lock(mu_);
    later_.emplace_back(std::string(request), std::move(reply));
  }

  void AnswerLater() {
    for (;;) {
      std::vector<std::pair<std::string, Reply>> now;
      {
        Held lock(mu_);
        mu_.Await(absl::Condition(
            +[](Served* self) ABSL_NO_THREAD_SAFETY_ANALYSIS { return self->ended_ || !self->later_.empty(); }, this));
        if (ended_) return;
        now.swap(later_);
      }
      for (auto& [text, reply] : now) reply.Send(text);
    }
  }

  Server server_;
  std::string address_;
  absl::Mutex mu_;
  std::vector<std::pair<std::string, Reply>> later_ ABSL_GUARDED_BY(mu_);
  std::vector<Reply> kept_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  std::thread serving_;
  std::thread answering_;
};

}  // namespace skein::rpc

#endif  // SKEIN_TESTS_UNIT_RPC_SERVED_H_
