// The objects that the dynamic linker has loaded into this process: the program and its libraries.
#ifndef SKEIN_GRPC_TRANSPORT_PRELOAD_LOADED_OBJECT_H_
#define SKEIN_GRPC_TRANSPORT_PRELOAD_LOADED_OBJECT_H_

#include <stdint.h>

namespace skein::preload {

struct LoadedObject {
  uintptr_t begin = 0;         // of its addresses
  uintptr_t end = 0;           // 0: there is no such object
  const char* path = nullptr;  // "" for the program; valid while the object is loaded
  const char* name = nullptr;  // its SONAME, else its path; the same

  bool is_program() const { return end != 0 && path[0] == '\0'; }
  bool Has(uintptr_t address) const { return begin <= address && address < end; }
};

// The one that has this address.
LoadedObject ObjectOf(const void* address);

// A handle of an object that is loaded already, for dlsym and dlclose; null if there is none.
void* HandleOf(const char* path);

// The function that the object with the address `caller` would reach by this name if the stub were not there; null if
// none.
void* RealFunction(const char* name, const void* caller);
template <typename Function>
Function* RealOf(const char* name, const void* caller, Function* /*the stub's own, for its type*/) {
  return reinterpret_cast<Function*>(RealFunction(name, caller));
}

// Whether the program has a function of this name inside.
bool ProgramHas(const char* name);

}  // namespace skein::preload

#endif  // SKEIN_GRPC_TRANSPORT_PRELOAD_LOADED_OBJECT_H_
