// Shapes of SIAL blocks, as the programs of examples/ and the four-index transformations write them: i j k l m
// occupied, a b c d e virtual, p q r s basis functions. Results that a program accumulates into are accumulated into
// here (beta = 1).

#include <algorithm>

#include "tests/bench/kernels/cases.h"

namespace bench {
namespace {

struct Shape {
  const char* group;
  const char* name;
  const char *d, *a, *b;
  double beta;
};

const Shape shapes[] = {
    {"ring", "ring, direct", "aibj", "aidk", "dkbj", 1.0},
    {"ring", "ring, exchanged", "aibj", "aidk", "bkdj", 1.0},
    {"ring", "ring, crossed", "aibj", "akdi", "kbdj", 1.0},
    {"ladder", "particle ladder", "aibj", "acbd", "cidj", 1.0},
    {"ladder", "particle ladder, matrix order", "abij", "abcd", "cdij", 1.0},
    {"ladder", "particle ladder, turned", "cdij", "abcd", "abij", 1.0},
    {"hole", "hole ladder", "aibj", "akbl", "kilj", 1.0},
    {"hole", "integrals over holes", "kilj", "kdle", "diej", 1.0},
    {"transform", "transformation, first index", "aqrs", "pa", "pqrs", 0.0},
    {"transform", "transformation, second index", "pars", "qa", "pqrs", 0.0},
    {"transform", "transformation, third index", "pqas", "ra", "pqrs", 0.0},
    {"transform", "transformation, fourth index", "pqra", "sa", "pqrs", 0.0},
    {"t2*f", "t2*f, virtual", "aibj", "aidj", "bd", 1.0},
    {"t2*f", "t2*f, occupied", "aibj", "aibk", "kj", 1.0},
    {"(T)", "(T), virtual index", "iabckj", "iabe", "ckej", 1.0},
    {"(T)", "(T), virtual index, permuted", "kcabji", "kcae", "bjei", 1.0},
    {"(T)", "(T), occupied index", "jiabck", "jlia", "blck", 1.0},
    {"(T)", "(T) of the example, first", "aibjck", "iabe", "ckej", 1.0},
    {"(T)", "(T) of the example, last", "aibjck", "kcae", "bjei", 1.0},
    {"(T)", "(T) of the example, occupied", "aibjck", "iljb", "alck", 1.0},
    {"outer", "outer product", "aibj", "ai", "bj", 0.0},
    {"outer", "outer product, permuted", "abij", "ai", "bj", 0.0},
    {"vector", "Fock build, Coulomb", "pq", "pqrs", "rs", 1.0},
    {"vector", "Fock build, exchange", "pr", "pqrs", "qs", 1.0},
    {"vector", "singles of doubles", "ai", "aidk", "kd", 1.0},
};

bool is_occupied(char label) { return label >= 'i' && label <= 'm'; }

/// Extents of one column of the table. `occupied` 0: one extent each by the letter.
struct Segments {
  const char* name;
  std::int64_t others, occupied;
};

/// Three lengths that no vector width divides, neighbours differing.
std::int64_t uneven(char label, bool tiny) {
  const bool first = std::string("aeirk").find(label) != std::string::npos,
             second = std::string("bdjpl").find(label) != std::string::npos;
  if (tiny) return first ? 5 : second ? 3 : 2;
  return first ? 13 : second ? 23 : 7;
}

std::vector<Segments> segments_of(Size size) {
  if (size == Size::tiny) return {{"3", 3, 3}, {"2/3/5", 0, 0}, {"1", 1, 1}};
  if (size == Size::quick) return {{"8", 8, 8}, {"25", 25, 25}, {"7/13/23", 0, 0}, {"1", 1, 1}};
  return {{"8", 8, 8},       {"10", 10, 10},  {"16", 16, 16},    {"25", 25, 25},  {"30", 30, 30}, {"40", 40, 40},
          {"57/19", 57, 19}, {"19/5", 19, 5}, {"7/13/23", 0, 0}, {"30/1", 30, 1}, {"1", 1, 1}};
}

Case case_of(const Shape& shape, const Segments& s, bool tiny) {
  Case c;
  c.group = shape.group;
  c.name = shape.name;
  c.setting = s.name;
  c.d = shape.d, c.a = shape.a, c.b = shape.b;
  c.beta = shape.beta;
  const bool six = c.d.size() == 6;
  for (char l : c.d + c.a + c.b)
    // Results of six indices have short occupied segments, or no block of them would fit.
    c.extent[l] = s.others == 0     ? uneven(l, tiny)
                  : !is_occupied(l) ? s.others
                  : six             ? std::min<std::int64_t>(s.occupied, 6)
                                    : s.occupied;
  return c;
}

}  // namespace

std::vector<Case> sial_cases(Size size) {
  std::vector<Case> cases;
  for (const Segments& s : segments_of(size))
    for (const Shape& shape : shapes) cases.push_back(case_of(shape, s, size == Size::tiny));
  return cases;
}

std::vector<Case> sial_cases(const std::vector<std::int64_t>& segments, const std::vector<std::string>& groups) {
  std::vector<Case> cases;
  for (const std::int64_t n : segments)
    for (const Shape& shape : shapes) {
      if (std::find(groups.begin(), groups.end(), shape.group) == groups.end()) continue;
      const std::string name = std::to_string(n);
      cases.push_back(case_of(shape, {name.c_str(), n, n}, false));
    }
  return cases;
}

}  // namespace bench
