// Connections that a program brings as descriptors: they are gRPC's own engine's, and stay what they are.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_FROM_DESCRIPTOR_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_FROM_DESCRIPTOR_H_

namespace skein::grpc_transport {

// As long as one lives, this thread is in one of gRPC's functions that take a descriptor (interposed.cc).
class FromDescriptor {
 public:
  FromDescriptor() { is_under_way_ = true; }
  ~FromDescriptor() { is_under_way_ = false; }
  FromDescriptor(const FromDescriptor&) = delete;
  FromDescriptor& operator=(const FromDescriptor&) = delete;

  static bool IsUnderWay() { return is_under_way_; }

 private:
  static inline thread_local bool is_under_way_ = false;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_FROM_DESCRIPTOR_H_
