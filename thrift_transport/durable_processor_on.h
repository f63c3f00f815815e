// A durable processor whose log lies on any storage, not on the file that options.path names.
#ifndef SKEIN_THRIFT_TRANSPORT_DURABLE_PROCESSOR_ON_H_
#define SKEIN_THRIFT_TRANSPORT_DURABLE_PROCESSOR_ON_H_

#include <skein/thrift/durable_processor.h>

#include <memory>

#include "core/durable/storage/storage.h"

namespace skein::thrift_transport {

std::shared_ptr<TSkeinDurableProcessor> DurableProcessorOn(
    std::unique_ptr<durable::Storage> storage, const std::shared_ptr<apache::thrift::TProcessor>& inner,
    std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocol, const TSkeinDurableServerOptions& options);

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_DURABLE_PROCESSOR_ON_H_
