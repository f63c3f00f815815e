#include "core/schedule/credits.h"

#include <set>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/support/seeds.h"

namespace skein::schedule {
namespace {

constexpr auto kData = Credits::Use::kData;
constexpr auto kControl = Credits::Use::kControl;

// Sends until no more of that use may go; returns how many went.
int SendAll(Credits& credits, Credits::Use use) {
  int sent = 0;
  for (; credits.CanSend(use); ++sent) credits.OnSent();
  return sent;
}

// How many messages may go in all.
uint32_t Balance(Credits credits) { return static_cast<uint32_t>(SendAll(credits, kControl)); }

TEST(CreditsTest, ThereAreCOfThemToBeginWith) {
  Credits credits(kDefaultCredits, /*active=*/true);
  EXPECT_EQ(SendAll(credits, kData), 32);
}

TEST(CreditsTest, RenewalIsDueAtHalfAndOnce) {
  Credits credits(kDefaultCredits, /*active=*/true);
  for (int i = 0; i < 15; ++i) credits.OnSent();
  EXPECT_FALSE(credits.renewal_due());
  credits.OnSent();
  EXPECT_TRUE(credits.renewal_due());
  credits.OnAsked();
  EXPECT_FALSE(credits.renewal_due());
  EXPECT_EQ(SendAll(credits, kData), 16);
  EXPECT_FALSE(credits.renewal_due()) << "asked already";
}

TEST(CreditsTest, AGrantBringsCMore) {
  Credits credits(kDefaultCredits, /*active=*/true);
  for (int i = 0; i < 16; ++i) credits.OnSent();
  credits.OnAsked();
  ASSERT_TRUE(credits.OnAnswer(true).ok());
  EXPECT_FALSE(credits.renewal_due());
  EXPECT_EQ(SendAll(credits, kData), 48);
}

TEST(CreditsTest, SmallCreditsWork) {
  Credits one(1, /*active=*/true);
  EXPECT_FALSE(one.renewal_due());
  EXPECT_EQ(SendAll(one, kData), 1);
  EXPECT_TRUE(one.renewal_due());
  Credits none(0, /*active=*/true);  // what a peer may say
  EXPECT_EQ(SendAll(none, kData), 0);
  Credits most(UINT16_MAX, /*active=*/true);
  EXPECT_EQ(SendAll(most, kData), UINT16_MAX);
}

TEST(CreditsTest, DeclinedWhatIsLeftIsUsedUp) {
  Credits credits(kDefaultCredits, /*active=*/true);
  for (int i = 0; i < 16; ++i) credits.OnSent();
  credits.OnAsked();
  ASSERT_TRUE(credits.OnAnswer(false).ok());
  EXPECT_FALSE(credits.active());
  EXPECT_EQ(SendAll(credits, kData), 16);
  EXPECT_FALSE(credits.renewal_due()) << "only control may need one";
  EXPECT_TRUE(credits.CanSend(kControl));
  ASSERT_TRUE(credits.OnActivated().ok());
  EXPECT_TRUE(credits.active());
  EXPECT_EQ(SendAll(credits, kData), 32);
}

TEST(CreditsTest, ControlHasAReserveThatDataLeavesAlone) {
  Credits credits(kDefaultCredits, /*active=*/true);
  SendAll(credits, kData);
  EXPECT_EQ(SendAll(credits, kControl), 8);
  EXPECT_FALSE(credits.CanSend(kControl));
  credits.OnSent();
  EXPECT_FALSE(credits.CanSend(kControl)) << "never below";
}

TEST(CreditsTest, ADeclineRestoresTheReserveAgainAndAgain) {
  Credits credits(kDefaultCredits, /*active=*/false);
  for (int round = 0; round < 5; ++round) {
    EXPECT_FALSE(credits.CanSend(kData));
    EXPECT_EQ(SendAll(credits, kControl), 8);
    ASSERT_TRUE(credits.renewal_due());
    credits.OnAsked();
    ASSERT_TRUE(credits.OnAnswer(false).ok());
  }
}

TEST(CreditsTest, WhatNobodyAskedForIsAnError) {
  Credits credits(kDefaultCredits, /*active=*/true);
  EXPECT_TRUE(absl::IsDataLoss(credits.OnAnswer(true)));
  EXPECT_TRUE(absl::IsDataLoss(credits.OnAnswer(false)));
  EXPECT_TRUE(absl::IsDataLoss(credits.OnActivated()));
  credits.OnAsked();
  EXPECT_TRUE(credits.OnAnswer(true).ok());
  EXPECT_TRUE(absl::IsDataLoss(credits.OnAnswer(true))) << "one answer each";
}

// The activation was on its way when control asked: both bring credits, and the bound holds.
TEST(CreditsTest, ActivatedWhileAsking) {
  Credits credits(kDefaultCredits, /*active=*/false);
  for (int i = 0; i < 4; ++i) credits.OnSent();
  ASSERT_TRUE(credits.renewal_due());
  credits.OnAsked();
  ASSERT_TRUE(credits.OnActivated().ok());
  ASSERT_TRUE(credits.OnAnswer(true).ok());
  EXPECT_EQ(Balance(credits), 2 * 32 + 8u);
}

// Whatever has followed each other is told at once as well; and nothing that has not.
TEST(CreditsTest, ToldOfSeveralAtOnce) {
  enum Event : char { kGrant = 'g', kDecline = 'd', kActivate = 'a' };
  struct Told {
    int answers = 0;
    int refills = 0;
    bool active = false;
    auto operator<=>(const Told&) const = default;
  };
  for (const bool was_active : {true, false}) {
    for (const bool asked : {true, false}) {
      const auto begin = [&] {
        Credits credits(kDefaultCredits, was_active);
        for (int i = 0; i < 20; ++i) credits.OnSent();
        if (asked) credits.OnAsked();
        return credits;
      };
      std::set<Told> possible = {{0, 0, was_active}};
      for (const absl::string_view events : {"g", "d", "a", "da", "ag", "ad", "ada", "dag", "aa", "gg", "dd", "gd"}) {
        Credits one_by_one = begin();
        Told told{0, 0, was_active};
        bool honest = true;
        for (const char event : events) {
          honest =
              honest && (event == kActivate ? one_by_one.OnActivated() : one_by_one.OnAnswer(event == kGrant)).ok();
          told.answers += event == kActivate ? 0 : 1;
          told.refills += event == kDecline ? 0 : 1;
          told.active = event != kDecline;
        }
        if (!honest) continue;
        possible.insert(told);
        Credits at_once = begin();
        ASSERT_TRUE(at_once.OnTold(told.answers, told.refills, told.active).ok()) << events;
        EXPECT_EQ(Balance(at_once), Balance(one_by_one)) << events;
        EXPECT_EQ(at_once.active(), one_by_one.active()) << events;
        EXPECT_EQ(at_once.renewal_due(), one_by_one.renewal_due()) << events;
      }
      for (int answers = 0; answers < 4; ++answers) {
        for (int refills = 0; refills < 5; ++refills) {
          for (const bool active : {true, false}) {
            Credits credits = begin();
            const uint32_t before = Balance(credits);
            const bool taken = credits.OnTold(answers, refills, active).ok();
            EXPECT_EQ(taken, possible.contains({answers, refills, active}))
                << answers << " answers, " << refills << " refills, " << active << " after " << was_active << asked;
            if (!taken) {
              EXPECT_EQ(Balance(credits), before);
            }
          }
        }
      }
    }
  }
}

// A sender in any order of events: the bounds hold, and while the receiver answers, control always gets on.
TEST(CreditsTest, AnyHistoryKeepsThePromises) {
  ForEachSeed([](std::mt19937_64& random) {
    const auto c = static_cast<uint16_t>(1 + Draw(random, 99));
    Credits credits(c, Draw(random, 1) == 0);
    bool asked = false;
    uint64_t data_sent = 0;
    uint64_t data_given = credits.active() ? c : 0;
    for (int step = 0; step < 3000; ++step) {
      const uint64_t what = Draw(random, 9);
      if (what < 5 && credits.CanSend(kData)) {
        credits.OnSent();
        ++data_sent;
      } else if (what < 7 && credits.CanSend(kControl)) {
        credits.OnSent();
      } else if (what == 7 && credits.renewal_due()) {
        ASSERT_FALSE(asked);
        credits.OnAsked();
        asked = true;
      } else if (what == 8 && asked) {
        const bool granted = Draw(random, 1) == 0;
        ASSERT_TRUE(credits.OnAnswer(granted).ok());
        ASSERT_GE(Balance(credits), kReservedCredits);
        data_given += granted ? c : 0;
        asked = false;
      } else if (what == 9 && !credits.active()) {
        ASSERT_TRUE(credits.OnActivated().ok());
        data_given += c;
      }
      ASSERT_LE(Balance(credits), 2 * uint32_t{c} + kReservedCredits);
      ASSERT_LE(data_sent, data_given);
      ASSERT_TRUE(credits.CanSend(kControl) || asked || credits.renewal_due()) << "control waits for nothing";
      ASSERT_TRUE(credits.CanSend(kData) || !credits.active() || asked || credits.renewal_due());
    }
  });
}

}  // namespace
}  // namespace skein::schedule
