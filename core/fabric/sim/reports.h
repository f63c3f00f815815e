// An endpoint's completions, until they are in its user's queues.
#ifndef SKEIN_CORE_FABRIC_SIM_REPORTS_H_
#define SKEIN_CORE_FABRIC_SIM_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "core/fabric/fabric.h"
#include "core/fabric/sim/completion_queue.h"
#include "core/fabric/sim/world.h"

namespace skein::fabric::sim {

// Used under World::mu, as is all of its endpoint.
class Reports {
 public:
  Reports(Endpoint& endpoint, World& world, SimCompletionQueue* send_queue, SimCompletionQueue* receive_queue)
      : endpoint_(endpoint), world_(world), send_queue_(send_queue), receive_queue_(receive_queue) {}

  // The success of an unsignaled send is not reported.
  void SendEnded(const SendRequest& request, uint64_t sequence, CompletionStatus status, size_t bytes);
  void ReceiveEnded(const ReceiveRequest& request, CompletionStatus status, size_t bytes);
  // A WRITE_WITH_IMM took this receive.
  void ImmediateCame(const ReceiveRequest& request, uint32_t immediate, size_t bytes);
  // The queue pair has been destroyed: but for shared receives, its user wants to hear of nothing.
  void Detach();

 private:
  // A completion that its queue is still to get.
  struct Late {
    SimCompletionQueue* queue = nullptr;
    Completion completion;
    uint64_t sequence = 0;  // as in SimCompletionQueue::Entry
  };

  void Report(const Late& report);
  void Push(const Late& report);
  void PushNext();

  Endpoint& endpoint_;
  World& world_;
  SimCompletionQueue* const send_queue_;
  SimCompletionQueue* const receive_queue_;
  std::deque<Late> late_;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_REPORTS_H_
