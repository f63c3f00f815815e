// What the sanitizers' runtimes ask every test binary for, so that a test run by hand behaves as in CI.

#define SKEIN_SANITIZER_HOOK extern "C" __attribute__((visibility("default"), used)) const char*

SKEIN_SANITIZER_HOOK __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

SKEIN_SANITIZER_HOOK __ubsan_default_options() { return "print_stacktrace=1"; }  // NOLINT(bugprone-reserved-identifier)

SKEIN_SANITIZER_HOOK __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "halt_on_error=1:second_deadlock_stack=1:history_size=4";
}
