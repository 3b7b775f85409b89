// Super instructions of the language's own test programs: fills, prints, listings.

#include <algorithm>
#include <fstream>
#include <ostream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/core/base/error.h"
#include "runtime/core/base/input_file.h"
#include "runtime/core/base/number.h"
#include "runtime/core/super/bodies.h"

namespace sial {
namespace {

void print_elements(std::ostream& out, const SuperArg& a) {
  out << fmt::format("{}:\n", a.name);
  std::int64_t row = std::max<std::int64_t>(1, a.shape.extent[0]), n = a.shape.size();
  for (std::int64_t i = 0; i < n; ++i)
    out << fmt::format("{:.8f}", a.data[i]) << ((i + 1) % row == 0 || i + 1 == n ? '\n' : ' ');
  out.flush();
}

/// First elements of a job's array, as many as the block and the array hold.
template <class Arrays>
void copy_job_array(const Arrays& arrays, const char* name, const SuperArg& block) {
  auto it = arrays.find(name);
  if (it == arrays.end())
    throw SialError(fmt::format("the job has no array `{}`", name),
                    fmt::format("give it in [arrays] of the job file: {} = [1, 2, 3]", name));
  std::size_t n = std::min<std::size_t>(it->second.data.size(), static_cast<std::size_t>(block.size()));
  std::copy_n(it->second.data.begin(), n, block.data);
}

}  // namespace

void super_fill_block_sequential(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::scalar});
  // Single precision is what existing programs' expected values were made with.
  float value = static_cast<float>(*args[1].data);
  for (std::int64_t i = 0; i < args[0].size(); ++i, value += 1.0F) args[0].data[i] = value;
}

void super_fill_block_cyclic(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::scalar});
  float value = static_cast<float>(*args[1].data);
  for (std::int64_t i = 0; i < args[0].size(); ++i) {
    args[0].data[i] = value;
    value = value == 20.0F ? 1.0F : value + 1.0F;
  }
}

void super_print_block(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  print_elements(context.out(), args[0]);
}

void super_print_static_array(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  print_elements(context.out(), args[0]);
}

void super_list_block_map(SuperContext& context, std::span<SuperArg>) {
  context.out() << "LISTING CURRENT BLOCKS\n";
  context.list_blocks(context.out(), false);
  context.out().flush();
}

void super_list_blocks_with_number(SuperContext& context, std::span<SuperArg>) {
  context.out() << "LISTING CURRENT BLOCKS\n";
  context.list_blocks(context.out(), true);
  context.out().flush();
}

void super_get_first_block_element(SuperContext&, std::span<SuperArg> args) {
  // Programs also pass a block to take the element: its first one is set, the others stay.
  const bool to_block = args.size() == 2 && !args[1].is_scalar;
  expect_arguments(args, {Expect::block, to_block ? Expect::block : Expect::scalar});
  for (int i = 0; i < 2; ++i)
    if (args[i].size() == 0) throw SialError(fmt::format("{} has no elements", describe(args[i], i)));
  *args[1].data = args[0].data[0];
}

void super_one_arg_no_op(SuperContext&, std::span<SuperArg>) {}

void super_swap_blocks(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block, Expect::block});
  if (!(args[0].shape == args[1].shape))
    throw SialError(fmt::format("{} and {} differ in shape", describe(args[0], 0), describe(args[1], 1)));
  if (args[0].data != args[1].data) std::swap_ranges(args[0].data, args[0].data + args[0].size(), args[1].data);
}

void super_get_and_print_mpi_rank(SuperContext& context, std::span<SuperArg>) {
  context.out() << context.rank() << std::endl;
}

void super_get_and_print_int_array_dummy(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  copy_job_array(context.job().int_arrays, "int_array_data", args[0]);
}

void super_get_and_print_scalar_array_dummy(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  copy_job_array(context.job().arrays, "scalar_array_data", args[0]);
}

void super_get_scratch_array_dummy(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  for (std::int64_t i = 0; i < args[0].size(); ++i) args[0].data[i] = static_cast<double>(i + 1);
}

void super_check_block_number_calculation(SuperContext& context, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  const SuperArg& a = args[0];
  std::array<std::int64_t, max_rank> count{};
  std::int64_t number = 0;
  for (int d = 0; d < a.shape.rank; ++d) {
    auto table = context.job().segments.find(a.kind[d]);
    std::int64_t known = table == context.job().segments.end() ? 0 : std::ssize(table->second);
    count[d] = std::max<std::int64_t>(known, a.segment[d]) + 1;
    number = number * count[d] + a.segment[d];
  }
  for (int d = a.shape.rank - 1; d >= 0; --d) {
    if (number % count[d] != a.segment[d])
      throw SialError(fmt::format("the block number of {} does not give its segments back", describe(a, 0)));
    number /= count[d];
  }
}

void super_enable_all_rank_print(SuperContext& context, std::span<SuperArg>) { context.set_all_ranks_print(true); }
void super_disable_all_rank_print(SuperContext& context, std::span<SuperArg>) { context.set_all_ranks_print(false); }
void super_enable_debug_print(SuperContext&, std::span<SuperArg>) {}
void super_disable_debug_print(SuperContext&, std::span<SuperArg>) {}

void super_read_block_from_text_file(SuperContext&, std::span<SuperArg> args) {
  expect_arguments(args, {Expect::block});
  const SuperArg& a = args[0];
  std::string path = fmt::format("{}[", a.name);
  for (int d = 0; d < a.shape.rank; ++d) path += fmt::format("{}{}", d ? "." : "", a.segment[d]);
  path += "].txt";
  if (const std::string problem = read_problem(path, input_limit::block_text); !problem.empty())
    throw SialError(fmt::format("cannot read `{}`: {}", path, problem),
                    "the file of a block lies in the working directory");
  std::ifstream in(path);
  std::array<std::int64_t, max_rank> first{}, at{};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    const auto refuse = [&](const std::string& what) {
      throw SialError(fmt::format("`{}` line {}: {}", path, number, what),
                      fmt::format("a line holds {} indices and a value", a.shape.rank));
    };
    if (std::ssize(words) != a.shape.rank + 1)
      refuse(fmt::format("expected {} indices and a value, found `{}`", a.shape.rank, line));
    for (int d = 0; d < a.shape.rank; ++d) {
      const auto index = read_integer(words[static_cast<std::size_t>(d)]);
      if (!index) refuse(fmt::format("`{}` is not an index", words[static_cast<std::size_t>(d)]));
      at[d] = *index;
    }
    const auto value = read_real(words.back());
    if (!value) refuse(fmt::format("`{}` is not a number", words.back()));
    if (number == 1) first = at;
    std::int64_t position = 0, stride = 1;
    for (int d = 0; d < a.shape.rank; ++d) {
      // All indices count from the first line's, the last one from 1.
      std::int64_t i = at[d] - (d + 1 == a.shape.rank ? 1 : first[d]);
      if (i < 0 || i >= a.shape.extent[d])
        throw SialError(fmt::format("`{}` line {}: index {} is outside the block", path, number, at[d]));
      position += i * stride;
      stride *= a.shape.extent[d];
    }
    a.data[position] = *value;
  }
}

}  // namespace sial
