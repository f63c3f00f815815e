#include "core/service/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"

namespace skein::service {
namespace {

constexpr size_t kLeastBytes = 16;

}  // namespace

absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("everybody may read or write ", path, ": chmod 600 it"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::UnavailableError(absl::StrCat("cannot read ", path));
  std::ostringstream read;
  read << file.rdbuf();
  const std::string bytes = read.str();
  const absl::string_view secret = absl::StripTrailingAsciiWhitespace(bytes);
  if (secret.size() < kLeastBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has ", secret.size(), " bytes, where a secret has ",
                                                   kLeastBytes, " at least: openssl rand -hex 32"));
  }
  return std::string(secret);
}

Proof Prove(const std::string& secret, absl::string_view who, absl::string_view said) {
  const std::string message = absl::StrCat(who, ":", said);
  Proof proof = {};
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(message.data()), message.size(), proof.data(), &size);
  return proof;
}

bool IsProven(const std::string& secret, absl::string_view who, absl::string_view said, const Proof& proof) {
  const Proof right = Prove(secret, who, said);
  return CRYPTO_memcmp(right.data(), proof.data(), proof.size()) == 0;
}

}  // namespace skein::service
