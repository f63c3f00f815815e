// How the layers below read rpc::Options; and fabrics in place of the host's.
#ifndef SKEIN_CORE_RPC_OPTIONS_H_
#define SKEIN_CORE_RPC_OPTIONS_H_

#include <skein/rpc.h>

#include <memory>

#include "core/connect/fabrics.h"
#include "core/connect/negotiation.h"
#include "core/wait/spin_budget.h"

namespace skein::rpc {

// Of a negotiation's frames (core/connect/tcp.h).
inline constexpr char kFrameLetters[] = "SKRP";

// The fabrics of a client or a server. Null: the host's, which `options` select.
struct OnFabrics {
  std::shared_ptr<connect::Fabrics> fabrics;
};

connect::Options ConnectOptionsOf(const Options& options);
// A client and a server call this before their first link. It marks the process for children that it forks
// (core/base/forked.h).
std::shared_ptr<connect::Fabrics> FabricsOf(const Options& options, const OnFabrics& on);
wait::SpinPolicy SpinPolicyOf(const Options& options);

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_OPTIONS_H_
