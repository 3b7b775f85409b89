// Block operations on the device against what the GPU can do: products against cuBLAS, permutations and chains against
// copies on the device, the start of kernels against nothing.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include <fmt/format.h>

#include "runtime/core/device/cuda/contraction.h"
#include "runtime/core/device/simulated/plain_steps.h"
#include "tests/bench/chains/chain_problem.h"
#include "tests/bench/gpu/bench.h"
#include "tests/bench/kernels/cases_permute.h"
#include "tests/bench/kernels/problem.h"

namespace bench {
namespace {

using sial::first_compute_stream;

constexpr int in_stream = first_compute_stream;
/// Larger results are left out: preparing and checking them takes longer than the benchmark.
constexpr std::int64_t max_elements = std::int64_t{32} << 20;

double volume_of(const std::string& labels, const Case& c) {
  double n = 1;
  for (const char l : labels) n *= static_cast<double>(c.extent.at(l));
  return n;
}

std::string packs(const sial::cuda::DeviceContraction& plan) {
  std::string text;
  if (!plan.pack_a.empty()) text += 'a';
  if (!plan.pack_b.empty()) text += 'b';
  if (!plan.unpack_d.empty()) text += 'd';
  const std::int64_t batch = plan.batches * plan.loops;
  return (text.empty() ? "in place" : "brings " + text + " into order") +
         (batch > 1 ? fmt::format(", batches of {}", batch) : "");
}

/// A contraction as the runtime does it, and cuBLAS's product of the same m, n and k.
Row contraction(Bench& bench, Memory& memory, const Case& c, bool targeted) {
  const Problem problem(c, memory);
  sial::BlockOp op = problem.op();
  const std::int64_t mn = problem.m * problem.n, mk = problem.m * problem.k, kn = problem.k * problem.n;
  const OnDevice d(*bench.device, mn), a(*bench.device, mk), b(*bench.device, kn), product(*bench.device, mn);
  bench.upload(a.get(), op.a.data, mk);
  bench.upload(b.get(), op.b.data, kn);
  problem.reset();
  bench.upload(d.get(), op.d.data, mn);
  double* const result = op.d.data;
  op.d.data = d.get(), op.a.data = a.get(), op.b.data = b.get();
  bench.device->run(in_stream, op);
  bench.finish(in_stream);
  bench.download(result, d.get(), mn);
  const double error = problem.error();
  const std::vector<double> s = streamed_seconds(
      {{"sialx", [&] { bench.device->run(in_stream, op); }, [&] { bench.finish(in_stream); }},
       {"cuBLAS", [&] { bench.raw->dgemm(problem.m, problem.n, problem.k, a.get(), b.get(), product.get()); },
        [&] { bench.raw->finish(); }}},
      bench.quick);
  const double flops = 1e-9 * problem.flops();
  Row row{fmt::format("{} {}", c.setting, c.name), {}, {}, targeted, error <= 1.0, {}};
  row.numbers = {{"m", static_cast<double>(problem.m)},
                 {"n", static_cast<double>(problem.n)},
                 {"k", static_cast<double>(problem.k)},
                 {"us", 1e6 * s[0]},
                 {"GFLOP/s", flops / s[0]},
                 {"cuBLAS", flops / s[1]}};
  row.share = s[1] / s[0];
  row.note = packs(sial::cuda::plan_device_contraction(sial::kernels::resolve(op), op.beta != 0.0, false));
  return row;
}

/// Seconds of a copy of so many doubles on the device by the driver, and of the work, in turns.
std::vector<double> against_copy(Bench& bench, std::int64_t n, double* to, const double* from,
                                 std::function<void()> work) {
  return streamed_seconds({{"sialx", std::move(work), [&] { bench.finish(in_stream); }},
                           {"copy", [&] { bench.raw->copy(to, from, n); }, [&] { bench.raw->finish(); }}},
                          bench.quick);
}

Row permutation(Bench& bench, const PermuteCase& c) {
  sial::BlockOp op;
  op.alpha = c.alpha;
  op.beta = c.beta;
  op.d.rank = op.a.rank = static_cast<std::int32_t>(c.extents.size());
  std::int64_t n = 1, step = 1;
  for (int k = 0; k < op.a.rank; ++k) {
    op.a.label[k] = k;
    op.a.extent[k] = c.extents[static_cast<std::size_t>(k)];
    op.a.stride[k] = n;
    n *= op.a.extent[k];
  }
  for (int k = 0; k < op.d.rank; ++k) {
    const int from = c.order[static_cast<std::size_t>(k)];
    op.d.label[k] = from;
    op.d.extent[k] = op.a.extent[from];
    op.d.stride[k] = step;
    step *= op.d.extent[k];
  }
  std::vector<double> y(static_cast<std::size_t>(n)), x(y.size(), 0.5), expected(y.size(), 0.5);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i);
  const OnDevice from(*bench.device, n), to(*bench.device, n), copied(*bench.device, n);
  bench.upload(from.get(), y.data(), n);
  bench.upload(to.get(), x.data(), n);
  sial::BlockOp there = op;
  there.a.data = from.get(), there.d.data = to.get();
  bench.device->run(in_stream, there);
  bench.finish(in_stream);
  bench.download(x.data(), to.get(), n);
  op.a.data = y.data(), op.d.data = expected.data();
  bench.reference->run(op);
  bool right = true;
  for (std::size_t i = 0; i < x.size(); ++i)
    right = right && std::abs(x[i] - expected[i]) <= 1e-14 * std::abs(expected[i]);
  const std::vector<double> s =
      against_copy(bench, n, copied.get(), from.get(), [&] { bench.device->run(in_stream, there); });
  // What is accumulated into is read too.
  const double streams = c.beta == 0.0 ? 2.0 : 3.0, bytes = 8e-9 * static_cast<double>(n);
  Row row{
      c.group + " " + c.name,
      {{"MB", 1e3 * bytes}, {"us", 1e6 * s[0]}, {"GB/s", streams * bytes / s[0]}, {"copy GB/s", 2.0 * bytes / s[1]}},
      streams / 2.0 * s[1] / s[0],
      true,
      right,
      {}};
  return row;
}

/// A chain as one operation of the device.
Row chain(Bench& bench, const FusedCase& c, std::int64_t bytes, bool targeted) {
  const FusedProblem problem(c, bytes);
  const std::int64_t n = problem.elements();
  std::vector<std::unique_ptr<OnDevice>> blocks;
  const auto brought = [&](const double* values) {
    blocks.push_back(std::make_unique<OnDevice>(*bench.device, n));
    bench.upload(blocks.back()->get(), values, n);
    return blocks.back()->get();
  };
  sial::MutableView target = problem.target();
  target.data = brought(problem.target().data);
  std::vector<sial::kernels::FusedStep> steps = problem.steps();
  std::vector<std::pair<const double*, double*>> known;
  for (const auto& [name, memory] : problem.blocks()) known.emplace_back(memory, brought(memory));
  for (sial::kernels::FusedStep& step : steps)
    for (sial::kernels::FusedSource* s : {&step.a, &step.b})
      for (const auto& [host, device] : known)
        if (s->data == host) s->data = device;
  const auto run = [&] { bench.device->run(in_stream, target, steps); };
  run();
  bench.finish(in_stream);
  std::vector<double> result(static_cast<std::size_t>(n));
  bench.download(result.data(), target.data, n);
  for (const sial::kernels::FusedStep& step : problem.steps()) sial::carry_out(problem.target(), step);
  bool right = true;
  for (std::int64_t i = 0; i < n; ++i)
    right = right && std::abs(result[static_cast<std::size_t>(i)] - problem.target().data[i]) <=
                         1e-13 * (1.0 + std::abs(problem.target().data[i]));
  const OnDevice copied(*bench.device, n);
  const std::vector<double> s =
      against_copy(bench, n, copied.get(), known.empty() ? target.data : known.front().second, run);
  const double limit = problem.streams() / 2.0 * s[1];
  return {fmt::format("{}, extent {}", c.name, problem.extent()),
          {{"MB", 8e-6 * static_cast<double>(n)},
           {"us", 1e6 * s[0]},
           {"GB/s", problem.streams() * 8e-9 * static_cast<double>(n) / s[0]},
           {"copy GB/s", 16e-9 * static_cast<double>(n) / s[1]}},
          limit / s[0],
          targeted,
          right,
          {}};
}

}  // namespace

Suite contraction_suite(Bench& bench) {
  Suite suite{"contractions",
              "blocks of CCSD and (T), by segment; row by row the shape's own m, n, k",
              "cuBLAS dgemm of the same m, n and k",
              0.85,
              false,
              {},
              {}};
  suite.print_title();
  Memory memory;
  std::int64_t too_large = 0;
  for (const Case& c :
       sial_cases(bench.quick ? std::vector<std::int64_t>{4, 9} : std::vector<std::int64_t>{16, 32, 48, 64},
                  {"ring", "ladder", "hole", "transform", "(T)"})) {
    if (std::max({volume_of(c.d, c), volume_of(c.a, c), volume_of(c.b, c)}) > static_cast<double>(max_elements)) {
      ++too_large;
      continue;
    }
    suite.rows.push_back(contraction(bench, memory, c, std::stoi(c.setting) >= 32));
    suite.print_last();
  }
  if (too_large > 0)
    suite.skipped.push_back(fmt::format("{} shapes with blocks of more than {} MB", too_large, max_elements * 8 >> 20));
  return suite;
}

Suite permutation_suite(Bench& bench) {
  Suite suite{"permutations",
              "copies into another order, bytes read and written",
              "the bandwidth of the driver's copy of the same block on the device",
              0.8,
              false,
              {},
              {}};
  suite.print_title();
  for (const PermuteCase& c : permute_cases()) {
    const std::int64_t first = c.extents.front();
    const bool hard = c.order.front() != 0;
    // All orders of four dimensions beyond any cache, and of small ones; three and six dimensions at their largest.
    const bool wanted = bench.quick ? hard && (c.group == "4-d 16" || (c.group == "3-d" && first == 57))
                                    : c.group == "4-d 64" || (c.group == "4-d 25" && hard) ||
                                          (c.group == "3-d" && first == 256) || (c.group == "6-d" && first == 16);
    if (!wanted) continue;
    suite.rows.push_back(permutation(bench, c));
    suite.rows.back().targeted = bench.quick || c.group != "4-d 25";
    suite.print_last();
  }
  return suite;
}

Suite chain_suite(Bench& bench) {
  Suite suite{"chains",
              "element-wise statements as one operation",
              "the time that its bytes take at the bandwidth of the driver's copy of the same block on the device",
              0.85,
              false,
              {},
              {}};
  suite.print_title();
  for (const double bytes : bench.quick ? std::vector<double>{5e4} : std::vector<double>{8e6, 1.3e8})
    for (const FusedCase& c : chain_cases()) {
      suite.rows.push_back(chain(bench, c, static_cast<std::int64_t>(bytes), bench.quick || bytes > 1e8));
      suite.print_last();
    }
  return suite;
}

/// The body of a loop: products and sums of small blocks that each need the one before, on other blocks at every second
/// turn. Microseconds for each.
Row body_of_loop(Bench& bench) {
  constexpr int operations = 8, turns = 2;
  const std::int64_t n = bench.quick ? 9 : 100, size = n * n;
  const std::unique_ptr<sial::Device> device =
      sial::make_batching_device(sial::make_cuda_device(), sial::auto_device_batch);
  const OnDevice memory(*device, (1 + turns * (operations + 1)) * size);
  double* const part = memory.get();  // of what is added, and multiplied with: each of its elements is 1 / n
  const auto block = [&](int turn, int k) { return memory.get() + (1 + turn * (operations + 1) + k) * size; };
  const auto wait = [&] {
    const sial::Device::Event e = device->record(sial::first_compute_stream);
    device->finish(e);
    device->release(e);
  };
  const auto view = [&](double* data, std::int32_t first, std::int32_t second) {
    return sial::dense_view(data, {2, {n, n}}, {first, second});
  };
  bench.upload(part, std::vector<double>(static_cast<std::size_t>(size), 1.0 / static_cast<double>(n)).data(), size);
  for (int turn = 0; turn < turns; ++turn)
    bench.upload(block(turn, 0), std::vector<double>(static_cast<std::size_t>(size), 1.0).data(), size);
  int turn = 0;
  const auto body = [&] {
    turn = (turn + 1) % turns;
    for (int k = 0; k < operations; ++k) {
      if (k % 2 == 0) {
        sial::ElementWork sum;
        sum.op = sial::ElementOp::sum;
        sum.factor = 1.0;
        sum.d = view(block(turn, k + 1), 0, 1);
        sum.a = as_const(view(block(turn, k), 0, 1));
        sum.b = as_const(view(part, 0, 1));
        device->run(sial::first_compute_stream, sum);
      } else {
        sial::BlockOp product;
        product.has_b = true;
        product.d = view(block(turn, k + 1), 0, 1);
        product.a = as_const(view(block(turn, k), 0, 2));
        product.b = as_const(view(part, 2, 1));
        device->run(sial::first_compute_stream, product);
      }
    }
    device->start_waiting();
  };
  const std::string name = fmt::format("one of {} operations of a loop's body", operations);
  const double s = streamed_seconds({{name, body, wait, 100}}, bench.quick).front();
  bool right = true;
  for (int t = 0; t < turns; ++t) {
    std::vector<double> result(static_cast<std::size_t>(size));
    bench.download(result.data(), block(t, operations), size);
    for (const double x : result) right = right && std::abs(x - (1.0 + 4.0 / static_cast<double>(n))) < 1e-12;
  }
  return {name,  {{"us", 1e6 * s / operations}, {"GFLOP/s", std::nan("")}, {"cuBLAS", std::nan("")}},
          {},    false,
          right, "blocks of " + std::to_string(size)};
}

Suite launch_suite(Bench& bench) {
  Suite suite{"launches",
              "microseconds of small operations put into one stream one after the other, with a wait behind the last",
              "",
              0,
              false,
              {},
              {}};
  suite.print_title();
  const OnDevice one(*bench.device, 64);
  const std::vector<double> zero(64, 1.0);
  bench.upload(one.get(), zero.data(), 64);
  sial::MutableView view;
  view.rank = 1;
  view.data = one.get();
  view.extent[0] = view.stride[0] = 1;
  const auto smallest = [&] {
    bench.device->run(in_stream, sial::ElementWork{sial::ElementOp::add_scalar, 1.0, view, {}, {}});
  };
  const auto wait = [&] { bench.finish(in_stream); };
  const auto add = [&](Row row) {
    suite.rows.push_back(std::move(row));
    suite.print_last();
  };
  double value = 0;
  smallest();
  wait();
  bench.download(&value, one.get(), 1);
  const bool right = value == 2.0;
  const auto measured = [&](std::string name, int most, std::string note) {
    const double s = streamed_seconds({{name, smallest, wait, most}}, bench.quick).front();
    add({std::move(name),
         {{"us", 1e6 * s}, {"GFLOP/s", std::nan("")}, {"cuBLAS", std::nan("")}},
         {},
         false,
         right,
         std::move(note)});
  };
  measured("one element", 1000, "");
  measured("one element, and the wait for it", 1, "");
  bench.device->take_times(true);
  measured("one element, its time taken", 1000, "two events more: what --device-times costs an operation");
  bench.device->take_times(false);
  Memory memory;
  for (const Case& c : sial_cases({bench.quick ? std::int64_t{3} : std::int64_t{10}}, {"ring", "ladder"})) {
    Row row = contraction(bench, memory, c, false);
    std::erase_if(row.numbers, [](const auto& x) { return x.first.size() == 1; });  // m, n and k
    row.share.reset();
    add(std::move(row));
  }
  const Row small = chain(bench, chain_cases().front(), 80'000, false);
  add({small.name,
       {small.numbers[1], {"GFLOP/s", std::nan("")}, {"cuBLAS", std::nan("")}},
       {},
       false,
       small.right,
       "segments of 10"});
  add(body_of_loop(bench));
  return suite;
}

}  // namespace bench
