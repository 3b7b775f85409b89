// Kernels of GPUs. A kernel is built as phases, functions of one thread of a thread block between barriers that leave
// each other what lies in shared memory. On the GPU every thread goes through the phases with barriers between them;
// the host fallback takes each block's threads through one phase after the other.

#include "runtime/kernels/jit/jit_device_builder.h"

namespace sial::kernels {
namespace {

class DeviceFusedBuilder final : public DeviceBuilder {
 public:
  DeviceFusedBuilder(llvm::Module& module, const CodeKey& key, const DeviceFusedCode& code, bool host_fallback)
      : DeviceBuilder(module, key, host_fallback),
        code_(code),
        layout_(code),
        box_(code.box_dims > 0),
        parts_(code.parts()) {
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
      Values value, address, valid;
      for (int u = 0; u < parts_; ++u) {
        // Threads without an element of their own read the first one in vain.
        Value* e = b_.CreateAdd(k, b_.CreateMul(threads_, number(u)));
        valid.push_back(b_.CreateICmpULT(e, count));
        const Values c = coordinates(b_.CreateSelect(valid.back(), e, number(0)), inner, false);
        Value* from = index(c, strides, origin);
        from = b_.CreateSelect(b_.CreateICmpULT(from, last), from, last);
        value.push_back(load_unchanging(f64(), at(data, from), site));
        Value* place = to;
        for (std::size_t d = 0; d < c.size(); ++d)
          place = b_.CreateAdd(place, b_.CreateMul(c[d], argument32(pitches[d])));
        address.push_back(in_shared(place));
      }
      // Two threads that write one element of shared memory would be a race, even with one value.
      for (std::size_t u = 0; u < value.size(); ++u) when(valid[u], [&] { store(value[u], address[u], site); });
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
  DeviceDotBuilder(llvm::Module& module, const CodeKey& key, bool host_fallback)
      : DeviceBuilder(module, key, host_fallback), dims_(key.p[0]) {
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
    store(b_.CreateFAdd(b_.CreateFAdd(sum[0], sum[1]), b_.CreateFAdd(sum[2], sum[3])), place_of_sum(), 2);
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
    store(b_.CreateLoad(f64(), sum), place_of_sum(), 1);
    end_phase();
    add_up([&](Value* total) { store(total, argument(offsetof(DeviceSum, partial), global()), 2); });
  }
};

}  // namespace

bool build_device(llvm::Module& module, const CodeKey& key, bool host_fallback) {
  constexpr int threads = static_cast<int>(DeviceDot::threads);
  if (key.kind == CodeKind::device_fused) {
    DeviceFusedCode code;
    if (!read_device_fused_key(key, code)) return false;
    DeviceFusedBuilder builder(module, key, code, host_fallback);
    builder.build();
    builder.finish(builder.argument_bytes(), threads);
  } else if (key.kind == CodeKind::device_dot) {
    if (!is_device_dot_key(key)) return false;
    DeviceDotBuilder builder(module, key, host_fallback);
    builder.build();
    builder.finish(sizeof(DeviceDot), threads);
  } else {
    if (!is_device_sum_key(key)) return false;
    DeviceSumBuilder builder(module, key, host_fallback);
    builder.build();
    builder.finish(sizeof(DeviceSum), threads);
  }
  return true;
}

}  // namespace sial::kernels
