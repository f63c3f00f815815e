#include "core/base/options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/edit_distance.h"

namespace skein {
namespace {

constexpr absl::string_view kPrefix = "SKEIN_";
// Each adapter has a variable of its own for the mode, for a process may use both.
constexpr absl::string_view kModeVariables[] = {"SKEIN_GRPC", "SKEIN_THRIFT"};

// `why_not` completes "ring_bytes is 7: ...".
absl::Status BadValue(absl::string_view value, absl::string_view why_not) {
  return absl::InvalidArgumentError(absl::StrCat("is \"", value, "\", but ", why_not));
}

absl::Status ParseInteger(absl::string_view value, int64_t low, int64_t high, int64_t multiple, int64_t* out) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number)) return BadValue(value, "must be a whole number");
  if (number < low || number > high) return BadValue(value, "is out of bounds");
  if (number % multiple != 0) return BadValue(value, absl::StrCat("must be a multiple of ", multiple));
  *out = number;
  return absl::OkStatus();
}

absl::Status ParseMilliseconds(absl::string_view value, int64_t low, int64_t high, absl::Duration* out) {
  int64_t number = 0;
  if (absl::Status status = ParseInteger(value, low, high, 1, &number); !status.ok()) return status;
  *out = absl::Milliseconds(number);
  return absl::OkStatus();
}

absl::Status SetMode(Options& options, absl::string_view value) {
  for (Mode mode : {Mode::kOff, Mode::kPrefer, Mode::kRequire}) {
    if (value == ModeName(mode)) {
      options.mode = mode;
      return absl::OkStatus();
    }
  }
  return BadValue(value, "there is no such mode");
}

absl::Status SetWaitMode(Options& options, absl::string_view value) {
  constexpr std::pair<absl::string_view, WaitMode> kModes[] = {
      {"poll", WaitMode::kPoll}, {"hybrid", WaitMode::kHybrid}, {"block", WaitMode::kBlock}};
  for (const auto& [name, mode] : kModes) {
    if (value != name) continue;
    options.wait_mode = mode;
    return absl::OkStatus();
  }
  return BadValue(value, "there is no such mode");
}

absl::Status SetCalls(Options& options, absl::string_view value) {
  if (value != "auto" && value != "http2") return BadValue(value, "there is no such value");
  options.calls_below_http2 = value == "auto";
  return absl::OkStatus();
}

absl::Status ParseAuto(absl::string_view value, bool* out) {
  if (value != "auto" && value != "off") return BadValue(value, "there is no such value");
  *out = value == "auto";
  return absl::OkStatus();
}

absl::Status SetPeerUsers(Options& options, absl::string_view value) {
  absl::StatusOr<PeerUsers> users = PeerUsers::Parse(value);
  if (!users.ok()) return BadValue(value, users.status().message());
  options.shm.peer_users = *std::move(users);
  return absl::OkStatus();
}

// A socket's address has space for so much, less a name in the directory.
constexpr size_t kLongestRendezvous = 68;

absl::Status SetRendezvous(Options& options, absl::string_view value) {
  if (!value.empty() && value[0] != '/') return BadValue(value, "is no absolute path");
  if (value.size() > kLongestRendezvous) return BadValue(value, "is too long");
  options.shm.rendezvous = std::string(value);
  return absl::OkStatus();
}

absl::Status SetRdma(Options& options, absl::string_view value) {
  const bool is_by_whomever = value == "auto" || value == "off";
  if (!is_by_whomever && value != "direct" && value != "service") return BadValue(value, "there is no such value");
  options.rdma.enabled = value != "off";
  options.rdma.by = is_by_whomever ? RdmaBy::kAuto : value == "direct" ? RdmaBy::kDirect : RdmaBy::kService;
  return absl::OkStatus();
}

// A socket's address has space for so much, less the socket's name.
constexpr size_t kLongestService = 96;

absl::Status SetRdmaService(Options& options, absl::string_view value) {
  if (value.empty() || value[0] != '/') return BadValue(value, "is no absolute path");
  if (value.size() > kLongestService) return BadValue(value, "is too long");
  options.rdma.service = std::string(value);
  return absl::OkStatus();
}

absl::Status SetRdmaMtu(Options& options, absl::string_view value) {
  int64_t bytes = 0;
  if (absl::Status status = ParseInteger(value, 0, 4096, 1, &bytes); !status.ok()) return status;
  if (bytes != 0 && (bytes < 256 || (bytes & (bytes - 1)) != 0)) return BadValue(value, "is no MTU of RDMA");
  options.rdma.mtu = bytes;
  return absl::OkStatus();
}

constexpr OptionSpec kTable[] = {
    {"mode", "off", "off | prefer | require", "",
     "off: as if Skein were not there. prefer: the best path both ends can prove, else TCP. require: fail rather than "
     "use TCP.",
     SetMode},
    {"ring_bytes", "1048576", "65536 .. 1073741824, multiple of 65536", "bytes",
     "Receive ring of a link; over RDMA, two processes have one link.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, 1 << 16, 1 << 30, 1 << 16, &options.ring_bytes);
     }},
    {"shm_links", "16", "1 .. 1024", "",
     "Over shared memory, how many connections of a client process have a link of their own, so that none waits for "
     "another's thread; further ones share these. The server's setting counts.",
     [](Options& options, absl::string_view value) { return ParseInteger(value, 1, 1024, 1, &options.shm_links); }},
    {"window_bytes", "1048576", "65536 .. 1073741824", "bytes",
     "Receive window per stream: how much a sender may have under way before the receiver reads.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, 1 << 16, 1 << 30, 1, &options.window_bytes);
     }},
    {"large_payload", "-1", "-1 .. 1073741824", "bytes",
     "A write of at least so many bytes stays in registered memory, and the peer reads it from there in chunks, so "
     "that small messages do not wait behind it. 0: none does. -1: 65536. Over RDMA alone: in shared memory a write "
     "of any size goes through the channel itself.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, -1, 1 << 30, 1, &options.large_payload);
     }},
    {"negotiation_timeout", "1000", "10 .. 60000", "ms",
     "How long a new connection waits for the peer's part of the negotiation. After that a server goes on over TCP, "
     "with gRPC after 10 s at the earliest; a client connects anew, for TCP. Thrift: no longer than the socket's own "
     "connect and receive timeouts.",
     [](Options& options, absl::string_view value) {
       return ParseMilliseconds(value, 10, 60000, &options.negotiation_timeout);
     }},
    {"negative_cache", "60000", "0 .. 86400000", "ms",
     "How long a peer found not to speak Skein is not asked again, where asking costs a connection (TLS, Thrift).",
     [](Options& options, absl::string_view value) {
       return ParseMilliseconds(value, 0, 86400000, &options.negative_cache);
     }},
    {"wait_mode", "hybrid", "poll | hybrid | block", "",
     "How a thread waits. poll: it never sleeps. hybrid: it polls while that pays, and then sleeps. block: it sleeps "
     "at once. gRPC's threads wait for all channels of their process: there the environment's counts.",
     SetWaitMode},
    {"spin_time", "50", "0 .. 1000000", "us",
     "How much processor time a hybrid wait spends polling, at most, before it sleeps.",
     [](Options& options, absl::string_view value) {
       int64_t number = 0;
       if (absl::Status status = ParseInteger(value, 0, 1000000, 1, &number); !status.ok()) return status;
       options.spin_time = absl::Microseconds(number);
       return absl::OkStatus();
     }},
    {"trace", "0", "0 .. 1000000", "calls",
     "One call in so many is traced from the process's first connection on, whose setting counts for all; 0: none, "
     "until skein breakdown or the program asks for it.",
     [](Options& options, absl::string_view value) { return ParseInteger(value, 0, 1000000, 1, &options.trace); }},
    {"calls", "auto", "auto | http2", "",
     "How gRPC's calls travel over Skein. auto: straight, below HTTP/2, where both ends have it and there is no TLS; "
     "http2: always by HTTP/2.",
     SetCalls},
    {"shm", "auto", "auto | off", "", "Whether shared memory is used where both ends are on one host.",
     [](Options& options, absl::string_view value) { return ParseAuto(value, &options.shm.enabled); }},
    {"peer_users", "", "names or numbers of users, with commas between", "",
     "Users whose processes may share memory with this one's, besides its own; the other end must allow this one's. "
     "Root is no exception. How far that trusts them: security.md.",
     SetPeerUsers},
    {"rendezvous", "", "an absolute path of at most 68 bytes", "",
     "A directory that both ends have mounted, where processes in different network namespaces of one host meet to "
     "share "
     "memory; root's or the own user's, and sticky if others may write there. A directory that cannot be used keeps "
     "connections of this process from shared memory.",
     SetRendezvous},
    {"rdma", "auto", "auto | direct | service | off", "",
     "Whether RDMA is used, and whose device. direct: this process's own; service: skeind's, if one serves this host; "
     "auto: the own one where there is one, and skeind's.",
     SetRdma},
    {"rdma_service", "/run/skeind", "an absolute path of at most 96 bytes", "",
     "The directory where skeind listens, on this host or mounted into this container.", SetRdmaService},
    {"rdma_device", "", "a device's name, as mlx5_0", "",
     "The RDMA device; by default the one that has the address by which the connection leaves this host. A named "
     "device, port or GID also lets peers have another RDMA address than that of their connection.",
     [](Options& options, absl::string_view value) {
       options.rdma.device = std::string(value);
       return absl::OkStatus();
     }},
    {"rdma_port", "0", "0 .. 255", "", "Its port; 0: whichever has that address.",
     [](Options& options, absl::string_view value) { return ParseInteger(value, 0, 255, 1, &options.rdma.port); }},
    {"rdma_gid_index", "-1", "-1 .. 255", "", "Index into the port's GID table; -1: by that address, RoCE v2 first.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, -1, 255, 1, &options.rdma.gid_index);
     }},
    {"rdma_mtu", "0", "0 | 256 | 512 | 1024 | 2048 | 4096", "bytes",
     "Largest packet, if both ports can; 0: the largest that both ports are set to.", SetRdmaMtu},
    {"rdma_traffic_class", "0", "0 .. 255", "", "Of the global route header: the DSCP and ECN bits of RoCE v2.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, 0, 255, 1, &options.rdma.traffic_class);
     }},
    {"rdma_service_level", "0", "0 .. 15", "", "InfiniBand's service level, or the priority of RoCE's Ethernet frames.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, 0, 15, 1, &options.rdma.service_level);
     }},
    {"rdma_timeout", "14", "1 .. 31", "4.096 us * 2^n",
     "How long an acknowledgement is awaited before a packet is sent again.",
     [](Options& options, absl::string_view value) { return ParseInteger(value, 1, 31, 1, &options.rdma.timeout); }},
    {"rdma_retries", "6", "0 .. 7", "", "How often a packet is sent again before the connection is given up.",
     [](Options& options, absl::string_view value) { return ParseInteger(value, 0, 7, 1, &options.rdma.retries); }},
    {"rdma_rnr_timer", "12", "0 .. 31", "",
     "How long a sender waits if the receiver has no receive posted; coded as the InfiniBand specification has it "
     "(volume 1, 11.2.5); 12 is 0.64 ms.",
     [](Options& options, absl::string_view value) { return ParseInteger(value, 0, 31, 1, &options.rdma.rnr_timer); }},
    {"rdma_memory", "1073741824", "1048576 .. 1099511627776", "bytes",
     "Memory that this process registers with RDMA devices at most. Connections that need more use TCP.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, int64_t{1} << 20, int64_t{1} << 40, 1, &options.rdma.memory);
     }},
    {"rdma_peer_memory", "67108864", "65536 .. 1073741824", "bytes",
     "Largest ring of a peer, for which this end must register a staging buffer of the same size.",
     [](Options& options, absl::string_view value) {
       return ParseInteger(value, 1 << 16, 1 << 30, 1, &options.rdma.peer_memory);
     }},
    {"rdma_retry_delay", "10000", "0 .. 3600000", "ms",
     "How long RDMA to a peer is left alone after it failed while TCP was well, and shared memory after the kernel "
     "refused this process a call or a descriptor (with one user's processes, if that user is another one and the "
     "refusal came with such a peer). Mode require tries all the same.",
     [](Options& options, absl::string_view value) {
       return ParseMilliseconds(value, 0, 3600000, &options.rdma.retry_delay);
     }},
};

std::string EnvironmentName(absl::string_view option) { return absl::StrCat(kPrefix, absl::AsciiStrToUpper(option)); }

const OptionSpec* Find(absl::string_view name) {
  for (const OptionSpec& spec : kTable) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

// The option that `name` is a slip of; null where it is like none.
const OptionSpec* Nearest(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const OptionSpec& spec : kTable) names.push_back(spec.name);
  return Find(NearestName(name, names));
}

// Sets an option that the user knows as `shown_name`.
absl::Status Set(Options& options, const OptionSpec& spec, absl::string_view shown_name, absl::string_view value) {
  absl::Status status = spec.set(options, value);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(shown_name, " ", status.message(), "; allowed: ", spec.allowed,
                                                 spec.unit.empty() ? "" : " ", spec.unit));
}

std::string DidYouMean(absl::string_view name) { return absl::StrCat("did you mean ", name, "?"); }

// Kubernetes tells each container of every service in this way: of one called skein-rdma by SKEIN_RDMA_PORT, with
// "tcp://10.0.0.1:80".
bool IsOfService(absl::string_view value) { return absl::StrContains(value, "://"); }

// Whether Kubernetes may have made this name for a service's variable. A guess at what the user meant would be wrong.
bool IsServicesName(absl::string_view name) {
  return absl::EndsWith(name, "_SERVICE_HOST") || absl::EndsWith(name, "_PORT") || absl::StrContains(name, "_PORT_");
}

// The variable that the user probably meant; empty: none is similar.
std::string Meant(absl::string_view option, absl::string_view mode_variable) {
  std::vector<absl::string_view> names;
  for (const OptionSpec& spec : kTable) names.push_back(spec.name);
  std::vector<std::string> modes;  // as an option would be called that has such a variable
  for (const absl::string_view variable : kModeVariables) {
    modes.push_back(absl::AsciiStrToLower(absl::StripPrefix(variable, kPrefix)));
  }
  names.insert(names.end(), modes.begin(), modes.end());
  const absl::string_view nearest = NearestName(option, names);
  if (nearest == "mode") return std::string(mode_variable);
  return nearest.empty() ? "" : EnvironmentName(nearest);
}

// The warning about variables that are no options. It names those that are like an option first.
class UnknownVariables {
 public:
  void Add(absl::string_view name, absl::string_view option, absl::string_view mode_variable) {
    const std::string meant = IsServicesName(name) ? "" : Meant(option, mode_variable);
    if (meant.empty()) return others_.push_back(std::string(name));
    like_one_.push_back(absl::StrCat(name, " (", DidYouMean(meant), ")"));
  }
  void AddService(absl::string_view name) { others_.push_back(std::string(name)); }

  std::string Warning() {
    std::vector<std::string> all = std::move(like_one_);
    all.insert(all.end(), others_.begin(), others_.end());
    if (all.empty()) return "";
    const size_t more = all.size() - std::min(all.size(), kMostNamed);
    all.resize(all.size() - more);
    return absl::StrCat("no options, and ignored: ", absl::StrJoin(all, ", "),
                        more == 0 ? "" : absl::StrCat(" and ", more, " more"));
  }

 private:
  static constexpr size_t kMostNamed = 8;

  std::vector<std::string> like_one_;
  std::vector<std::string> others_;
};

absl::Status SetFromVariable(Options& options, absl::string_view mode_variable, absl::string_view name,
                             absl::string_view value, UnknownVariables& unknown) {
  if (name == mode_variable) {
    absl::Status status = Set(options, *Find("mode"), name, value);
    if (!status.ok()) options.mode = Mode::kPrefer;
    return status;
  }
  if (std::find(std::begin(kModeVariables), std::end(kModeVariables), name) != std::end(kModeVariables)) {
    return absl::OkStatus();  // another adapter's
  }
  const std::string option = absl::AsciiStrToLower(absl::StripPrefix(name, kPrefix));
  const OptionSpec* const spec = Find(option);
  if (spec == nullptr || spec->name == "mode") {
    unknown.Add(name, option, mode_variable);
  } else if (IsOfService(value)) {
    unknown.AddService(name);
  } else {
    return Set(options, *spec, name, value);
  }
  return absl::OkStatus();
}

std::string EnvironmentCell(const OptionSpec& spec) {
  if (spec.name == "mode") return "`SKEIN_GRPC`, `SKEIN_THRIFT`";
  return absl::StrCat("`", EnvironmentName(spec.name), "`");
}

}  // namespace

absl::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kOff:
      return "off";
    case Mode::kPrefer:
      return "prefer";
    case Mode::kRequire:
      return "require";
  }
  return "unknown mode";
}

absl::Span<const OptionSpec> OptionTable() { return kTable; }

absl::Status SetOption(Options& options, absl::string_view name, absl::string_view value) {
  name = absl::StripPrefix(name, "skein.");  // as gRPC's channel arguments have it
  if (const OptionSpec* const spec = Find(name)) return Set(options, *spec, name, value);
  const OptionSpec* const nearest = Nearest(name);
  return absl::InvalidArgumentError(
      absl::StrCat("no option ", name, nearest == nullptr ? "" : absl::StrCat("; ", DidYouMean(nearest->name))));
}

EnvironmentOptions OptionsFromEnvironment(const Options& base, absl::string_view mode_variable,
                                          const char* const* environment) {
  EnvironmentOptions result{base, absl::OkStatus(), ""};
  UnknownVariables unknown;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    absl::string_view entry = *environment;
    if (!absl::StartsWith(entry, kPrefix)) continue;
    const size_t equals = entry.find('=');
    if (equals == absl::string_view::npos) continue;
    result.error.Update(
        SetFromVariable(result.options, mode_variable, entry.substr(0, equals), entry.substr(equals + 1), unknown));
  }
  result.warning = unknown.Warning();
  return result;
}

absl::StatusOr<Options> Checked(const Options& options, const absl::Status& error) {
  if (options.mode == Mode::kOff || error.ok()) return options;
  return error;
}

std::string OptionsMarkdown() {
  std::string page =
      "# Options\n\n"
      "Written from the table in core/base/options.cc: change that, then run `skein_write_pages docs`\n"
      "(in the build's core/base).\n\n"
      "Every option can be set per process by its environment variable; per gRPC channel or server by its\n"
      "channel argument, and per Thrift socket by `TSkeinOptions`, which win. A value that is not allowed\n"
      "fails every connection it concerns, with a message, and so does an unknown channel argument. An\n"
      "unknown variable is a warning, once a process: the name may be Kubernetes' for a service. With mode\n"
      "off nothing fails. `skein options` prints the table, and `skein options NAME` one option of it.\n"
      "A program on `<skein/rpc.h>` has its options in `skein::rpc::Options`, and reads no variable.\n\n"
      "| channel argument | environment | default | allowed | unit | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const OptionSpec& spec : kTable) {
    std::string allowed = absl::StrJoin(absl::StrSplit(spec.allowed, '|'), "\\|");
    absl::StrAppend(&page, "| `skein.", spec.name, "` | ", EnvironmentCell(spec), " | ", spec.default_value, " | ",
                    allowed, " | ", spec.unit, " | ", spec.doc, " |\n");
  }
  return page;
}

}  // namespace skein
