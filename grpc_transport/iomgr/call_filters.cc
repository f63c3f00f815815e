#include "grpc_transport/iomgr/call_filters.h"

#include <new>

#include "grpc_transport/iomgr/client_call.h"
#include "grpc_transport/iomgr/connection_trace.h"
#include "grpc_transport/iomgr/server_call.h"

namespace skein::grpc_transport {
namespace {

// Above gRPC's own, and below authentication and, on a server, the one at the top.
constexpr int kPriority = GRPC_CHANNEL_INIT_BUILTIN_PRIORITY + 1;

// `Call`: what a traced call is at that end.
template <class Call>
struct Filter {
  struct ChannelData {
    grpc_core::RefCountedPtr<ConnectionTrace> connection;
  };
  struct CallData {
    Call* traced = nullptr;
  };

  static Call*& Traced(grpc_call_element* elem) { return static_cast<CallData*>(elem->call_data)->traced; }

  static void StartBatch(grpc_call_element* elem, grpc_transport_stream_op_batch* batch) {
    if (Call* const call = Traced(elem); call != nullptr) [[unlikely]]
      call->Start(batch);
    grpc_call_next_op(elem, batch);
  }
  static grpc_error_handle InitCall(grpc_call_element* elem, const grpc_call_element_args* args) {
    ConnectionTrace& connection = *static_cast<ChannelData*>(elem->channel_data)->connection;
    new (elem->call_data) CallData;
    if (Call::Wanted(connection)) [[unlikely]]
      Traced(elem) = args->arena->New<Call>(connection, *args);
    return absl::OkStatus();
  }
  static void DestroyCall(grpc_call_element* elem, const grpc_call_final_info* /*info*/, grpc_closure* /*none*/) {
    if (Call* const call = Traced(elem); call != nullptr) [[unlikely]]
      call->~Call();
  }
  static grpc_error_handle InitChannel(grpc_channel_element* elem, grpc_channel_element_args* args) {
    const auto arguments = grpc_core::ChannelArgs::FromC(args->channel_args);
    new (elem->channel_data) ChannelData{arguments.GetObjectRef<ConnectionTrace>()};
    return absl::OkStatus();
  }
  static void DestroyChannel(grpc_channel_element* elem) {
    static_cast<ChannelData*>(elem->channel_data)->~ChannelData();
  }

  static const grpc_channel_filter kFilter;
};

template <class Call>
const grpc_channel_filter Filter<Call>::kFilter = {StartBatch,
                                                   nullptr,
                                                   grpc_channel_next_op,
                                                   sizeof(CallData),
                                                   InitCall,
                                                   grpc_call_stack_ignore_set_pollset_or_pollset_set,
                                                   DestroyCall,
                                                   sizeof(ChannelData),
                                                   InitChannel,
                                                   grpc_channel_stack_no_post_init,
                                                   DestroyChannel,
                                                   grpc_channel_next_get_info,
                                                   "skein_trace"};

template <class Call>
bool Prepend(grpc_core::ChannelStackBuilder* stack) {
  if (stack->channel_args().GetObject<ConnectionTrace>() != nullptr) stack->PrependFilter(&Filter<Call>::kFilter);
  return true;
}

}  // namespace

void RegisterCallFilters(grpc_core::CoreConfiguration::Builder* builder) {
  builder->channel_init()->RegisterStage(GRPC_CLIENT_SUBCHANNEL, kPriority, Prepend<ClientCall>);
  builder->channel_init()->RegisterStage(GRPC_SERVER_CHANNEL, kPriority, Prepend<ServerCall>);
}

}  // namespace skein::grpc_transport
