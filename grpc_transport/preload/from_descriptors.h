// Connections that a program brings as descriptors. An EventEngine of Skein's has to know that one is being made: it
// leaves that to gRPC's own engine, and gRPC would end the process where no engine takes it.
#ifndef SKEIN_GRPC_TRANSPORT_PRELOAD_FROM_DESCRIPTORS_H_
#define SKEIN_GRPC_TRANSPORT_PRELOAD_FROM_DESCRIPTORS_H_

namespace skein::preload {

// `skein`: the dynamic linker's handle of the library that serves this process's gRPC. From now on the library hears of
// such connections, if it wants that. Any thread.
void TellOfDescriptors(void* skein);

}  // namespace skein::preload

#endif  // SKEIN_GRPC_TRANSPORT_PRELOAD_FROM_DESCRIPTORS_H_
