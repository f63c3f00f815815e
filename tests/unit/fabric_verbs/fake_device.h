// A device that exists in this process alone: it is given work and does none of it, flushes what a failed queue pair
// had, and tells of whatever events it is told to. Once it has failed it does nothing at all.
#ifndef SKEIN_TESTS_UNIT_FABRIC_VERBS_FAKE_DEVICE_H_
#define SKEIN_TESTS_UNIT_FABRIC_VERBS_FAKE_DEVICE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "core/fabric/verbs/port.h"

namespace skein::fabric::verbs {

// One at a time; one thread.
class FakeDevice {
 public:
  // How long its queue pairs wait for what it tells nothing of, if their peers always receive.
  static constexpr absl::Duration kPatience = absl::Milliseconds(40);

  FakeDevice();
  ~FakeDevice();
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  const std::shared_ptr<const Port>& port() const { return port_; }
  // Of the queue pair that was made so many before, of a queue of that queue pair, or of the device. A
  // failed completion queue gives nothing any more.
  void Tell(ibv_event_type event, size_t queue_pair = 0);
  size_t queue_pairs() const { return queue_pairs_.size(); }
  // Of the queue pair that was made so many before: requests that it was given and has not done; it does them.
  size_t sends(size_t queue_pair = 0) const { return queue_pairs_[queue_pair]->sends.size(); }
  void DoSends(size_t queue_pair = 0);

 private:
  struct CompletionQueue : ibv_cq {
    std::deque<ibv_wc> completions;
    bool failed = false;
  };
  struct QueuePair : ibv_qp {
    std::vector<uint64_t> sends;
    std::vector<uint64_t> receives;
  };

  static FakeDevice& The();
  static Ibverbs Functions();
  static int Modify(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask);
  static int PostSend(ibv_qp* queue_pair, ibv_send_wr* work, ibv_send_wr** refused);
  static int PostReceive(ibv_qp* queue_pair, ibv_recv_wr* work, ibv_recv_wr** refused);
  static int Poll(ibv_cq* queue, int most, ibv_wc* out);
  static int NextEvent(ibv_context* context, ibv_async_event* out);
  static ibv_cq* CreateQueue(ibv_context* context, int entries, void* of, ibv_comp_channel* channel, int vector);
  static int DestroyQueue(ibv_cq* queue);
  static ibv_qp* Create(ibv_pd* domain, ibv_qp_init_attr* attributes);
  static int Destroy(ibv_qp* queue_pair);
  static void End(std::vector<uint64_t>& work, ibv_cq* to, ibv_wc_status status);

  const Ibverbs lib_;
  ibv_context context_ = {};
  ibv_pd domain_ = {};
  ibv_comp_channel channel_ = {};
  ibv_srq shared_receives_ = {};
  std::vector<std::unique_ptr<CompletionQueue>> queues_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::deque<ibv_async_event> events_;
  bool dead_ = false;
  std::shared_ptr<const Port> port_;
};

}  // namespace skein::fabric::verbs

#endif  // SKEIN_TESTS_UNIT_FABRIC_VERBS_FAKE_DEVICE_H_
