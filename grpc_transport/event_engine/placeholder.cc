#include <grpc/event_engine/event_engine.h>
