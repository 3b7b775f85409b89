// Any byte string becomes a valid module or is refused with one SialError. Damages good modules in a few hundred
// thousand seeded ways; under the address and undefined-behaviour sanitizers this also shows that reading never leaves
// the buffer. SIALX_MUTATIONS and SIALX_SEED set the number of mutants and the first seed; the run stops after
// SIALX_SECONDS.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>

#include "runtime/core/base/error.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/write.h"
#include "sample.h"

using namespace sial;

namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937_64;

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); }

void overwrite_int(Bytes& b, Random& random) {
  if (b.size() < 4) return;
  static constexpr std::int32_t values[] = {0,
                                            1,
                                            2,
                                            3,
                                            5,
                                            -1,
                                            -2,
                                            100,
                                            255,
                                            65536,
                                            std::numeric_limits<std::int32_t>::max(),
                                            std::numeric_limits<std::int32_t>::min()};
  const std::size_t at = below(random, b.size() / 4) * 4;
  std::int32_t value = 0;
  std::memcpy(&value, &b[at], 4);
  switch (below(random, 3)) {
    case 0: value = values[below(random, std::size(values))]; break;
    case 1: value = static_cast<std::int32_t>(below(random, 128)); break;
    default:
      value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) +
                                        static_cast<std::uint32_t>(below(random, 9)) - 4);
      break;
  }
  std::memcpy(&b[at], &value, 4);
}

void mutate(Bytes& b, const Bytes& donor, Random& random) {
  switch (below(random, 8)) {
    case 0:
      if (!b.empty()) b[below(random, b.size())] ^= static_cast<std::byte>(1u << below(random, 8));
      break;
    case 1:
      if (!b.empty()) b[below(random, b.size())] = static_cast<std::byte>(random());
      break;
    case 2: b.resize(below(random, b.size() + 1)); break;
    case 3: {  // splice: a piece of the other module over a piece of this one
      const std::size_t n = std::min({below(random, 64) + 1, b.size(), donor.size()});
      std::memcpy(b.data() + below(random, b.size() - n + 1), donor.data() + below(random, donor.size() - n + 1), n);
      break;
    }
    case 4: {  // a piece moves, everything after it shifts
      const std::size_t n = std::min(below(random, 16) + 1, b.size());
      const auto at = b.begin() + static_cast<std::ptrdiff_t>(below(random, b.size() - n + 1));
      b.erase(at, at + static_cast<std::ptrdiff_t>(n));
      break;
    }
    default: overwrite_int(b, random); break;
  }
}

}  // namespace

TEST_CASE("mutated modules") {
  const std::vector<Bytes> seeds = {write_module(test::sample_module()), write_module(test::empty_module())};
  const std::uint64_t count = setting("SIALX_MUTATIONS", 300000), first = setting("SIALX_SEED", 1);
  const auto limit = std::chrono::seconds(setting("SIALX_SECONDS", 30));
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t accepted = 0, done = 0;
  for (; done < count; ++done) {
    if (done % 1024 == 0 && std::chrono::steady_clock::now() - start > limit) break;
    const std::uint64_t seed = first + done;
    Random random(seed);
    Bytes bytes = seeds[done % seeds.size()];
    for (std::size_t n = below(random, 3) + 1; n > 0; --n) mutate(bytes, seeds[below(random, seeds.size())], random);
    bool good = true;
    std::string problem;
    try {
      const Module m = read_module(bytes, "mutant");
      ++accepted;
      const Bytes again = write_module(m);
      // Compared as bytes: a mutated literal may be a NaN, which equals nothing.
      good = write_module(read_module(again, "mutant")) == again && !disassemble(m).empty();
      if (!good) problem = "an accepted module does not survive writing and reading";
    } catch (const EnvironmentError& e) {
      good = false;
      problem = e.what();
    } catch (const SialError& e) { good = std::strlen(e.what()) > 0; } catch (const std::exception& e) {
      good = false;
      problem = e.what();
    }
    if (!good) FAIL("seed " << seed << ": " << problem);
  }
  std::cout << "mutants " << done << ", seeds from " << first << ", accepted " << accepted << '\n';
  CHECK(done > 0);
  CHECK(accepted < done);
}
