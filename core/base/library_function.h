// Functions of libraries that are opened at run time.
#ifndef SKEIN_CORE_BASE_LIBRARY_FUNCTION_H_
#define SKEIN_CORE_BASE_LIBRARY_FUNCTION_H_

#include <dlfcn.h>

namespace skein {

// False: `library`, which dlopen gave, has none of this name.
template <typename Function>
bool FindFunction(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace skein

#endif  // SKEIN_CORE_BASE_LIBRARY_FUNCTION_H_
