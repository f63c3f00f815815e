// What doctor looks at. Each says what it finds; none changes anything.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_CHECKS_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_CHECKS_H_

#include <string>

#include "core/base/options.h"
#include "tools/skein/doctor/connection.h"
#include "tools/skein/doctor/report.h"

namespace skein::doctor {

// The environment's SKEIN_* options and gRPC's own that matter here. Returns the options; defaults where they are
// wrong.
Options CheckSettings(Report& report);

// The libgrpc that programs get here, against the one whose inside Skein knows.
void CheckGrpcLibrary(Report& report);

// Open files, locked memory, processors, huge pages.
void CheckLimits(Report& report);

// Whether this is a container, and who can share memory with this process.
void CheckContainer(Report& report);

// The kernel's part of RDMA, the library, devices, ports and their addresses.
void CheckRdma(const RdmaOptions& options, Report& report);

// The host's skeind, if the options let one be used: whether it is there, answers, has a device, and has space for this
// user.
void CheckService(const RdmaOptions& options, Report& report);

// Each fabric that is there, tried out between two devices of this process.
void CheckFabrics(const Options& options, Report& report);

// Which path a connection to `target` would use, by asking as a client does. `tls`: as a client with TLS does.
void CheckPeer(const HostPort& target, bool tls, const Options& options, Report& report);

// What the preload library can do for the program at `path`. TCP fails in mode require.
void CheckProgram(const std::string& path, Mode mode, Report& report);

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_CHECKS_H_
