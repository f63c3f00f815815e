// What will become of a program under the preload library.
#ifndef SKEIN_TOOLS_SKEIN_PROGRAM_OUTLOOK_H_
#define SKEIN_TOOLS_SKEIN_PROGRAM_OUTLOOK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tools/skein/program/privileges.h"

namespace skein::program {

struct Outlook {
  enum class Kind : uint8_t {
    kServed,     // it has the gRPC that Skein serves
    kNoGrpc,     // none that can be seen; the right one is served when it is opened later
    kOtherGrpc,  // a shared one of another version, or libgrpc_unsecure: the preload library sees it
    kOwnGrpc,    // one inside the program or a library: nobody sees its connections
    kStatic,     // the rest: nothing can be preloaded
    kPrivileged,
    kOtherMachine,
    kOtherLinker,
  };
  Kind kind = Kind::kNoGrpc;
  std::string file;  // the ELF file: the program, or what runs the script
  std::string why;   // "FILE ...", a sentence without its end
  std::string note;  // what holds for other users than this one; empty if nothing does

  // Whether mode require is kept from the first connection on.
  bool keeps_require() const { return kind == Kind::kServed || kind == Kind::kNoGrpc; }
};

// What the user can do about such a program; empty if nothing.
std::string AdviceFor(Outlook::Kind kind);

// `path` can be executed. `libraries` is the folder with the preload library, where Skein may have libraries for other
// gRPCs; empty if nobody knows. An error: it cannot be told, and why.
absl::StatusOr<Outlook> OutlookOf(const std::string& path, const Executor& executor, const std::string& libraries);

}  // namespace skein::program

#endif  // SKEIN_TOOLS_SKEIN_PROGRAM_OUTLOOK_H_
