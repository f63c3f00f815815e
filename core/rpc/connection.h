// The inside of a Connection: a port on the link to its server, and the sign that the server lives.
#ifndef SKEIN_CORE_RPC_CONNECTION_H_
#define SKEIN_CORE_RPC_CONNECTION_H_

#include <skein/rpc.h>

#include <functional>
#include <memory>

#include "core/base/unique_fd.h"
#include "core/rpc/client_port.h"
#include "core/rpc/remote_memory.h"
#include "core/wait/wait_set.h"

namespace skein::rpc {

class Connection::Impl {
 public:
  // `liveness`, whose descriptor `tcp` is, may be null; `on_end` is called when all is over.
  Impl(std::shared_ptr<ClientPort> to, std::shared_ptr<wait::NegotiationConnection> liveness, UniqueFd tcp,
       std::function<void()> on_end);
  ~Impl();

  const std::shared_ptr<ClientPort> port;
  RemoteMemory memory;

 private:
  const std::shared_ptr<wait::NegotiationConnection> liveness_;
  const UniqueFd tcp_;
  const std::function<void()> on_end_;
};

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_CONNECTION_H_
