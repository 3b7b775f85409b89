// Random programs against a model. All ranks draw the same plan from the seed, so each knows what the others do; values
// are small integers, so sums do not depend on the order.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "runtime/core/base/check.h"
#include "runtime/core/base/error.h"
#include "suite.h"

namespace sial::suite {

namespace {

using Random = std::mt19937_64;
constexpr int n_blocks = 9;
constexpr std::int64_t block_sizes[n_arrays] = {1, 37, 1500};

BlockIndex index_of(int array, int b) { return array == 0 ? BlockIndex{1, {b}} : BlockIndex{3, {b % 3, b / 3, 1}}; }

struct BlockName {
  int array, b;
  auto operator<=>(const BlockName&) const = default;
};
using Model = std::map<BlockName, double>;  // every element of a block has the same value; absent: not there

enum class Act { get, read, own_copy, put, accumulate, fill, increment, scale };
struct Step {
  Act act;
  double value = 0;
};

StoreOptions options(std::uint64_t seed) {
  StoreOptions o;
  o.memory_per_rank = 4 << 20;
  o.copy = seed % 3 == 0;
  o.check = seed % 2 == 0;
  o.deterministic = seed % 5 == 0;
  if (seed % 4 == 1) {  // most copies are given up before they are used
    o.copy_budget = 16000;
    o.min_copies = 1;
  }
  return o;
}

/// What the rank that uses a block should see in this phase.
struct View {
  bool fetched = false, stale = false;
  std::optional<double> shared_copy, private_copy;
};

class History {
 public:
  History(Transport& transport, std::uint64_t seed, const StoreMaker& make)
      : job_(transport, options(seed), make),
        shared_(seed),
        mine_(seed * 1000 + static_cast<std::uint64_t>(transport.rank())) {}

  void run(int programs, int phases) {
    for (int p = 0; p < programs; ++p) {
      job_.begin(p);
      model_.clear();
      lost_.clear();
      restore_some();
      for (int phase = 0; phase < phases; ++phase) run_phase();
      end_program();
    }
    job_.store->snapshots().drop_labels_except({});
    job_.meet();
    EXPECT(job_.everything_freed());
  }

 private:
  int draw(int n) { return static_cast<int>(shared_() % static_cast<std::uint64_t>(n)); }
  std::int64_t size(const BlockName& n) const { return block_sizes[n.array]; }
  void expect_all(const char* what, const BlockName& n, const Values& v, double x) {
    for (const double y : v)
      if (y != x)
        throw std::runtime_error(fmt::format("{}: block ({},{}) is {} and should be {}; program {}, rank {}", what,
                                             n.array, n.b, y, x, job_.program, job_.rank));
  }

  /// Memory whose content has the same number as before holds what it held before.
  void expect_numbered(const BlockName& name, const double* data, double value) {
    const auto [found, is_new] = numbered_.try_emplace({data, job_.store->buffers().content(data)}, value);
    if (!is_new) expect_all("content", name, {found->second}, value);
  }

  void restore_some() {
    for (int a = 0; a < n_arrays; ++a) {
      if (labels_.count(a) == 0 || draw(2) == 0) continue;
      job_.store->snapshots().restore(ArrayId(a), label(a), {job_.program, 5});
      for (const auto& [name, x] : labels_[a]) model_[name] = x;
    }
  }
  // Labels are per array: only arrays with the same block sizes can exchange them.
  static std::string label(int a) { return "label " + std::to_string(a); }

  void end_program() {
    std::map<int, Model> saved;
    for (int a = 0; a < n_arrays; ++a) {
      if (draw(3) == 0 || has_lost(a)) continue;
      job_.store->snapshots().save_at_end(ArrayId(a), label(a), {job_.program, 5});
      Model& m = saved[a];
      for (const auto& [name, x] : model_)
        if (name.array == a) m[name] = x;
    }
    job_.store->synchronization().end_program({job_.program, 2});
    for (auto& [a, m] : saved) labels_[a] = std::move(m);
    std::vector<std::string> keep;
    for (int a = 0; a < n_arrays; ++a) {
      if (labels_.count(a) == 0) continue;
      EXPECT(job_.store->snapshots().has_label(label(a)));
      check_saved(a);
      if (draw(4) > 0) keep.push_back(label(a));
      else labels_.erase(a);
    }
    job_.store->snapshots().drop_labels_except(keep);
    for (int a = 0; a < n_arrays; ++a) EXPECT(job_.store->snapshots().has_label(label(a)) == (labels_.count(a) == 1));
  }

  // Every block of a label is listed by exactly one rank, with its value.
  void check_saved(int a) {
    double listed = 0;
    for (const BlockIndex& index : job_.store->snapshots().saved_blocks(label(a))) {
      int b = 0;
      while (b < n_blocks && index_of(a, b) != index) ++b;
      const auto found = labels_[a].find({a, b});
      EXPECT(found != labels_[a].end());
      const Values v = job_.store->snapshots().saved_block(label(a), index);
      EXPECT(static_cast<std::int64_t>(v.size()) == block_sizes[a]);
      expect_all("saved", {a, b}, v, found->second);
      ++listed;
    }
    EXPECT(job_.transport.sum(listed, {CollectiveKind::sum, {job_.program, 3}}) ==
           static_cast<double>(labels_[a].size()));
  }

  void run_phase() {
    views_.clear();
    changed_.clear();
    const int erased = draw(4) == 0 ? draw(n_arrays) : -1;
    if (erased >= 0) {
      // The old generation may be read until one's own delete, whatever the others have deleted already.
      for (int b = 0; b < n_blocks; ++b)
        if (lost_.count({erased, b}) == 0 && mine_() % 2 == 0)
          do_step({erased, b}, {Act::get}), do_step({erased, b}, {Act::read});
      job_.store->synchronization().erase(ArrayId(erased), {job_.program, 4});
      for (int b = 0; b < n_blocks; ++b) {
        model_.erase({erased, b});
        lost_.erase({erased, b});
        views_.erase({erased, b});
      }
    }
    for (int a = 0; a < n_arrays; ++a) quiet_[a] = draw(3) == 0 && a != erased;
    Model after = model_;
    std::vector<std::pair<BlockName, std::vector<Step>>> todo;
    for (int a = 0; a < n_arrays; ++a)
      for (int b = 0; b < n_blocks; ++b) plan_block({a, b}, after, todo);
    // Blocks in any order, interleaved; the steps of a block in theirs.
    while (!todo.empty()) {
      const auto i = static_cast<std::size_t>(mine_() % todo.size());
      auto& [name, steps] = todo[i];
      do_step(name, steps.front());
      steps.erase(steps.begin());
      if (steps.empty()) todo.erase(todo.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (mine_() % 8 == 0) job_.store->update().relieve_sums();
    for (int a = 0; a < n_arrays; ++a)
      if (quiet_[a] && mine_() % 4 > 0) job_.store->synchronization().keep_copies(ArrayId(a), KeepCopies::unchanged);
      else if (mine_() % 3 > 0)
        job_.store->synchronization().keep_copies(ArrayId(a),
                                                  mine_() % 3 > 0 ? KeepCopies::compared : KeepCopies::used);
    job_.barrier();
    model_ = std::move(after);
    for (int a = 0; a < n_arrays; ++a)
      for (int b = 0; b < n_blocks; ++b) EXPECT(!job_.store->fetch().held(ArrayId(a), index_of(a, b)));
    if (draw(4) == 0) discard(draw(n_arrays));
  }

  /// Nobody uses what the array holds: its blocks may be gone until they are put.
  void discard(int array) {
    job_.store->synchronization().discard_values(ArrayId(array));
    for (int b = 0; b < n_blocks; ++b)
      if (model_.erase({array, b}) > 0) lost_.insert({array, b});
  }
  bool has_lost(int array) const {
    return std::any_of(lost_.begin(), lost_.end(), [&](const BlockName& name) { return name.array == array; });
  }

  void plan_block(const BlockName& name, Model& after, std::vector<std::pair<BlockName, std::vector<Step>>>& todo) {
    std::vector<Step> steps;
    if (lost_.count(name) > 0) {
      if (quiet_[name.array] || draw(2) == 0) return;
      lost_.erase(name);
      const Step put{Act::put, static_cast<double>(draw(9) - 4)};
      apply(put, name, after);
      if (draw(job_.ranks) == job_.rank) todo.emplace_back(name, std::vector<Step>{put, {Act::get}, {Act::read}});
      return;
    }
    switch (quiet_[name.array] ? 3 * draw(2) : draw(4)) {
      case 0:  // read by anyone
        if (mine_() % 2 == 0) {
          steps = {{Act::get}, {Act::read}, {Act::get}, {Act::read}};
          if (mine_() % 4 == 0) steps.insert(steps.end(), {{Act::own_copy, 5}, {Act::read}, {Act::get}, {Act::read}});
        }
        break;
      case 1:  // added to by anyone
        for (int r = 0; r < job_.ranks; ++r)
          for (int k = draw(3); k > 0; --k) {
            const Step step{draw(3) == 0 ? Act::increment : Act::accumulate, static_cast<double>(draw(9) - 4)};
            after[name] += step.value;
            if (r == job_.rank) steps.push_back(step);
          }
        break;
      case 2: {  // used by one
        const bool me = draw(job_.ranks) == job_.rank;
        for (int k = 1 + draw(8); k > 0; --k) {
          Step step{static_cast<Act>(draw(8)), static_cast<double>(draw(9) - 4)};
          if (step.act == Act::scale) {
            if (after.count(name) == 0) continue;
            step.value = draw(2) ? -1 : 2;
          }
          apply(step, name, after);
          if (me) steps.push_back(step);
        }
        break;
      }
      default: break;
    }
    if (!steps.empty()) todo.emplace_back(name, std::move(steps));
  }

  static void apply(const Step& step, const BlockName& name, Model& model) {
    switch (step.act) {
      case Act::put:
      case Act::fill: model[name] = step.value; break;
      case Act::accumulate:
      case Act::increment: model[name] += step.value; break;
      case Act::scale: model[name] *= step.value; break;
      default: break;
    }
  }

  void do_step(const BlockName& name, const Step& step) {
    carry_out(name, step);
    job_.store->fetch().end_statement();
  }

  void carry_out(const BlockName& name, const Step& step) {
    const BlockIndex index = index_of(name.array, name.b);
    const std::int64_t n = size(name);
    if (mine_() % 2 == 0) {  // what a rank looks ahead for is never seen
      const int a = static_cast<int>(mine_() % n_arrays), b = static_cast<int>(mine_() % n_blocks);
      job_.store->look_ahead().prefetch(ArrayId(a), index_of(a, b), block_sizes[a], {0, 30});
      if (mine_() % 8 == 0) job_.store->look_ahead().set_live_set_known(true);
    }
    View& view = views_[name];
    // This rank's own changes of the phase; others' show only in blocks that are not read in it.
    const auto now = [&]() -> std::optional<double> {
      const auto own = changed_.find(name);
      if (own != changed_.end()) return own->second;
      const auto old = model_.find(name);
      return old == model_.end() ? std::nullopt : std::optional(old->second);
    };
    switch (step.act) {
      case Act::get:
        job_.get(ArrayId(name.array), index, n);
        if ((view.fetched || view.private_copy) && !view.stale) return;
        view = {true, false, now(), std::nullopt};
        return;
      case Act::read: {
        EXPECT(job_.store->fetch().held(ArrayId(name.array), index) == (view.fetched || view.private_copy));
        const std::optional<double> expected = view.private_copy ? view.private_copy : view.shared_copy;
        if (expected)
          expect_all(view.private_copy ? "own copy" : "read", name, job_.read(ArrayId(name.array), index, n),
                     *expected);
        if (expected && !view.private_copy)
          expect_numbered(name, job_.store->fetch().read(ArrayId(name.array), index, n, job_.next()), *expected);
        else if (!expected) expect_error(name, index, n);
        return;
      }
      case Act::own_copy: {
        const bool keep = (view.private_copy || view.shared_copy) && static_cast<int>(step.value) % 2 == 0;
        double* p = job_.store->fetch().private_copy(ArrayId(name.array), index, n, keep, job_.next());
        const double before = keep ? (view.private_copy ? *view.private_copy : *view.shared_copy) : 0.0;
        if (keep) expect_all("kept", name, Values(p, p + n), before);
        for (std::int64_t i = 0; i < n; ++i) p[i] = step.value + before;
        view.private_copy = step.value + before;
        return;
      }
      default: break;
    }
    const Values v(static_cast<std::size_t>(n), step.value);
    switch (step.act) {
      case Act::put: job_.put(ArrayId(name.array), index, v); break;
      case Act::accumulate:
        if (mine_() % 3 > 0) job_.accumulate_later(ArrayId(name.array), index, v);
        else job_.accumulate(ArrayId(name.array), index, v);
        break;
      case Act::fill: job_.store->update().fill(ArrayId(name.array), index, n, step.value, job_.next()); break;
      case Act::increment:
        job_.store->update().increment(ArrayId(name.array), index, n, step.value, job_.next());
        break;
      default: job_.store->update().scale(ArrayId(name.array), index, n, step.value, job_.next()); break;
    }
    if (view.fetched || view.private_copy) view.stale = true;
    Model one;
    if (const auto x = now()) one[name] = *x;
    apply(step, name, one);
    changed_[name] = one[name];
  }

  void expect_error(const BlockName& name, const BlockIndex& index, std::int64_t n) {
    bool refused = false;
    try {
      job_.read(ArrayId(name.array), index, n);
    } catch (const EnvironmentError&) { throw; } catch (const SialError&) {
      refused = true;
    }
    EXPECT(refused);
  }

  Job job_;
  Random shared_, mine_;
  Model model_;  // at the last barrier
  std::map<std::pair<const double*, std::uint64_t>, double>
      numbered_;              // what memory held, by its address and the number of its content
  Model changed_;             // by this rank since
  std::set<BlockName> lost_;  // nothing may ask for it before it is put
  std::map<BlockName, View> views_;
  bool quiet_[n_arrays] = {};  // nobody changes it in this phase
  std::map<int, Model> labels_;
};

}  // namespace

void history(Transport& transport, std::uint64_t seed, int programs, int phases, const StoreMaker& make) {
  History(transport, seed, make).run(programs, phases);
}

void serve_history(Transport& transport, std::uint64_t seed, const StoreMaker& make) {
  serve(transport, options(seed), make);
}

}  // namespace sial::suite
