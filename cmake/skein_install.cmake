# What a program elsewhere sees of Skein: <skein/...>, find_package(Skein) with its components, skein-NAME.pc.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(skein_package ${CMAKE_INSTALL_LIBDIR}/cmake/Skein)
# For a library that lies beside those of another build, whose core is another's: libskein_grpc-N.so.1.
option(SKEIN_CORE_INSIDE "Give each installed library a core of its own, in the place of libskein_core")
if(NOT SKEIN_CORE_INSIDE)
  set(skein_core skein_core)
endif()
if(PROJECT_IS_TOP_LEVEL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/skein DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()

# skein_public_library(TARGET COMPONENT name STANDARD n EXPORTS file REQUIRES "package ..." DESCRIPTION text): a shared
# library that is installed, as Skein::name and libskein_name.so.1, for programs in C++ of that standard or a later one.
# TARGET links ${skein_core} ahead of the layers' static libraries, of which the linker takes nothing then.
# EXPORTS tells the linker what is public: the code that is linked in statically, and the standard library's templates,
# are not. REQUIRES is for pkg-config; SkeinConfig.cmake.in has the same for CMake.
function(skein_public_library target)
  cmake_parse_arguments(ARG "" "COMPONENT;STANDARD;EXPORTS;REQUIRES;DESCRIPTION" "" ${ARGN})
  cmake_path(ABSOLUTE_PATH ARG_EXPORTS)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME skein_${ARG_COMPONENT} EXPORT_NAME ${ARG_COMPONENT} SOVERSION 1 LINK_DEPENDS ${ARG_EXPORTS}
    BUILD_RPATH $ORIGIN INSTALL_RPATH $ORIGIN) # of libskein_core: what a program searches is not searched for its libraries
  target_compile_features(${target} INTERFACE cxx_std_${ARG_STANDARD})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Cannot be unloaded: its threads may run while the process ends, and gRPC keeps pointers into it.
  target_link_options(${target} PRIVATE -Wl,-z,nodelete -Wl,--version-script=${ARG_EXPORTS} ${skein_whole_library})

  install(TARGETS ${target} EXPORT Skein_${ARG_COMPONENT} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT Skein_${ARG_COMPONENT} NAMESPACE Skein:: DESTINATION ${skein_package})
  string(REPLACE _ - name skein-${ARG_COMPONENT})
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
             OUTPUT_VARIABLE to_prefix)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/skein.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  set_property(GLOBAL APPEND PROPERTY skein_components ${ARG_COMPONENT})
endfunction()

# When all libraries are known.
function(skein_install_package)
  get_property(skein_components GLOBAL PROPERTY skein_components)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SkeinConfig.cmake.in ${PROJECT_BINARY_DIR}/SkeinConfig.cmake
    INSTALL_DESTINATION ${skein_package} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/SkeinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/SkeinConfig.cmake ${PROJECT_BINARY_DIR}/SkeinConfigVersion.cmake
          DESTINATION ${skein_package})
endfunction()
