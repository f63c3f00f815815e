# Which gRPC Skein was written for, for what must not include its headers.
file(STRINGS ${PROJECT_SOURCE_DIR}/grpc_transport/iomgr/grpc_internal.h core_version REGEX "kCoreVersion\\[\\]")
if(NOT core_version MATCHES "\"(([0-9]+)[0-9.]+)\".* in gRPC ([0-9.]+)")
  message(FATAL_ERROR "grpc_transport/iomgr/grpc_internal.h does not say which gRPC it knows: ${core_version}")
endif()
set(SKEIN_KNOWN_CORE ${CMAKE_MATCH_1})
set(SKEIN_KNOWN_CORE_MAJOR ${CMAKE_MATCH_2})
set(SKEIN_KNOWN_GRPC ${CMAKE_MATCH_3})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/grpc_transport/iomgr/grpc_internal.h)
