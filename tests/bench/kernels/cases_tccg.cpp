// The benchmark of P. Springer and P. Bientinesi ("Design of a high-performance GEMM-like tensor-tensor
// multiplication", ACM TOMS 44, 2018; repository HPAC/tccg), written down again from the literature: the 48
// contractions as index strings D-A-B. The doubles and triples of ccsd_t follow from their rule (the sd_t_d2 and
// sd_t_d1 kernels of NWChem: every choice of which occupied and which virtual index belongs to the other operand). Less
// certain: the last three of intensli, whose published strings differ between versions in the order of b's indices.
// Extents are ours where the published ones run for longer than a second on one core; the ratio of long to short
// indices is kept, since it decides whether a case is bound by memory.

#include <algorithm>
#include <cmath>

#include "tests/bench/kernels/cases.h"

namespace bench {
namespace {

struct Row {
  const char* group;
  const char* contraction;
  const char* extents;  // label and extent, or one extent for every label
};

const Row rows[] = {
    {"intensli", "abc-bda-dc", "a312 b312 c24 d312"},
    {"intensli", "abc-dca-bd", "a312 b24 c312 d312"},
    {"intensli", "abcd-dbea-ec", "a72 b72 c24 d72 e72"},
    {"intensli", "abcd-deca-be", "a72 b24 c72 d72 e72"},
    {"intensli", "abcd-ebad-ce", "a72 b72 c24 d72 e72"},
    {"intensli", "abcde-efbad-cf", "a48 b32 c24 d32 e48 f32"},
    {"intensli", "abcde-ecbfa-fd", "a48 b32 c32 d24 e48 f32"},
    {"intensli", "abcde-efcad-bf", "a48 b24 c32 d32 e48 f32"},
    {"ao2mo", "abcd-ea-ebcd", "72"},
    {"ao2mo", "abcd-eb-aecd", "72"},
    {"ao2mo", "abcd-ec-abed", "72"},
    {"ccsd", "ab-ac-cb", "a1536 b1536 c1544"},
    {"ccsd", "ab-acd-dbc", "a248 b240 c240 d248"},
    {"ccsd", "ab-cad-dcb", "a248 b240 c240 d248"},
    {"ccsd", "abc-acd-db", "a248 b240 c240 d248"},
    {"ccsd", "abc-ad-bdc", "a248 b248 c240 d240"},
    {"ccsd", "abc-adc-bd", "a248 b248 c240 d240"},
    {"ccsd", "abc-adc-db", "a248 b240 c240 d248"},
    {"ccsd", "abc-adec-ebd", "72"},
    {"ccsd", "abcd-aebf-dfce", "40"},
    {"ccsd", "abcd-aebf-fdec", "40"},
    {"ccsd", "abcd-aecf-bfde", "40"},
    {"ccsd", "abcd-aecf-fbed", "40"},
    {"ccsd", "abcd-aedf-bfce", "40"},
    {"ccsd", "abcd-aedf-fbec", "40"},
    {"ccsd", "abcd-aefb-fdce", "40"},
    {"ccsd", "abcd-aefc-fbed", "40"},
    {"ccsd", "abcd-eafb-fdec", "40"},
    {"ccsd", "abcd-eafc-bfde", "40"},
    {"ccsd", "abcd-eafd-fbec", "40"},
    {"ccsd_t", "abcdef-dega-gfbc", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-degb-gfac", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-degc-gfab", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-dfga-gebc", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-dfgb-geac", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-dfgc-geab", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-efga-gdbc", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-efgb-gdac", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-efgc-gdab", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-gdab-efgc", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-gdac-efgb", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-gdbc-efga", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-geab-dfgc", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-geac-dfgb", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-gebc-dfga", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-gfab-degc", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-gfac-degb", "a24 b16 c16 d24 e16 f16 g24"},
    {"ccsd_t", "abcdef-gfbc-dega", "a24 b16 c16 d24 e16 f16 g24"},
};

/// "a312 b24" or "72" as a map over the labels used.
std::map<char, std::int64_t> parse_extents(const std::string& text, const std::string& labels) {
  std::map<char, std::int64_t> extent;
  if (text[0] >= '0' && text[0] <= '9') {
    for (char l : labels) extent[l] = std::stoll(text);
    return extent;
  }
  for (std::size_t at = 0; at != std::string::npos;) {
    extent[text[at]] = std::stoll(text.substr(at + 1));
    at = text.find(' ', at);
    if (at != std::string::npos) ++at;
  }
  return extent;
}

}  // namespace

std::vector<Case> tccg_cases(Size size) {
  std::vector<Case> cases;
  for (const Row& row : rows) {
    const std::string text = row.contraction;
    const std::size_t first = text.find('-'), second = text.find('-', first + 1);
    Case c;
    c.group = row.group;
    c.name = text;
    c.d = text.substr(0, first);
    c.a = text.substr(first + 1, second - first - 1);
    c.b = text.substr(second + 1);
    c.extent = parse_extents(row.extents, c.d + c.a + c.b);
    // Shrinking keeps long indices long: every extent by the same factor, an even number each.
    const double labels = static_cast<double>(c.extent.size());
    const double factor = size == Size::full ? 1.0 : std::pow(size == Size::quick ? 0.12 : 1e-6, 1.0 / labels);
    for (auto& [label, n] : c.extent)
      if (size != Size::full) n = std::max<std::int64_t>(2, 2 * std::llround(factor * static_cast<double>(n) / 2.0));
    for (const auto& [label, n] : c.extent)
      c.setting += (c.setting.empty() ? "" : " ") + std::string(1, label) + std::to_string(n);
    cases.push_back(c);
  }
  return cases;
}

}  // namespace bench
