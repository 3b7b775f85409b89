// Generated chains: all steps of a group on a tile, with the elements in registers from the first step to the last.
// Rows go in vectors; where a source is contiguous along the tile's second dimension, squares of vectors are transposed
// in registers. See fused_tile.h.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "runtime/core/kernels/generator/jit_build.h"
#include "runtime/core/kernels/interface/fused_tile.h"

namespace sial::kernels {
namespace {

using llvm::Value;

class FusedBuilder {
 public:
  FusedBuilder(llvm::Module& module, const CodeKey& key, const CpuFacts& facts)
      : b_(module.getContext()), width_(std::max(1, facts.vector_bits / 64)), fetches_(fused_fetches(key)) {
    for (int k = 0; k < key.p[0]; ++k) {
      Step s;
      s.code = fused_step_of(key, k);
      steps_.push_back(s);
    }
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt64Ty(), {b_.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, code_name(key), module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    tile_ = function_->getArg(0);
  }

  void build() {
    b_.SetInsertPoint(block("entry"));
    for (int k = 0; k < 2; ++k) {
      counter_[k] = b_.CreateAlloca(b_.getInt64Ty());
      extent_[k] = number(offsetof(FusedTile, extent) + sizeof(std::int64_t) * static_cast<std::size_t>(k));
    }
    counter_[2] = b_.CreateAlloca(b_.getInt64Ty());
    extent_[2] = number(offsetof(FusedTile, places));
    offset_ = field(offsetof(FusedTile, offset), b_.getPtrTy());
    target_stride_ = number(offsetof(FusedTile, target_stride) + sizeof(std::int64_t));
    target_ = field(offsetof(FusedTile, target), b_.getPtrTy());
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      Step& s = steps_[k];
      s.value = field(offsetof(FusedTile, value) + sizeof(double) * k, b_.getDoubleTy());
      for (std::size_t q = 0; q < s.source.size(); ++q) {
        const SourceForm form = s.code.form[q];
        if (form == SourceForm::absent || form == SourceForm::self) continue;
        across_ = across_ || form == SourceForm::across;
        const std::size_t at =
            offsetof(FusedTile, source) + sizeof(FusedTile::Source) * (FusedTile::sources_per_step * k + q);
        s.source[q].number = ++n_sources_;
        s.source[q].data = field(at + offsetof(FusedTile::Source, data), b_.getPtrTy());
        if (fetches_ && !is_table(s.code.op)) s.source[q].ahead = number(at + offsetof(FusedTile::Source, ahead));
        for (std::size_t d = 0; d < 2; ++d)
          s.source[q].stride[d] = number(at + offsetof(FusedTile::Source, stride) + sizeof(std::int64_t) * d);
      }
    }
    for (Step& s : steps_)
      for (int width = width_; width >= 1 && s.code.op == FusedOp::divide; width /= 2) {
        s.zeros[width] = b_.CreateAlloca(lanes(width));
        b_.CreateStore(llvm::Constant::getNullValue(lanes(width)), s.zeros[width]);
      }
    if (across_ && width_ > 1) squares();
    else rows();
    b_.CreateRet(failed());
  }

 private:
  struct Source {
    int number = 0;                           // in a row of offsets
    Value *data = nullptr, *plane = nullptr;  // plane: at the present place
    Value* ahead = nullptr;                   // none of tables
    std::array<Value*, 2> stride{};
  };
  struct Step {
    FusedCodeStep code;
    Value* value = nullptr;
    std::array<Source, FusedTile::sources_per_step> source;
    std::map<int, Value*> zeros;  // by the width of vectors: lanes of which one was to be divided by zero
  };

  /// Elements i .. i + width - 1 of the tile's first dimension; those that are `there`, null: all.
  struct Lanes {
    int width = 1;
    Value* i = nullptr;
    Value* there = nullptr;
  };

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  Value* field(std::size_t offset, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), tile_, offset));
  }
  Value* number(std::size_t offset) { return field(offset, b_.getInt64Ty()); }
  Value* element(Value* base, Value* index) { return b_.CreateGEP(b_.getDoubleTy(), base, index); }
  llvm::Type* vector(int width) { return llvm::FixedVectorType::get(b_.getDoubleTy(), static_cast<unsigned>(width)); }
  llvm::Type* lanes(int width) { return llvm::FixedVectorType::get(b_.getInt64Ty(), static_cast<unsigned>(width)); }
  Value* splat(int width, Value* x) { return b_.CreateVectorSplat(static_cast<unsigned>(width), x); }
  Value* moved(Value* index, int by) { return b_.CreateAdd(index, b_.getInt64(static_cast<std::uint64_t>(by))); }
  Value* load(int width, Value* at) { return b_.CreateAlignedLoad(vector(width), at, llvm::Align(8)); }

  /// Dimension `d` from `begin` in steps, as long as a whole one fits. Where it ends.
  Value* loop(int d, Value* begin, int step, const std::function<void(Value*)>& body) {
    auto* test = block("test");
    auto* inside = block("inside");
    auto* after = block("after");
    b_.CreateStore(begin, counter_[d]);
    b_.CreateBr(test);
    b_.SetInsertPoint(test);
    Value* at = b_.CreateLoad(b_.getInt64Ty(), counter_[d]);
    Value* next = b_.CreateAdd(at, b_.getInt64(static_cast<std::uint64_t>(step)));
    b_.CreateCondBr(b_.CreateICmpSLE(next, extent_[d]), inside, after);
    b_.SetInsertPoint(inside);
    body(at);
    b_.CreateStore(next, counter_[d]);
    b_.CreateBr(test);
    b_.SetInsertPoint(after);
    return at;
  }

  void either(Value* condition, const std::function<void()>& yes, const std::function<void()>& no) {
    auto* inside = block("yes");
    auto* otherwise = block("no");
    auto* after = block("after");
    b_.CreateCondBr(condition, inside, otherwise);
    b_.SetInsertPoint(inside);
    yes();
    b_.CreateBr(after);
    b_.SetInsertPoint(otherwise);
    no();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  void where(Value* condition, const std::function<void()>& body) {
    either(condition, body, [] {});
  }

  /// Masked vectors take what whole ones leave: where there are masks, for others go in halves.
  bool masks() const { return width_ >= 8; }

  void each_place(const std::function<void()>& body) {
    loop(2, b_.getInt64(0), 1, [&](Value* k) {
      Value* row = element(offset_, b_.CreateMul(k, b_.getInt64(static_cast<std::uint64_t>(n_sources_ + 1))));
      const auto at = [&](Value* base, int n) {
        return element(base, b_.CreateLoad(b_.getInt64Ty(),
                                           b_.CreateConstGEP1_64(b_.getInt64Ty(), row, static_cast<std::uint64_t>(n))));
      };
      plane_ = at(target_, 0);
      for (Step& s : steps_)
        for (Source& q : s.source)
          if (q.data) q.plane = at(q.data, q.number);
      body();
    });
  }

  /// There is one at each place, but where a source is contiguous the other way.
  void each_row(const std::function<void(Value*)>& body) {
    each_place([&] {
      if (across_) loop(1, b_.getInt64(0), 1, body);
      else body(b_.getInt64(0));
    });
  }

  void rows() {
    if (masks()) return masked_rows();
    each_row([&](Value* j) {
      Value* i = loop(0, b_.getInt64(0), 2 * width_, [&](Value* at) {
        for (int part = 0; part < 2 * width_; part += width_) elements({width_, moved(at, part), {}}, {j});
      });
      for (int width = width_; width >= 1; width /= 2)
        i = loop(0, i, width, [&](Value* at) { elements({width, at, {}}, {j}); });
    });
  }

  /// Short rows have code of their own, without loops.
  void masked_rows(int vectors = 1) {
    constexpr int max_vectors = 4;
    const auto remaining = [&](Value* before) {
      return b_.CreateICmpSLT(numbers(width_), splat(width_, b_.CreateSub(extent_[0], before)));
    };
    if (vectors <= max_vectors) {
      either(
          b_.CreateICmpSLE(extent_[0], b_.getInt64(static_cast<std::uint64_t>(vectors * width_))),
          [&] {
            Value* last = b_.getInt64(static_cast<std::uint64_t>((vectors - 1) * width_));
            Value* there = remaining(last);
            each_row([&](Value* j) {
              for (int v = 0; v + 1 < vectors; ++v)
                elements({width_, b_.getInt64(static_cast<std::uint64_t>(v * width_)), {}}, {j});
              elements({width_, last, there}, {j});
            });
          },
          [&] { masked_rows(vectors + 1); });
      return;
    }
    Value* whole = b_.CreateAnd(extent_[0], b_.getInt64(static_cast<std::uint64_t>(-width_)));
    Value* there = remaining(whole);
    each_row([&](Value* j) {
      Value* i = loop(0, b_.getInt64(0), 2 * width_, [&](Value* at) {
        for (int part = 0; part < 2 * width_; part += width_) elements({width_, moved(at, part), {}}, {j});
      });
      loop(0, i, width_, [&](Value* at) { elements({width_, at, {}}, {j}); });
      where(b_.CreateICmpSLT(whole, extent_[0]), [&] { elements({width_, whole, there}, {j}); });
    });
  }

  std::vector<Value*> columns(Value* first, int count) {
    std::vector<Value*> result;
    for (int c = 0; c < count; ++c) result.push_back(moved(first, c));
    return result;
  }

  /// Squares that are whole lines of both sides where those are aligned. The last ones reach back into those before,
  /// and leave what is done as it is.
  void squares() {
    if (!masks()) return each_place([&] { narrow_squares(); });
    const auto fits = [&](int d) {
      return b_.CreateICmpSGE(extent_[d], b_.getInt64(static_cast<std::uint64_t>(width_)));
    };
    either(b_.CreateAnd(fits(0), fits(1)), [&] { each_place([&] { wide_squares(); }); }, [&] { masked_rows(); });
  }

  void wide_squares() {
    Value* none = b_.getInt64(0);
    loop(1, none, width_,
         [&](Value* j) { loop(0, none, width_, [&](Value* i) { elements({width_, i, {}}, columns(j, width_)); }); });
    each_edge(1, [&](int count, Value* j, Value* column) {
      loop(0, none, width_, [&](Value* i) { edge(width_, i, none, count, j, column); });
    });
    each_edge(0, [&](int height, Value* i, Value* row) {
      loop(1, none, width_, [&](Value* j) { edge(height, i, row, width_, j, none); });
      each_edge(1, [&](int count, Value* j, Value* column) { edge(height, i, row, count, j, column); });
    });
  }

  /// Calls f(width, where the edge begins, how far it reaches back) for what squares leave of dimension `d`, if
  /// anything, with vectors of a width that has room.
  void each_edge(int d, const std::function<void(int, Value*, Value*)>& f) {
    const auto constant = [&](int n) { return b_.getInt64(static_cast<std::uint64_t>(n)); };
    Value* left = b_.CreateAnd(extent_[d], constant(width_ - 1));
    const int half = width_ / 2;
    where(b_.CreateICmpSGT(left, constant(half)),
          [&] { f(width_, moved(extent_[d], -width_), b_.CreateSub(constant(width_), left)); });
    where(b_.CreateAnd(b_.CreateICmpSGT(left, constant(0)), b_.CreateICmpSLE(left, constant(half))),
          [&] { f(half, moved(extent_[d], -half), b_.CreateSub(constant(half), left)); });
  }

  /// Rows and columns before these have been done.
  void edge(int height, Value* i, Value* row, int count, Value* j, Value* column) {
    Value* rows = b_.CreateICmpSGE(numbers(height), splat(height, row));
    std::vector<Value*> there;
    for (int c = 0; c < count; ++c)
      there.push_back(b_.CreateAnd(
          rows, b_.CreateVectorSplat(static_cast<unsigned>(height),
                                     b_.CreateICmpSGE(b_.getInt64(static_cast<std::uint64_t>(c)), column))));
    elements({height, i, {}}, columns(j, count), there);
  }

  /// Two cache lines of the target's first dimension at a time, so that whole lines are written, along the second
  /// dimension, so that the other side's lines are read to their end: few of either side are in use at once, whatever
  /// the strides.
  void narrow_squares() {
    Value* i = b_.getInt64(0);
    for (int block = 16; block >= 1; block /= 2)
      i = loop(0, i, block, [&](Value* at) {
        const int widest = std::min(width_, block);
        Value* j = b_.getInt64(0);
        for (int width = widest; width > 1; width /= 2)
          j = loop(1, j, width, [&](Value* column) {
            for (int part = 0; part < block; part += width)
              elements({width, moved(at, part), {}}, columns(column, width));
          });
        loop(1, j, 1, [&](Value* column) {
          for (int part = 0; part < block; part += widest) elements({widest, moved(at, part), {}}, {column});
        });
      });
  }

  Value* numbers(int width) {
    std::vector<llvm::Constant*> list;
    for (int l = 0; l < width; ++l) list.push_back(b_.getInt64(static_cast<std::uint64_t>(l)));
    return llvm::ConstantVector::get(list);
  }
  Value* load(const Lanes& rows, Value* at) {
    if (!rows.there) return load(rows.width, at);
    return b_.CreateMaskedLoad(vector(rows.width), at, llvm::Align(8), rows.there,
                               llvm::Constant::getNullValue(vector(rows.width)));
  }

  void fetch(const Source& s, Value* at) {
    if (s.ahead)
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {element(at, s.ahead), b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
  }

  /// The source's elements at each of the columns.
  std::vector<Value*> read(const Source& s, SourceForm form, const Lanes& rows, const std::vector<Value*>& columns) {
    std::vector<Value*> result;
    if (form == SourceForm::across && columns.size() > 1) return transposed(s, rows, columns);
    for (Value* j : columns) {
      Value* column = element(s.plane, form == SourceForm::across ? j : b_.CreateMul(j, s.stride[1]));
      if (form == SourceForm::along) {
        fetch(s, element(column, rows.i));
        result.push_back(load(rows, element(column, rows.i)));
      } else if (form == SourceForm::same) {
        result.push_back(splat(rows.width, b_.CreateLoad(b_.getDoubleTy(), column)));
      } else {
        result.push_back(gathered(s, rows, column));
      }
    }
    return result;
  }

  Value* gathered(const Source& s, const Lanes& rows, Value* column) {
    Value* first = element(column, b_.CreateMul(rows.i, s.stride[0]));
    if (rows.there) {
      Value* at =
          b_.CreateGEP(b_.getDoubleTy(), first, b_.CreateMul(numbers(rows.width), splat(rows.width, s.stride[0])));
      return b_.CreateMaskedGather(vector(rows.width), at, llvm::Align(8), rows.there,
                                   llvm::Constant::getNullValue(vector(rows.width)));
    }
    Value* result = llvm::PoisonValue::get(vector(rows.width));
    for (int l = 0; l < rows.width; ++l) {
      Value* row = b_.CreateMul(b_.getInt64(static_cast<std::uint64_t>(l)), s.stride[0]);
      result = b_.CreateInsertElement(result, b_.CreateLoad(b_.getDoubleTy(), element(first, row)),
                                      b_.getInt64(static_cast<std::uint64_t>(l)));
    }
    return result;
  }

  /// Reads a source that is contiguous the other way, in squares of as many rows and columns as both have.
  std::vector<Value*> transposed(const Source& s, const Lanes& rows, const std::vector<Value*>& columns) {
    const int count = static_cast<int>(columns.size()), side = std::min(rows.width, count);
    std::vector<std::vector<Value*>> parts;  // by rows
    for (int first = 0; first < rows.width; first += side) {
      parts.emplace_back();
      for (int c = 0; c < count; c += side) {
        std::vector<Value*> square;
        for (int l = 0; l < side; ++l) {
          Value* at = element(s.plane, b_.CreateAdd(b_.CreateMul(moved(rows.i, first + l), s.stride[0]),
                                                    columns[static_cast<std::size_t>(c)]));
          fetch(s, at);
          square.push_back(load(side, at));
        }
        for (Value* x : build_transposed(b_, std::move(square))) parts.back().push_back(x);
      }
    }
    if (parts.size() == 1) return parts.front();
    std::vector<int> whole(static_cast<std::size_t>(rows.width));
    std::iota(whole.begin(), whole.end(), 0);
    std::vector<Value*> result;
    for (int c = 0; c < count; ++c)
      result.push_back(
          b_.CreateShuffleVector(parts[0][static_cast<std::size_t>(c)], parts[1][static_cast<std::size_t>(c)], whole));
    return result;
  }

  /// All steps on a part of the tile. `written`: for each column the lanes that the target takes; empty: all that are
  /// there.
  void elements(const Lanes& rows, const std::vector<Value*>& columns, const std::vector<Value*>& written = {}) {
    std::vector<Value*> at, x;
    const auto& first = steps_.front().code;
    const bool fresh = replaces_target(first.op) &&
                       std::find(first.form.begin(), first.form.end(), SourceForm::self) == first.form.end();
    for (Value* j : columns) {
      at.push_back(element(element(plane_, b_.CreateMul(j, target_stride_)), rows.i));
      x.push_back(fresh ? nullptr : load(rows, at.back()));
    }
    const auto taken = [&](std::size_t c) { return written.empty() ? rows.there : written[c]; };
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      const Step& s = steps_[k];
      std::array<std::vector<Value*>, FusedTile::sources_per_step> sources;
      for (std::size_t q = 0; q < sources.size(); ++q) {
        if (s.code.form[q] == SourceForm::absent) continue;
        sources[q] = s.code.form[q] == SourceForm::self ? x : read(s.source[q], s.code.form[q], rows, columns);
      }
      for (std::size_t c = 0; c < columns.size(); ++c) x[c] = after(s, rows.width, x[c], sources, c, taken(c));
    }
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (Value* there = taken(c)) b_.CreateMaskedStore(x[c], at[c], llvm::Align(8), there);
      else b_.CreateAlignedStore(x[c], at[c], llvm::Align(8));
  }

  /// Bit k: step k was to divide by zero.
  Value* failed() {
    Value* bits = b_.getInt64(0);
    for (std::size_t k = 0; k < steps_.size(); ++k)
      for (const auto& [width, zeros] : steps_[k].zeros) {
        Value* any = b_.CreateICmpNE(b_.CreateOrReduce(b_.CreateLoad(lanes(width), zeros)), b_.getInt64(0));
        bits = b_.CreateOr(bits, b_.CreateShl(b_.CreateZExt(any, b_.getInt64Ty()), b_.getInt64(k)));
      }
    return bits;
  }

  Value* after(const Step& s, int width, Value* x,
               const std::array<std::vector<Value*>, FusedTile::sources_per_step>& sources, std::size_t c,
               Value* there) {
    std::vector<Value*> of;
    for (const auto& q : sources)
      if (!q.empty()) of.push_back(q[c]);
    if (is_table(s.code.op)) of = {build_difference(b_, of)};
    Value* result = build_step(b_, s.code.op, x, splat(width, s.value), of);
    if (s.code.op != FusedOp::divide) return result;
    Value* zero = llvm::ConstantAggregateZero::get(vector(width));
    Value* none = b_.CreateFCmpOEQ(of.front(), zero);
    Value* wrong = b_.CreateAnd(none, b_.CreateFCmpUNE(x, zero));
    if (there) wrong = b_.CreateAnd(wrong, there);  // what is not taken may have been through the steps before
    Value* zeros = s.zeros.at(width);
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(lanes(width), zeros), b_.CreateSExt(wrong, lanes(width))), zeros);
    return b_.CreateSelect(none, x, result);
  }

  llvm::IRBuilder<> b_;
  const int width_;
  const bool fetches_;
  llvm::Function* function_ = nullptr;
  Value *tile_ = nullptr, *target_ = nullptr, *plane_ = nullptr;
  Value *offset_ = nullptr, *target_stride_ = nullptr;
  std::array<Value*, 3> counter_{}, extent_{};  // of the first dimension, the second one, places
  bool across_ = false;
  int n_sources_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

void build_fused(llvm::Module& module, const CodeKey& key, const CpuFacts& facts) {
  FusedBuilder(module, key, facts).build();
}

}  // namespace sial::kernels
