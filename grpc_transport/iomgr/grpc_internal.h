// The one door to gRPC's internal headers, which come from the source package of the installed library (./run setup).
// Internal structures differ between versions and with NDEBUG: any other combination is refused here at compile time,
// and by LibraryMatches() at run time.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_GRPC_INTERNAL_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_GRPC_INTERNAL_H_

#ifdef NDEBUG
#error "Distributions build gRPC without NDEBUG, and its internal structures change size with it: undefine it."
#endif

#include <grpcpp/version_info.h>

#if GRPC_CPP_VERSION_MAJOR != 1 || GRPC_CPP_VERSION_MINOR != 51 || GRPC_CPP_VERSION_PATCH != 1
#error "Skein knows the inside of gRPC 1.51.1 only: install that libgrpc-dev."
#endif

#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpc/slice_buffer.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>

#include "src/core/ext/filters/client_channel/client_channel.h"
#include "src/core/ext/filters/http/message_compress/message_compress_filter.h"
#include "src/core/ext/filters/http/message_compress/message_decompress_filter.h"
#include "src/core/ext/transport/chttp2/transport/chttp2_transport.h"
#include "src/core/ext/transport/chttp2/transport/internal.h"
#include "src/core/lib/address_utils/parse_address.h"
#include "src/core/lib/channel/channel_args.h"
#include "src/core/lib/channel/channel_stack.h"
#include "src/core/lib/channel/channel_stack_builder.h"
#include "src/core/lib/channel/channelz.h"
#include "src/core/lib/config/core_configuration.h"
#include "src/core/lib/debug/trace.h"
#include "src/core/lib/event_engine/channel_args_endpoint_config.h"
#include "src/core/lib/gprpp/ref_counted.h"
#include "src/core/lib/gprpp/ref_counted_ptr.h"
#include "src/core/lib/gprpp/status_helper.h"
#include "src/core/lib/iomgr/closure.h"
#include "src/core/lib/iomgr/endpoint.h"
#include "src/core/lib/iomgr/error.h"
#include "src/core/lib/iomgr/ev_epoll1_linux.h"
#include "src/core/lib/iomgr/ev_posix.h"
#include "src/core/lib/iomgr/exec_ctx.h"
#include "src/core/lib/iomgr/tcp_client.h"
#include "src/core/lib/iomgr/timer.h"
#include "src/core/lib/resource_quota/arena.h"
#include "src/core/lib/resource_quota/resource_quota.h"
#include "src/core/lib/security/security_connector/security_connector.h"
#include "src/core/lib/slice/slice_buffer.h"
#include "src/core/lib/slice/slice_internal.h"
#include "src/core/lib/surface/channel_init.h"
#include "src/core/lib/surface/validate_metadata.h"
#include "src/core/lib/transport/connectivity_state.h"
#include "src/core/lib/transport/error_utils.h"
#include "src/core/lib/transport/handshaker.h"
#include "src/core/lib/transport/handshaker_factory.h"
#include "src/core/lib/transport/handshaker_registry.h"
#include "src/core/lib/transport/http_connect_handshaker.h"
#include "src/core/lib/transport/metadata_batch.h"
#include "src/core/lib/transport/tcp_connect_handshaker.h"
#include "src/core/lib/transport/transport.h"
#include "src/core/lib/transport/transport_impl.h"
#include "src/core/lib/uri/uri_parser.h"

namespace skein::grpc_transport {

inline constexpr char kCoreVersion[] = "29.0.0";  // what grpc_version_string() says in gRPC 1.51.1
inline constexpr char kCoreNickname[] = "galaxy";

// FAILED_PRECONDITION, with both versions, unless the libgrpc in this process is the one built against.
absl::Status LibraryMatches();
// FAILED_PRECONDITION once gRPC has read its configuration, at the first channel or server: it is too late to register.
absl::Status NotTooLate();
// Whether gRPC runs on the polling engine whose inside we know. After grpc_init.
bool KnownPollingEngine();

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_GRPC_INTERNAL_H_
