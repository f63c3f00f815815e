// A sender on its core: asks what its workload wants, and takes note of what is over.
#ifndef SKEIN_BENCH_DURABLE_SENDER_H_
#define SKEIN_BENCH_DURABLE_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "bench/durable/ends.h"
#include "bench/durable/measured.h"
#include "bench/durable/processor.h"

namespace skein::bench::durable {

class Sender {
 public:
  // `receiver`: of this connection.
  Sender(Measured& measured, const ReceiverTimes& receiver, std::unique_ptr<Workload> workload,
         std::unique_ptr<SenderEnd> end);

  // After each event: the sender takes the answers that have come, if its core is free.
  void Turn();
  // The application has ended, and all its requests are over.
  bool done() const { return ended_ && open_ == 0; }

  struct Unanswered {
    uint64_t number = 0;
    Operation operation;
    absl::Time begun;
    bool over = false;  // a write that is known to be safe
  };
  // In their order.
  std::vector<Unanswered> unanswered() const;

 private:
  struct Pending {
    Operation operation;
    absl::Time begun;
    absl::Duration computes;
    absl::Duration spent;  // on this core
    bool over = false;
    bool replied = false;
  };

  bool MayThink();
  void Think();
  void Send(const Step& step);
  void Take(const SenderEnd::News& news);
  void TakeReply(uint64_t number);
  absl::Duration ReceiverTimeOf(uint64_t number, bool reply) const;
  void Over(uint64_t number, bool reply);
  void Forget();
  Pending& At(uint64_t number) { return pending_[number - first_]; }

  Measured& measured_;
  const ReceiverTimes& receiver_;
  const std::unique_ptr<Workload> workload_;
  const std::unique_ptr<SenderEnd> end_;
  Core core_;
  std::optional<Step> next_;
  bool ended_ = false;
  size_t open_ = 0;                      // requests that are not over
  std::optional<absl::Time> operation_;  // of the application, that is under way
  bool whole_ = false;                   // all its requests have been sent
  std::deque<Pending> pending_;
  uint64_t first_ = 1;  // the number of the first pending
  uint64_t safe_ = 0;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_SENDER_H_
