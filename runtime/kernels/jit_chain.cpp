// Generated chains: all steps of a group on a tile, with the elements in registers from the first step to the last. Rows go in vectors;
// where a source is contiguous along the tile's second dimension, squares of vectors are turned in registers. See chain_tile.h.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "runtime/kernels/chain_tile.h"
#include "runtime/kernels/jit_build.h"

namespace sial::kernels {
namespace {

using llvm::Value;

class ChainBuilder {
 public:
  ChainBuilder(llvm::Module& module, const CodeKey& key, const CpuFacts& facts) : b_(module.getContext()), width_(std::max(1, facts.vector_bits / 64)) {
    for (int k = 0; k < key.p[0]; ++k) {
      Step s;
      s.code = chain_step_of(key, k);
      steps_.push_back(s);
    }
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt64Ty(), {b_.getPtrTy()}, false), llvm::Function::ExternalLinkage, code_name(key), module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    tile_ = function_->getArg(0);
  }

  void build() {
    b_.SetInsertPoint(block("entry"));
    for (int k = 0; k < 3; ++k) {
      counter_[k] = b_.CreateAlloca(b_.getInt64Ty());
      extent_[k] = number(offsetof(ChainTile, extent) + sizeof(std::int64_t) * static_cast<std::size_t>(k));
      target_stride_[k] = number(offsetof(ChainTile, target_stride) + sizeof(std::int64_t) * static_cast<std::size_t>(k));
    }
    target_ = field(offsetof(ChainTile, target), b_.getPtrTy());
    bool across = false;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      Step& s = steps_[k];
      s.value = field(offsetof(ChainTile, value) + sizeof(double) * k, b_.getDoubleTy());
      for (std::size_t q = 0; q < s.source.size(); ++q) {
        const SourceForm form = s.code.form[q];
        if (form == SourceForm::absent || form == SourceForm::self) continue;
        across = across || form == SourceForm::across;
        const std::size_t at = offsetof(ChainTile, source) + sizeof(ChainTile::Source) * (ChainTile::sources_per_step * k + q);
        s.source[q].data = field(at + offsetof(ChainTile::Source, data), b_.getPtrTy());
        for (std::size_t d = 0; d < 3; ++d) s.source[q].stride[d] = number(at + offsetof(ChainTile::Source, stride) + sizeof(std::int64_t) * d);
      }
    }
    for (Step& s : steps_)
      for (int width = width_; width >= 1 && s.code.op == ChainOp::divide; width /= 2) {
        s.zeros[width] = b_.CreateAlloca(lanes(width));
        b_.CreateStore(llvm::Constant::getNullValue(lanes(width)), s.zeros[width]);
      }
    loop(2, b_.getInt64(0), 1, [&](Value* k) {
      plane_ = element(target_, b_.CreateMul(k, target_stride_[2]));
      for (Step& s : steps_)
        for (Source& q : s.source)
          if (q.data) q.plane = element(q.data, b_.CreateMul(k, q.stride[2]));
      if (across && width_ > 1) squares();
      else rows();
    });
    b_.CreateRet(failed());
  }

 private:
  struct Source {
    Value *data = nullptr, *plane = nullptr;  // plane: at the present position in the third dimension
    std::array<Value*, 3> stride{};
  };
  struct Step {
    ChainCodeStep code;
    Value* value = nullptr;
    std::array<Source, ChainTile::sources_per_step> source;
    std::map<int, Value*> zeros;  // by the width of vectors: lanes of which one was to be divided by zero
  };

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  Value* field(std::size_t offset, llvm::Type* type) { return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), tile_, offset)); }
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

  void rows() {
    loop(1, b_.getInt64(0), 1, [&](Value* j) {
      Value* i = loop(0, b_.getInt64(0), 2 * width_, [&](Value* at) {
        for (int part = 0; part < 2 * width_; part += width_) elements(width_, moved(at, part), {j}, false);
      });
      for (int width = width_; width >= 1; width /= 2) i = loop(0, i, width, [&](Value* at) { elements(width, at, {j}, false); });
    });
  }

  /// Two cache lines of the target's first dimension at a time, so that whole lines are written, along the second dimension, so that the
  /// other side's lines are read to their end: few of either side are in use at once, whatever the strides.
  void squares() {
    const int square = std::min(width_, 4);
    Value* i = b_.getInt64(0);
    for (int block = 16; block >= 1; block /= 2)
      i = loop(0, i, block, [&](Value* at) {
        const int widest = std::min(square, block);
        Value* j = b_.getInt64(0);
        for (int width = widest; width > 1; width /= 2)
          j = loop(1, j, width, [&](Value* column) {
            std::vector<Value*> columns;
            for (int c = 0; c < width; ++c) columns.push_back(moved(column, c));
            for (int part = 0; part < block; part += width) elements(width, moved(at, part), columns, true);
          });
        loop(1, j, 1, [&](Value* column) {
          for (int part = 0; part < block; part += widest) elements(widest, moved(at, part), {column}, false);
        });
      });
  }

  /// The source's elements i .. i + width - 1 at each of the columns.
  std::vector<Value*> read(const Source& s, SourceForm form, int width, Value* i, const std::vector<Value*>& columns, bool square) {
    std::vector<Value*> result;
    if (form == SourceForm::across && square) return turned(s, width, i, columns.front());
    for (Value* j : columns) {
      Value* column = element(s.plane, form == SourceForm::across ? j : b_.CreateMul(j, s.stride[1]));
      if (form == SourceForm::along) {
        result.push_back(load(width, element(column, i)));
      } else if (form == SourceForm::same) {
        result.push_back(splat(width, b_.CreateLoad(b_.getDoubleTy(), column)));
      } else {
        Value* gathered = llvm::PoisonValue::get(vector(width));
        for (int l = 0; l < width; ++l) {
          Value* row = b_.CreateMul(moved(i, l), s.stride[0]);
          gathered = b_.CreateInsertElement(gathered, b_.CreateLoad(b_.getDoubleTy(), element(column, row)), b_.getInt64(static_cast<std::uint64_t>(l)));
        }
        result.push_back(gathered);
      }
    }
    return result;
  }

  /// A square of a source that is contiguous the other way.
  std::vector<Value*> turned(const Source& s, int width, Value* i, Value* j) {
    std::vector<Value*> rows;
    for (int l = 0; l < width; ++l) {
      Value* row = b_.CreateMul(moved(i, l), s.stride[0]);
      rows.push_back(load(width, element(s.plane, b_.CreateAdd(row, j))));
    }
    if (width == 2) return {b_.CreateShuffleVector(rows[0], rows[1], {0, 2}), b_.CreateShuffleVector(rows[0], rows[1], {1, 3})};
    Value* even01 = b_.CreateShuffleVector(rows[0], rows[1], {0, 4, 2, 6});
    Value* odd01 = b_.CreateShuffleVector(rows[0], rows[1], {1, 5, 3, 7});
    Value* even23 = b_.CreateShuffleVector(rows[2], rows[3], {0, 4, 2, 6});
    Value* odd23 = b_.CreateShuffleVector(rows[2], rows[3], {1, 5, 3, 7});
    return {b_.CreateShuffleVector(even01, even23, {0, 1, 4, 5}), b_.CreateShuffleVector(odd01, odd23, {0, 1, 4, 5}),
            b_.CreateShuffleVector(even01, even23, {2, 3, 6, 7}), b_.CreateShuffleVector(odd01, odd23, {2, 3, 6, 7})};
  }

  /// All steps on elements i .. i + width - 1 of each of the columns.
  void elements(int width, Value* i, const std::vector<Value*>& columns, bool square) {
    std::vector<Value*> at, x;
    const auto& first = steps_.front().code;
    const bool fresh = replaces_target(first.op) && std::find(first.form.begin(), first.form.end(), SourceForm::self) == first.form.end();
    for (Value* j : columns) {
      at.push_back(element(element(plane_, b_.CreateMul(j, target_stride_[1])), i));
      x.push_back(fresh ? nullptr : load(width, at.back()));
    }
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      const Step& s = steps_[k];
      std::array<std::vector<Value*>, ChainTile::sources_per_step> sources;
      for (std::size_t q = 0; q < sources.size(); ++q) {
        if (s.code.form[q] == SourceForm::absent) continue;
        sources[q] = s.code.form[q] == SourceForm::self ? x : read(s.source[q], s.code.form[q], width, i, columns, square);
      }
      for (std::size_t c = 0; c < columns.size(); ++c) x[c] = after(s, width, x[c], sources, c);
    }
    for (std::size_t c = 0; c < columns.size(); ++c) b_.CreateAlignedStore(x[c], at[c], llvm::Align(8));
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

  Value* after(const Step& s, int width, Value* x, const std::array<std::vector<Value*>, ChainTile::sources_per_step>& sources, std::size_t c) {
    std::vector<Value*> of;
    for (const auto& q : sources)
      if (!q.empty()) of.push_back(q[c]);
    if (is_table(s.code.op)) of = {build_difference(b_, of)};
    Value* result = build_step(b_, s.code.op, x, splat(width, s.value), of);
    if (s.code.op != ChainOp::divide) return result;
    Value* zero = llvm::ConstantAggregateZero::get(vector(width));
    Value* none = b_.CreateFCmpOEQ(of.front(), zero);
    Value* wrong = b_.CreateAnd(none, b_.CreateFCmpUNE(x, zero));
    Value* zeros = s.zeros.at(width);
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(lanes(width), zeros), b_.CreateSExt(wrong, lanes(width))), zeros);
    return b_.CreateSelect(none, x, result);
  }

  llvm::IRBuilder<> b_;
  const int width_;
  llvm::Function* function_ = nullptr;
  Value *tile_ = nullptr, *target_ = nullptr, *plane_ = nullptr;
  std::array<Value*, 3> counter_{}, extent_{}, target_stride_{};
  std::vector<Step> steps_;
};

}  // namespace

void build_chain(llvm::Module& module, const CodeKey& key, const CpuFacts& facts) { ChainBuilder(module, key, facts).build(); }

}  // namespace sial::kernels
