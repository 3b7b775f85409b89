// Kernels of GPUs. A kernel is built as phases, functions of one thread of a thread block between barriers that leave
// each other what lies in shared memory. On the GPU every thread goes through the phases with barriers between them;
// the twin on the host takes each block's threads through one phase after the other.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/kernels/gpu/device_code.h"
#include "runtime/kernels/gpu/device_layout.h"
#include "runtime/kernels/jit/jit_build.h"

namespace sial::kernels {
namespace {

using llvm::Value;
using Values = std::vector<Value*>;

constexpr unsigned global_memory = 1, shared_memory = 3;  // address spaces of NVPTX; the host's are all the same

class DeviceBuilder {
 public:
  DeviceBuilder(llvm::Module& module, const CodeKey& key, bool twin)
      : b_(module.getContext()), module_(module), name_(code_name(key)), twin_(twin) {}

  /// Around the phases, which have been built by now.
  void finish(std::size_t argument_bytes, int max_threads) {
    if (twin_) finish_twin();
    else finish_kernel(argument_bytes, max_threads);
  }

 protected:
  llvm::Type* i32() { return b_.getInt32Ty(); }
  llvm::Type* f64() { return b_.getDoubleTy(); }
  llvm::Type* global() { return b_.getPtrTy(global_memory); }
  Value* number(std::int64_t n) { return b_.getInt32(static_cast<std::uint32_t>(n)); }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }

  void begin_phase() {
    llvm::Type* types[] = {b_.getPtrTy(), i32(), i32(), i32(), b_.getPtrTy(shared_memory), b_.getPtrTy()};
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::InternalLinkage, "phase", module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr(llvm::Attribute::AlwaysInline);
    arguments_ = function_->getArg(0);
    group_ = function_->getArg(1);
    thread_ = function_->getArg(2);
    threads_ = function_->getArg(3);
    shared_ = function_->getArg(4);
    trace_ = function_->getArg(5);
    phases_.push_back(function_);
    b_.SetInsertPoint(block("entry"));
  }
  void end_phase() { b_.CreateRetVoid(); }

  /// Arguments do not change while a kernel runs.
  Value* argument(std::size_t offset, llvm::Type* type) {
    auto* load = b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arguments_, offset));
    return unchanging(load);
  }
  Value* argument32(std::size_t offset) { return argument(offset, i32()); }
  Value* unchanging(llvm::LoadInst* load) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return load;
  }

  struct Divided {
    Value *quotient, *rest;
  };
  Divided divide(Value* n, std::size_t divisor, bool may_be_one) {
    Value* d = argument32(divisor + offsetof(DeviceDivisor, divisor));
    Value* magic = argument32(divisor + offsetof(DeviceDivisor, magic));
    Value* quotient = b_.CreateLShr(high_product(n, magic), argument32(divisor + offsetof(DeviceDivisor, shift)));
    if (may_be_one) quotient = b_.CreateSelect(b_.CreateICmpULT(d, number(2)), n, quotient);
    return {quotient, b_.CreateSub(n, b_.CreateMul(quotient, d))};
  }
  /// Of 64 bits; the GPU has an instruction for it, which LLVM loses sight of in loops.
  Value* high_product(Value* x, Value* y) {
    if (!twin_) return b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_mulhi_ui, {x, y});
    return b_.CreateTrunc(
        b_.CreateLShr(b_.CreateMul(b_.CreateZExt(x, b_.getInt64Ty()), b_.CreateZExt(y, b_.getInt64Ty())), 32), i32());
  }
  /// The coordinates of number n where the k-th dimension is divided by divisors[k].
  Values coordinates(Value* n, const std::vector<std::size_t>& divisors, bool may_be_one) {
    Values result;
    for (std::size_t k = 0; k + 1 < divisors.size(); ++k) {
      const Divided d = divide(n, divisors[k], may_be_one);
      result.push_back(d.rest);
      n = d.quotient;
    }
    result.push_back(n);
    return result;
  }

  /// Offsets are of 32 bits where nothing lies further away.
  llvm::Type* index_type() { return wide_ ? b_.getInt64Ty() : i32(); }
  Value* term(Value* coordinate, std::size_t stride) {
    return b_.CreateMul(wide_ ? b_.CreateZExt(coordinate, b_.getInt64Ty()) : coordinate,
                        argument(stride, index_type()));
  }
  Value* index(const Values& coordinates, const std::vector<std::size_t>& strides, Value* first = nullptr) {
    Value* sum = first;
    for (std::size_t k = 0; k < coordinates.size(); ++k) {
      Value* t = term(coordinates[k], strides[k]);
      sum = sum ? b_.CreateAdd(sum, t) : t;
    }
    return sum;
  }
  Value* at(Value* base, Value* index) { return b_.CreateGEP(f64(), base, b_.CreateZExt(index, b_.getInt64Ty())); }
  Value* in_shared(Value* index) { return b_.CreateGEP(f64(), shared_, b_.CreateZExt(index, b_.getInt64Ty())); }

  /// for (i = begin; i < end; i += step)
  void loop(Value* begin, Value* end, Value* step, const std::function<void(Value*)>& body) {
    auto* before = b_.GetInsertBlock();
    auto* inside = block("inside");
    auto* after = block("after");
    b_.CreateCondBr(b_.CreateICmpULT(begin, end), inside, after);
    b_.SetInsertPoint(inside);
    auto* i = b_.CreatePHI(i32(), 2);
    i->addIncoming(begin, before);
    body(i);
    Value* next = b_.CreateAdd(i, step);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, end), inside, after);
    b_.SetInsertPoint(after);
  }
  void when(Value* condition, const std::function<void()>& body) {
    auto* inside = block("then");
    auto* after = block("after");
    b_.CreateCondBr(condition, inside, after);
    b_.SetInsertPoint(inside);
    body();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  Value* load(llvm::Type* type, Value* address, std::uint32_t site, unsigned align = 8) {
    note(address, type, site, false);
    return b_.CreateAlignedLoad(type, address, llvm::Align(align));
  }
  Value* load_unchanging(llvm::Type* type, Value* address, std::uint32_t site, unsigned align = 8) {
    return unchanging(llvm::cast<llvm::LoadInst>(load(type, address, site, align)));
  }
  void store(Value* value, Value* address, std::uint32_t site, unsigned align = 8) {
    note(address, value->getType(), site, true);
    b_.CreateAlignedStore(value, address, llvm::Align(align));
  }

  /// Sum of what the block's threads, DeviceDot::threads, left in shared memory, in two rounds of sixteen; then `last`
  /// with it.
  void add_up(const std::function<void(Value*)>& last) {
    constexpr int round = 16;
    const auto sum = [&](Value* first, std::uint32_t site) {
      Value* total = nullptr;
      for (int k = 0; k < round; ++k) {
        Value* x = load(f64(), in_shared(b_.CreateAdd(first, number(k))), site);
        total = total ? b_.CreateFAdd(total, x) : x;
      }
      return total;
    };
    static_assert(DeviceDot::threads == round * round);
    begin_phase();
    when(b_.CreateICmpULT(thread_, number(round)), [&] {
      store(sum(b_.CreateMul(thread_, number(round)), 200),
            in_shared(b_.CreateAdd(thread_, number(DeviceDot::threads))), 201);
    });
    end_phase();
    begin_phase();
    when(b_.CreateICmpEQ(thread_, number(0)), [&] { last(sum(number(DeviceDot::threads), 202)); });
    end_phase();
  }

  llvm::IRBuilder<> b_;
  llvm::Module& module_;
  const std::string name_;
  const bool twin_;
  llvm::Function* function_ = nullptr;
  Value *arguments_ = nullptr, *group_ = nullptr, *thread_ = nullptr, *threads_ = nullptr, *shared_ = nullptr,
        *trace_ = nullptr;
  bool wide_ = false;
  std::vector<llvm::Function*> phases_;

 private:
  llvm::Function* noting_ = nullptr;

  /// Nothing on a GPU.
  void note(Value* address, llvm::Type* type, std::uint32_t site, bool stores) {
    if (!twin_) return;
    const bool shared = address->getType()->getPointerAddressSpace() == shared_memory;
    const std::uint32_t what = (stores ? DeviceTrace::stores : 0u) | (shared ? DeviceTrace::in_shared : 0u);
    const auto bytes = static_cast<std::uint32_t>(module_.getDataLayout().getTypeStoreSize(type).getFixedValue());
    b_.CreateCall(noting(), {trace_, group_, thread_, number(site), b_.CreateAddrSpaceCast(address, b_.getPtrTy()),
                             number(bytes), number(what)});
  }

  /// Passes an access on where somebody wants to know; a function of its own, so that twins are compiled quickly.
  llvm::Function* noting() {
    if (noting_) return noting_;
    static_assert(offsetof(DeviceTrace, access) == 0);
    llvm::Type* types[] = {b_.getPtrTy(), i32(), i32(), i32(), b_.getPtrTy(), i32(), i32()};
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
    noting_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, "note", module_);
    noting_->addFnAttr(llvm::Attribute::NoInline);
    const llvm::IRBuilderBase::InsertPointGuard guard(b_);
    auto* caller = std::exchange(function_, noting_);
    b_.SetInsertPoint(block("entry"));
    when(b_.CreateIsNotNull(noting_->getArg(0)), [&] {
      Values passed;
      for (llvm::Argument& a : noting_->args()) passed.push_back(&a);
      b_.CreateCall(type, b_.CreateLoad(b_.getPtrTy(), passed[0]), passed);
    });
    b_.CreateRetVoid();
    function_ = caller;
    return noting_;
  }

  void finish_twin() {
    llvm::Type* types[] = {b_.getPtrTy(), i32(), i32(), b_.getPtrTy(shared_memory), b_.getPtrTy()};
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::Function::ExternalLinkage, name_, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(block("entry"));
    llvm::Argument* a = function_->arg_begin();
    loop(number(0), a + 1, number(1), [&](Value* group) {
      for (llvm::Function* phase : phases_)
        loop(number(0), a + 2, number(1),
             [&](Value* thread) { b_.CreateCall(phase, {a, group, thread, a + 2, a + 3, a + 4}); });
    });
    b_.CreateRetVoid();
  }

  void finish_kernel(std::size_t argument_bytes, int max_threads) {
    auto* type = llvm::ArrayType::get(b_.getInt64Ty(), argument_bytes / 8);
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false),
                                       llvm::Function::ExternalLinkage, name_, module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addParamAttr(0, llvm::Attribute::getWithByValType(b_.getContext(), type));
    function_->addParamAttr(0, llvm::Attribute::getWithAlignment(b_.getContext(), llvm::Align(8)));
    auto* notes = module_.getOrInsertNamedMetadata("nvvm.annotations");
    const auto annotate = [&](const char* what, int value) {
      llvm::Metadata* parts[] = {llvm::ValueAsMetadata::get(function_), llvm::MDString::get(b_.getContext(), what),
                                 llvm::ConstantAsMetadata::get(b_.getInt32(static_cast<std::uint32_t>(value)))};
      notes->addOperand(llvm::MDNode::get(b_.getContext(), parts));
    };
    annotate("kernel", 1);
    annotate("maxntidx", max_threads);
    auto* shared =
        new llvm::GlobalVariable(module_, llvm::ArrayType::get(f64(), 0), false, llvm::GlobalValue::ExternalLinkage,
                                 nullptr, "sialx_shared", nullptr, llvm::GlobalValue::NotThreadLocal, shared_memory);
    shared->setAlignment(llvm::Align(16));
    b_.SetInsertPoint(block("entry"));
    Value* group = b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
    Value* thread = b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    Value* threads = b_.CreateIntrinsic(i32(), llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, {});
    for (std::size_t k = 0; k < phases_.size(); ++k) {
      if (k > 0) b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
      b_.CreateCall(phases_[k], {function_->getArg(0), group, thread, threads, shared,
                                 llvm::ConstantPointerNull::get(b_.getPtrTy())});
    }
    b_.CreateRetVoid();
  }
};

class DeviceFusedBuilder final : public DeviceBuilder {
 public:
  DeviceFusedBuilder(llvm::Module& module, const CodeKey& key, const DeviceFusedCode& code, bool twin)
      : DeviceBuilder(module, key, twin), code_(code), layout_(code), box_(code.box_dims > 0), parts_(code.parts()) {
    wide_ = code.wide;
    for (int d = 0; d < code.dims; ++d) {
      const std::size_t dim = layout_.dims + sizeof(DeviceDim) * static_cast<std::size_t>(d);
      dims_.push_back(dim);
      boxes_.push_back(dim + offsetof(DeviceDim, boxes));
      if (d < code.box_dims || !box_) inner_.push_back(dim + offsetof(DeviceDim, inner));
      target_strides_.push_back(dim + offsetof(DeviceDim, target_stride));
    }
    int source = 0, turned = 0;
    for (const DeviceStep& s : code.steps) {
      std::array<Source, 2> of;
      for (std::size_t q = 0; q < 2; ++q) {
        const DeviceForm form = q == 0 ? s.a : s.b;
        if (form != DeviceForm::direct && form != DeviceForm::turned) continue;
        of[q].at = layout_.sources + sizeof(DeviceSource) * static_cast<std::size_t>(source);
        of[q].number = source++;
        for (int d = 0; d < code.dims; ++d)
          of[q].strides.push_back(of[q].at + offsetof(DeviceSource, stride) +
                                  sizeof(std::int64_t) * static_cast<std::size_t>(d));
        if (form == DeviceForm::turned) of[q].turned = turned++;
      }
      sources_.push_back(of);
    }
  }

  void build() {
    const bool shared_energies = code_.rank > 0 && code_.energy_units > 0;
    if (box_ || shared_energies) {
      begin();
      if (shared_energies) fetch_energies();
      for (const auto& of : sources_)
        for (const Source& s : of)
          if (s.turned >= 0) fetch(s);
      end_phase();
    }
    begin();
    go_through();
    end_phase();
  }
  std::size_t argument_bytes() const { return layout_.size; }

 private:
  struct Source {
    std::size_t at = 0;
    int number = 0, turned = -1;
    std::vector<std::size_t> strides;
  };
  /// A phase. From here on the thread block's number is that within its chain.
  void begin() {
    begin_phase();
    if (!code_.batched) return;
    const Divided divided = divide(group_, layout_.batch + offsetof(DeviceBatch, blocks), true);
    group_ = divided.rest;
    Value* first = b_.CreateMul(divided.quotient, number(8 * code_.operands()));
    addresses_ =
        b_.CreateGEP(b_.getInt8Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arguments_, layout_.addresses),
                     b_.CreateZExt(first, b_.getInt64Ty()));
  }
  /// Of the target, -1, or a source; `at`: where it stands when there is only one.
  Value* address(int source, std::size_t at) {
    if (!code_.batched) return argument(at, global());
    return unchanging(b_.CreateLoad(
        global(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), addresses_, 8 * static_cast<std::size_t>(source + 1))));
  }

  /// Where the thread block's box begins, in every dimension.
  Values first_of_box() {
    Values first = coordinates(group_, boxes_, true);
    for (std::size_t d = 0; d < static_cast<std::size_t>(code_.box_dims); ++d)
      first[d] = b_.CreateMul(first[d], argument32(inner_[d] + offsetof(DeviceDivisor, divisor)));
    return first;
  }

  void fetch_energies() {
    Value* begin = argument32(offsetof(DeviceHead, shared_energies));
    loop(thread_, argument32(offsetof(DeviceHead, energies)), threads_, [&](Value* i) {
      Value* from = b_.CreateGEP(f64(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arguments_, layout_.energies),
                                 b_.CreateZExt(i, b_.getInt64Ty()));
      store(unchanging(b_.CreateLoad(f64(), from)), in_shared(b_.CreateAdd(begin, i)), 100);
    });
  }

  /// The box of a turned source, in the order in which it lies.
  void fetch(const Source& s) {
    const std::size_t turned = layout_.turned + sizeof(DeviceTransposed) * static_cast<std::size_t>(s.turned);
    std::vector<std::size_t> inner, strides, pitches;
    for (int d = 0; d < code_.box_dims; ++d) {
      const std::size_t dim =
          turned + offsetof(DeviceTransposed, dim) + sizeof(DeviceTransposed::Dim) * static_cast<std::size_t>(d);
      inner.push_back(dim + offsetof(DeviceTransposed::Dim, inner));
      strides.push_back(dim + offsetof(DeviceTransposed::Dim, stride));
      pitches.push_back(dim + offsetof(DeviceTransposed::Dim, pitch));
    }
    Value* data = address(s.number, s.at + offsetof(DeviceSource, data));
    Value* origin = index(first_of_box(), s.strides);
    Value* last = argument(turned + offsetof(DeviceTransposed, last), index_type());
    Value* to = argument32(turned + offsetof(DeviceTransposed, shared));
    Value* count = argument32(offsetof(DeviceHead, count));
    const auto site = static_cast<std::uint32_t>(10 + s.number);
    loop(thread_, count, b_.CreateMul(threads_, number(parts_)), [&](Value* k) {
      Values value, address;
      for (int u = 0; u < parts_; ++u) {
        // Threads without an element of their own bring the first one once more.
        Value* e = b_.CreateAdd(k, b_.CreateMul(threads_, number(u)));
        const Values c = coordinates(b_.CreateSelect(b_.CreateICmpULT(e, count), e, number(0)), inner, false);
        Value* from = index(c, strides, origin);
        from = b_.CreateSelect(b_.CreateICmpULT(from, last), from, last);
        value.push_back(load_unchanging(f64(), at(data, from), site));
        Value* place = to;
        for (std::size_t d = 0; d < c.size(); ++d)
          place = b_.CreateAdd(place, b_.CreateMul(c[d], argument32(pitches[d])));
        address.push_back(in_shared(place));
      }
      for (std::size_t u = 0; u < value.size(); ++u) store(value[u], address[u], site);
    });
  }

  /// Elements in the target's order through all steps.
  void go_through() {
    target_ = address(-1, offsetof(DeviceHead, target));
    Value* count = argument32(offsetof(DeviceHead, count));
    Value* span = argument32(offsetof(DeviceHead, span));
    Value* begin = box_ ? nullptr : b_.CreateMul(group_, span);
    Values limit;
    origin_.clear();
    if (box_) {
      first_ = first_of_box();
      for (std::size_t d = 0; d < inner_.size(); ++d)
        limit.push_back(b_.CreateSub(argument32(dims_[d] + offsetof(DeviceDim, extent)), first_[d]));
      target_origin_ = index(first_, target_strides_);
      for (const auto& of : sources_)
        for (const Source& s : of)
          if (!s.strides.empty())
            origin_.push_back(s.turned < 0 ? index(first_, s.strides)
                                           : argument32(layout_.turned +
                                                        sizeof(DeviceTransposed) * static_cast<std::size_t>(s.turned) +
                                                        offsetof(DeviceTransposed, shared)));
    }
    loop(thread_, span, b_.CreateMul(threads_, number(parts_)), [&](Value* k) {
      std::vector<Values> x;
      Values address, valid;
      for (int u = 0; u < parts_; ++u) {
        Value* e = b_.CreateAdd(k, b_.CreateMul(threads_, number(u)));
        if (begin) e = b_.CreateAdd(begin, e);
        Value* inside = b_.CreateICmpULT(e, count);
        Values c = coordinates(b_.CreateSelect(inside, e, number(0)), inner_, false);
        for (std::size_t d = 0; d < limit.size(); ++d) inside = b_.CreateAnd(inside, b_.CreateICmpULT(c[d], limit[d]));
        if (box_)
          for (Value*& n : c)
            n = b_.CreateSelect(inside, n, number(0));  // any element of the box, for what is read in vain
        address.push_back(at(target_, index(c, target_strides_, target_origin_)));
        valid.push_back(inside);
        x.push_back(element(c, address.back()));
      }
      for (std::size_t u = 0; u < x.size(); ++u)
        when(valid[u], [&] {
          if (!code_.pairs) return store(x[u][0], address[u], 1);
          Value* both = b_.CreateInsertElement(llvm::PoisonValue::get(pair()), x[u][0], b_.getInt64(0));
          store(b_.CreateInsertElement(both, x[u][1], b_.getInt64(1)), address[u], 1, 16);
        });
    });
  }

  llvm::Type* pair() { return llvm::FixedVectorType::get(f64(), 2); }
  Values lanes(Value* from, std::uint32_t site, bool changes) {
    llvm::Type* type = code_.pairs ? pair() : f64();
    const unsigned align = code_.pairs ? 16 : 8;
    Value* value = changes ? load(type, from, site, align) : load_unchanging(type, from, site, align);
    if (!code_.pairs) return {value};
    return {b_.CreateExtractElement(value, b_.getInt64(0)), b_.CreateExtractElement(value, b_.getInt64(1))};
  }

  /// The element, or pair of them, after all steps.
  Values element(const Values& c, Value* address) {
    const DeviceStep& front = code_.steps.front();
    const bool fresh = replaces_target(front.op) && front.a != DeviceForm::self && front.b != DeviceForm::self;
    Values x = fresh ? Values(code_.pairs ? 2 : 1, llvm::ConstantFP::get(f64(), 0.0)) : lanes(address, 0, true);
    for (std::size_t k = 0; k < code_.steps.size(); ++k) {
      const DeviceStep& s = code_.steps[k];
      std::array<Values, 2> source;
      for (std::size_t q = 0; q < 2; ++q) source[q] = read(s, q == 0 ? s.a : s.b, sources_[k][q], c, x);
      Value* value = argument(offsetof(DeviceHead, value) + sizeof(double) * k, f64());
      for (std::size_t lane = 0; lane < x.size(); ++lane) {
        Values of;
        for (const Values& v : source)
          if (!v.empty()) of.push_back(v[lane]);
        x[lane] = build_step(b_, s.op, x[lane], value, of);
      }
    }
    return x;
  }

  Values read(const DeviceStep& s, DeviceForm form, const Source& source, const Values& c, const Values& x) {
    const auto n = static_cast<std::size_t>(source.number);
    switch (form) {
      case DeviceForm::absent: return {};
      case DeviceForm::self: return x;
      case DeviceForm::direct: {
        Value* data = address(source.number, source.at + offsetof(DeviceSource, data));
        return lanes(at(data, index(c, source.strides, box_ ? origin_[n] : nullptr)),
                     static_cast<std::uint32_t>(40 + source.number), false);
      }
      case DeviceForm::turned: {
        Value* place = origin_[n];
        for (std::size_t d = 0; d < c.size(); ++d)
          place = b_.CreateAdd(place, b_.CreateMul(c[d], argument32(dims_[d] + offsetof(DeviceDim, pitch) +
                                                                    4 * static_cast<std::size_t>(source.turned))));
        return {load(f64(), in_shared(place), static_cast<std::uint32_t>(40 + source.number))};
      }
      case DeviceForm::energies: break;
    }
    Values result;
    for (int lane = 0; lane < (code_.pairs ? 2 : 1); ++lane) result.push_back(difference(s.set, c, lane));
    return result;
  }

  /// ((shift + (e2[p2] - e1[p1])) + (e4[p4] - e3[p3])) + ...
  Value* difference(int set, const Values& c, int lane) {
    const std::size_t of = layout_.sets + sizeof(DeviceEnergies) * static_cast<std::size_t>(set);
    Value* shift = argument(of + offsetof(DeviceEnergies, shift), f64());
    Values addends{shift};
    for (int d = 0; d < code_.rank; d += 2) {
      Value* y = energy(of, d + 1, c, lane);
      addends.push_back(b_.CreateFSub(y, energy(of, d, c, lane)));
    }
    return build_difference(b_, addends);
  }

  Value* energy(std::size_t set, int d, const Values& c, int lane) {
    Value* place = argument32(set + offsetof(DeviceEnergies, start) + 4 * static_cast<std::size_t>(d));
    if (const int k = code_.dim_of[static_cast<std::size_t>(d)]; k >= 0)
      place = b_.CreateAdd(place, position(static_cast<std::size_t>(k), c, lane));
    if (code_.energy_units > 0)
      return load(f64(), in_shared(b_.CreateAdd(place, argument32(offsetof(DeviceHead, shared_energies)))),
                  static_cast<std::uint32_t>(60 + d));
    return load_unchanging(f64(), at(argument(offsetof(DeviceHead, table), global()), place),
                           static_cast<std::uint32_t>(60 + d));
  }

  /// In a dimension of the kernel.
  Value* position(std::size_t d, const Values& c, int lane) {
    if (code_.pairs && d == 0) return b_.CreateAdd(b_.CreateMul(c[0], number(2)), number(lane));
    if (!box_) return c[d];
    return d < c.size() ? b_.CreateAdd(first_[d], c[d]) : first_[d];
  }

  const DeviceFusedCode code_;
  const DeviceFusedLayout layout_;
  const bool box_;
  const int parts_;
  std::vector<std::size_t> dims_, boxes_, inner_, target_strides_;
  std::vector<std::array<Source, 2>> sources_;
  Value *target_ = nullptr, *target_origin_ = nullptr, *addresses_ = nullptr;
  Values first_, origin_;  // of the box; where it begins in sources, or in the shared memory of turned ones
};

class DeviceDotBuilder final : public DeviceBuilder {
 public:
  DeviceDotBuilder(llvm::Module& module, const CodeKey& key, bool twin)
      : DeviceBuilder(module, key, twin), dims_(key.p[0]) {
    wide_ = key.p[1] == 1;
  }

  void build() {
    begin_phase();
    std::vector<std::size_t> divisors, a_strides, b_strides;
    for (std::size_t d = 0; d < static_cast<std::size_t>(dims_); ++d) {
      divisors.push_back(offsetof(DeviceDot, dim) + sizeof(DeviceDivisor) * d);
      a_strides.push_back(offsetof(DeviceDot, a_stride) + sizeof(std::int64_t) * d);
      b_strides.push_back(offsetof(DeviceDot, b_stride) + sizeof(std::int64_t) * d);
    }
    Value* a = argument(offsetof(DeviceDot, a), global());
    Value* b = argument(offsetof(DeviceDot, b), global());
    Value* count = argument32(offsetof(DeviceDot, count));
    constexpr std::uint32_t parts = 4, threads = DeviceDot::threads;
    Values sums;
    for (std::uint32_t u = 0; u < parts; ++u) {
      sums.push_back(b_.CreateAlloca(f64()));
      b_.CreateStore(llvm::ConstantFP::get(f64(), 0.0), sums.back());
    }
    Value* begin = b_.CreateMul(group_, number(DeviceDot::span));
    loop(thread_, number(DeviceDot::span), number(parts * threads), [&](Value* k) {
      Values product;
      for (std::uint32_t u = 0; u < parts; ++u) {
        Value* e = b_.CreateAdd(begin, b_.CreateAdd(k, number(u * threads)));
        Value* inside = b_.CreateICmpULT(e, count);
        const Values c = coordinates(b_.CreateSelect(inside, e, number(0)), divisors, false);
        Value* x = load_unchanging(f64(), at(a, index(c, a_strides)), 0);
        Value* y = load_unchanging(f64(), at(b, index(c, b_strides)), 1);
        product.push_back(b_.CreateSelect(inside, b_.CreateFMul(x, y), llvm::ConstantFP::get(f64(), 0.0)));
      }
      for (std::size_t u = 0; u < parts; ++u)
        b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(f64(), sums[u]), product[u]), sums[u]);
    });
    Value* sum[parts];
    for (std::size_t u = 0; u < parts; ++u) sum[u] = b_.CreateLoad(f64(), sums[u]);
    store(b_.CreateFAdd(b_.CreateFAdd(sum[0], sum[1]), b_.CreateFAdd(sum[2], sum[3])), in_shared(thread_), 2);
    end_phase();
    add_up([&](Value* total) { store(total, at(argument(offsetof(DeviceDot, partial), global()), group_), 3); });
  }

 private:
  const int dims_;
};

class DeviceSumBuilder final : public DeviceBuilder {
 public:
  using DeviceBuilder::DeviceBuilder;

  void build() {
    begin_phase();
    Value* partial = argument(offsetof(DeviceSum, partial), global());
    Value* sum = b_.CreateAlloca(f64());
    b_.CreateStore(llvm::ConstantFP::get(f64(), 0.0), sum);
    loop(thread_, argument32(offsetof(DeviceSum, count)), number(DeviceDot::threads), [&](Value* k) {
      Value* x = load(f64(), at(partial, k), 0);
      b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(f64(), sum), x), sum);
    });
    store(b_.CreateLoad(f64(), sum), in_shared(thread_), 1);
    end_phase();
    add_up([&](Value* total) { store(total, argument(offsetof(DeviceSum, partial), global()), 2); });
  }
};

}  // namespace

bool build_device(llvm::Module& module, const CodeKey& key, bool twin) {
  constexpr int threads = static_cast<int>(DeviceDot::threads);
  if (key.kind == CodeKind::device_fused) {
    DeviceFusedCode code;
    if (!read_device_fused_key(key, code)) return false;
    DeviceFusedBuilder builder(module, key, code, twin);
    builder.build();
    builder.finish(builder.argument_bytes(), threads);
  } else if (key.kind == CodeKind::device_dot) {
    if (!is_device_dot_key(key)) return false;
    DeviceDotBuilder builder(module, key, twin);
    builder.build();
    builder.finish(sizeof(DeviceDot), threads);
  } else {
    if (!is_device_sum_key(key)) return false;
    DeviceSumBuilder builder(module, key, twin);
    builder.build();
    builder.finish(sizeof(DeviceSum), threads);
  }
  return true;
}

}  // namespace sial::kernels
