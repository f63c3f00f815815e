# skein_thrift_idl(NAME file.thrift SERVICE...): a static library of the services named of a .thrift file without types of its
# own, generated with the distribution's compiler. Include its headers by their path from the repository's root.
find_package(PkgConfig REQUIRED)
pkg_check_modules(THRIFT REQUIRED IMPORTED_TARGET thrift)
find_program(THRIFT_COMPILER thrift REQUIRED)

function(skein_thrift_idl name idl)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  set(root ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(generated "")
  foreach(service ${ARGN})
    list(APPEND generated ${root}/${folder}/${service}.cpp)
  endforeach()
  add_custom_command(
    OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${root}/${folder}
    COMMAND ${THRIFT_COMPILER} --gen cpp:no_skeleton -out ${root}/${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${idl}
    DEPENDS ${idl})
  add_library(${name} STATIC ${generated})
  target_include_directories(${name} SYSTEM PUBLIC ${root} ${root}/${folder})
  target_link_libraries(${name} PUBLIC PkgConfig::THRIFT)
endfunction()
