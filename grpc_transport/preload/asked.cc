#include "grpc_transport/preload/asked.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

namespace skein::preload {
namespace {

constexpr char kPrefix[] = "SKEIN_";
constexpr char kMode[] = "SKEIN_GRPC=";

bool StartsWith(const char* text, const char* prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

// The copy is one piece of memory. Where there is none to be had, `asked` is left as it is.
void CopyVariables(Asked& asked) {
  size_t count = 0;
  size_t bytes = 0;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!StartsWith(*entry, kPrefix)) continue;
    ++count;
    bytes += strlen(*entry) + 1;
  }
  auto* const variables = static_cast<const char**>(malloc((count + 1) * sizeof(char*) + bytes));
  if (variables == nullptr) return;
  char* text = reinterpret_cast<char*>(variables + count + 1);
  size_t copied = 0;
  for (char** entry = environ; *entry != nullptr && copied < count; ++entry) {
    if (!StartsWith(*entry, kPrefix)) continue;
    variables[copied++] = text;
    if (StartsWith(*entry, kMode)) asked.mode = text + strlen(kMode);
    text = stpcpy(text, *entry) + 1;
  }
  variables[copied] = nullptr;
  asked.variables = variables;
}

const Asked kNothing = {nullptr, nullptr};

const Asked* Read() {
  const char* const mode = getenv("SKEIN_GRPC");
  if (mode == nullptr) return &kNothing;
  auto* const asked = static_cast<Asked*>(malloc(sizeof(Asked)));
  if (asked == nullptr) return &kNothing;
  *asked = {mode, const_cast<const char**>(environ)};
  CopyVariables(*asked);
  return asked;
}

}  // namespace

const Asked* WhatIsAsked() {
  static std::atomic<const Asked*> known;
  const Asked* asked = known.load(std::memory_order_acquire);
  if (asked == nullptr) {
    const Asked* const read = Read();
    // Another thread may be first, but for constructors of libraries there is none yet: its copy counts, ours is lost.
    if (known.compare_exchange_strong(asked, read, std::memory_order_acq_rel)) asked = read;
  }
  return asked == &kNothing ? nullptr : asked;
}

bool Is(const char* mode, const char* name) { return strcmp(mode, name) == 0; }

}  // namespace skein::preload
