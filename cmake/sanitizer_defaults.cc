// What the sanitizers' runtimes ask every test binary for, so that a test run by hand behaves as in CI.

#define SKEIN_SANITIZER_HOOK extern "C" __attribute__((visibility("default"), used)) const char*

SKEIN_SANITIZER_HOOK __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

SKEIN_SANITIZER_HOOK __ubsan_default_options() { return "print_stacktrace=1"; }  // NOLINT(bugprone-reserved-identifier)

// Addresses in reports have no names: clang's runtime asks another process for these, whose descriptors are in the way
// of tests that count them, or use them up. For a report to read:
// TSAN_OPTIONS=external_symbolizer_path=/usr/bin/llvm-symbolizer.
SKEIN_SANITIZER_HOOK __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "halt_on_error=1:second_deadlock_stack=1:history_size=4:external_symbolizer_path=\"\"";
}

// absl::Mutex hides its inside from ThreadSanitizer by annotations, but for its semaphores, where the memory of a
// thread's identity seems to be handed over unguarded. Code of ours is never on top of a stack there.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
SKEIN_SANITIZER_HOOK __tsan_default_suppressions() { return "race_top:libabsl_synchronization.so\n"; }
