# Verb build: configure a preset and build it, or only the targets named.
# shellcheck shell=bash

PRESETS=(dev release asan tsan)

is_preset() { [[ " ${PRESETS[*]} " == *" $1 "* ]]; }

# What the build is configured with besides its preset.
CMAKE_OPTIONS=()

# Configuring is always repeated: it costs a second, and folders may have come or gone. A new dev folder compiles several
# files of a test as one: most want to see the tests run, and edit none. UNITY=none, tests or all changes that for as long
# as the folder is there.
configure_preset() {
  local preset=$1 options=("${CMAKE_OPTIONS[@]}")
  if [[ $preset == dev && (-n ${UNITY:-} || ! -f $BUILD/dev/CMakeCache.txt) ]]; then
    options+=("-DSKEIN_UNITY=${UNITY:-tests}")
  fi
  # g++ built these once: CMake forgets all other settings where the compiler changes.
  if [[ $preset == ?san && -f $BUILD/$preset/CMakeCache.txt ]] &&
    ! grep -q '^CMAKE_CXX_COMPILER:.*clang++$' "$BUILD/$preset/CMakeCache.txt"; then
    options+=(--fresh)
  fi
  if [[ $preset == tsan ]]; then
    build_tsan_abseil || return
  fi
  quietly "configure $preset" "$BUILD/logs/configure-$preset.log" cmake --preset "$preset" -S "$ROOT" "${options[@]}"
}

# build_preset PRESET [TARGET...]
build_preset() {
  local preset=$1
  shift
  configure_preset "$preset" || return
  quietly "build $preset${*:+ ($*)}" "$BUILD/logs/build-$preset.log" ninja -C "$BUILD/$preset" "$@"
}

# build_release [TARGET...]: what is run and installed of Skein, and these; nothing tests a release build.
# shellcheck disable=SC2120  # ../run passes them
build_release() {
  verb_setup
  build_preset release {core/rpc,grpc_transport,thrift_transport,tools,examples}/all "$@" || die "the build failed"
}

verb_build() {
  local preset=${1:-dev}
  is_preset "$preset" || usage_error "unknown preset '$preset'; there are: ${PRESETS[*]}"
  (($# <= 1)) || usage_error "build takes one preset"
  if [[ $preset == release ]]; then
    # shellcheck disable=SC2119
    build_release
    return
  fi
  verb_setup
  build_preset "$preset" || die "the build failed"
}
