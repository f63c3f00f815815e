// Two ends and the network between them take steps: what comes of every order of the first of these.
#ifndef SKEIN_TESTS_SUPPORT_EVERY_ORDER_H_
#define SKEIN_TESTS_SUPPORT_EVERY_ORDER_H_

namespace skein {

// Makes an Encounter of `habits` for each order of its first eight steps, and then lets all come to rest. Gives in how
// many of them it was not done() at the end; adds to `runs` how many were run. An Encounter has three actors in its
// enum Who (an end, the other, the network), and Step(Who), which is false where that actor has nothing to do.
template <class Encounter, class Habits>
int LossesInEveryOrder(const Habits& habits, int& runs) {
  using Who = typename Encounter::Who;
  constexpr int kActors = 3;
  constexpr int kChosen = 8;
  int losses = 0;
  int total = 1;
  for (int i = 0; i < kChosen; ++i) total *= kActors;
  for (int order = 0; order < total; ++order) {
    Encounter encounter(habits);
    bool distinct = true;
    for (int i = 0, rest = order; distinct && i < kChosen; ++i, rest /= kActors) {
      distinct = encounter.Step(static_cast<Who>(rest % kActors));
    }
    if (!distinct) continue;  // the same as without the step that was none
    ++runs;
    for (int idle = 0; idle < kActors && !encounter.done();) {  // an end that never sleeps never rests
      for (const int who : {1, 2, 0}) idle = encounter.Step(static_cast<Who>(who)) ? 0 : idle + 1;
    }
    losses += encounter.done() ? 0 : 1;
  }
  return losses;
}

}  // namespace skein

#endif  // SKEIN_TESTS_SUPPORT_EVERY_ORDER_H_
