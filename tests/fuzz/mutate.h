// Inputs that are almost well-formed.
#ifndef SKEIN_TESTS_FUZZ_MUTATE_H_
#define SKEIN_TESTS_FUZZ_MUTATE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace skein::fuzz {

// One of `seeds`, changed in one to six places; a function of the generator's state alone, on every machine.
std::string Mutant(const std::vector<std::string>& seeds, std::mt19937_64& random);

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_MUTATE_H_
