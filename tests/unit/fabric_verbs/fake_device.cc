#include "tests/unit/fabric_verbs/fake_device.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace skein::fabric::verbs {
namespace {

FakeDevice* the = nullptr;  // the library's functions are given no more than what it has made
ibv_device listed = {};
ibv_device* list[] = {&listed};

}  // namespace

FakeDevice& FakeDevice::The() { return *the; }

Ibverbs FakeDevice::Functions() {
  Ibverbs lib;
  lib.free_device_list = [](ibv_device**) {};
  lib.get_device_name = [](ibv_device*) { return "fake"; };
  lib.open_device = [](ibv_device*) { return &The().context_; };
  lib.close_device = [](ibv_context*) { return 0; };
  lib.get_async_event = NextEvent;
  lib.ack_async_event = [](ibv_async_event*) {};
  lib.query_device = [](ibv_context*, ibv_device_attr* out) {
    out->max_cqe = 1000;
    out->max_srq_wr = 1000;
    return 0;
  };
  lib.alloc_pd = [](ibv_context*) { return &The().domain_; };
  lib.dealloc_pd = [](ibv_pd*) { return 0; };
  lib.create_comp_channel = [](ibv_context*) { return &The().channel_; };
  lib.destroy_comp_channel = [](ibv_comp_channel*) { return 0; };
  lib.create_cq = CreateQueue;
  lib.destroy_cq = DestroyQueue;
  lib.create_srq = [](ibv_pd*, ibv_srq_init_attr*) { return &The().shared_receives_; };
  lib.destroy_srq = [](ibv_srq*) { return 0; };
  lib.get_cq_event = [](ibv_comp_channel*, ibv_cq**, void**) { return -1; };
  lib.ack_cq_events = [](ibv_cq*, unsigned) {};
  lib.create_qp = Create;
  lib.modify_qp = Modify;
  lib.destroy_qp = Destroy;
  lib.event_type_str = [](ibv_event_type event) {
    return event == IBV_EVENT_DEVICE_FATAL ? "it has failed"
           : event == IBV_EVENT_CQ_ERR     ? "a completion queue has failed"
           : event == IBV_EVENT_SRQ_ERR    ? "a shared receive queue has failed"
                                           : "a queue pair has failed";
  };
  lib.wc_status_str = [](ibv_wc_status) { return "flushed"; };
  return lib;
}

FakeDevice::FakeDevice() : lib_(Functions()) {
  the = this;
  context_.async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
  context_.ops.poll_cq = Poll;
  context_.ops.post_send = PostSend;
  context_.ops.post_recv = PostReceive;
  channel_.fd = eventfd(0, EFD_CLOEXEC);
  Port port;
  const auto between_looks = absl::ToChronoMilliseconds(kPatience / 8);
  port.context = Context::Open(DeviceList(lib_, absl::MakeSpan(list)), &listed, between_looks).value();
  port.options.least_patience = kPatience;
  port.options.timeout = 1;
  port.address.link_layer = LinkLayer::kEthernet;
  port.address.mtu = IBV_MTU_1024;
  port.address.reads = 1;
  port.address.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1};
  port.max_message_bytes = 1 << 20;
  port_ = std::make_shared<const Port>(std::move(port));
}

FakeDevice::~FakeDevice() {
  port_ = nullptr;
  close(context_.async_fd);
  close(channel_.fd);
  the = nullptr;
}

ibv_cq* FakeDevice::CreateQueue(ibv_context* context, int /*entries*/, void* /*of*/, ibv_comp_channel* /*channel*/,
                                int /*vector*/) {
  CompletionQueue& made = *The().queues_.emplace_back(std::make_unique<CompletionQueue>());
  made.context = context;
  return &made;
}

int FakeDevice::DestroyQueue(ibv_cq* queue) {
  std::erase_if(The().queues_, [queue](const auto& one) { return one.get() == queue; });
  return 0;
}

ibv_qp* FakeDevice::Create(ibv_pd* /*domain*/, ibv_qp_init_attr* attributes) {
  QueuePair& made = *The().queue_pairs_.emplace_back(std::make_unique<QueuePair>());
  made.context = &The().context_;
  made.send_cq = attributes->send_cq;
  made.recv_cq = attributes->recv_cq;
  made.srq = attributes->srq;
  made.qp_num = 16 + static_cast<uint32_t>(The().queue_pairs_.size());  // the first ones are special
  return &made;
}

int FakeDevice::Destroy(ibv_qp* queue_pair) {
  std::erase_if(The().queue_pairs_, [queue_pair](const auto& one) { return one.get() == queue_pair; });
  return 0;
}

int FakeDevice::Modify(ibv_qp* queue_pair, ibv_qp_attr* attributes, int /*mask*/) {
  if (The().dead_) return EIO;
  if (attributes->qp_state != IBV_QPS_ERR) return 0;
  auto& failed = static_cast<QueuePair&>(*queue_pair);
  End(failed.sends, failed.send_cq, IBV_WC_WR_FLUSH_ERR);
  End(failed.receives, failed.recv_cq, IBV_WC_WR_FLUSH_ERR);
  return 0;
}

void FakeDevice::DoSends(size_t queue_pair) {
  End(queue_pairs_[queue_pair]->sends, queue_pairs_[queue_pair]->send_cq, IBV_WC_SUCCESS);
}

void FakeDevice::End(std::vector<uint64_t>& work, ibv_cq* to, ibv_wc_status status) {
  auto& queue = static_cast<CompletionQueue&>(*to);
  for (const uint64_t id : std::exchange(work, {})) {
    if (queue.failed) continue;
    ibv_wc& ended = queue.completions.emplace_back();
    ended.wr_id = id;
    ended.status = status;
  }
}

int FakeDevice::PostSend(ibv_qp* queue_pair, ibv_send_wr* work, ibv_send_wr** /*refused*/) {
  for (; work != nullptr; work = work->next) static_cast<QueuePair*>(queue_pair)->sends.push_back(work->wr_id);
  return 0;
}

int FakeDevice::PostReceive(ibv_qp* queue_pair, ibv_recv_wr* work, ibv_recv_wr** /*refused*/) {
  for (; work != nullptr; work = work->next) static_cast<QueuePair*>(queue_pair)->receives.push_back(work->wr_id);
  return 0;
}

int FakeDevice::Poll(ibv_cq* queue, int most, ibv_wc* out) {
  std::deque<ibv_wc>& completions = static_cast<CompletionQueue*>(queue)->completions;
  int taken = 0;
  for (; taken < most && !completions.empty(); ++taken) {
    out[taken] = completions.front();
    completions.pop_front();
  }
  return taken;
}

void FakeDevice::Tell(ibv_event_type event, size_t queue_pair) {
  ibv_async_event& told = events_.emplace_back();
  told.event_type = event;
  QueuePair& of = *queue_pairs_[queue_pair];
  if (event == IBV_EVENT_CQ_ERR) {
    told.element.cq = of.send_cq;
    static_cast<CompletionQueue*>(of.send_cq)->failed = true;
  } else if (event == IBV_EVENT_SRQ_ERR) {
    told.element.srq = of.srq;
  } else {
    told.element.qp = &of;
  }
  dead_ = dead_ || event == IBV_EVENT_DEVICE_FATAL;
  eventfd_write(context_.async_fd, 1);
}

int FakeDevice::NextEvent(ibv_context* context, ibv_async_event* out) {
  eventfd_t one = 0;
  if (eventfd_read(context->async_fd, &one) != 0) return -1;
  *out = The().events_.front();
  The().events_.pop_front();
  return 0;
}

}  // namespace skein::fabric::verbs
