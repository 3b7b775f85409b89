// Modules written from IR: layout of loops and branches, pools, places; and every program under tests/lang/ir as a
// whole, which together must contain every instruction there is.
#include <filesystem>
#include <set>

#include "compile.h"
#include "compiler/emit/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "runtime/core/bytecode/layout.h"
#include "runtime/core/bytecode/read.h"
#include "runtime/core/bytecode/write.h"
#include "tests/unit/main/source_path.h"

using namespace sial;
using Catch::Matchers::Contains;

namespace {

const std::string hash(64, '0');

Module module_of(const std::string& declarations, const std::string& statements, const plan::Plan& plan = {}) {
  Module m = emit(test::lower(declarations, statements), plan, {"test", hash, 0});
  verify_module(m, "test");
  return m;
}

std::vector<Opcode> opcodes(const Module& m) {
  std::vector<Opcode> out;
  for (const Instruction& i : m.code) out.push_back(i.op);
  return out;
}

}  // namespace

TEST_CASE("layout of a loop with where clauses") {
  const Module m = module_of("index k = 1:3\nint n", "do k\nwhere k < 3\nwhere k != 1\nn = k\nenddo k");
  CHECK(opcodes(m) == std::vector<Opcode>{Opcode::do_begin, Opcode::int_index, Opcode::int_const, Opcode::int_compare,
                                          Opcode::where, Opcode::int_index, Opcode::int_const, Opcode::int_compare,
                                          Opcode::where, Opcode::body_begin, Opcode::int_index, Opcode::do_next,
                                          Opcode::halt});
  REQUIRE(m.loops.size() == 1);
  const LoopRow& l = m.loops[0];
  CHECK(l.begin == 0);
  CHECK(l.body == 9);
  CHECK(l.next == 11);
  CHECK(l.end == 12);
  CHECK(l.n_wheres == 2);
}

TEST_CASE("layout of branches") {
  const Module m = module_of("int n", "if n < 1\nn = 1\nelse\nn = 2\nendif\nif n > 1\nendif");
  CHECK(opcodes(m) == std::vector<Opcode>{Opcode::int_const, Opcode::int_compare, Opcode::jump_unless,
                                          Opcode::int_const, Opcode::jump, Opcode::int_const, Opcode::int_const,
                                          Opcode::int_compare, Opcode::jump_unless, Opcode::halt});
  CHECK(m.code[2].b == 5);
  CHECK(m.code[4].a == 6);
  CHECK(m.code[8].b == 9);
}

TEST_CASE("a branch at the end of a loop jumps to the loop's last instruction") {
  const Module m = module_of("index k = 1:3\nint n", "do k\nif n < 1\nexit\nendif\nenddo k");
  CHECK(m.code[4].op == Opcode::jump_unless);
  CHECK(m.code[4].b == m.loops[0].next);
  CHECK(m.code[5].a == 0);
}

TEST_CASE("procedures follow the main body and end in ret; those never called have no code") {
  const Module m = module_of(
      "int n\nproc a\nn = 1\nendproc a\nproc unused\nn = 3\nendproc unused\nproc b\ncall a\nreturn\nendproc b",
      "call b");
  REQUIRE(m.procs.size() == 2);
  CHECK(m.procs[0].name == "a");
  CHECK(m.procs[1].name == "b");
  CHECK(opcodes(m) == std::vector<Opcode>{Opcode::call, Opcode::halt, Opcode::int_const, Opcode::ret, Opcode::call,
                                          Opcode::ret, Opcode::ret});
  CHECK(m.code[0].a == 1);
  CHECK(m.code[4].a == 0);
}

TEST_CASE("literals, strings and references are pooled; zero and minus zero are not the same") {
  const Module m = module_of(
      "scalar x\naoindex i = 1:2\nlocal a[i]",
      "x = 1.0\nx = 1.0\nx = 0.0\nx = -0.0\nprint \"s\"\nprint \"s\"\nallocate a\ndo i\na[i] = x\na[i] = x\na[i] *= x\nenddo i");
  CHECK(m.reals.size() == 3);
  CHECK(m.strings.size() == 1);
  CHECK(m.refs.size() == 3);  // a[*], a[i] written, a[i] updated
}

TEST_CASE("every instruction has the place of its statement") {
  const Module m = module_of("scalar x\nindex k = 1:2", "do k\n  x = x +  1.0\nenddo k");
  const auto at = [&](std::size_t pc) { return std::pair(m.places[pc].line, m.places[pc].column); };
  CHECK(at(0) == std::pair(4, 1));
  CHECK(at(2) == std::pair(5, 3));
  CHECK(at(3) == std::pair(5, 3));
  CHECK(at(4) == std::pair(6, 7));
  CHECK(at(5) == std::pair(7, 9));
}

namespace {

// Those of one room of tests/lang; returns how many.
int compile_room(const std::string& room, int level, std::set<Opcode>& used) {
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/lang/") + room)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != ".sialx" || path.filename().string().starts_with("fail_")) continue;
    CAPTURE(path.string());
    CompileOptions options;
    options.optimisation = level;
    SourceManager sources;
    Emitter emitter(WarningOptions{false, {}, {}, {}, true});
    const CompileResult result = compile_file(path.string(), options, sources, emitter);
    REQUIRE(result.module.has_value());
    CHECK(read_module(write_module(*result.module), "m") == *result.module);
    CHECK(result.module->source_hash.size() == 64);
    for (const Instruction& i : result.module->code) used.insert(i.op);
    ++programs;
  }
  return programs;
}

}  // namespace

TEST_CASE(
    "the programs of tests/lang/ir as written, and those of plan as planned, compile, survive the file form, and use every instruction") {
  std::set<Opcode> used;
  CHECK(compile_room("ir", 0, used) >= 6);
  CHECK(compile_room("plan", 2, used) >= 6);
  for (const OpcodeInfo& row : opcode_table()) {
    CAPTURE(row.name);
    CHECK(used.count(row.op) == 1);
  }
}

TEST_CASE("slices name the instructions of their nodes, remarks are kept") {
  const ir::Program p = test::lower("index k = 1:3\ndistributed d[k]", "do k\nwhere k < 3\nget d[k]\nenddo k");
  plan::Plan plan;
  plan.remarks.push_back({RemarkKind::missed,
                          "test",
                          "no-reason",
                          {0, 2, 1},
                          ArrayId(0),
                          "it is `d`",
                          "nothing",
                          Cost::extent(IndexId(0)) * 8,
                          {},
                          Cost::count(IndexId(0))});
  const ir::Node& loop = p.main.at(0);
  const ir::Node& get = std::get<ir::Loop>(loop.value).body.at(0);
  plan.slices.push_back({loop.id, {{loop.id, SliceAction::run}, {get.id, SliceAction::fetch}}});
  for (const ir::Node& n : std::get<ir::Loop>(loop.value).wheres.at(0).code)
    plan.slices[0].actions[n.id] = SliceAction::run;
  const Module m = emit(p, plan, {"test", hash, 2});
  verify_module(m, "test");
  CHECK(m.remarks == plan.remarks);
  REQUIRE(m.slices.size() == 1);
  CHECK(m.slices[0].loop == 0);
  std::vector<std::pair<Opcode, SliceAction>> steps;
  for (const SliceStep& s : m.slices[0].steps) steps.emplace_back(m.code[s.pc].op, s.action);
  CHECK(steps == std::vector<std::pair<Opcode, SliceAction>>{{Opcode::do_begin, SliceAction::run},
                                                             {Opcode::int_index, SliceAction::run},
                                                             {Opcode::int_const, SliceAction::run},
                                                             {Opcode::int_compare, SliceAction::run},
                                                             {Opcode::where, SliceAction::run},
                                                             {Opcode::body_begin, SliceAction::run},
                                                             {Opcode::get, SliceAction::fetch},
                                                             {Opcode::do_next, SliceAction::run}});
  CHECK_THAT(plan::print(p, plan),
             Contains("missed test/no-reason: it is `d` (array d); bytes 8·|k|; executions #k; advice: nothing"));
}

TEST_CASE("the pipeline stops, dumps and times as asked") {
  const std::string path = source_path("tests/lang/ir/blocks.sialx");
  const auto run = [&](const std::string& dump_after, const std::string& last_pass) {
    CompileOptions options;
    options.dump_after = dump_after;
    options.last_pass = last_pass;
    SourceManager sources;
    Emitter emitter;
    return compile_file(path, options, sources, emitter);
  };
  const CompileResult ir = run("ir", "ir");
  CHECK_FALSE(ir.module.has_value());
  CHECK_THAT(ir.dump, Contains("block_contract d[p,r]:update, a[p,q]:read, c[q,r]:read, -="));
  CHECK(ir.times.size() == 3);
  const CompileResult all = run("verify", "");
  CHECK(all.module.has_value());
  CHECK_THAT(all.dump, Contains("main:"));
  CHECK(all.times.size() == pass_names().size());
}

TEST_CASE("errors in the program leave no module, and the same source has the same hash") {
  SourceManager sources;
  Emitter emitter;
  CHECK_FALSE(compile_file(source_path("tests/lang/ir/no_such_file.sialx"), {}, sources, emitter).module.has_value());
  CHECK(emitter.has_errors());
  const auto source_hash = [](const char* name) {
    SourceManager s;
    Emitter e;
    return compile_file(source_path("tests/lang/ir/") + name, {}, s, e).module->source_hash;
  };
  CHECK(source_hash("blocks.sialx") == source_hash("blocks.sialx"));
  CHECK(source_hash("blocks.sialx") != source_hash("control.sialx"));
}
