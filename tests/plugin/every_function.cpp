// A plugin that uses everything the header offers; plugin.py runs it and reads what it prints.

#include <sstream>

#include <sialx/plugin.h>

namespace {

struct Counter {
  int calls = 0;
};

void report(sialx::Context& context, sialx::Arguments args) {
  args.expect(2);
  sialx::Argument& block = args[0];
  block.expect_rank(2);
  std::ostringstream text;
  text << "block " << block.name << ' ' << static_cast<char>(block.letter) << ' ' << block.extent[0] << 'x'
       << block.extent[1] << " segments " << block.segment[0] << ',' << block.segment[1] << " kinds " << block.kind[0]
       << ',' << block.kind[1] << " numbers " << block.number(0, 0) << ',' << block.number(1, 1) << '\n';
  std::int32_t whole = 0;
  double real = 0.0;
  text << "int " << context.find_int("four", whole) << ' ' << whole << " missing " << context.find_int("five", whole)
       << '\n';
  text << "scalar " << context.find_scalar("half", real) << ' ' << real;
  text << " own " << context.find_scalar("mine", real) << ' ' << real << '\n';
  text << "segments";
  for (std::int32_t e : context.segments(SIALX_AO)) text << ' ' << e;
  text << " none " << context.segments(SIALX_MOB).size() << '\n';
  sialx::Argument table;
  text << "array " << context.find_program_array("table", table) << ' ' << table.extent[0] << ' ' << table(1, 0)
       << " missing " << context.find_program_array("nothing", table) << '\n';
  const auto given = context.array("given");
  text << "job array " << given.extents.at(0) << ' ' << given.data[2] << " missing "
       << static_cast<bool>(context.int_array("nothing")) << '\n';
  text << "atoms " << context.atoms().size() << " call " << ++context.keep<Counter>("test.counter").calls << " rank "
       << context.rank() << " of " << context.size() << '\n';
  context.print(text.str());
  block(1, 2) += 100.0;
  args[1].scalar() = 3.0;
}

void fails(sialx::Context&, sialx::Arguments) { throw sialx::Error("this always fails", "do not execute it"); }
void fails_without_reason(sialx::Context&, sialx::Arguments args) { args[0].expect_rank(5); }

}  // namespace

SIALX_PLUGIN("every_function", sialx::instruction<report>("plugin_report", "uw uu", "prints what it sees"),
             sialx::instruction<fails>("plugin_fails", "-", "fails"),
             sialx::instruction<fails_without_reason>("plugin_rank", "r", "wants rank 5"))
