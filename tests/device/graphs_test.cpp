// Small work as graphs, on the fake driver: that it is, that nobody sees it in a result, and that what
// cannot be one is done piece by piece.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/base/energy_differences.h"
#include "runtime/device/batch/group_trial.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/device.h"
#include "tests/device/on_fake_driver.h"

using namespace fake_driver;

namespace {

constexpr std::int64_t graph_room = 8192;
constexpr int graph_stream = first_compute_stream;

/// Pieces that each need what the one before wrote, at addresses that follow from `at`.
void put_pieces(Device& d, double* p, std::int64_t at) {
  double *x = p + 64 * (at % 40), *y = p + 4096 + 64 * (at * 7 % 30), *z = p + 6144 + 64 * (at * 3 % 30);
  d.run(graph_stream, matrix_product(x, y, z, 4, 1.0, 0.5, false));
  d.run(graph_stream, ElementWork{ElementOp::scale, 0.5, vector_view(x, 20), {}, {}});
  d.run(graph_stream, four_index(y, x, z, 2, 1.0, 0.5));
  d.run(graph_stream, ElementWork{ElementOp::add_scalar, 0.25, vector_view(y, 16), {}, {}});
  d.run(graph_stream, matrix_product(z, y, x, 4, -0.25, 0.5, true));
}

struct Outcome {
  std::vector<double> values;
  std::int64_t starts = 0;
  BatchCount count;
};

/// `rounds` times the pieces, and `behind` each time.
Outcome run_rounds(const std::string& settings, DeviceGraphs graphs, int rounds,
                   const std::function<void(Device&, int)>& behind) {
  DeviceOptions options;
  options.graphs = graphs;
  options.staged_from = 0;
  const auto d = make_batching_device(make(settings, options), 1000);
  double* p = d->reserve(graph_room);
  std::vector<double> first(graph_room);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = 1.0 / static_cast<double>(i + 1);
  d->copy_in(p, first.data(), graph_room);
  finish(*d, copy_in_stream);
  for (int round = 0; round < rounds; ++round) {
    put_pieces(*d, p, round);
    behind(*d, round);
  }
  finish(*d, graph_stream);
  Outcome o{contents(*d, p, graph_room), d->starts(), d->batched()};
  d->give_back(p, graph_room);
  return o;
}

void started(Device& d, int /*round*/) { d.start_waiting(); }  // nobody waits: several are on their way
void waited(Device& d, int /*round*/) { finish(d, graph_stream); }

/// A GPU with graphs and memory with values, for work that is given to run_group() as it is.
struct Grouped {
  std::unique_ptr<Device> device;
  double* p = nullptr;
  std::int64_t n;
  explicit Grouped(const std::string& settings, std::int64_t size = graph_room) : n(size) {
    DeviceOptions options;
    options.graphs = DeviceGraphs::on;
    device = make(settings, options);
    p = device->reserve(n);
    const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
    device->copy_in(p, ones.data(), n);
    finish(*device, copy_in_stream);
  }
  ~Grouped() { device->give_back(p, n); }
  Grouped(const Grouped&) = delete;
  Grouped& operator=(const Grouped&) = delete;
  std::int64_t graphs() const { return device->batched().graphs; }
  void fill(std::int64_t at, double value) {
    device->run(graph_stream, ElementWork{ElementOp::fill, value, vector_view(p + at, 8), {}, {}});
  }
};

}  // namespace

TEST_CASE("a composition that comes again is one start, with the addresses of that time") {
  constexpr int rounds = 12;
  for (int seed = 1; seed <= 8; ++seed)
    for (const auto& behind : {started, waited}) {
      CAPTURE(seed);
      const std::string settings = "seed=" + std::to_string(seed);
      const Outcome plain = run_rounds(settings, DeviceGraphs::off, rounds, behind),
                    graphs = run_rounds(settings, DeviceGraphs::on, rounds, behind);
      REQUIRE(plain.starts % rounds == 0);
      const std::int64_t each = plain.starts / rounds;
      CHECK(each >= 5);
      CHECK(graphs.values == plain.values);
      CHECK(std::all_of(plain.values.begin(), plain.values.end(), [](double x) { return std::isfinite(x); }));
      CHECK(plain.count.graphs == 0);
      CHECK(graphs.count.graphs == rounds - 1);
      CHECK(graphs.count.in_graphs == (rounds - 1) * each);
      CHECK(graphs.starts == each + rounds - 1);
      // Where the clock decides nothing but the number of starts depends on it.
      const Outcome measured = run_rounds(settings, DeviceGraphs::measured, 40, behind);
      CHECK(measured.values == run_rounds(settings, DeviceGraphs::off, 40, behind).values);
      CHECK(measured.count.graphs >= static_cast<std::int64_t>(GroupTrial::rounds) + 1);
      CHECK(measured.starts == 40 * each - measured.count.in_graphs + measured.count.graphs);
      CHECK(measured.count.in_graphs == each * measured.count.graphs);
    }
}

TEST_CASE("what fails on the way to a graph is done piece by piece, once") {
  constexpr int rounds = 12;
  const Outcome plain = run_rounds("seed=1", DeviceGraphs::off, rounds, waited);
  const std::int64_t each = plain.starts / rounds;
  struct Case {
    const char* settings;
    std::int64_t graphs;
  };
  for (const Case& c : {Case{"graph=1", 0}, Case{"graph=2", 0}, Case{"graph=3", 0},
                        Case{"graph=4", 1 + GroupTrial::max_failures}, Case{"graph=5", 0},
                        Case{"capture=1", rounds - 2}, Case{"capture=4", rounds - 2}, Case{"capture=20", rounds - 2}}) {
    CAPTURE(c.settings);
    for (const auto& behind : {started, waited}) {
      const Outcome o = run_rounds(std::string("seed=3,") + c.settings, DeviceGraphs::on, rounds, behind);
      CHECK(o.values == plain.values);
      CHECK(o.count.graphs == c.graphs);
      CHECK(o.starts == (rounds - c.graphs) * each + c.graphs);
      CHECK(o.count.pieces == plain.count.pieces);
      CHECK(o.count.on_host == 0);
    }
  }
  // Products without room, which the host does: that is found in the middle, and counted once.
  const Outcome host = run_rounds("seed=2,product=1", DeviceGraphs::off, rounds, waited),
                on = run_rounds("seed=2,product=1", DeviceGraphs::on, rounds, waited);
  CHECK(host.count.on_host == 3 * rounds);
  CHECK(on.values == host.values);
  CHECK(on.count.on_host == host.count.on_host);
  CHECK(on.count.graphs == 0);
  CHECK(on.starts == host.starts);
}

TEST_CASE("times are of pieces: while they are taken there are no graphs") {
  const Outcome o = run_rounds("seed=5", DeviceGraphs::on, 12, [](Device& d, int round) {
    finish(d, graph_stream);
    d.take_times(round >= 3 && round < 8);
  });
  CHECK(o.values == run_rounds("seed=5", DeviceGraphs::off, 12, waited).values);
  CHECK(o.count.graphs == 12 - 1 - 5);
}

TEST_CASE("other work under the number of a composition is another graph") {
  Grouped g("seed=4");
  std::vector<double> expected(graph_room, 1.0);
  std::int64_t at = 0;
  // As many kernels of another function, which an update takes, and more or fewer of them, which it does not.
  for (const int kernels : {3, 3, -3, 3, 5, 5, 2, 4}) {
    const std::int64_t before = g.device->starts(), graphs = g.graphs();
    const std::int64_t first = at;
    g.device->run_group(graph_stream, 77, [&] {
      at = first;
      for (int i = 0; i < std::abs(kernels); ++i, at += 8) {
        if (kernels > 0) g.fill(at, static_cast<double>(at));
        else g.device->run(graph_stream, ElementWork{ElementOp::scale, 7.0, vector_view(g.p + at, 8), {}, {}});
      }
    });
    for (std::int64_t i = first; i < at; ++i)
      expected[static_cast<std::size_t>(i)] = kernels > 0 ? static_cast<double>(i / 8 * 8) : 7.0;
    CAPTURE(kernels, first);
    CHECK(g.device->starts() - before == (g.graphs() > graphs ? 1 : std::abs(kernels)));
  }
  finish(*g.device, graph_stream);
  CHECK(contents(*g.device, g.p, graph_room) == expected);
  CHECK(g.graphs() == 6);  // but the first, and that whose kernel was not loaded
  g.device->run_group(graph_stream, 78, [] {});
  g.device->run_group(graph_stream, 78, [] {});  // nothing is started
  CHECK(g.graphs() == 6);
}

TEST_CASE("work that needs more workspace, or tables that are not there, is not captured") {
  Grouped g("seed=6", 4 * 65536);
  double *d = g.p, *a = d + 65536, *b = a + 65536;
  std::int64_t n = 2;
  const auto products = [&] {
    for (int i = 0; i < 2; ++i) g.device->run(graph_stream, four_index(d, a, b, n, 1.0, i == 0 ? 0.0 : 1.0));
  };
  for (const std::int64_t extent : {2, 2, 16, 16, 2, 16}) {
    n = extent;
    g.device->run_group(graph_stream, 1, products);
    finish(*g.device, graph_stream);
    const std::vector<double> result = contents(*g.device, d, n * n * n * n);
    CHECK(result == std::vector<double>(result.size(), 2.0 * static_cast<double>(n * n)));
  }
  CHECK(g.graphs() >= 3);
  // Orbital energies that do not fit into arguments.
  MutableView view;
  view.data = d;
  view.rank = 2;
  view.extent[0] = 600, view.extent[1] = 2;
  view.stride[0] = 1, view.stride[1] = 600;
  double factor = 1.0;
  const auto chains = [&] {
    EnergyDifferences e;
    e.rank = 2;
    e.divide = false;
    e.energy[0].assign(600, 0.0);
    e.energy[1].assign(2, factor);
    for (int i = 0; i < 4; ++i) {
      const std::array<kernels::FusedStep, 2> steps{
          kernels::FusedStep{i == 0 ? kernels::FusedOp::fill : kernels::FusedOp::add_scalar, 1.0, {}, {}, nullptr},
          kernels::FusedStep{kernels::FusedOp::multiply, 0.0, {}, {}, &e}};
      g.device->run(graph_stream, view, steps);
    }
  };
  for (const bool known : {true, false}) {
    const std::int64_t before = g.graphs();
    for (int round = 0; round < 6; ++round) {
      if (!known) factor += 1.0;
      g.device->run_group(graph_stream, known ? 2 : 3, chains);
      finish(*g.device, graph_stream);
      double expected = 0.0;
      for (int i = 0; i < 4; ++i) expected = (expected + 1.0) * factor;
      const std::vector<double> result = contents(*g.device, d, 1200);
      CHECK(std::all_of(result.begin(), result.end(),
                        [&](double x) { return std::abs(std::abs(x) - expected) < 1e-9 * expected; }));
    }
    CHECK(g.graphs() - before == (known ? 5 : 0));
  }
}

TEST_CASE("few compositions are known at a time") {
  for (const auto& [compositions, graphs] : {std::pair{200, 2 * 200}, std::pair{300, 0}}) {
    Grouped g("seed=2");
    for (int round = 0; round < 3; ++round)
      for (int c = 0; c < compositions; ++c)
        g.device->run_group(graph_stream, static_cast<std::uint64_t>(c), [&] { g.fill(8 * c, round + c); });
    finish(*g.device, graph_stream);
    const std::vector<double> result = contents(*g.device, g.p, 8 * compositions);
    for (std::size_t i = 0; i < result.size(); ++i) REQUIRE(result[i] == 2.0 + static_cast<double>(i / 8));
    CHECK(g.graphs() == graphs);
  }
}

TEST_CASE("random small work gives the same bits as graphs or piece by piece") {
  std::int64_t graphs = 0;
  for (int seed = 1; seed <= 25; ++seed) {
    CAPTURE(seed);
    std::vector<double> results[2];
    for (const bool on : {false, true}) {
      DeviceOptions options;
      options.graphs = on ? DeviceGraphs::on : DeviceGraphs::off;
      const auto d = make_batching_device(
          make("seed=" + std::to_string(seed) + (seed % 3 == 0 ? ",capture=" + std::to_string(10 * seed) : ""),
               options),
          1000);
      double* p = d->reserve(graph_room);
      std::vector<double> first(graph_room);
      for (std::size_t i = 0; i < first.size(); ++i) first[i] = 1.0 / static_cast<double>(i + 1);
      d->copy_in(p, first.data(), graph_room);
      finish(*d, copy_in_stream);
      std::mt19937_64 random(static_cast<std::uint64_t>(seed));
      const auto draw = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
      for (int i = 0; i < 60; ++i) {
        // A few bodies of loops, in two streams of other memory, on blocks that are drawn.
        const std::int64_t half = draw(2);
        const int s = graph_stream + static_cast<int>(half);
        double* const mine = p + half * (graph_room / 2);
        const auto block = [&] { return mine + 32 * draw(120); };
        std::mt19937_64 body(static_cast<std::uint64_t>(draw(3)));
        for (int k = 0; k < 8; ++k) {
          double *x = block(), *y = block(), *z = block();
          if (x == y || x == z) continue;
          switch (body() % 4) {
            case 0: d->run(s, matrix_product(x, y, z, 4, 0.5, 0.5, body() % 2 == 0)); break;
            case 1: d->run(s, four_index(x, y, z, 2, 0.5, 0.25)); break;
            case 2: d->run(s, ElementWork{ElementOp::add_scalar, 0.5, vector_view(x, 20), {}, {}}); break;
            default: d->run(s, ElementWork{ElementOp::scale, 0.5, vector_view(x, 20), {}, {}}); break;
          }
        }
        if (draw(3) == 0) finish(*d, s);
        else d->start_waiting();
      }
      for (const int s : {graph_stream, graph_stream + 1}) finish(*d, s);
      results[on] = contents(*d, p, graph_room);
      graphs += d->batched().graphs;
      d->give_back(p, graph_room);
    }
    CHECK(results[0] == results[1]);
  }
  CAPTURE(graphs);
  CHECK(graphs > 200);
}

TEST_CASE("a device that is lost among graphs says so, and is put away without a word") {
  for (int when = 5; when < 80; when += 5) {
    CAPTURE(when);
    const std::string message = message_of([&] {
      run_rounds("seed=" + std::to_string(when) + ",lose=" + std::to_string(when), DeviceGraphs::on, 30, started);
    });
    CAPTURE(message);
    CHECK(contains(message, "GPU 0 (Fake GPU) failed: "));
  }
}

TEST_CASE("the fake driver captures as a driver does") {
  using namespace sial::cuda;
  Grouped g("seed=8");
  const Driver& driver = libraries().driver;
  const GraphFunctions& graphs = libraries().graphs;
  const auto at = [&](std::int64_t i) { return reinterpret_cast<Address>(g.p + i); };
  const auto capture = [&](Stream stream, const std::function<void()>& work) {
    REQUIRE(graphs.cuStreamBeginCapture_v2(stream, CaptureMode::this_thread) == Status::success);
    work();
    Graph graph = nullptr;
    const Status status = graphs.cuStreamEndCapture(stream, &graph);
    CHECK((graph != nullptr) == (status == Status::success));
    return std::pair(status, graph);
  };
  Stream stream = nullptr;
  REQUIRE(driver.cuStreamCreate(&stream, stream_non_blocking) == Status::success);
  cuda::Event event = nullptr, outside = nullptr;
  REQUIRE(driver.cuEventCreate(&event, event_disable_timing) == Status::success);
  REQUIRE(driver.cuEventCreate(&outside, event_disable_timing) == Status::success);
  REQUIRE(driver.cuEventRecord(outside, stream) == Status::success);
  REQUIRE(driver.cuStreamSynchronize(stream) == Status::success);
  // What is refused, and ends it.
  Address p = 0;
  void* host = nullptr;
  for (const auto& [call, status] : std::vector<std::pair<std::function<Status()>, Status>>{
           {[&] { return driver.cuStreamSynchronize(stream); }, Status::capture_unsupported},
           {[&] { return driver.cuMemAlloc_v2(&p, 64); }, Status::capture_unsupported},
           {[&] { return driver.cuMemFree_v2(at(0)); }, Status::capture_unsupported},
           {[&] { return driver.cuMemHostAlloc(&host, 64, 0); }, Status::capture_unsupported},
           {[&] { return driver.cuEventQuery(outside); }, Status::capture_unsupported},
           {[&] { return driver.cuEventSynchronize(outside); }, Status::capture_unsupported},
           {[&] { return driver.cuStreamWaitEvent(stream, outside, 0); }, Status::capture_isolation},
           {[&] {
              return driver.cuEventRecord(event, stream) == Status::success ? driver.cuEventQuery(event)
                                                                            : Status::unknown;
            },
            Status::captured_event}}) {
    const auto [ended, graph] = capture(stream, [&, &asked = call, &expected = status] {
      CHECK(asked() == expected);
      CHECK(driver.cuMemcpyDtoDAsync_v2(at(8), at(0), 64, stream) == Status::capture_invalidated);
    });
    CHECK(ended == Status::capture_invalidated);
  }
  CHECK(driver.cuEventQuery(event) == Status::captured_event);
  Graph nothing = nullptr;
  CHECK(graphs.cuStreamEndCapture(stream, &nothing) == Status::capture_unmatched);
  // Nothing is done by a capture; a start does what the graph was given, whatever an update gives it afterwards.
  const std::vector<double> numbers = ramp(32, 100.0);
  g.device->copy_in(g.p, numbers.data(), 32);
  finish(*g.device, copy_in_stream);
  const auto copies = [&](std::initializer_list<int> from, std::int64_t to) {
    return capture(stream,
                   [&] {
                     for (const int i : from)
                       CHECK(driver.cuMemcpyDtoDAsync_v2(at(to++), at(i), 8, stream) == Status::success);
                   })
        .second;
  };
  const Graph first = copies({3, 5}, 64), second = copies({7, 9}, 66), third = copies({1}, 68);
  REQUIRE(driver.cuStreamSynchronize(stream) == Status::success);
  CHECK(contents(*g.device, g.p + 64, 6) == std::vector<double>(6, 1.0));
  GraphRun run = nullptr;
  REQUIRE(graphs.cuGraphInstantiateWithFlags(&run, first, 0) == Status::success);
  UpdateResult result;
  for (const bool update : {true, false}) {
    CHECK(graphs.cuGraphLaunch(run, stream) == Status::success);
    if (update) CHECK(graphs.cuGraphExecUpdate_v2(run, second, &result) == Status::success);
  }
  REQUIRE(driver.cuStreamSynchronize(stream) == Status::success);
  CHECK(contents(*g.device, g.p + 64, 6) == std::vector<double>{103.0, 105.0, 107.0, 109.0, 1.0, 1.0});
  CHECK(graphs.cuGraphExecUpdate_v2(run, third, &result) == Status::update_refused);
  CHECK(result.reason == 2);
  CHECK(graphs.cuGraphExecDestroy(run) == Status::success);
  for (const Graph graph : {first, second, third}) CHECK(graphs.cuGraphDestroy(graph) == Status::success);
  for (const cuda::Event e : {event, outside}) CHECK(driver.cuEventDestroy_v2(e) == Status::success);
  CHECK(driver.cuStreamDestroy_v2(stream) == Status::success);
}
