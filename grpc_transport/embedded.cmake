# Skein as a part of another project's build: the libraries Skein::grpc and Skein::grpc_durable, linked into its programs.
if(NOT SKEIN_GRPC_ADAPTER STREQUAL event_engine)
  message(FATAL_ERROR "Skein is built into other projects for gRPC 1.73 and later; for 1.51, install it: find_package(Skein)")
endif()
add_library(skein_grpc STATIC $<TARGET_OBJECTS:${objects}>)
add_library(Skein::grpc ALIAS skein_grpc)
target_link_libraries(skein_grpc PUBLIC ${objects})
target_include_directories(skein_grpc PUBLIC ${PROJECT_SOURCE_DIR}/include)
# Into each program with interposed.cc, although nothing of the program's may ask for it: waits are to find it before
# gRPC's functions. Those of a gRPC that is linked in find it by the linker's help.
target_link_options(skein_grpc INTERFACE -Wl,--undefined=skein_grpc_pluck_1)
get_target_property(grpc gRPC::grpc ALIASED_TARGET)
if(NOT grpc)
  set(grpc gRPC::grpc)
endif()
get_target_property(type ${grpc} TYPE)
if(type STREQUAL STATIC_LIBRARY)
  target_compile_definitions(${objects} PRIVATE SKEIN_WRAPS_COMPLETION_QUEUES)
  target_link_options(skein_grpc INTERFACE
    -Wl,--wrap=grpc_completion_queue_pluck -Wl,--wrap=grpc_completion_queue_next
    -Wl,--wrap=grpc_channel_create_from_fd -Wl,--wrap=grpc_server_add_channel_from_fd)
endif()

add_library(skein_grpc_durable STATIC ${durable})
add_library(Skein::grpc_durable ALIAS skein_grpc_durable)
target_include_directories(skein_grpc_durable PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(skein_grpc_durable
  PUBLIC gRPC::grpc++ absl::status absl::statusor
  PRIVATE skein_base skein_durable skein_durable_replicas skein_wire absl::algorithm_container absl::flat_hash_map absl::strings absl::time)
