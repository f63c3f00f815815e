# Verb test: what is tested, in which builds.
# shellcheck shell=bash

# run_ctest PRESET [CTEST OPTION...]: prints ctest's output only where it says something, always its closing lines.
run_ctest() {
  local preset=$1
  shift
  say "run: tests of build/$preset"
  ctest --test-dir "$BUILD/$preset" --output-on-failure --no-tests=error --parallel 2 --progress \
    --output-junit "$(mktemp "$BUILD/logs/tests-$preset-XXXX.xml")" "$@" </dev/null
}

# The default: everything quick, in one build. Tests of whole processes carry the label "process".
test_quick() {
  build_preset dev || die "the build failed"
  run_ctest dev --label-exclude process
}

test_named() {
  build_preset dev || die "the build failed"
  run_ctest dev --tests-regex "$1"
}

test_sanitized() {
  local preset status=0
  for preset in asan tsan; do
    build_preset "$preset" || die "the $preset build failed"
  done
  run_ctest asan --label-exclude 'process|source' || status=1
  # Preloading does not go with AddressSanitizer; choosing Skein in code does.
  run_ctest asan --tests-regex '^process\.test_(attacker|death|identity|lifecycle|mixed)\.argument$' || status=1
  run_ctest tsan --label-exclude 'process|source' || status=1
  return $status
}

# test_all goes on after a failure, so that one run tells of everything that is wrong.
test_all() {
  local failed=()
  rm -f "$BUILD"/logs/tests-*.xml
  build_preset dev || die "the build failed"
  run_ctest dev || failed+=(dev)
  test_sanitized || failed+=(sanitizers)
  test_interop || failed+=(interop)
  test_thrift || failed+=(thrift)
  test_vm || failed+=(vm)
  # shellcheck disable=SC2119  # to update is asked for by name
  test_instructions || failed+=(instructions)
  # Tests, benchmarks and examples are judged by running them; to tidy them, too, would take CI half as long again.
  test_tidy core grpc_transport thrift_transport tools || failed+=(clang-tidy)
  if ((${#failed[@]} != 0)); then
    python3 "$ROOT/scripts/failed_tests.py" "$BUILD"/logs/tests-*.xml
    die "failed: ${failed[*]}"
  fi
}

test_interop() {
  build_preset dev all interop || die "the build failed"
  python3 "$ROOT/tests/interop/run_interop.py" --build "$BUILD/dev"
}

test_thrift() {
  build_preset dev thrift_tests || die "the build failed"
  python3 "$ROOT/tests/thrift/run_thrift.py" --build "$BUILD/dev"
}

# test_instructions [--update]: what the hot paths cost.
# shellcheck disable=SC2120  # verb_test passes the option
test_instructions() {
  build_preset dev hot_paths || die "the build failed"
  python3 "$ROOT/tests/instructions/run_instructions.py" --build "$BUILD/dev" "$@"
}

# Durable calls, and what they stand on; then a server that is killed 500 times, in three minutes; then a machine whose
# power is cut five times, in as many.
test_durable() {
  local status=0
  install_packages "$ROOT/tests/vm/packages.txt" || return
  build_preset dev || die "the build failed"
  run_ctest dev --label-regex durable || status=1
  python3 "$ROOT/tests/process/durable_kills.py" --build "$BUILD/dev" --kills 500 || status=1
  python3 "$ROOT/tests/vm/power_loss.py" --build "$BUILD/dev" --cuts 5 || status=1
  return $status
}

# In virtual machines, whose kernel has an RDMA device whatever this machine has.
test_vm() {
  install_packages "$ROOT/tests/vm/packages.txt" || return
  build_preset dev all interop thrift_tests || die "the build failed"
  python3 "$ROOT/tests/vm/run_vm.py" --build "$BUILD/dev"
}

# test_tidy [FOLDER...]: of all folders by default.
test_tidy() {
  build_preset dev || die "the build failed"
  quietly "clang-tidy" "$BUILD/logs/clang-tidy.log" python3 "$ROOT/scripts/tidy.py" "$BUILD/dev" "$@"
}

verb_test() {
  local what=${1:-quick}
  if [[ "$*" != 'instructions --update' ]] && (($# > 1)); then
    usage_error "test takes one argument: --all, durable, interop, thrift, vm, instructions, tidy or a regular expression of test names"
  fi
  case $what in
    quick | durable | interop | thrift | vm | instructions | tidy | --all) what=${what#--} ;;
    -*) usage_error "unknown option '$what' of test; there is: --all" ;;
    *) set -- named "$what" && what=named ;;
  esac
  verb_setup
  "test_$what" "${@:2}"
}
