#include "grpc_transport/iomgr/call_origin.h"

#include <new>
#include <utility>

#include "core/trace/tracer.h"

namespace skein::grpc_transport {
namespace {

struct Origin {
  const grpc_core::Arena* arena = nullptr;
  grpc_core::Timestamp deadline;
  uint64_t began = 0;
};

// The last that this thread passed on. A call has the same arena and deadline at its channel and at its connection;
// another one that gets both after its end would have to be picked up here after it was begun elsewhere.
constinit thread_local Origin passed_on;

struct CallOrigin {
  static Origin& Of(grpc_call_element* elem) { return *static_cast<Origin*>(elem->call_data); }

  static grpc_error_handle InitCall(grpc_call_element* elem, const grpc_call_element_args* args) {
    new (elem->call_data) Origin;
    if (trace::Enabled()) [[unlikely]]
      Of(elem) = {args->arena, args->deadline, trace::Now()};
    return absl::OkStatus();
  }
  static void StartBatch(grpc_call_element* elem, grpc_transport_stream_op_batch* batch) {
    if (Of(elem).began != 0 && batch->send_initial_metadata) [[unlikely]]
      passed_on = Of(elem);
    grpc_call_next_op(elem, batch);
  }
  static void DestroyCall(grpc_call_element* elem, const grpc_call_final_info* /*info*/, grpc_closure* /*none*/) {
    if (Of(elem).began != 0 && passed_on.arena == Of(elem).arena) passed_on = {};
  }
  static grpc_error_handle InitChannel(grpc_channel_element* /*elem*/, grpc_channel_element_args* /*args*/) {
    return absl::OkStatus();
  }
  static void DestroyChannel(grpc_channel_element* /*elem*/) {}

  static const grpc_channel_filter kFilter;
};

const grpc_channel_filter CallOrigin::kFilter = {StartBatch,
                                                 nullptr,
                                                 grpc_channel_next_op,
                                                 sizeof(Origin),
                                                 InitCall,
                                                 grpc_call_stack_ignore_set_pollset_or_pollset_set,
                                                 DestroyCall,
                                                 0,
                                                 InitChannel,
                                                 grpc_channel_stack_no_post_init,
                                                 DestroyChannel,
                                                 grpc_channel_next_get_info,
                                                 "skein_call_origin"};

}  // namespace

void RegisterCallOrigin(grpc_core::CoreConfiguration::Builder* builder,
                        bool (*wanted)(const grpc_core::ChannelArgs& arguments)) {
  builder->channel_init()->RegisterStage(GRPC_CLIENT_CHANNEL, GRPC_CHANNEL_INIT_BUILTIN_PRIORITY + 1,
                                         [wanted](grpc_core::ChannelStackBuilder* stack) {
                                           if (wanted(stack->channel_args()))
                                             stack->PrependFilter(&CallOrigin::kFilter);
                                           return true;
                                         });
}

uint64_t OriginOf(const grpc_call_element_args& call) {
  const Origin last = std::exchange(passed_on, {});
  return last.arena == call.arena && last.deadline == call.deadline ? last.began : 0;
}

}  // namespace skein::grpc_transport
