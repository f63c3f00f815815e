#include "grpc_transport/preload/loaded_object.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "grpc_transport/preload/served.h"

namespace skein::preload {
namespace {

// The dynamic linker of most processors has turned the table's place into an address; the others' is an offset.
uintptr_t AddressOf(const dl_phdr_info& info, uintptr_t place) {
  return place < info.dlpi_addr ? info.dlpi_addr + place : place;
}

const char* SonameOf(const dl_phdr_info& info, const ElfW(Dyn) * dynamic) {
  uintptr_t strings = 0;
  uintptr_t name = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_STRTAB) strings = AddressOf(info, dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_SONAME) name = dynamic->d_un.d_val;
  }
  if (strings == 0 || name == 0) return nullptr;
  return reinterpret_cast<const char*>(strings + name);  // NOLINT(performance-no-int-to-ptr): it comes as a number
}

struct Search {
  uintptr_t address;
  LoadedObject found;
};

int Look(dl_phdr_info* info, size_t /*size*/, void* search_pointer) {
  auto& search = *static_cast<Search*>(search_pointer);
  LoadedObject object;
  object.begin = UINTPTR_MAX;
  const ElfW(Dyn)* dynamic = nullptr;
  for (const ElfW(Phdr)* part = info->dlpi_phdr; part != info->dlpi_phdr + info->dlpi_phnum; ++part) {
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);  // NOLINT: the same
    if (part->p_type != PT_LOAD) continue;
    if (begin < object.begin) object.begin = begin;
    if (begin + part->p_memsz > object.end) object.end = begin + part->p_memsz;
  }
  if (!object.Has(search.address)) return 0;
  object.path = info->dlpi_name;
  const char* const soname = dynamic == nullptr ? nullptr : SonameOf(*info, dynamic);
  object.name = soname == nullptr ? object.path : soname;
  search.found = object;
  return 1;
}

bool IsOwn(const void* address) { return ObjectOf(address).Has(reinterpret_cast<uintptr_t>(&Look)); }

// Searches the object behind the handle and the libraries that it needs, and lets go of the handle.
void* FunctionOf(void* handle, const char* name) {
  if (handle == nullptr) return nullptr;
  void* const function = dlsym(handle, name);
  dlclose(handle);
  return function == nullptr || IsOwn(function) ? nullptr : function;
}

struct Numbered {
  size_t left;  // objects that come before
  char* path;   // PATH_MAX bytes
};

int CopyPath(dl_phdr_info* info, size_t /*size*/, void* numbered_pointer) {
  auto& numbered = *static_cast<Numbered*>(numbered_pointer);
  if (numbered.left-- > 0) return 0;
  const size_t length = strnlen(info->dlpi_name, PATH_MAX - 1);
  memcpy(numbered.path, info->dlpi_name, length);
  numbered.path[length] = '\0';
  return 1;
}

// Searches each object. One at a time: a thread that is in dl_iterate_phdr must not open any.
void* FunctionOfAny(const char* name) {
  char path[PATH_MAX];
  for (size_t index = 0;; ++index) {
    Numbered numbered = {index, path};
    if (dl_iterate_phdr(&CopyPath, &numbered) == 0) return nullptr;
    if (void* const function = FunctionOf(HandleOf(path), name); function != nullptr) return function;
  }
}

}  // namespace

LoadedObject ObjectOf(const void* address) {
  Search search = {reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(&Look, &search);
  return search.found;
}

void* HandleOf(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_NOLOAD); }

void* RealFunction(const char* name, const void* caller) {
  // As the dynamic linker searches: first what all share, then what the caller was loaded with.
  if (void* const shared = dlsym(RTLD_NEXT, name); shared != nullptr) return shared;
  const LoadedObject object = ObjectOf(caller);
  if (object.end != 0) {
    if (void* const own = FunctionOf(HandleOf(object.path), name); own != nullptr) return own;
  }
  // A plug-in that leaves it to its host to load gRPC.
  if (void* const served = FunctionOf(HandleOf(kServedName), name); served != nullptr) return served;
  // The plug-in's last instruction was a jump to the stub: the caller seems to be the host, which has no gRPC.
  return FunctionOfAny(name);
}

bool ProgramHas(const char* name) {
  const void* const found = dlsym(RTLD_DEFAULT, name);
  Dl_info info = {};
  // A program that is linked to a fixed address may stand in for a library's function with a jump to it, which dladdr
  // does not take for the function.
  return found != nullptr && ObjectOf(found).is_program() && dladdr(found, &info) != 0 && info.dli_saddr == found &&
         strcmp(info.dli_sname, name) == 0;
}

}  // namespace skein::preload
