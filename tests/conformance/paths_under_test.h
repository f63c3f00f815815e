// What the suite of groups needs to know of a kind of path beyond its contract. One file per kind implements it and
// registers itself; linking that file in is all.
#ifndef SKEIN_TESTS_CONFORMANCE_PATHS_UNDER_TEST_H_
#define SKEIN_TESTS_CONFORMANCE_PATHS_UNDER_TEST_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/replicate/path.h"
#include "gtest/gtest.h"

namespace skein::replicate {

// On one thread: nothing moves but by Pump.
class PathsUnderTest {
 public:
  virtual ~PathsUnderTest() = default;
  using Pair = std::pair<std::unique_ptr<Path>, std::unique_ptr<Path>>;
  virtual Pair MakePair() = 0;
  // Lets what was sent arrive, and tells observers. Whether anything moved.
  virtual bool Pump() = 0;
};

struct PathsFactory {
  std::string name;  // letters, digits and underscores: part of the tests' names
  std::function<std::unique_ptr<PathsUnderTest>()> make;
};

// To be called while static variables are initialised. The value means nothing.
bool RegisterPaths(PathsFactory factory);
const std::vector<PathsFactory>& RegisteredPaths();

inline auto EveryPath() { return testing::ValuesIn(RegisteredPaths()); }
inline std::string PathsName(const testing::TestParamInfo<PathsFactory>& info) { return info.param.name; }
inline void PrintTo(const PathsFactory& factory, std::ostream* out) { *out << factory.name; }

}  // namespace skein::replicate

#endif  // SKEIN_TESTS_CONFORMANCE_PATHS_UNDER_TEST_H_
