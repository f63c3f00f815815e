// What core/replicate/path.h promises, of every kind of path.
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "core/replicate/path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/paths_under_test.h"

namespace skein::replicate {
namespace {

class Seen final : public PathObserver {
 public:
  void OnReadable() override { ++readable; }
  void OnWritable() override { ++writable; }
  int readable = 0;
  int writable = 0;
};

std::string Text(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 12345;
  for (char& letter : text) letter = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

ConstBytes BytesOf(absl::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

class PathConformance : public ::testing::TestWithParam<PathsFactory> {
 protected:
  void SetUp() override {
    paths_ = GetParam().make();
    std::tie(a_, b_) = paths_->MakePair();
    a_->SetObserver(a_sees_);
    b_->SetObserver(b_sees_);
    Pump();
  }
  void TearDown() override {
    a_.reset();
    b_.reset();
    Pump();
  }

  void Pump() {
    while (paths_->Pump()) {
    }
  }
  // All that is there; the status that ended it.
  static std::pair<std::string, absl::Status> ReadAll(Path& path, size_t at_once = 700) {
    std::string text;
    std::string piece(at_once, '\0');
    for (;;) {
      const auto got = path.Read(Bytes(reinterpret_cast<std::byte*>(piece.data()), piece.size()));
      if (!got.ok()) return {text, got.status()};
      if (*got == 0) return {text, absl::OkStatus()};
      text.append(piece, 0, *got);
    }
  }
  // Everything gets there, whatever fits at once.
  std::string Carry(Path& from, Path& to, absl::string_view text) {
    std::string arrived;
    for (int rounds = 0; rounds < 10000 && arrived.size() < text.size(); ++rounds) {
      const ConstBytes parts[] = {BytesOf(text.substr(0, text.size() / 2)), BytesOf(text.substr(text.size() / 2))};
      const ConstBytes rest = BytesOf(text.substr(sent_));
      const absl::StatusOr<size_t> taken = sent_ == 0 ? from.Write(parts) : from.Write({&rest, 1});
      if (!taken.ok()) return taken.status().ToString();
      sent_ += *taken;
      Pump();
      arrived += ReadAll(to).first;
      Pump();
    }
    return arrived;
  }

  std::unique_ptr<PathsUnderTest> paths_;
  std::unique_ptr<Path> a_;
  std::unique_ptr<Path> b_;
  const std::shared_ptr<Seen> a_sees_ = std::make_shared<Seen>();
  const std::shared_ptr<Seen> b_sees_ = std::make_shared<Seen>();
  size_t sent_ = 0;
};

TEST_P(PathConformance, BytesComeInOrderInBothDirections) {
  const std::string text = Text(3 << 20);
  EXPECT_TRUE(Carry(*a_, *b_, text) == text);
  sent_ = 0;
  EXPECT_TRUE(Carry(*b_, *a_, text) == text);
}

TEST_P(PathConformance, NothingThereIsNoError) {
  EXPECT_EQ(ReadAll(*a_), std::make_pair(std::string(), absl::OkStatus()));
}

TEST_P(PathConformance, AReaderThatFoundNothingHearsOfBytes) {
  ReadAll(*b_);
  b_sees_->readable = 0;
  const ConstBytes bytes = BytesOf("something");
  ASSERT_EQ(a_->Write({&bytes, 1}).value(), bytes.size());
  Pump();
  EXPECT_GE(b_sees_->readable, 1);
  EXPECT_EQ(ReadAll(*b_).first, "something");
}

TEST_P(PathConformance, AWriterThatFoundNoSpaceHearsOfIt) {
  const std::string text = Text(1 << 20);
  const ConstBytes bytes = BytesOf(text);
  size_t sent = 0;
  for (size_t taken = 1; taken > 0; sent += taken) {
    taken = a_->Write({&bytes, 1}).value();
    Pump();
  }
  a_sees_->writable = 0;
  size_t arrived = 0;
  for (int rounds = 0; rounds < 10000 && arrived < sent; ++rounds) {
    arrived += ReadAll(*b_, 1 << 20).first.size();
    Pump();
  }
  EXPECT_EQ(arrived, sent);
  EXPECT_GE(a_sees_->writable, 1);
  const ConstBytes more = BytesOf("more");
  EXPECT_EQ(a_->Write({&more, 1}).value(), 4U);
}

TEST_P(PathConformance, TheEndComesBehindTheBytes) {
  const ConstBytes bytes = BytesOf("last words");
  ASSERT_EQ(a_->Write({&bytes, 1}).value(), bytes.size());
  a_->CloseWrite();
  a_->CloseWrite();
  Pump();
  const auto [text, status] = ReadAll(*b_);
  EXPECT_EQ(text, "last words");
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  // The other direction goes on.
  const ConstBytes answer = BytesOf("an answer");
  ASSERT_EQ(b_->Write({&answer, 1}).value(), answer.size());
  Pump();
  EXPECT_EQ(ReadAll(*a_).first, "an answer");
}

TEST_P(PathConformance, AReaderHearsThatTheOtherEndIsGone) {
  ReadAll(*b_);
  b_sees_->readable = 0;
  a_.reset();
  Pump();
  EXPECT_GE(b_sees_->readable, 1);
  const absl::Status status = ReadAll(*b_).second;
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsOutOfRange(status)) << status;
}

TEST_P(PathConformance, AWriterHearsThatTheOtherEndIsGone) {
  a_.reset();
  Pump();
  const ConstBytes bytes = BytesOf("to nobody");
  absl::Status status;
  for (int i = 0; i < 3 && status.ok(); ++i) {
    status = b_->Write({&bytes, 1}).status();
    Pump();
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_FALSE(ReadAll(*b_).second.ok());
}

TEST_P(PathConformance, AnObserverIsKeptNoLongerThanThePath) {
  auto observer = std::make_shared<Seen>();
  const std::weak_ptr<Seen> kept = observer;
  auto [c, d] = paths_->MakePair();
  c->SetObserver(std::move(observer));
  c.reset();
  d.reset();
  Pump();
  EXPECT_TRUE(kept.expired());
}

INSTANTIATE_TEST_SUITE_P(All, PathConformance, EveryPath(), PathsName);

}  // namespace
}  // namespace skein::replicate
