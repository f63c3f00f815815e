# Which gRPC this build of Skein serves: the installed one, if there is an adapter for it. Of each gRPC it tells
#   SKEIN_GRPC_ADAPTER      the folder of grpc_transport with the adapter: iomgr or event_engine
#   SKEIN_KNOWN_GRPC        the version, "1.51.1"
#   SKEIN_KNOWN_CORE        what grpc_version_string() says, "29.0.0"
#   SKEIN_KNOWN_CORE_MAJOR  the number in libgrpc's SONAME, "29"
# The gRPC may also be a part of the build that Skein is a part of.
if(NOT TARGET gRPC::grpc)
  find_package(gRPC CONFIG REQUIRED)
endif()

# Of the SONAME and the file of an installed libgrpc.so. Nothing of a libgrpc.a, which has neither.
function(skein_read_core_version)
  get_target_property(configurations gRPC::grpc IMPORTED_CONFIGURATIONS)
  foreach(configuration ${configurations})
    get_target_property(soname gRPC::grpc IMPORTED_SONAME_${configuration})
    get_target_property(file gRPC::grpc IMPORTED_LOCATION_${configuration})
    if(soname MATCHES "^libgrpc\\.so\\.([0-9]+)$")
      set(SKEIN_KNOWN_CORE_MAJOR ${CMAKE_MATCH_1} PARENT_SCOPE)
      if(file MATCHES "\\.so\\.([0-9]+\\.[0-9]+\\.[0-9]+)$")
        set(SKEIN_KNOWN_CORE ${CMAKE_MATCH_1} PARENT_SCOPE)
      endif()
      return()
    endif()
  endforeach()
endfunction()

# Of a gRPC that find_package has not found: its header says it.
function(skein_read_version)
  get_target_property(aliased gRPC::grpc++ ALIASED_TARGET)
  set(target gRPC::grpc++)
  if(aliased)
    set(target ${aliased})
  endif()
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  foreach(folder ${folders})
    string(REGEX REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1" folder "${folder}")
    if(EXISTS ${folder}/grpcpp/version_info.h)
      file(STRINGS ${folder}/grpcpp/version_info.h line REGEX "define GRPC_CPP_VERSION_STRING ")
      if(line MATCHES "\"([0-9.]+)")
        set(gRPC_VERSION ${CMAKE_MATCH_1} PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

if(NOT gRPC_VERSION)
  skein_read_version()
endif()
if(gRPC_VERSION VERSION_GREATER_EQUAL 1.73)
  set(SKEIN_GRPC_ADAPTER event_engine)
  set(SKEIN_KNOWN_GRPC ${gRPC_VERSION})
  skein_read_core_version()
elseif(gRPC_VERSION VERSION_GREATER_EQUAL 1.51 AND gRPC_VERSION VERSION_LESS 1.52)
  # Which patch level that is, is for grpc_internal.h to judge: the adapter reaches into gRPC.
  set(SKEIN_GRPC_ADAPTER iomgr)
  set(internal ${PROJECT_SOURCE_DIR}/grpc_transport/iomgr/grpc_internal.h)
  file(STRINGS ${internal} core_version REGEX "kCoreVersion\\[\\]")
  if(NOT core_version MATCHES "\"(([0-9]+)[0-9.]+)\".* in gRPC ([0-9.]+)")
    message(FATAL_ERROR "${internal} does not say which gRPC it knows: ${core_version}")
  endif()
  set(SKEIN_KNOWN_CORE ${CMAKE_MATCH_1})
  set(SKEIN_KNOWN_CORE_MAJOR ${CMAKE_MATCH_2})
  set(SKEIN_KNOWN_GRPC ${CMAKE_MATCH_3})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${internal})
else()
  message(FATAL_ERROR "The gRPC that CMake has found is ${gRPC_VERSION}, in ${gRPC_DIR}. Skein has an adapter for 1.51, \
and one for 1.73 and later versions; between them, gRPC's EventEngine had other interfaces.")
endif()
