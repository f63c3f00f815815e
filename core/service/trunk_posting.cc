// Requests of processes: whether they may be, and where in memory they read and write.
#include <utility>

#include "core/fabric/requests.h"
#include "core/service/queue_pairs.h"
#include "core/service/session.h"
#include "core/service/trunk.h"

namespace skein::service {
namespace {

using fabric::Opcode;
using fabric::service::Submission;

uint32_t NeededAccess(Opcode opcode) {
  if (opcode == Opcode::kRead) return fabric::kRemoteRead;
  return fabric::IsAtomic(opcode) ? fabric::kRemoteAtomic : fabric::kRemoteWrite;
}

bool IsPossible(const Submission& request, const fabric::Device& device) {
  if (request.opcode > 0xFF || request.length > Trunk::MostMessageBytes(device)) return false;
  switch (static_cast<Opcode>(request.opcode)) {
    case Opcode::kWrite:
    case Opcode::kWriteWithImmediate:
    case Opcode::kRead:
      return true;
    case Opcode::kFetchAdd:
    case Opcode::kCompareSwap:
      return request.length == sizeof(uint64_t) && device.capabilities().atomics;
    default:
      return false;
  }
}

bool IsAllowed(const Submission& request, const VirtualQueuePair::Remote& remote) {
  if ((remote.access & NeededAccess(static_cast<Opcode>(request.opcode))) == 0) return false;
  if (request.remote_address < remote.base) return false;
  const uint64_t offset = request.remote_address - remote.base;
  return offset <= remote.size && request.length <= remote.size - offset;
}

}  // namespace

Trunk::Posted Trunk::Post(const std::shared_ptr<VirtualQueuePair>& queue_pair, const Submission& request) {
  if (!IsPossible(request, *device_)) return Posted::kRefused;
  if (!line_.HasSpace(queue_pair, request.length)) return Posted::kFull;
  fabric::SendRequest out;
  out.opcode = static_cast<Opcode>(request.opcode);
  out.remote = line_.peers_landing();
  out.immediate =
      queue_pair->peer << 8 | (request.immediate & fabric::service::kImmediateBits) >> fabric::service::kImmediateShift;
  out.operand = request.operand;
  out.swap = request.swap;
  out.signaled = request.signaled != 0;
  fabric::Segment segment;
  TrunkRequests::Request under_way = {queue_pair, nullptr, queue_pair->taken, request.length, out.opcode, out.signaled};
  if (request.length > 0) {
    const VirtualQueuePair::Remote* const remote = FindRemote(queue_pair, request.rkey);
    if (remote == nullptr || !FindLocal(queue_pair, request.lkey, under_way.region)) return Posted::kAsked;
    std::byte* const data =
        under_way.region == nullptr ? nullptr : under_way.region->region().At(request.address, request.length);
    if (data == nullptr || !IsAllowed(request, *remote)) return Posted::kRefused;
    segment = {data, request.length, under_way.region->lkey()};
    out.remote = {remote->address + (request.remote_address - remote->base), remote->key};
    // The processes' numbers need not be multiples of 8 where the device's are.
    if (fabric::IsAtomic(out.opcode) && out.remote.address % sizeof(uint64_t) != 0) return Posted::kRefused;
  }
  line_.Add(out, segment, std::move(under_way));
  return Posted::kYes;
}

bool Trunk::FindLocal(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t lkey,
                      std::shared_ptr<Region::OnTrunk>& local) {
  const auto known = queue_pair->locals.find(lkey);
  if (known != queue_pair->locals.end()) return local = known->second, true;
  const std::shared_ptr<Region> region = queue_pair->session->Region(lkey);
  if (region == nullptr) return true;
  local = memory_.Find({region.get(), fabric::kLocalOnly});
  if (local != nullptr) return queue_pair->locals[lkey] = local, true;
  queue_pair->waits_to_hear = true;
  Register(queue_pair->number, region, fabric::kLocalOnly, [this, queue_pair, lkey](const TrunkMemory::Here& here) {
    if (queue_pair->state != VirtualQueuePair::State::kConnected) return;
    queue_pair->waits_to_hear = false;
    if (here == nullptr) return owner_.queue_pairs().Refuse(queue_pair);
    queue_pair->locals[lkey] = here;
    owner_.queue_pairs().MayGoOn(queue_pair);
  });
  return false;
}

void Trunk::Register(uint32_t number, const std::shared_ptr<Region>& region, uint32_t access, TrunkMemory::Then then) {
  const TrunkMemory::Place place = {region.get(), access};
  bool is_first = false;
  const size_t waiting = memory_.Await(place, number, std::move(then), is_first);
  // A queue pair waits once by itself, and once for its peer.
  if (waiting > 2 * members_.size() + 1) return Fail("the other skeind asks again and again where one memory is");
  if (!is_first) return;
  std::shared_ptr<Region::OnTrunk> here = Region::OnTrunk::Create(owner_.worker(), region);
  if (line_.shared().domain == nullptr || region->size() <= Region::kMostAtOnce) {
    return memory_.Registered(place, here->Register(line_.shared().domain.get(), access).ok() ? here : nullptr);
  }
  owner_.worker().Do(
      [self = shared_from_this(), domain = line_.shared().domain, place, here = std::move(here)]() mutable {
        const bool is_here = here->Register(domain.get(), place.second).ok();
        return [self = std::move(self), place, here = std::move(here), is_here] {
          self->memory_.Registered(place, is_here ? here : nullptr);
        };
      });
}

const VirtualQueuePair::Remote* Trunk::FindRemote(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t rkey) {
  const auto [remote, is_new] = queue_pair->remotes.try_emplace(rkey);
  if (remote->second.known) return &remote->second;
  queue_pair->waits_to_hear = true;
  if (!is_new) return nullptr;
  Await(TrunkKind::kResolved, queue_pair, rkey);
  Send({.kind = TrunkKind::kResolve, .number = queue_pair->peer, .from = queue_pair->number, .rkey = rkey});
  return nullptr;
}

}  // namespace skein::service
