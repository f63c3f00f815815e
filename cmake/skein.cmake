# Two ways to add code, so that a layer's CMakeLists.txt is a list and nothing else.

# What most sources include is parsed once: half of the time that building takes is parsing headers. Every source includes
# what it uses nevertheless: clang-tidy reads it without. One for code that can go into shared libraries, which is compiled
# in another way than code of programs; one for programs; one for tests.
add_library(skein_precompiled OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
add_executable(skein_precompiled_program ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
set(skein_precompiled skein_precompiled skein_precompiled_program)
if(BUILD_TESTING)
  add_executable(skein_precompiled_test ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
  list(APPEND skein_precompiled skein_precompiled_test)
endif()
function(skein_precompile target)
  target_link_libraries(${target} PRIVATE
    absl::algorithm_container absl::any_invocable absl::flat_hash_map absl::function_ref absl::span absl::statusor
    absl::strings absl::synchronization absl::time)
  target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.h)
endfunction()
foreach(target ${skein_precompiled})
  skein_precompile(${target})
endforeach()
if(BUILD_TESTING)
  target_link_libraries(skein_precompiled_test PRIVATE GTest::gmock GTest::gtest_main)
  target_precompile_headers(skein_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  # What a test does itself is little: optimising it takes three times as long as the rest of compiling it, and counting for
  # the fuzzer, which runs none of them, a third of that rest.
  set(skein_test_options $<$<CONFIG:Debug>:-O0>)
  if(SKEIN_SANITIZE MATCHES fuzzer)
    list(APPEND skein_test_options -fno-sanitize=fuzzer-no-link
      -fno-sanitize-coverage=edge,inline-8bit-counters,indirect-calls,trace-cmp,pc-table,stack-depth)
  endif()
  target_compile_options(skein_precompiled_test PRIVATE ${skein_test_options})
endif()

# skein_library(NAME SOURCES a.cc ... DEPS t ...): one layer, a static library that can go into a shared one.
function(skein_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_precompile_headers(${name} REUSE_FROM skein_precompiled)
endfunction()

# What `ctest --label-exclude process` runs; the rest of the build is for tests of whole processes, and for people. It has
# every skein_test: ctest takes one that is not built for one that fails, whatever its labels.
add_custom_target(quick_tests)

if(SKEIN_SANITIZE)
  add_library(skein_sanitizer_defaults OBJECT ${CMAKE_CURRENT_LIST_DIR}/sanitizer_defaults.cc)
endif()

# The limit ends tests that hang. A test alone takes less than a tenth of it, a whole binary with a sanitizer a minute.
if(SKEIN_SANITIZE)
  set(skein_timeout 600)
else()
  set(skein_timeout 120)
endif()

# skein_test(NAME SOURCES a.cc ... DEPS t ... [LABELS l] [TIMEOUT s] [SERIAL] [OPTIMIZED] [SHARDS n]
# [ALONE pattern ...]): one GoogleTest binary, each case a ctest.
# OPTIMIZED: it computes for long.
# SHARDS, ALONE: for builds with sanitizers; see skein_cases_together.
function(skein_test name)
  cmake_parse_arguments(ARG "OPTIMIZED;SERIAL" "TIMEOUT;SHARDS;LABELS" "SOURCES;DEPS;ALONE" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${skein_timeout})
  endif()
  add_executable(${name} ${ARG_SOURCES})
  add_dependencies(quick_tests ${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main
                        $<TARGET_NAME_IF_EXISTS:skein_sanitizer_defaults>)
  if(ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O2)
  else()
    target_compile_options(${name} PRIVATE ${skein_test_options})
    target_precompile_headers(${name} REUSE_FROM skein_precompiled_test)
  endif()
  set(properties TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL})
  if(ARG_LABELS)
    list(APPEND properties LABELS ${ARG_LABELS}) # one: more would need another way through gtest_discover_tests
  endif()
  if(SKEIN_SANITIZE)
    skein_cases_together(${name} "${ARG_SHARDS}" "${ARG_ALONE}" ${properties})
  else()
    skein_cases_apart(${name} "*" ${properties})
  endif()
endfunction()

# skein_cases_apart(NAME FILTER PROPERTY VALUE ...): each case that the filter of GoogleTest lets through is a ctest.
function(skein_cases_apart name filter)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER ${filter} PROPERTIES ${ARGN})
endfunction()

# skein_cases_together(NAME SHARDS ALONE PROPERTY VALUE ...): one process runs all cases, or as many as SHARDS says share
# them, where all take long. A sanitizer takes longer to start a process than most cases take. A report ends the process,
# and the cases behind it do not run then; its output names the case.
# ALONE: patterns of cases that need a process of their own, for what a process does once and cannot take back.
function(skein_cases_together name shards alone)
  set(others *)
  if(alone)
    list(JOIN alone : alone)
    skein_cases_apart(${name} ${alone} ${ARGN})
    if(alone STREQUAL "*")
      return()
    endif()
    set(others -${alone})
  endif()
  if(NOT shards)
    add_test(NAME ${name} COMMAND ${name} --gtest_filter=${others})
    set_tests_properties(${name} PROPERTIES ${ARGN})
    return()
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${name}.${shard} COMMAND ${name} --gtest_filter=${others})
    set_tests_properties(${name}.${shard} PROPERTIES ${ARGN} COST 1 # they begin first
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# skein_pytest(NAME FILE [OPTION ...]): the tests of a Python file, as one ctest; what came of each, build/PRESET/pytest/NAME.xml
# says.
function(skein_pytest name file)
  add_test(NAME ${name} COMMAND Python3::Interpreter -B -m pytest -q --junit-xml=${PROJECT_BINARY_DIR}/pytest/${name}.xml
                                ${ARGN} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
endfunction()
