// Connections that a program brings as descriptors: they are gRPC's own engine's, and stay what they are.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_FROM_DESCRIPTOR_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_FROM_DESCRIPTOR_H_

namespace skein::grpc_transport {

// As long as one lives, this thread is in one of gRPC's functions that take a descriptor (interposed.cc).
class FromDescriptor {
 public:
  FromDescriptor() { Set(true); }
  ~FromDescriptor() { Set(false); }
  FromDescriptor(const FromDescriptor&) = delete;
  FromDescriptor& operator=(const FromDescriptor&) = delete;

  static bool IsUnderWay() { return is_under_way_; }
  // The same, for the stub that is preloaded, which is in these functions itself.
  static void Set(bool is_under_way) { is_under_way_ = is_under_way; }

 private:
  static inline thread_local bool is_under_way_ = false;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_FROM_DESCRIPTOR_H_
