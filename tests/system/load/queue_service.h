// The service of a load by a completion queue.
#ifndef SKEIN_TESTS_LOAD_QUEUE_SERVICE_H_
#define SKEIN_TESTS_LOAD_QUEUE_SERVICE_H_

#include <memory>

#include "tests/system/load/grpc_service.h"

namespace skein::load {

std::unique_ptr<LoadService> NewQueueService();

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_QUEUE_SERVICE_H_
