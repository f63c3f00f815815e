#include "core/trace/chrome_trace.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/trace/record.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein::trace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kHead[] =
    "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"writer\":\"skein record\",\"form\":1},\"traceEvents\":[\n";

TEST(ChromeTraceTest, WithoutRecordsItIsEmpty) {
  EXPECT_EQ(ChromeTrace({}, MethodTable()), absl::StrCat(kHead, "]}\n"));
}

TEST(ChromeTraceTest, ARecordIsAnEventAndItsIntervalsBelow) {
  MethodTable methods;
  Record record;
  record.method = methods.Intern("/greeter.Greeter/Say");
  record.link = 3;
  record.stream = 9;
  record.bytes = 64;
  record.degree = 2;
  record.id = 18446744073709551615U;
  record.clock_error_ns = 250;
  At(record.times, Stage::kSubmitted) = 1'000'001;
  At(record.times, Stage::kQueued) = 1'000'500;
  At(record.times, Stage::kDelivered) = 1'012'345;
  const std::string arguments =
      R"("args":{"id":"18446744073709551615","kind":"call","method":"/greeter.Greeter/Say","side":"client",)"
      R"("path":"shm","stream":9,"bytes":64,"degree":2,"clock_error_ns":250)";
  EXPECT_EQ(
      ChromeTrace({record}, methods),
      kHead +
          std::string(
              R"({"ph":"X","name":"/greeter.Greeter/Say","cat":"call","pid":1,"tid":0,"ts":1000.001,"dur":12.344,)") +
          arguments + R"(,"stages":{"submitted":1000001,"queued":1000500,"delivered":1012345}}},)" + "\n" +
          R"({"ph":"X","name":"framework, client","cat":"software","pid":1,"tid":0,"ts":1000.001,"dur":0.499,)" +
          arguments + "}},\n" +
          R"({"ph":"X","name":"queued to delivered","cat":"mixed","pid":1,"tid":0,"ts":1000.500,"dur":11.845,)" +
          arguments + "}},\n" + R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"client, shm link 3"}})" +
          "\n]}\n");
}

TEST(ChromeTraceTest, RecordsThatOverlapAreOnLanesOfTheirOwn) {
  const MethodTable methods;
  std::vector<Record> records = {CompleteCall(kNoMethod, 50'000), CompleteCall(kNoMethod, 5000),
                                 CompleteCall(kNoMethod, 10'000)};  // 11 us each, in no order
  const std::vector<std::string> lines = absl::StrSplit(ChromeTrace(records, methods), '\n');
  EXPECT_THAT(lines, Contains(HasSubstr(R"("name":"call","cat":"call","pid":1,"tid":0,"ts":5.000)")));
  EXPECT_THAT(lines, Contains(HasSubstr(R"("name":"call","cat":"call","pid":1,"tid":1,"ts":10.000)")));
  EXPECT_THAT(lines, Contains(HasSubstr(R"("name":"call","cat":"call","pid":1,"tid":0,"ts":50.000)")));
}

TEST(ChromeTraceTest, LinksAndSidesAreApart) {
  const MethodTable methods;
  std::vector<Record> records(3, CompleteCall(kNoMethod, 5000));
  records[1].link = 1;
  records[2].side = Side::kServer;
  const std::string json = ChromeTrace(records, methods);
  EXPECT_THAT(json, HasSubstr(R"("pid":2,"args":{"name":"client, shm link 1"})"));
  EXPECT_THAT(json, HasSubstr(R"("pid":3,"args":{"name":"server, shm link 0"})"));
}

TEST(ChromeTraceTest, PersistingIsBesideTheCall) {
  Record record = CompleteCall(kNoMethod, 5000);
  At(record.times, Stage::kPersisted) = 90'000;
  EXPECT_THAT(ChromeTrace({record}, MethodTable()),
              HasSubstr(R"("name":"submitted to persisted","cat":"call","pid":1,"tid":1,"ts":5.000,"dur":85.000)"));
}

}  // namespace
}  // namespace skein::trace
