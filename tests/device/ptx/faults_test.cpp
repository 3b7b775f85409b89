// Faults injected into the PTX as a faulty generator would write it, and into launches as a faulty planner would: each
// is noticed, by an error of the interpreter or by a wrong number, within some hundred cases.

#include <regex>

#include "tests/device/ptx/kernel_cases.h"

using namespace ptx;

namespace {

struct Fault {
  std::string name, pattern, replacement;  // of one place in the text
  int which = 0;                           // of the places that match, -1: the last
};

/// `changed` is set when the text has such a place.
std::string with_fault(const std::string& text, const Fault& fault, bool& changed) {
  const std::regex pattern(fault.pattern);
  std::vector<std::smatch> found(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
  const std::size_t which = fault.which < 0 ? found.size() - 1 : static_cast<std::size_t>(fault.which);
  if (found.empty() || which >= found.size()) return text;
  changed = true;
  const std::smatch& m = found[which];
  return text.substr(0, static_cast<std::size_t>(m.position())) + m.format(fault.replacement) +
         text.substr(static_cast<std::size_t>(m.position() + m.length()));
}

/// The first thing that is noticed; empty: nothing is.
std::string noticed(Runner& ptx, HostFallbacks& fallbacks) {
  try {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
      if (std::string p = chain_problem(7 * seed, &forms()[seed % forms().size()], 3000, ptx); !p.empty()) return p;
      if (seed % 3 == 0)
        if (std::string p = batch_problem(seed + 1, ptx); !p.empty()) return p;
      if (seed % 5 == 0)
        if (std::string p = dot_problem(seed, ptx, fallbacks); !p.empty()) return p;
    }
  } catch (const ptx::Error& e) { return e.what(); }
  return {};
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"a dropped barrier", R"(\tbar\.sync \t0;\n)", "", 0},
      {"a dropped barrier, the last one", R"(\tbar\.sync \t0;\n)", "", -1},
      {"a missing guard of a store", R"(\t@%p\d+ bra \t\S+;\n((?:(?!\t(?:@\S+ )?bra|\$L)[^\n]*\n){0,12}?\tst\.global))",
       "$1", 0},
      {"a guard the wrong way round",
       R"(\t@(%p\d+ bra \t\S+;\n(?:(?!\t(?:@\S+ )?bra|\$L)[^\n]*\n){0,12}?\tst\.global))", "\t@!$1", 0},
      {"a missing guard of a store to shared memory",
       R"(\t@%p\d+ bra \t\S+;\n((?:(?!\t(?:@\S+ )?bra|\$L)[^\n]*\n){0,12}?\tst\.shared))", "$1", -1},
      {"a bound that is off by one", R"(setp\.ge\.u32)", "setp.gt.u32", -1},
      {"a loop that goes once too often", R"(setp\.lt\.u32)", "setp.le.u32", -1},
      {"a loop's condition the wrong way round", R"(setp\.lt\.u32(?=[^\n]*\n\t@%p\d+ bra))", "setp.gt.u32", -1},
      {"a loop's step that is dropped", R"(add\.s32 (\t%r\d+, %r\d+), %r\d+(;\n(?:\tadd[^\n]*\n)*\tsetp\.lt))",
       "add.s32 $1, 0$2", -1},
      {"elements of four bytes", R"((mul\.wide\.u32 \t%rd\d+, %r\d+), 8;)", "$1, 4;", -1},
      {"elements of sixteen bytes", R"((mul\.wide\.u32 \t%rd\d+, %r\d+), 8;)", "$1, 16;", -1},
      {"the lower half of a product in a division", R"(mul\.hi\.u32)", "mul.lo.s32", 0},
      {"a quotient that is not shifted", R"(shr\.u32 (\t%r\d+), (%r\d+), %r\d+;)", "mov.u32 $1, $2;", 0},
      {"a remainder of the wrong sign", R"(sub\.s32)", "add.s32", 0},
      {"a difference instead of a sum", R"(add\.rn\.f64)", "sub.rn.f64", 0},
      {"a product instead of a quotient", R"(div\.rn\.f64)", "mul.rn.f64", 0},
      {"operands of a difference in the wrong order", R"(sub\.rn\.f64 (\t%fd\d+), (%fd\d+), (%fd\d+);)",
       "sub.rn.f64 $1, $3, $2;", 0},
      {"a product and a sum that are fused",
       R"(mul\.rn\.f64 \t(%fd\d+), (%fd\d+), (%fd\d+);\n((?:[^\n]*\n){0,6}?)\tadd\.rn\.f64 \t(%fd\d+), (%fd\d+), \1;)",
       "mov.f64 \t$1, $2;\n$4\tfma.rn.f64 \t$5, $2, $3, $6;", 0},
      {"a store that is dropped", R"(\tst\.global[^\n]*\n)", "", 0},
      {"a store to shared memory that is dropped", R"(\tst\.shared[^\n]*\n)", "", 0},
      {"a store of the wrong half", R"(st\.global\.v2\.f64 (\t\[%rd\d+\]), \{(%fd\d+), (%fd\d+)\};)",
       "st.global.v2.f64 $1, {$3, $2};", 0},
      {"a pair that is not aligned", R"((st\.global\.v2\.f64 \t\[%rd\d+)\])", "$1+8]", 0},
      {"a target that is read as unchanging", R"(ld\.global\.f64)", "ld.global.nc.f64", 0},
      {"the block's number for the thread's", R"(%tid\.x)", "%ctaid.x", 0},
      {"the number of threads for that of the block", R"(%ctaid\.x)", "%ntid.x", 0},
      {"a border that is not kept to", R"(min\.u32 (\t%r\d+), (%r\d+), %r\d+;)", "mov.u32 $1, $2;", -1},
      {"an element that does not exist", R"(selp\.b32 (\t%r\d+), (%r\d+), [^,\n]*, %p\d+;)", "mov.u32 $1, $2;", 0},
      {"a stride that is swapped for another",
       R"((ld\.param\.u32 \t%r\d+), (\[\S+\]);\n\tld\.param\.u32 (\t%r\d+), (\[\S+\]);)",
       "$1, $4;\n\tld.param.u32 $3, $2;", -1},
      {"a wrong sum of an address", R"(mad\.lo\.s32 (\t%r\d+, %r\d+, %r\d+), %r\d+;)", "mul.lo.s32 $1;", 0},
      {"an address that lacks an offset", R"(mad\.lo\.s32 (\t%r\d+, %r\d+, %r\d+), %r\d+;)", "mul.lo.s32 $1;", -1},
      {"a register that nobody writes", R"(\tmov\.u32 \t%r\d+, %ntid\.x;\n)", "", 0},
      {"both conditions become one of them", R"(and\.pred)", "or.pred", 0},
  };
  return all;
}

}  // namespace

TEST_CASE("faults injected into the text are noticed") {
  if (!why_no_device_code().empty()) return;
  const std::shared_ptr<DeviceCodeSource> source = make_device_code_source(8, 0, "");
  HostFallbacks fallbacks;
  {
    Runner right(source);
    REQUIRE(noticed(right, fallbacks) == "");
  }
  int injected = 0;
  for (const Fault& fault : faults()) {
    CAPTURE(fault.name);
    Runner ptx(source);
    int places = 0;
    ptx.edit = [&](const std::string& text) {
      bool changed = false;
      const std::string result = with_fault(text, fault, changed);
      places += changed ? 1 : 0;
      return result;
    };
    const std::string found = noticed(ptx, fallbacks);
    CHECK(places > 0);
    CHECK(found != "");
    std::printf("%-50s %s\n", fault.name.c_str(), found.substr(0, 160).c_str());
    ++injected;
  }
  CHECK(injected >= 20);
}

TEST_CASE("faults injected into launches are noticed") {
  if (!why_no_device_code().empty()) return;
  const std::shared_ptr<DeviceCodeSource> source = make_device_code_source(8, 0, "");
  HostFallbacks fallbacks;
  const std::pair<const char*, std::function<void(DeviceLaunch&)>> wrong[] = {
      {"a block too few", [](DeviceLaunch& l) { l.blocks = l.blocks > 1 ? l.blocks - 1 : 1; }},
      {"shared memory for one number too few", [](DeviceLaunch& l) { l.shared_bytes -= l.shared_bytes > 0 ? 8 : 0; }},
      {"no shared memory", [](DeviceLaunch& l) { l.shared_bytes = 0; }},
      {"arguments that are too short", [](DeviceLaunch& l) { l.arguments.resize(l.arguments.size() - 8); }},
      {"too many threads", [](DeviceLaunch& l) { l.threads *= 8; }},
      {"an address without its last bits",
       [](DeviceLaunch& l) {
         l.arguments[0] = static_cast<std::byte>(std::to_integer<unsigned>(l.arguments[0]) ^ 4u);
       }},
      {"a null target", [](DeviceLaunch& l) { std::fill_n(l.arguments.begin(), 8, std::byte{0}); }},
  };
  for (const auto& [name, edit] : wrong) {
    CAPTURE(name);
    Runner ptx(source);
    ptx.edit_launch = edit;
    CHECK(noticed(ptx, fallbacks) != "");
  }
}

namespace {

/// One line of a text, changed as a generator might get it wrong; empty: this way does not concern it.
std::string changed_line(const std::string& line, const std::string& before, int way) {
  const auto with = [&](const char* pattern, const char* replacement) {
    const std::string result = std::regex_replace(line, std::regex(pattern), replacement);
    return result == line ? std::string() : result;
  };
  switch (way) {
    case 0: return with(R"(setp\.(l|g)t\.)", "setp.$1e.");
    case 1: return with(R"(setp\.(l|g)e\.)", "setp.$1t.");
    case 2: return with(R"(^\t@(%p\d+ bra))", "\t@!$1");
    case 3: return with(R"(^\t@%p\d+ bra.*)", "\t");
    case 4: return with(R"(^\tbar\.sync.*)", "\t");
    case 5: return with(R"(^\tst\..*)", "\t");
    case 6: return with(R"(((?:add|sub)\.s\d\d \t\S+, \S+), \S+;)", "$1, 0;");
    case 7: return with(R"(mad\.lo\.s32 (\t\S+, \S+, \S+), \S+;)", "mul.lo.s32 $1;");
    case 8: return with(R"(mul\.(lo\.s32|hi\.u32) (\t\S+), (\S+), \S+;)", "mov.u32 $2, $3;");
    case 9: return with(R"(selp\.b32 (\t\S+), (\S+), \S+, \S+;)", "mov.u32 $1, $2;");
    case 10: return with(R"((?:min|shr)\.u32 (\t\S+), (\S+), \S+;)", "mov.u32 $1, $2;");
    case 11: return with(R"(and\.pred (\t\S+), (\S+), \S+;)", "mov.pred $1, $2;");
    case 12: return with(R"((add|sub|mul)\.rn\.f64 (\t\S+), (\S+), \S+;)", "mov.f64 $2, $3;");
    default: {  // the parameter that is read before instead of this one
      std::smatch here, there;
      const std::regex parameter(R"(^(\tld\.param\.(?:u32|u64|f64) \t\S+, )(\[.*\]);)");
      if (!std::regex_search(line, here, parameter) || !std::regex_search(before, there, parameter)) return {};
      return here[1].str() + there[2].str() + ";";
    }
  }
}
constexpr int ways = 14;

}  // namespace

TEST_CASE("most changes of single instructions are noticed") {
  if (!why_no_device_code().empty()) return;
  const std::shared_ptr<DeviceCodeSource> source = make_device_code_source(8, 0, "");
  HostFallbacks fallbacks;
  // Kernels that one launch of several cases consists of.
  using Case = std::function<std::string(Runner&)>;
  std::map<CodeKey, std::vector<Case>> cases;
  constexpr std::size_t max_cases = 6, min_of_box = 3, kernels = 12;
  const auto add = [&](const std::vector<DeviceLaunch>& launches, Case run) {
    if (launches.size() != 1 || launches[0].blocks * launches[0].threads < 64) return;
    auto& list = cases[launches[0].key];
    if (list.size() < max_cases) list.push_back(std::move(run));
  };
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const Form* form = &forms()[seed % forms().size()];
    ChainCase chain(7 * seed, form, 3000);
    if (chain.setting.volume > 0 && !chain.steps.empty())
      add(plan_device_fused(chain.target.view, chain.steps, limits_of(7 * seed)),
          [seed, form](Runner& r) { return chain_problem(7 * seed, form, 3000, r); });
  }
  std::map<std::string, std::pair<int, int>> kinds;  // of instructions: changes, noticed
  int all = 0, seen = 0;
  std::size_t taken = 0, boxes = 0;
  for (const auto& [key, runs] : cases) {
    DeviceFusedCode code;
    REQUIRE(read_device_fused_key(key, code));
    if (runs.size() < (code.box_dims > 0 ? min_of_box : max_cases) || taken == kernels ||
        (code.box_dims == 0 && taken - boxes == kernels / 2))
      continue;
    ++taken;
    boxes += code.box_dims > 0 ? 1 : 0;
    Runner plain(source);
    for (const Case& run : runs) REQUIRE(run(plain) == "");
    const Program& program = plain.kernel(key).program;
    for (std::size_t k = 0; k < program.ops.size(); ++k) {
      if (plain.kernel(key).machine->executed()[k] == 0) continue;
      const auto at = static_cast<std::size_t>(program.ops[k].line) - 1;
      for (int way = 0; way < ways; ++way) {
        // Blank space in front is not kept.
        const std::string line = changed_line("\t" + program.lines[at], "\t" + program.lines[at - 1], way);
        if (line.empty()) continue;
        Runner changed(source);
        changed.max_steps = 20000;
        changed.edit = [&](const std::string&) {
          std::string result;
          for (std::size_t l = 0; l < program.lines.size(); ++l) result += (l == at ? line : program.lines[l]) + "\n";
          return result;
        };
        bool noticed = false;
        try {
          for (const Case& run : runs) noticed = noticed || !run(changed).empty();
        } catch (const ptx::Error&) { noticed = true; }
        ++all;
        seen += noticed ? 1 : 0;
        const std::string& was = program.lines[at];
        auto& [n, found] = kinds[was.front() == '@' ? "bra" : was.substr(0, was.find_first_of(" \t"))];
        ++n;
        found += noticed ? 1 : 0;
        if (!noticed && std::getenv("PTX_FAULTS_VERBOSE"))
          std::printf("%s line %zu `%s` became `%s`\n", code_name(key).c_str(), at + 1, program.lines[at].c_str(),
                      line.c_str());
      }
    }
  }
  for (const auto& [name, count] : kinds)
    std::printf("%-16s %5d changes, %5d noticed\n", name.c_str(), count.first, count.second);
  std::printf("%d of %d changes noticed, in %zu kernels\n", seen, all, taken);
  CHECK(all > 300);
  CHECK(boxes > 2);
  // The others change nothing: what is read in vain, bounds that are never met exactly, strides and quotients of one.
  CHECK(seen > 0.7 * all);
}
