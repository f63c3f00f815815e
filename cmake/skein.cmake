# Two ways to add code, so that a layer's CMakeLists.txt is a list and nothing else.

# skein_library(NAME SOURCES a.cc ... DEPS t ...): one layer, a static library that can go into a shared one.
function(skein_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()

if(SKEIN_SANITIZE)
  add_library(skein_sanitizer_defaults OBJECT ${CMAKE_CURRENT_LIST_DIR}/sanitizer_defaults.cc)
endif()

# skein_test(NAME SOURCES a.cc ... DEPS t ... [LABELS l ...] [TIMEOUT s]): one GoogleTest binary, each case a ctest.
function(skein_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main
                        $<TARGET_NAME_IF_EXISTS:skein_sanitizer_defaults>)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
