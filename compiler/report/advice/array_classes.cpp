// The arrays of a job that must have their indices in orders alike, and those that must stay as they are: read off the
// programs as written, where no optimisation has hidden a statement.

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/report/advice/block_statements.h"
#include "runtime/core/bytecode/layout.h"

namespace sial::report {
namespace {

using Key = std::pair<std::size_t, std::string>;  // program, array

/// Union of arrays that change together.
class Union {
 public:
  void add(const Key& key, std::size_t rank) { parent_.emplace(key, key), rank_[key] = rank; }
  Key root(const Key& key) {
    Key& parent = parent_.at(key);
    return parent == key ? key : parent = root(parent);
  }
  void join(const Key& a, const Key& b) {
    if (rank_.at(a) != rank_.at(b)) return fix(a), fix(b);
    const Key x = root(a), y = root(b);
    if (x != y) parent_[y] = x;
  }
  void fix(const Key& key) { fixed_.insert(key); }

  std::vector<ArrayClass> classes() {
    std::map<Key, ArrayClass> found;
    for (const auto& [key, parent] : parent_) {
      ArrayClass& c = found[root(key)];
      c.arrays.push_back(key);
      c.rank = rank_.at(key);
      c.fixed |= fixed_.contains(key) || c.rank < 2;
    }
    std::vector<ArrayClass> result;
    for (auto& [key, c] : found) result.push_back(std::move(c));
    return result;
  }

 private:
  std::map<Key, Key> parent_;
  std::map<Key, std::size_t> rank_;
  std::set<Key> fixed_;
};

/// The demands of one program on its arrays.
class Demands {
 public:
  Demands(const Module& m, std::size_t program, Union& joined) : m_(m), program_(program), joined_(joined) {}

  void run() {
    for (const ArrayRow& a : m_.arrays) {
      joined_.add({program_, a.name}, a.dims.size());
      const auto of_that_name = std::count_if(m_.arrays.begin(), m_.arrays.end(),
                                              [&](const ArrayRow& other) { return other.name == a.name; });
      if (a.predefined || a.kind == ArrayKind::contiguous_local || of_that_name > 1 ||
          a.name.find('.') != std::string::npos)
        joined_.fix({program_, a.name});
    }
    for (const RefRow& ref : m_.refs) {  // equal indices are told apart by their places
      std::set<IndexId> seen;
      for (const RefEntry& e : ref.entries)
        if (e.index != no_index && !seen.insert(e.index).second) joined_.fix(key(ref.array));
    }
    for (const Instruction& in : m_.code) instruction(in);
  }

 private:
  Key key(ArrayId array) const { return {program_, m_.arrays[array.at()].name}; }
  Key of_ref(std::int32_t ref) const { return key(m_.refs[static_cast<std::size_t>(ref)].array); }
  Key of_region(std::int32_t region) const { return key(m_.regions[static_cast<std::size_t>(region)].array); }

  void instruction(const Instruction& in) {
    const OpcodeInfo& info = *opcode_info(in.op);
    // The language wants the same indices in the same order.
    if (info.has(op::same_order))
      return for_each_block(in, [&](std::int32_t ref, Intent) { joined_.join(of_ref(in.a), of_ref(ref)); });
    // Indices that only one of the two has stand after the others.
    if (info.op_class == OpClass::block && info.count(OperandKind::ref) == 2) {
      if (ranks_differ(in.a, in.b)) joined_.fix(of_ref(in.a)), joined_.fix(of_ref(in.b));
      return;
    }
    // Arrays that others read, or people.
    if (info.op_class == OpClass::execute) for_each_argument(m_, in, [&](const ArgRow& arg) { argument(arg); });
    if (info.op_class != OpClass::output && info.count(OperandKind::region) == 0) return;
    for_each_block(in, [&](std::int32_t ref, Intent) { joined_.fix(of_ref(ref)); });
    const auto values = operands_of(in);
    for (std::size_t p = 0; p < 4; ++p) {
      if (info.operands[p] == OperandKind::region) joined_.fix(of_region(values[p]));
      if (info.operands[p] == OperandKind::array) joined_.fix(key(ArrayId(values[p])));
    }
  }

  void argument(const ArgRow& arg) {
    if (arg.kind == ArgKind::block) joined_.fix(of_ref(arg.id));
    if (arg.kind == ArgKind::region) joined_.fix(of_region(arg.id));
    if (arg.kind == ArgKind::array) joined_.fix(key(ArrayId(arg.id)));
  }

  bool ranks_differ(std::int32_t a, std::int32_t b) const {
    return m_.refs[static_cast<std::size_t>(a)].entries.size() != m_.refs[static_cast<std::size_t>(b)].entries.size();
  }

  const Module& m_;
  const std::size_t program_;
  Union& joined_;
};

/// Programs that import a file have what it declares in common.
void join_imports(const Job& job, Union& joined) {
  const auto shares_file = [](const JobProgram& p, const JobProgram& q) {
    return std::any_of(p.texts.begin(), p.texts.end(), [&](const auto& file) { return q.texts.contains(file.first); });
  };
  for (std::size_t p = 0; p < job.programs.size(); ++p)
    for (std::size_t q = 0; q < p; ++q) {
      if (!job.programs[p].unoptimized || !job.programs[q].unoptimized ||
          !shares_file(job.programs[p], job.programs[q]))
        continue;
      const std::vector<ArrayRow>& theirs = job.programs[q].unoptimized->arrays;
      for (const ArrayRow& a : job.programs[p].unoptimized->arrays)
        if (std::any_of(theirs.begin(), theirs.end(), [&](const ArrayRow& b) { return a.name == b.name; }))
          joined.join({p, a.name}, {q, a.name});
    }
}

/// The programs that save an array under a label, and those that take it from there.
struct Kept {
  std::vector<Key> set, restored;
};

std::map<std::string, Kept> kept_arrays(const Job& job) {
  std::map<std::string, Kept> kept;
  for (std::size_t p = 0; p < job.programs.size(); ++p) {
    if (!job.programs[p].unoptimized) continue;
    const Module& m = *job.programs[p].unoptimized;
    for (const Instruction& in : m.code) {
      if (op_class(in.op) != OpClass::persist || in.a != 1) continue;
      Kept& k = kept[m.strings[static_cast<std::size_t>(in.c)]];
      (operand_intent(in, 1) == Intent::read ? k.set : k.restored)
          .emplace_back(p, m.arrays[static_cast<std::size_t>(in.b)].name);
    }
  }
  return kept;
}

}  // namespace

ArrayClasses::ArrayClasses(const Job& job) {
  Union joined;
  bool whole = true;
  for (std::size_t p = 0; p < job.programs.size(); ++p) {
    if (job.programs[p].unoptimized) Demands(*job.programs[p].unoptimized, p, joined).run();
    else whole = false;
  }
  join_imports(job, joined);
  std::map<Key, std::string> labels;
  for (const auto& [label, kept] : kept_arrays(job)) {
    std::vector<Key> all = kept.set;
    all.insert(all.end(), kept.restored.begin(), kept.restored.end());
    // What nobody of this job writes, or reads, is another job's too; so may be what a program uses that was not found.
    const bool own = whole && !kept.set.empty() && !kept.restored.empty();
    for (const Key& key : all) {
      labels[key] = label;
      joined.join(all.front(), key);
      if (!own) joined.fix(key);
    }
  }
  all = joined.classes();
  for (std::size_t c = 0; c < all.size(); ++c)
    for (const Key& key : all[c].arrays) {
      class_of_[key] = all[c].fixed ? -1 : static_cast<int>(c);
      if (const auto label = labels.find(key); label != labels.end()) all[c].label = label->second;
    }
}

int ArrayClasses::of(std::size_t program, const std::string& array) const {
  const auto found = class_of_.find({program, array});
  return found == class_of_.end() ? -1 : found->second;
}

}  // namespace sial::report
