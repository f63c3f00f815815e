#include "core/trace/chrome_trace.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/trace/record.h"
#include "core/trace/recording.h"
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
  EXPECT_EQ(
      ChromeTrace({record}, methods),
      kHead +
          std::string(
              R"({"ph":"B","name":"/greeter.Greeter/Say","pid":1,"tid":0,"ts":1000.001,"cat":"call",)"
              R"("args":{"id":"18446744073709551615","kind":"call","method":"/greeter.Greeter/Say","side":"client",)"
              R"("path":"shm","stream":9,"bytes":64,"degree":2,"clock_error_ns":250,)"
              R"("stages":{"submitted":1000001,"queued":1000500,"delivered":1012345}}},
{"ph":"B","name":"framework, client","pid":1,"tid":0,"ts":1000.001,"cat":"software"},
{"ph":"E","name":"framework, client","pid":1,"tid":0,"ts":1000.500},
{"ph":"B","name":"queued to delivered","pid":1,"tid":0,"ts":1000.500,"cat":"mixed"},
{"ph":"E","name":"queued to delivered","pid":1,"tid":0,"ts":1012.345},
{"ph":"E","name":"/greeter.Greeter/Say","pid":1,"tid":0,"ts":1012.345},
{"ph":"M","name":"process_name","pid":1,"args":{"name":"client, shm link 3"}}
]}
)"));
}

// Names are cut, and their bytes escaped; events are as long as they get.
TEST(ChromeTraceTest, AWholeRecordingIsTakenByWhoAsksForIt) {
  MethodTable methods;
  const uint32_t longest = methods.Intern(std::string(10'000, '\xff'));
  std::vector<Record> records(100, CompleteCall(longest, UINT64_MAX / 2));
  for (Record& record : records) {
    record.times.fill(UINT64_MAX / 2);
    record.side = Side::kServer;
    record.degree = UINT16_MAX;
    record.link = record.stream = record.bytes = UINT32_MAX;
    record.clock_error_ns = INT64_MIN;
    for (size_t stage = 0; stage < record.times.size(); ++stage) record.times[stage] += stage;
  }
  const size_t each = ChromeTrace(records, methods).size() / records.size();
  EXPECT_LT(each * Recording::kMost, kMostTraceBytes) << each;
}

TEST(ChromeTraceTest, RecordsThatOverlapAreOnLanesOfTheirOwn) {
  const MethodTable methods;
  std::vector<Record> records = {CompleteCall(kNoMethod, 50'000), CompleteCall(kNoMethod, 5000),
                                 CompleteCall(kNoMethod, 10'000)};  // 11 us each, in no order
  const std::vector<std::string> lines = absl::StrSplit(ChromeTrace(records, methods), '\n');
  EXPECT_THAT(lines, Contains(HasSubstr(R"({"ph":"B","name":"call","pid":1,"tid":0,"ts":5.000)")));
  EXPECT_THAT(lines, Contains(HasSubstr(R"({"ph":"B","name":"call","pid":1,"tid":1,"ts":10.000)")));
  EXPECT_THAT(lines, Contains(HasSubstr(R"({"ph":"B","name":"call","pid":1,"tid":0,"ts":50.000)")));
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
  const std::string json = ChromeTrace({record}, MethodTable());
  EXPECT_THAT(json, HasSubstr(R"({"ph":"B","name":"submitted to persisted","pid":1,"tid":1,"ts":5.000)"));
  EXPECT_THAT(json, HasSubstr(R"({"ph":"E","name":"submitted to persisted","pid":1,"tid":1,"ts":90.000})"));
}

}  // namespace
}  // namespace skein::trace
