// Generated code of permutations: see PanelWork and PieceWork in permute_code.h for what it computes.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <numeric>

#include "runtime/core/kernels/generator/jit_build.h"
#include "runtime/core/kernels/interface/permute_code.h"

namespace sial::kernels {
namespace {

using llvm::Value;
using Values = std::vector<Value*>;

constexpr int line = 8;  // doubles

class TransposeBuilder {
 public:
  TransposeBuilder(llvm::Module& module, const CodeKey& key, const CpuFacts& facts)
      : b_(module.getContext()),
        role_(static_cast<PermuteRole>(key.p[0])),
        blend_(static_cast<Blend>(key.p[1])),
        width_(facts.vector_bits / 64) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, code_name(key), module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    work_ = function_->getArg(0);
    work_->addAttr(llvm::Attribute::NoAlias);
    b_.SetInsertPoint(block("entry"));
  }

  void build() {
    if (role_ == PermuteRole::piece) {
      build_piece();
    } else {
      x_ = field(offsetof(PanelWork, x), b_.getPtrTy());
      y_ = field(offsetof(PanelWork, y), b_.getPtrTy());
      x_step_ = field(offsetof(PanelWork, x_step), b_.getInt64Ty());
      y_step_ = field(offsetof(PanelWork, y_step), b_.getInt64Ty());
      length_ = field(offsetof(PanelWork, length), b_.getInt64Ty());
      count_ = field(offsetof(PanelWork, count), b_.getInt64Ty());
      alpha_ = field(offsetof(PanelWork, alpha), b_.getDoubleTy());
      beta_ = field(offsetof(PanelWork, beta), b_.getDoubleTy());
      Value* const x = x_;
      Value* const y = y_;
      Value* x_next = field(offsetof(PanelWork, x_next), b_.getInt64Ty());
      Value* y_next = field(offsetof(PanelWork, y_next), b_.getInt64Ty());
      loop(number(0), field(offsetof(PanelWork, panels), b_.getInt64Ty()), 1, [&](Value* k) {
        x_ = element(x, b_.CreateMul(k, x_next));
        y_ = element(y, b_.CreateMul(k, y_next));
        if (role_ == PermuteRole::lines) build_lines();
        else build_transposed_panel(role_ == PermuteRole::transposed_along_x);
      });
    }
    b_.CreateRetVoid();
  }

 private:
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  Value* number(std::int64_t n) { return b_.getInt64(static_cast<std::uint64_t>(n)); }
  Value* field_at(std::size_t offset) { return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), work_, offset); }
  Value* field(std::size_t offset, llvm::Type* type) { return b_.CreateLoad(type, field_at(offset)); }
  Value* element(Value* base, Value* index) { return b_.CreateGEP(b_.getDoubleTy(), base, index); }
  Value* element(Value* base, std::int64_t index) { return element(base, number(index)); }
  /// base[i + j * step]
  Value* element(Value* base, Value* i, Value* j, Value* step) {
    return element(base, b_.CreateAdd(i, b_.CreateMul(j, step)));
  }
  llvm::Type* vector(int n) {
    if (n == 1) return b_.getDoubleTy();
    return llvm::FixedVectorType::get(b_.getDoubleTy(), static_cast<unsigned>(n));
  }
  Value* load(Value* at, int n, unsigned align = 8) { return b_.CreateAlignedLoad(vector(n), at, llvm::Align(align)); }
  Value* spread(Value* factor, int n) {
    return n == 1 ? factor : b_.CreateVectorSplat(static_cast<unsigned>(n), factor);
  }

  /// body(i) for i = begin, begin + step, ... while a whole step fits before end. Returns the first i not done.
  template <class Body>
  Value* loop(Value* begin, Value* end, std::int64_t step, Body&& body) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* inside = block("loop");
    llvm::BasicBlock* after = block("after");
    const auto fits = [&](Value* i) { return b_.CreateICmpSLE(b_.CreateAdd(i, number(step)), end); };
    b_.CreateCondBr(fits(begin), inside, after);
    b_.SetInsertPoint(inside);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(begin, before);
    body(i);
    Value* next = b_.CreateAdd(i, number(step));
    llvm::BasicBlock* last = b_.GetInsertBlock();
    i->addIncoming(next, last);
    b_.CreateCondBr(fits(next), inside, after);
    b_.SetInsertPoint(after);
    llvm::PHINode* reached = b_.CreatePHI(b_.getInt64Ty(), 2);
    reached->addIncoming(begin, before);
    reached->addIncoming(next, last);
    return reached;
  }

  /// The value to be stored at `at` for `from`: multiplications and additions as combine() has them.
  Value* blended(Value* at, Value* from, int n) {
    if (blend_ == Blend::copy) return from;
    Value* scaled = b_.CreateFMul(spread(alpha_, n), from);
    if (blend_ == Blend::scale) return scaled;
    Value* old = load(at, n);
    return b_.CreateFAdd(scaled, blend_ == Blend::add ? old : b_.CreateFMul(spread(beta_, n), old));
  }
  void put(Value* at, Value* from, int n) { b_.CreateAlignedStore(blended(at, from, n), at, llvm::Align(8)); }

  /// A square of x from (i, j) on; in strips as wide as a vector, so that x gets whole lines.
  void square(Value* i, Value* j, int side) {
    const int n = std::min(side, width_);
    for (int strip = 0; strip < side; strip += n) {
      Value* first = b_.CreateAdd(j, number(strip));
      std::vector<Values> transposed;
      for (int group = 0; group < side; group += n) {
        Values rows;
        for (int k = 0; k < n; ++k)
          rows.push_back(load(element(y_, first, b_.CreateAdd(i, number(group + k)), y_step_), n));
        transposed.push_back(build_transposed(b_, std::move(rows)));
      }
      for (int k = 0; k < n; ++k) {
        Value* to = element(x_, i, b_.CreateAdd(first, number(k)), x_step_);
        for (std::size_t group = 0; group < transposed.size(); ++group)
          put(element(to, static_cast<std::int64_t>(group) * n), transposed[group][static_cast<std::size_t>(k)], n);
      }
    }
  }

  void build_transposed_panel(bool along_x) {
    Value* zero = number(0);
    Value* whole = number(~std::int64_t{line - 1});
    Value* length = b_.CreateAnd(length_, whole);
    Value* count = b_.CreateAnd(count_, whole);
    if (along_x)
      loop(zero, count, line, [&](Value* j) { loop(zero, length, line, [&](Value* i) { square(i, j, line); }); });
    else loop(zero, length, line, [&](Value* i) { loop(zero, count, line, [&](Value* j) { square(i, j, line); }); });
    transpose_rest(zero, length, count, count_);
    transpose_rest(length, length_, zero, count_);
  }

  /// Transposes the rest after eights: fours, twos, single elements.
  void transpose_rest(Value* i_begin, Value* i_end, Value* j_begin, Value* j_end) {
    Value* i_reached = i_begin;
    for (const int rows : {4, 2, 1}) {
      i_reached = loop(i_reached, i_end, rows, [&](Value* i) {
        Value* j_reached = j_begin;
        for (int side = rows; side >= 1; side /= 2)
          j_reached = loop(j_reached, j_end, side, [&](Value* j) {
            for (int k = 0; k < rows; k += side) square(b_.CreateAdd(i, number(k)), j, side);
          });
      });
    }
  }

  void build_lines() {
    loop(number(0), count_, 1, [&](Value* j) {
      Value* x = element(x_, b_.CreateMul(j, x_step_));
      Value* y = element(y_, b_.CreateMul(j, y_step_));
      Value* i = number(0);
      for (const int step : {line, 4, 1}) {
        i = loop(i, length_, step, [&](Value* at) {
          const int n = std::min(step, width_);
          Values from;
          for (int k = 0; k < step; k += n) from.push_back(load(element(element(y, at), k), n));
          for (int k = 0; k < step; k += n) put(element(element(x, at), k), from[static_cast<std::size_t>(k / n)], n);
        });
      }
    });
  }

  void build_piece() {
    Value* x = field(offsetof(PieceWork, x), b_.getPtrTy());
    Value* piece = field(offsetof(PieceWork, piece), b_.getPtrTy());
    Value* count = field(offsetof(PieceWork, count), b_.getInt64Ty());
    Value* y_soon = field(offsetof(PieceWork, y_soon), b_.getPtrTy());
    Value* end = field(offsetof(PieceWork, at_end), b_.getPtrTy());
    Value* per_line = field(offsetof(PieceWork, per_line), b_.getInt64Ty());
    beta_ = field(offsetof(PieceWork, beta), b_.getDoubleTy());
    const auto add = [&](Value* to, Value* from, int n, unsigned align) -> Value* {
      if (blend_ == Blend::copy) return from;
      Value* old = load(to, n, align);
      return b_.CreateFAdd(from, blend_ == Blend::add ? old : b_.CreateFMul(spread(beta_, n), old));
    };
    const auto single = [&](Value* i) {
      Value* to = element(x, i);
      b_.CreateAlignedStore(add(to, load(element(piece, i), 1), 1, 8), to, llvm::Align(8));
    };
    // Elements before the first whole line.
    Value* address = b_.CreatePtrToInt(x, b_.getInt64Ty());
    Value* before = b_.CreateLShr(b_.CreateAnd(b_.CreateNeg(address), number(line * 8 - 1)), number(3));
    Value* head = b_.CreateSelect(b_.CreateICmpSLT(before, count), before, count);
    Value* start = loop(number(0), head, 1, single);
    const unsigned align = static_cast<unsigned>(width_) * 8;
    Value* rest = loop(start, count, line, [&](Value* i) {
      loop(number(0), per_line, 1, [&](Value*) { fetch_next(y_soon, end); });
      Values from;
      for (int k = 0; k < line; k += width_) from.push_back(load(element(element(piece, i), k), width_));
      for (int k = 0; k < line; k += width_) {
        Value* to = element(element(x, i), k);
        llvm::StoreInst* store = b_.CreateAlignedStore(
            add(to, from[static_cast<std::size_t>(k / width_)], width_, align), to, llvm::Align(align));
        if (blend_ == Blend::copy)
          store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                             llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
      }
    });
    loop(rest, count, 1, single);
  }

  /// The next entry of the list, if there is one, goes to the cache.
  void fetch_next(Value* y_soon, Value* end) {
    Value* place = field_at(offsetof(PieceWork, at));
    Value* at = b_.CreateLoad(b_.getPtrTy(), place);
    llvm::BasicBlock* some = block("some");
    llvm::BasicBlock* after = block("fetched");
    b_.CreateCondBr(b_.CreateICmpNE(at, end), some, after);
    b_.SetInsertPoint(some);
    Value* offset = b_.CreateSExt(b_.CreateLoad(b_.getInt32Ty(), at), b_.getInt64Ty());
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {element(y_soon, offset), b_.getInt32(0), b_.getInt32(2), b_.getInt32(1)});
    b_.CreateStore(b_.CreateConstGEP1_64(b_.getInt32Ty(), at, 1), place);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  llvm::IRBuilder<> b_;
  const PermuteRole role_;
  const Blend blend_;
  const int width_;
  llvm::Function* function_ = nullptr;
  llvm::Argument* work_ = nullptr;
  Value *x_ = nullptr, *y_ = nullptr, *x_step_ = nullptr, *y_step_ = nullptr, *length_ = nullptr, *count_ = nullptr;
  Value *alpha_ = nullptr, *beta_ = nullptr;
};

}  // namespace

void build_transpose(llvm::Module& module, const CodeKey& key, const CpuFacts& facts) {
  TransposeBuilder(module, key, facts).build();
}

}  // namespace sial::kernels
