#include "core/trace/method_table.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein::trace {
namespace {

TEST(MethodTableTest, ANameHasOneNumberAndANumberItsName) {
  MethodTable table;
  const uint32_t say = table.Intern("/greeter.Greeter/Say");
  const uint32_t ask = table.Intern("/greeter.Greeter/Ask");
  EXPECT_NE(say, ask);
  EXPECT_EQ(table.Intern("/greeter.Greeter/Say"), say);
  EXPECT_EQ(table.Name(say), "/greeter.Greeter/Say");
  EXPECT_EQ(table.Name(ask), "/greeter.Greeter/Ask");
}

TEST(MethodTableTest, AnyBytesAreAName) {
  MethodTable table;
  const std::string bytes("\0\xff\"\n", 4);
  EXPECT_EQ(table.Name(table.Intern(bytes)), bytes);
}

TEST(MethodTableTest, NoMethodAndOthersHaveNumbersFromTheStart) {
  MethodTable table;
  EXPECT_EQ(table.Intern(""), kNoMethod);
  EXPECT_EQ(table.Name(kNoMethod), "");
  EXPECT_EQ(table.Intern("other"), kOtherMethods);
  EXPECT_EQ(table.Name(UINT32_MAX), "other");
  EXPECT_EQ(table.Name(kOtherMethods + 1), "other");
}

TEST(MethodTableTest, APeerThatNamesMoreThanThereIsSpaceForFillsNoMemory) {
  MethodTable table;
  const uint32_t before = table.Intern("before");
  for (int i = 0; i < 100'000; ++i) {
    EXPECT_LT(table.Intern(absl::StrCat(i)), MethodTable::kMostMethods);
  }
  EXPECT_EQ(table.Intern("after"), kOtherMethods);
  EXPECT_EQ(table.Intern("before"), before);
}

TEST(MethodTableTest, LongNamesAreCut) {
  MethodTable table;
  const std::string name(MethodTable::kMostBytes, 'a');
  const uint32_t number = table.Intern(name);
  EXPECT_EQ(table.Intern(name + "b"), number);
  EXPECT_EQ(table.Name(number), name);
}

TEST(MethodTableTest, NamesAreReadWhileOthersCome) {
  MethodTable table;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&table] {
      for (int i = 0; i < 2000; ++i) {
        const uint32_t number = table.Intern(absl::StrCat(i));
        EXPECT_EQ(table.Name(number), number == kOtherMethods ? "other" : absl::StrCat(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace skein::trace
