# skein_grpc_proto(NAME file.proto): a static library of the messages and services of one .proto, generated with the
# distribution's protoc and grpc_cpp_plugin. Include its headers by their path from the repository's root.
find_package(gRPC CONFIG REQUIRED) # before Protobuf, of which it wants the CMake package where there is one
if(NOT TARGET protobuf::protoc)
  find_package(Protobuf REQUIRED)
endif()

function(skein_grpc_proto name proto)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  cmake_path(GET proto STEM stem)
  set(root ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(stem ${root}/${folder}/${stem})
  set(generated ${stem}.pb.cc ${stem}.pb.h ${stem}.grpc.pb.cc ${stem}.grpc.pb.h)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${root}
    COMMAND protobuf::protoc -I ${PROJECT_SOURCE_DIR} --cpp_out=${root} --grpc_out=${root}
            --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
    DEPENDS ${proto})
  add_library(${name} STATIC ${generated})
  target_include_directories(${name} SYSTEM PUBLIC ${root})
  target_link_libraries(${name} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
endfunction()
