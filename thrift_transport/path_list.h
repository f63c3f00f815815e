// Thrift's connections among the process's live paths.
#ifndef SKEIN_THRIFT_TRANSPORT_PATH_LIST_H_
#define SKEIN_THRIFT_TRANSPORT_PATH_LIST_H_

#include <memory>
#include <string>
#include <utility>

#include "core/base/fallback.h"
#include "core/base/tcp_address.h"
#include "core/inspect/live_paths.h"
#include "core/trace/counters.h"

namespace skein::thrift_transport {

// Listed while it is held.
using ListedPath = std::unique_ptr<inspect::LivePaths::Entry>;

// `tcp`: the connection that was negotiated on.
inline ListedPath ListPath(bool client, int tcp, std::string path, const Fallback& why) {
  if (why.code != FallbackCode::kNone) trace::CountFallback(why.code);
  return inspect::LivePaths::Get().Add({"thrift", client, AddressOf(tcp).value_or("?"),
                                        PeerAddressOf(tcp).value_or("?"), std::move(path),
                                        why.code == FallbackCode::kNone ? "" : ToString(why),
                                        /*secure=*/false});
}

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_PATH_LIST_H_
