#include "core/fabric/verbs/port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/fabric/verbs/shared_receive_queue.h"

namespace skein::fabric::verbs {
namespace {

constexpr uint32_t kMaxSegments = 16;
constexpr uint32_t kInlineTries[] = {220, 64, 0};

uint8_t MtuOf(uint32_t bytes) {
  uint8_t mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && (256u << mtu) <= bytes) ++mtu;
  return mtu;
}

constexpr uint32_t kGoodPackets = 16;

// The library says only that it did not work; devices differ in what they can send inline, and drivers in whether they
// post FLUSHes that their device executes.
absl::Status TryOut(Port& port) {
  const Ibverbs& lib = port.context->lib();
  ibv_cq* const queue = lib.create_cq(port.context->get(), 4, nullptr, nullptr, 0);
  if (queue == nullptr) return ErrnoStatus(errno, "create a completion queue");
  QueuePairOptions smallest;
  smallest.max_send_requests = smallest.max_receive_requests = 1;
  absl::Status status;
  for (uint32_t bytes : kInlineTries) {
    port.max_inline_bytes = bytes;
    const absl::StatusOr<ibv_qp*> tried = CreateRaw(port, queue, queue, smallest);
    status = tried.status();
    if (!tried.ok()) continue;
    lib.destroy_qp(*tried);
    break;
  }
  if (port.flush.any()) {
    smallest.flushes = true;
    const absl::StatusOr<ibv_qp*> tried = CreateRaw(port, queue, queue, smallest);
    tried.ok() ? static_cast<void>(lib.destroy_qp(*tried)) : static_cast<void>(port.flush = {});
  }
  lib.destroy_cq(queue);
  return status;
}

absl::Status Modify(const Port& port, ibv_qp* queue_pair, ibv_qp_attr& attributes, int mask, absl::string_view to) {
  const int error = port.context->lib().modify_qp(queue_pair, &attributes, mask);
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(error, absl::StrCat("bring a queue pair of ", port.context->name(), " to the state ", to));
}

}  // namespace

absl::StatusOr<std::shared_ptr<ibv_pd>> AllocateDomain(const std::shared_ptr<Context>& context) {
  ibv_pd* const domain = context->lib().alloc_pd(context->get());
  if (domain == nullptr) {
    return ErrnoStatus(errno, absl::StrCat("allocate a protection domain; ", context->name(), " has ",
                                           context->attributes().max_pd, " of them"));
  }
  return std::shared_ptr<ibv_pd>(domain, [context](ibv_pd* it) { context->lib().dealloc_pd(it); });
}

absl::StatusOr<Port> OpenPort(const GidEntry& through, const VerbsOptions& options) {
  absl::StatusOr<std::shared_ptr<Context>> context = Context::Open(through.device);
  if (!context.ok()) return context.status();
  const absl::StatusOr<ibv_port_attr> attributes = (*context)->QueryPort(through.port);
  if (!attributes.ok()) return attributes.status();
  absl::StatusOr<std::shared_ptr<ibv_pd>> domain = AllocateDomain(*context);
  if (!domain.ok()) return domain.status();
  Port port;
  port.context = *std::move(context);
  port.domain = *std::move(domain);
  port.through = through;
  port.options = options;
  const ibv_device_attr& device = port.context->attributes();
  port.address = AddressOf(*attributes, device, through.gid, options);
  port.max_message_bytes = std::min<uint64_t>(attributes->max_msg_sz, uint64_t{1} << 30);
  port.max_segments = std::clamp<uint32_t>(static_cast<uint32_t>(device.max_sge), 1, kMaxSegments);
  port.flush = FlushesOf(*port.context);
  if (absl::Status status = TryOut(port); !status.ok()) return status;
  return port;
}

DeviceCapabilities CapabilitiesOf(const Port& port) {
  DeviceCapabilities capabilities;
  capabilities.atomics = port.context->attributes().atomic_cap != IBV_ATOMIC_NONE;
  capabilities.flush = port.flush.visible;
  capabilities.flush_persistent = port.flush.persistent;
  capabilities.max_inline_bytes = port.max_inline_bytes;
  capabilities.max_message_bytes = port.max_message_bytes;
  // Retries are counted per message: of one with hundreds of packets a lossy link loses more than are allowed.
  capabilities.good_message_bytes = uint64_t{kGoodPackets} * (uint64_t{128} << port.address.mtu);
  return capabilities;
}

Address AddressOf(const ibv_port_attr& port, const ibv_device_attr& device, const Gid& gid,
                  const VerbsOptions& options) {
  Address address;
  address.link_layer = port.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::kEthernet : LinkLayer::kInfiniband;
  const auto active = static_cast<uint8_t>(port.active_mtu);
  address.mtu = options.mtu == 0 ? active : std::min(active, MtuOf(options.mtu));
  address.reads = static_cast<uint8_t>(std::clamp(device.max_qp_rd_atom, 1, 255));
  address.lid = port.lid;
  address.gid = gid;
  return address;
}

bool HasKeptAddress(const Port& port) {
  const absl::StatusOr<ibv_port_attr> now = port.context->QueryPort(port.through.port);
  return now.ok() && AddressOf(*now, port.context->attributes(), port.through.gid, port.options) == port.address;
}

absl::StatusOr<ibv_qp*> CreateRaw(const Port& port, ibv_cq* send_queue, ibv_cq* receive_queue,
                                  const QueuePairOptions& options) {
  const ibv_device_attr& device = port.context->attributes();
  ibv_qp_init_attr create = {};
  create.send_cq = send_queue;
  create.recv_cq = receive_queue;
  create.qp_type = IBV_QPT_RC;
  // One more than the user's: the question whether the peer is there.
  create.cap.max_send_wr = options.max_send_requests + 1;
  create.cap.max_recv_wr = options.max_receive_requests;
  if (options.shared_receive_queue != nullptr) {
    create.srq = static_cast<VerbsSharedReceiveQueue*>(options.shared_receive_queue)->get();
    create.cap.max_recv_wr = 0;
  }
  create.cap.max_send_sge = port.max_segments;
  create.cap.max_recv_sge = options.shared_receive_queue == nullptr ? 1 : 0;
  create.cap.max_inline_data = port.max_inline_bytes;
  ibv_qp* const queue_pair = options.flushes ? CreateForFlushes(*port.context, port.domain.get(), create)
                                             : port.context->lib().create_qp(port.domain.get(), &create);
  if (queue_pair == nullptr) {
    return ErrnoStatus(errno, absl::StrCat("create a queue pair of ", options.max_send_requests, " sends and ",
                                           create.cap.max_recv_wr, " receives; ", port.context->name(), " has ",
                                           device.max_qp, " of up to ", device.max_qp_wr));
  }
  ibv_qp_attr init = {};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = port.through.port;
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if (options.flushes) init.qp_access_flags |= static_cast<unsigned>(FlushFlags(port.flush));
  const absl::Status status =
      Modify(port, queue_pair, init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
  if (status.ok()) return queue_pair;
  port.context->lib().destroy_qp(queue_pair);
  return status;
}

absl::Status ConnectRaw(const Port& port, ibv_qp* queue_pair, const Address& mine, const Address& theirs) {
  if (theirs.link_layer != mine.link_layer) {
    return FallbackError(FallbackCode::kNoRoute, "one end is on InfiniBand, the other on Ethernet");
  }
  const ibv_device_attr& device = port.context->attributes();
  ibv_qp_attr ready_to_receive = {};
  ready_to_receive.qp_state = IBV_QPS_RTR;
  ready_to_receive.path_mtu = static_cast<ibv_mtu>(std::min(mine.mtu, theirs.mtu));
  ready_to_receive.dest_qp_num = theirs.number;
  ready_to_receive.rq_psn = theirs.sequence;
  ready_to_receive.max_dest_rd_atomic = mine.reads;
  ready_to_receive.min_rnr_timer = port.options.rnr_timer;
  ibv_ah_attr& route = ready_to_receive.ah_attr;
  route.port_num = port.through.port;
  route.dlid = theirs.lid;
  route.sl = port.options.service_level;
  route.is_global = 1;
  std::memcpy(route.grh.dgid.raw, theirs.gid.data(), theirs.gid.size());
  route.grh.sgid_index = static_cast<uint8_t>(port.through.index);
  route.grh.hop_limit = port.options.hop_limit;
  route.grh.traffic_class = port.options.traffic_class;
  const absl::Status received = Modify(port, queue_pair, ready_to_receive,
                                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                                       absl::StrCat("RTR towards ", ToString(theirs.gid)));
  if (!received.ok()) return FallbackError(FallbackCode::kNoRoute, received.message());

  ibv_qp_attr ready_to_send = {};
  ready_to_send.qp_state = IBV_QPS_RTS;
  ready_to_send.sq_psn = mine.sequence;
  ready_to_send.timeout = port.options.timeout;
  ready_to_send.retry_cnt = port.options.retries;
  ready_to_send.rnr_retry = 7;  // for ever: the contract
  ready_to_send.max_rd_atomic =
      static_cast<uint8_t>(std::min<int>(std::max<int>(theirs.reads, 1), std::max(device.max_qp_init_rd_atom, 1)));
  return Modify(
      port, queue_pair, ready_to_send,
      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
      "RTS");
}

}  // namespace skein::fabric::verbs
